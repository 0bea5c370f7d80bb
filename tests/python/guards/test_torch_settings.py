"""Every setting of torch's that is not an argument: entries are guarded by it, or it cannot matter to a captured graph, and why.

The tables name all of them: a setting that a new version of torch brings fails a test here until somebody has thought about it. The same
goes for rules of the tracer that read a state of the process.
"""

import contextlib
import pathlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.backends
from torch.nn.attention import SDPBackend, sdpa_kernel

import minidynamo
from minidynamo import _C

C: Any = torch._C

# setter -> (how to set, values to try, how to ask). Which of the values are possible depends on the machine.
GUARDED: dict[str, tuple[Callable[..., Any], list[Any], Callable[[], Any]]] = {
    "_set_blas_preferred_backend": (
        C._set_blas_preferred_backend,
        [C._BlasBackend.Default, C._BlasBackend.Cublas, C._BlasBackend.Cublaslt],
        C._get_blas_preferred_backend,
    ),
    "_set_check_sparse_tensor_invariants": (
        C._set_check_sparse_tensor_invariants,
        [True, False],
        C._check_sparse_tensor_invariants,
    ),
    "_set_cpu_allow_fp16_reduced_precision_reduction": (
        C._set_cpu_allow_fp16_reduced_precision_reduction,
        [True, False],
        C._get_cpu_allow_fp16_reduced_precision_reduction,
    ),
    "_set_cublas_allow_bf16_reduced_precision_reduction": (
        lambda value: C._set_cublas_allow_bf16_reduced_precision_reduction(*value),
        [(True, False), (False, False), (True, True)],
        C._get_cublas_allow_bf16_reduced_precision_reduction,
    ),
    "_set_cublas_allow_fp16_reduced_precision_reduction": (
        lambda value: C._set_cublas_allow_fp16_reduced_precision_reduction(*value),
        [(True, False), (False, False), (True, True)],
        C._get_cublas_allow_fp16_reduced_precision_reduction,
    ),
    "_set_cublas_allow_fp16_accumulation": (
        C._set_cublas_allow_fp16_accumulation,
        [True, False],
        C._get_cublas_allow_fp16_accumulation,
    ),
    "_set_cublas_allow_tf32": (C._set_cublas_allow_tf32, [True, False], C._get_cublas_allow_tf32),
    "_set_cudnn_allow_tf32": (C._set_cudnn_allow_tf32, [False, True], C._get_cudnn_allow_tf32),
    **(
        {
            "_set_cublaslt_prefer_grouped_gemm": (
                C._set_cublaslt_prefer_grouped_gemm,
                [True, False],
                C._get_cublaslt_prefer_grouped_gemm,
            )
        }
        if hasattr(C, "_set_cublaslt_prefer_grouped_gemm")  # from torch 2.14 on
        else {}
    ),
    "_set_cudnn_benchmark": (C._set_cudnn_benchmark, [True, False], C._get_cudnn_benchmark),
    "_set_cudnn_depthwise_kernel": (C._set_cudnn_depthwise_kernel, ["on", "off", "auto"], C._get_cudnn_depthwise_kernel),
    "_set_cudnn_deterministic": (C._set_cudnn_deterministic, [True, False], C._get_cudnn_deterministic),
    "_set_cudnn_enabled": (C._set_cudnn_enabled, [False, True], C._get_cudnn_enabled),
    "_set_default_dtype": (torch.set_default_dtype, [torch.float64, torch.float32], torch.get_default_dtype),
    "_set_deterministic_algorithms": (
        torch.use_deterministic_algorithms,
        [True, False],
        torch.are_deterministic_algorithms_enabled,
    ),
    "set_deterministic_debug_mode": (torch.set_deterministic_debug_mode, [1, 2, 0], torch.get_deterministic_debug_mode),
    "_set_deterministic_fill_uninitialized_memory": (
        C._set_deterministic_fill_uninitialized_memory,
        [False, True],
        C._get_deterministic_fill_uninitialized_memory,
    ),
    "_set_float32_matmul_precision": (
        torch.set_float32_matmul_precision,
        ["high", "medium", "highest"],
        torch.get_float32_matmul_precision,
    ),
    "_set_fwd_grad_enabled": (C._set_fwd_grad_enabled, [False, True], C._is_fwd_grad_enabled),
    "_set_grad_enabled": (torch.set_grad_enabled, [False, True], torch.is_grad_enabled),
    "_set_linalg_preferred_backend": (
        C._set_linalg_preferred_backend,
        [C._LinalgBackend.Magma, C._LinalgBackend.Default],
        C._get_linalg_preferred_backend,
    ),
    "_set_math_sdp_allow_fp16_bf16_reduction": (
        C._set_math_sdp_allow_fp16_bf16_reduction,
        [True, False],
        C._get_math_sdp_allow_fp16_bf16_reduction,
    ),
    "_set_miopen_immediate": (C._set_miopen_immediate, [True, False], C._get_miopen_immediate),
    "_set_mkldnn_deterministic": (C._set_mkldnn_deterministic, [True, False], C._get_mkldnn_deterministic),
    "_set_mkldnn_enabled": (C._set_mkldnn_enabled, [False, True], C._get_mkldnn_enabled),
    "_set_nnpack_enabled": (C._set_nnpack_enabled, [False, True], C._get_nnpack_enabled),
    "_set_onednn_allow_tf32": (C._set_onednn_allow_tf32, [True, False], C._get_onednn_allow_tf32),
    "_set_qengine": (
        lambda name: setattr(torch.backends.quantized, "engine", name),
        [*torch.backends.quantized.supported_engines],
        lambda: torch.backends.quantized.engine,
    ),
    "_set_rocm_fa_preferred_backend": (
        C._set_rocm_fa_preferred_backend,
        [C._ROCmFABackend.AOTriton, C._ROCmFABackend.Default],
        C._get_rocm_fa_preferred_backend,
    ),
    "_set_sdp_priority_order": (
        C._set_sdp_priority_order,
        [[0, 1, 2, 3, 4], C._get_sdp_priority_order()],
        C._get_sdp_priority_order,
    ),
    "_set_sdp_use_cudnn": (C._set_sdp_use_cudnn, [False, True], C._get_cudnn_sdp_enabled),
    "_set_sdp_use_fa3": (C._set_sdp_use_fa3, [True, False], C._get_fa3_sdp_enabled),
    "_set_sdp_use_flash": (C._set_sdp_use_flash, [False, True], C._get_flash_sdp_enabled),
    "_set_sdp_use_math": (C._set_sdp_use_math, [False, True], C._get_math_sdp_enabled),
    "_set_sdp_use_mem_efficient": (C._set_sdp_use_mem_efficient, [False, True], C._get_mem_efficient_sdp_enabled),
    "_set_sdp_use_overrideable": (C._set_sdp_use_overrideable, [False, True], C._get_overrideable_sdp_enabled),
    "_set_sm_carveout_experimental": (C._set_sm_carveout_experimental, [4, None], C._get_sm_carveout_experimental),
    "_set_view_replay_enabled": (C._set_view_replay_enabled, [True, False], C._is_view_replay_enabled),
    "set_anomaly_enabled": (torch.set_anomaly_enabled, [True, False], torch.is_anomaly_enabled),
    "set_autocast_cache_enabled": (torch.set_autocast_cache_enabled, [False, True], torch.is_autocast_cache_enabled),
    "set_autocast_cpu_dtype": (
        lambda dtype: torch.set_autocast_dtype("cpu", dtype),
        [torch.float16, torch.bfloat16],
        lambda: torch.get_autocast_dtype("cpu"),
    ),
    "set_autocast_gpu_dtype": (
        lambda dtype: torch.set_autocast_dtype("cuda", dtype),
        [torch.bfloat16, torch.float16],
        lambda: torch.get_autocast_dtype("cuda"),
    ),
    "set_num_threads": (torch.set_num_threads, [2, 3], torch.get_num_threads),
}
for device in ("cpu", "cuda", "xpu", "mps", "hpu", "ipu", "xla", "mtia", "maia"):
    GUARDED[f"set_autocast_enabled {device}"] = (
        lambda on, device=device: torch.set_autocast_enabled(device, on),
        [True, False],
        lambda device=device: torch.is_autocast_enabled(device),
    )
for backend, kind in (
    ("generic", "all"),
    ("cuda", "all"),
    ("cuda", "conv"),
    ("cuda", "rnn"),
    ("cuda", "matmul"),
    ("mkldnn", "all"),
    ("mkldnn", "conv"),
    ("mkldnn", "rnn"),
    ("mkldnn", "matmul"),
):
    GUARDED[f"_set_fp32_precision_setter {backend} {kind}"] = (
        lambda value, backend=backend, kind=kind: C._set_fp32_precision_setter(backend, kind, value),
        ["tf32", "bf16", "ieee"],
        lambda backend=backend, kind=kind: C._get_fp32_precision_getter(backend, kind),
    )

ALIASES = {  # another spelling -> the row that it belongs to
    "_set_default_tensor_type": "_set_default_dtype",
    "_set_fp32_precision_setter": "_set_fp32_precision_setter cuda conv",
    "set_autocast_cpu_enabled": "set_autocast_enabled cpu",
    "set_autocast_dtype": "set_autocast_cpu_dtype",
    "set_autocast_enabled": "set_autocast_enabled cpu",
    "set_autocast_ipu_enabled": "set_autocast_enabled ipu",
    "set_autocast_xla_enabled": "set_autocast_enabled xla",
    "set_default_dtype": "_set_default_dtype",
    "set_default_tensor_type": "_set_default_dtype",
    "set_float32_matmul_precision": "_set_float32_matmul_precision",
    "set_grad_enabled": "_set_grad_enabled",
}

# Guarded, or kept out of captures, where a change needs more than a value; the test that shows it.
BY_OTHER_TESTS = {
    "_set_dispatch_mode": "test_neighbours: a mode is a reason not to capture",
    "_set_meta_in_tls_dispatch_include": "the thread's included keys are guarded",
    "_set_only_lift_cpu_tensors": "internal to fake modes, which are a reason not to capture",
    "_set_torch_function_state": "test_the_state_of_torch_function",
    "_set_tracing_state": "test_neighbours: torch.jit.trace is a reason not to capture",
    "set_default_device": "test_the_default_device",
    "set_autocast_ipu_dtype": "test_autocast_dtypes_of_other_devices",
    "set_autocast_xla_dtype": "test_autocast_dtypes_of_other_devices",
}

CANNOT_MATTER = {
    "_set_autograd_fallback_mode": "read when an operator without an autograd kernel runs, in the graph as outside of it",
    "_set_backcompat_broadcast_warn": "a warning of code that no operator calls any more",
    "_set_backcompat_keepdim_warn": "a warning of code that no operator calls any more",
    "_set_cached_tensors_enabled": "CUDA graph trees' own; they set it around their replays",
    "_set_conj": "an operation on a tensor, not a setting",
    "_set_default_mobile_cpu_allocator": "where memory comes from, not what is in it",
    "_set_dtensor_allow_implicit_replication": "read by DTensor's dispatch, which is __torch_dispatch__: such tensors are not captured",
    "_set_generator_metaclass": "made once, at torch's import",
    "_set_grad_layout_enforcement_enabled": "whether a backward pass warns of the layout of a gradient",
    "_set_graph_exec_group": "read by the engine in the backward, after the call",
    "_set_fake_constant": "an operation on a tensor, not a setting",
    "_set_graph_executor_optimize": "TorchScript's executor, which is called as it is",
    "_set_multithreading_enabled": "whether the engine has threads of its own for accelerators",
    "_set_neg": "an operation on a tensor, not a setting",
    "_set_native_aot_enabled": "lies in the guarded block, and is read when the graph runs",
    "_set_native_aot_unconditional_masked": "lies in the guarded block, and is read when the graph runs",
    "_set_override_stale_capture_stream": "lies in the guarded block, and is read in the backward",
    "_set_print_stack_traces_on_fatal_signal": "what a crash prints",
    "_set_should_use_format_with_string_table": "how TorchScript prints",
    "_set_sdp_use_fa4": "lies in the guarded block; an attention kernel of some GPUs, without a way to ask for it",
    "_set_skip_next_torch_function": "reset by the next call of an operator; internal to __torch_function__ handlers",
    "_set_storage_access_error_msg": "an operation on a tensor, not a setting (CUDA builds)",
    "_set_storage_data_ptr_access_error_msg": "an operation on a tensor, not a setting (CUDA builds)",
    "_set_tensor_metadata": "an operation on a tensor, not a setting",
    "_set_thread_name": "a name",
    "_set_throw_on_mutable_data_ptr": "an operation on a tensor, not a setting",
    "_set_value_trace": "an operation on a TorchScript value, not a setting",
    "_set_warnAlways": "read when a warning is given",
    "_set_warn_deprecated_on_mutable_data_ptr": "an operation on a tensor, not a setting",
    "_set_warn_on_accumulate_grad_stream_mismatch": "lies in the guarded block, and is read in the backward",
    "_set_worker_pids": "the data loader's",
    "_set_worker_signal_handlers": "the data loader's",
    "set_flush_denormal": "a mode of the processor, under which every kernel runs, compiled or not",
    "set_num_interop_threads": "the pool of torch.jit.fork; can be set once, before it is used",
    "set_printoptions": "how tensors are turned into text, which no graph does",
    "set_rng_state": "random numbers are drawn when the graph runs",
    "set_warn_always": "read when a warning is given",
}

# Attributes of torch.backends.* that can be set -> a row above, or the reason why it needs none.
BACKENDS = {
    "torch.backends.cuda.matmul": "_set_cublas_allow_tf32",
    "torch.backends.cuda.cufft_plan_cache": "sizes of a cache",
    "torch.backends.cudnn": "_set_cudnn_enabled",
    "torch.backends.mkldnn": "_set_mkldnn_enabled",
    "torch.backends.miopen": "_set_miopen_immediate",
    "torch.backends.nnpack": "_set_nnpack_enabled",
    "torch.backends.quantized": "_set_qengine",
    "torch.backends.opt_einsum": "read by torch.functional.einsum when the graph runs; a compiler keeps one order, for equal results",
    "torch.backends.mha": "a Python function that the tracer reads: the global that it returns is guarded",
    "torch.backends.mkl": "how much is printed",
    "torch.backends.xnnpack": "tells what was built",
    "torch.backends.kleidiai": "tells what was built",
    "torch.backends.cusparselt": "tells what was built",
    "torch.backends.cpu": "tells what the processor can do",
    "torch.backends.mps": "tells what the machine has",
    "torch.backends.openmp": "tells what was built",
    "torch.backends.xeon": "a launcher",
    "torch.backends._coreml": "an exporter",
    "torch.backends._nnapi": "an exporter",
    "torch.backends.cuda": "_set_sdp_use_flash",
    "torch.backends.python_native": "registers Python kernels for operators: read by the dispatcher when the graph runs",
}


def test_every_setting_is_in_a_table() -> None:
    named = {name.split()[0] for name in GUARDED} | set(ALIASES) | set(BY_OTHER_TESTS) | set(CANNOT_MATTER)
    setters = {name for name in dir(torch._C) if name.startswith("_set_")}
    setters |= {name for name in dir(torch) if name.startswith("set_")}
    assert setters - named == set()
    assert set(ALIASES.values()) <= set(GUARDED)
    modules = {f"torch.backends.{module.name}" for module in pkgutil.iter_modules(torch.backends.__path__)}
    assert modules - set(BACKENDS) == set()
    assert all(row in GUARDED for row in BACKENDS.values() if row.startswith(("_set_", "set_")))


@pytest.fixture
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# Settings whose value at the start is not the same bytes as when it is set: a needless recompile, once.
TWO_FORMS = ("_set_qengine", "_set_sm_carveout_experimental", "_set_check_sparse_tensor_invariants", "_set_onednn_allow_tf32")
# Where no value may be possible.
NEEDS_A_DEVICE = re.compile("depthwise|fp16|cuda|blas|linalg|rocm|mkldnn (all|conv|rnn|matmul)|generic|qengine|onednn|fp32")


@pytest.mark.parametrize("name", sorted(GUARDED))
@pytest.mark.usefixtures("quiet")
def test_a_change_makes_the_guard_fail(name: str) -> None:
    change, values, ask = GUARDED[name]
    original = ask()
    precision = torch.get_float32_matmul_precision() if "precision" not in name else None
    before = _C.TorchState()
    assert before.matches() and before.difference() == ""
    changed = 0
    try:
        for value in values:
            try:
                change(value)
            except RuntimeError:
                continue  # not on this machine
            if ask() == original or "all" in name.split():
                continue
            changed += 1
            equal_anyway = "matmul" in name and ask() in ("none", "ieee", "default") and original in ("none", "ieee", "default")
            assert before.matches() == equal_anyway, (name, value)
            assert bool(before.difference()) != equal_anyway
            now = _C.TorchState()
            assert now.matches()
    finally:
        with contextlib.suppress(RuntimeError):
            change(original)
        if precision is not None:
            torch.set_float32_matmul_precision(precision)
    assert ask() == original
    assert changed or NEEDS_A_DEVICE.search(name), "no value was possible"
    assert before.matches() or name in TWO_FORMS


def check_against_eager(f: Callable[..., Any], *args: Any, contexts: list[Callable[[], Any]]) -> None:
    captured = minidynamo.compile(f, backend="aot_eager")
    for _ in range(2):
        for context in contexts:
            with context():
                torch.testing.assert_close(captured(*args), f(*args), rtol=0, atol=0)


def test_attention_kernels() -> None:
    def f(q: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, q, q)

    q = torch.randn(1, 2, 8, 16)
    check_against_eager(
        f,
        q,
        contexts=[contextlib.nullcontext, lambda: sdpa_kernel(SDPBackend.MATH), lambda: sdpa_kernel(SDPBackend.FLASH_ATTENTION)],
    )
    assert minidynamo.stats()["graphs"] == 3

    def asks(x: torch.Tensor) -> torch.Tensor:
        return x + int(torch.backends.cuda.flash_sdp_enabled()) + 2 * int(torch.backends.cuda.math_sdp_enabled())

    check_against_eager(asks, q, contexts=[contextlib.nullcontext, lambda: sdpa_kernel(SDPBackend.MATH)])


def test_what_a_program_asks_about_torch() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        known = (torch._C._get_cudnn_enabled(), torch._C._get_mkldnn_enabled(), torch.are_deterministic_algorithms_enabled())
        return x * sum(2**i for i, on in enumerate(known) if on) + torch.get_num_threads() + torch.finfo().bits

    @contextlib.contextmanager
    def threads() -> Any:
        before = torch.get_num_threads()
        torch.set_num_threads(before + 1)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    @contextlib.contextmanager
    def double() -> Any:
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(torch.float32)

    check_against_eager(
        f,
        torch.ones(2),
        contexts=[
            contextlib.nullcontext,
            lambda: torch.backends.cudnn.flags(enabled=False),
            lambda: torch.backends.mkldnn.flags(enabled=False),
            threads,
            double,
        ],
    )


def test_states_of_the_process_are_guarded_by_their_value() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + sys.getrecursionlimit()

    captured = minidynamo.optimize("eager")(f)
    x = torch.zeros(2, dtype=torch.int64)
    limit = sys.getrecursionlimit()
    try:
        for n in (0, 0, 100, 0):
            sys.setrecursionlimit(limit + n)
            assert captured(x).tolist() == [limit + n] * 2
    finally:
        sys.setrecursionlimit(limit)
    assert minidynamo.stats()["graphs"] == 2
    guards = [text for entry in _C.cache_entries(f.__code__) for text in entry.guards if text.startswith("state[")]
    assert {guard.split("  #")[0] for guard in guards} == {f"state[sys.getrecursionlimit]() == {limit + n}" for n in (0, 100)}


def test_an_exception_that_is_handled_around_the_call() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if sys.exc_info()[0] is None else x - 1

    captured = minidynamo.optimize("eager")(f)
    for _ in range(2):
        assert captured(torch.ones(1)).item() == 2
        try:
            raise ValueError
        except ValueError:
            assert captured(torch.ones(1)).item() == 0


def test_autocast_dtypes_of_other_devices() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.get_autocast_dtype("xpu"))

    captured = minidynamo.optimize("eager")(f)
    original = torch.get_autocast_dtype("xpu")
    try:
        for dtype in (torch.float16, torch.bfloat16, torch.float16):
            torch.set_autocast_dtype("xpu", dtype)
            assert captured(torch.ones(2)).dtype == dtype
        state = _C.TorchState()
        torch.set_autocast_dtype("xpu", torch.bfloat16)
        assert state.matches()
        torch.set_autocast_enabled("xpu", True)
        assert not state.matches()
        state = _C.TorchState()
        torch.set_autocast_dtype("xpu", torch.float16)
        assert not state.matches()
    finally:
        torch.set_autocast_enabled("xpu", False)
        torch.set_autocast_dtype("xpu", original)


def test_what_a_trace_sets_itself_is_no_guard() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            return (x @ x).to(torch.get_autocast_dtype("cpu"))

    captured = minidynamo.optimize("eager")(f)
    for _ in range(3):
        assert captured(torch.ones(2, 2)).dtype == torch.float16
    assert minidynamo.stats()["graphs"] == 1


def test_the_state_of_torch_function() -> None:
    class Mine(torch.Tensor):
        pass

    state = _C.TorchState()
    with torch._C.DisableTorchFunctionSubclass():
        assert not state.matches()
        inner = _C.TorchState()
        with torch._C.DisableTorchFunction():
            assert not inner.matches()
    assert state.matches()


def test_the_default_device() -> None:
    captured = minidynamo.optimize("eager")(lambda: torch.ones(2) + 1)
    assert captured().device.type == "cpu"
    try:
        torch.set_default_device("meta")
        assert captured().device.type == "meta"
    finally:
        torch.set_default_device(None)
    assert captured().device.type == "cpu"


# --- rules that read a state

RULES = pathlib.Path(__file__).parents[3] / "csrc/library/rules/rules.def"
# A Pure rule's callable that needs no arguments -> why it is Pure all the same.
PURE_WITHOUT_ARGUMENTS = {
    "builtins.type.__prepare__": "returns a fresh dict",
    "_struct._clearcache": "forgets formats, which are parsed again",
    "builtins.object.__init_subclass__": "does nothing",
    "math.gcd": "returns 0",
    "math.hypot": "returns 0.0",
    "math.lcm": "returns 1",
    "torch._C._nn._parse_to": "returns what was not asked for",
}


def callables_of(path: str) -> list[tuple[str, Any]]:
    owner, _, name = path.rpartition(".")
    parts = owner.split(".")
    module: Any = __import__(parts[0])
    for part in parts[1:]:
        module = getattr(module, part) if hasattr(module, part) else __import__(owner, fromlist=[part])
    names = [key for key in dir(module) if not key.startswith("__")] if name == "*" else [name]
    return [(f"{owner}.{key}", getattr(module, key)) for key in names if callable(getattr(module, key, None))]


def test_no_pure_rule_is_for_a_call_without_arguments() -> None:
    rows = re.findall(r'^RULE\(Pure, "([^"]+)"\)', RULES.read_text(), re.MULTILINE)
    assert len(rows) > 40
    found = []
    for path in rows:
        for name, function in callables_of(path):
            if isinstance(function, type) and name not in ("torch.finfo", "torch.iinfo"):
                continue  # makes an object
            try:
                function()
            except (TypeError, RuntimeError):
                continue
            found.append(name)
    assert set(found) <= set(PURE_WITHOUT_ARGUMENTS)
