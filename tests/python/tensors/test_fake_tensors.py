"""Fake tensors against eager PyTorch: metadata, aliasing, autograd, refusals, and the state a trace must leave behind."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import types
import weakref
from typing import Any

import opinfo_oracle
import pytest
import torch

room = opinfo_oracle.load_room()


@pytest.fixture
def x() -> torch.Tensor:
    return room.make_fake(torch.randn(4, 6))


def same_facts(real: torch.Tensor, fake: torch.Tensor) -> None:
    expected, got = opinfo_oracle.facts(real), opinfo_oracle.facts(fake)
    assert got == expected


# --- make_fake -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(2, 3),
        lambda: torch.randn(2, 3).t(),
        lambda: torch.randn(6)[2:],
        lambda: torch.nn.Parameter(torch.randn(3)),
        lambda: torch.nn.Parameter(torch.randn(3), requires_grad=False),
        lambda: torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
        lambda: torch.randn(3, dtype=torch.complex64).conj(),
        lambda: torch.randn(3, dtype=torch.complex64).conj().imag,
        lambda: torch.zeros(0, 3),
        lambda: torch.tensor(3),
        lambda: torch.randn(1).expand(5),
        lambda: torch.randn(2).add_(1).mul_(2),
        lambda: torch.randn(2, device="meta"),
    ],
)
def test_make_fake_keeps_metadata(make: Any) -> None:
    real = make()
    fake = room.make_fake(real)
    expected, got = opinfo_oracle.facts(real), opinfo_oracle.facts(fake)
    expected["view"] = False  # views of outside tensors are inputs of their own
    assert got == expected
    assert type(fake) is type(real)
    assert room.is_fake(fake) and not room.is_fake(real)


def test_subclass_without_dispatch_is_kept() -> None:
    class Mine(torch.Tensor):
        pass

    fake = room.make_fake(torch.randn(2).as_subclass(Mine))
    assert type(fake) is Mine
    assert type(fake + 1) is Mine


def test_inference_tensor_stays_one() -> None:
    with torch.inference_mode():
        real = torch.randn(2)
    assert room.make_fake(real).is_inference()
    with torch.inference_mode():
        assert not room.make_fake(torch.nn.Parameter(torch.randn(2)).data.new_zeros(1)).requires_grad
        assert not room.make_fake(normal := NORMAL).is_inference() and not normal.is_inference()


NORMAL = torch.randn(2)


def test_computed_tensor_is_no_leaf() -> None:
    real = torch.randn(3, requires_grad=True) * 2
    fake = room.make_fake(real)
    assert fake.requires_grad and not fake.is_leaf
    fake.add_(1)  # a leaf would refuse
    with pytest.raises(RuntimeError, match="leaf"):
        room.make_fake(torch.randn(3, requires_grad=True)).add_(1)


class Dispatching(torch.Tensor):
    @staticmethod
    def __new__(cls) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (2,))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: torch.eye(2).to_sparse(), "layout"),
        (lambda: torch.eye(2).to_sparse_csr(), "layout"),
        (lambda: torch.quantize_per_tensor(torch.randn(2), 0.1, 0, torch.qint8), "quantized"),
        (lambda: torch.nested.nested_tensor([torch.randn(2), torch.randn(3)]), "nested"),
        (Dispatching, "__torch_dispatch__"),
        (lambda: room.make_fake(torch.randn(2)), "already"),
    ],
)
def test_what_cannot_be_faked(make: Any, reason: str) -> None:
    with pytest.raises(NotImplementedError, match=reason):
        room.make_fake(make())


def test_transform_wrappers_are_refused() -> None:
    def inner(t: torch.Tensor) -> torch.Tensor:
        with pytest.raises(NotImplementedError, match=r"torch\.func"):
            room.make_fake(t)
        return t.sum()

    torch.func.grad(inner)(torch.randn(2))
    torch.func.vmap(inner)(torch.randn(2, 2))


def test_make_fake_of_no_tensor() -> None:
    with pytest.raises(TypeError, match=r"torch\.Tensor"):
        room.make_fake(3)


# --- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize(
    "access",
    [
        lambda t: t.numpy(),
        lambda t: t.__array__(),
        lambda t: t.data_ptr(),
        lambda t: t.tolist(),
        lambda t: t.sum().item(),
        lambda t: bool(t.sum()),
        lambda t: float(t.sum()),
        lambda t: int(t.sum()),
        lambda t: complex(t.sum()),
        lambda t: t.__dlpack__(),
        lambda t: torch.utils.dlpack.to_dlpack(t),
        lambda t: t.untyped_storage().data_ptr(),
        lambda t: t.untyped_storage()[0],
        lambda t: list(t.untyped_storage()),
        lambda t: t.untyped_storage().resize_(1),
        lambda t: t.share_memory_(),
        lambda t: __import__("copy").deepcopy(t),
        lambda t: __import__("pickle").dumps(t),
        lambda t: t.map_(t, max),
        lambda t: t.apply_(abs),
        lambda t: t.new_tensor([1.0]),
        lambda t: list(t.sum(0).tolist()),
        lambda t: range(t.sum().long()),
        lambda t: f"{t.sum():.3f}",
    ],
)
def test_data_access_raises(access: Any, offset: int) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)):
        access(room.make_fake(torch.randn(4, 6))[offset:])


def test_is_shared_does_not_end_the_process(x: torch.Tensor) -> None:
    assert not x.is_shared()
    assert not torch.randn(2).is_shared()
    assert torch.randn(2).share_memory_().is_shared()


def test_data_errors_are_recognized(x: torch.Tensor) -> None:
    for access in (x.numpy, x.tolist, lambda: x.new_tensor([1.0]), lambda: x.tensor_split(x[0].long())):
        with pytest.raises(RuntimeError) as caught:
            access()
        assert room.is_fake_data_error(caught.value)
    assert not room.is_fake_data_error(RuntimeError("other")) and not room.is_fake_data_error(ValueError())


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_composites_that_read_data_without_need(mode: Any) -> None:
    reals = (torch.randn(2, 3, 8), torch.tensor([[0, 2], [1, 1]]))
    fakes = [room.make_fake(t) for t in reals]

    def program(a: torch.Tensor, b: torch.Tensor) -> Any:
        with mode():
            return torch.nn.functional.max_pool1d(a, 2), torch.nn.functional.one_hot(b, 3), torch.max_pool1d(a, 3, 2, 1)

    with room.FakeScope(accept_reals=False):
        got = program(*fakes)
    opinfo_oracle.compare(program(*reals), got, (), (), room)
    torch.testing.assert_close(program(*reals)[1].argmax(-1), reals[1])
    with pytest.raises(NotImplementedError):
        torch.nn.functional.one_hot(fakes[1])


def test_repr(x: torch.Tensor) -> None:
    assert "size=(4, 6)" in repr(x) and "FakeTensor" in repr(x)
    assert "grad_fn=<MulBackward0>" in repr(room.make_fake(torch.randn(2, requires_grad=True)) * 2)
    assert repr(torch.zeros(2)) == "tensor([0., 0.])"


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.nonzero(),
        lambda t: t[t > 0],
        lambda t: t.masked_select(t > 0),
        lambda t: t.unique(),
        lambda t: torch.equal(t, t + 1),
        lambda t: torch.allclose(t, t),
        lambda t: t.repeat_interleave(t[0].long(), 1),
        lambda t: torch.bincount(t[0].long()),
        lambda t: t.to_sparse(),
    ],
)
def test_data_dependent_operators_are_refused(function: Any, x: torch.Tensor) -> None:
    with pytest.raises(NotImplementedError, match="aten::"):
        function(x)
    with room.FakeScope(), pytest.raises(NotImplementedError, match="aten::"):
        function(x)


def test_operators_with_a_static_form(x: torch.Tensor) -> None:
    repeats = room.make_fake(torch.tensor([1, 2, 3, 0]))
    assert x.repeat_interleave(repeats, dim=0, output_size=6).shape == (6, 6)
    assert x[repeats].shape == (4, 6)
    x[x > 0] = 1.0
    assert torch.where(x > 0, x, 0.0).shape == (4, 6)


# --- views, writes, metadata changes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        lambda t: (t, t.t_()),
        lambda t: (t, t.unsqueeze_(0)),
        lambda t: (t, t.squeeze_()),
        lambda t: (t, t.transpose_(0, 1)),
        lambda t: (t, t.resize_(2, 2)),
        lambda t: (t, t.resize_(20, 20)),
        lambda t: (t, t.as_strided_((2,), (3,), 1)),
        lambda t: (t, t.set_()),
        lambda t: (t, t.set_(t.t())),
        lambda t: (t, t.set_(t.untyped_storage(), 2, (2, 3), (3, 1))),
        lambda t: (t, t.view(-1).add_(1)),
        lambda t: (t, t[0].zero_(), t[:, 1].view(2, 2)),
        lambda t: (t, torch.add(t, 1, out=torch.empty_like(t))),
        lambda t: (t, torch.add(t, 1, out=t)),
        lambda t: (t, t.detach(), t.detach().add_(1)),
        lambda t: (t, *t.split(2), *t.chunk(3, 1), *t.unbind()),
        lambda t: (t, t.contiguous(), t.t().contiguous(), t.reshape(-1), t.t().reshape(-1)),
        lambda t: (t, t.expand(2, 4, 6), t.diagonal(), t.unfold(0, 2, 1)),
        lambda t: (t, t.to(torch.float32), t.to(torch.float64), t.float(), t.clone()),
        lambda t: (t, torch.frexp(t), torch.sort(t), torch.max(t, 0)),
        lambda t: (t, t.view(torch.int32), torch.view_as_complex(t.view(4, 3, 2)).conj().real),
        lambda t: (t, t.narrow(0, 1, 2).mul_(2), t.swapaxes(0, 1), t.movedim(0, 1)),
        lambda t: (t, torch._foreach_add([t, t.t()], 1.0)),
        lambda t: (t, torch.broadcast_tensors(t, t[:1])),
        lambda t: (t, torch.atleast_3d(t), torch.block_diag(t, t), torch.meshgrid(t[0], t[1], indexing="ij")),
    ],
)
@pytest.mark.parametrize("scope", [False, True])
def test_aliasing_and_metadata(program: Any, scope: bool) -> None:
    real = torch.randn(4, 6)
    for _ in range(2):  # computed, then from the memo
        fake = room.make_fake(real.clone())
        if scope:
            with room.FakeScope(accept_reals=False):
                got = program(fake)
        else:
            got = program(fake)
        opinfo_oracle.compare(program(real.clone()), got, (), (), room)


def test_out_of_another_shape_is_resized(x: torch.Tensor) -> None:
    out = room.make_fake(torch.empty(0))
    assert torch.add(x, 1, out=out) is out
    assert out.shape == (4, 6) and out.untyped_storage().nbytes() == 96
    again = room.make_fake(torch.empty(0))
    torch.add(x, 1, out=again)
    assert again.shape == (4, 6)


def test_data_assignment(x: torch.Tensor) -> None:
    parameter = room.make_fake(torch.nn.Parameter(torch.randn(2, 2)))
    parameter.data = x
    assert parameter.shape == (4, 6) and parameter.requires_grad
    assert parameter.data.untyped_storage()._cdata == x.untyped_storage()._cdata


def test_views_share_a_version_counter(x: torch.Tensor) -> None:
    view = x[1:]
    version = x._version
    view.add_(1)
    assert x._version == view._version == version + 1
    assert view._base is x and view._is_view()
    assert view.is_set_to(x[1:]) and not view.is_set_to(x)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t @ t,
        lambda t: t.view(5),
        lambda t: torch.cat([t, t[:, :2]]),
        lambda t: t.sum(5),
        lambda t: t[7],
        lambda t: torch.nn.functional.linear(t, torch.ones_like(t)[:, :2]),
        lambda t: t.expand(3, 3),
        lambda t: torch.stack([t, t[0]]),
    ],
)
def test_errors_are_of_eager_types(program: Any) -> None:
    with pytest.raises(Exception) as expected:
        program(torch.randn(4, 6))
    with pytest.raises(type(expected.value)):
        program(room.make_fake(torch.randn(4, 6)))


# --- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [False, True])
@pytest.mark.parametrize("number", [True, 2, 2.5, 1j])
def test_python_numbers_promote_as_in_eager(number: Any, scope: bool) -> None:
    dtypes = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)
    operators = (torch.add, torch.mul, torch.true_divide, torch.eq, torch.pow, torch.remainder, lambda a, b: torch.where(a > 0, a, b))
    for dtype, operator, dims in itertools.product(dtypes, operators, ((2,), ())):
        real = torch.ones(dims, dtype=dtype)
        try:
            expected = operator(real, number)
        except (RuntimeError, TypeError, NotImplementedError):
            continue
        fake = room.make_fake(real)
        if scope:
            with room.FakeScope(accept_reals=False):
                got = operator(fake, number)
        else:
            got = operator(fake, number)
        same_facts(expected, got)


def test_default_dtype_is_part_of_the_memo() -> None:
    whole = room.make_fake(torch.ones(2, dtype=torch.int64))
    assert (whole + 1.5).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert (whole + 1.5).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (whole + 1.5).dtype == torch.float32


def test_memo_counts(x: torch.Tensor) -> None:
    room.clear_memo()
    torch.sin(x)
    before = room.memo_statistics()
    torch.sin(x)
    after = room.memo_statistics()
    assert after["hits"] == before["hits"] + 1 and after["misses"] == before["misses"]


# --- under a scope ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "factory",
    [
        lambda: torch.zeros(2, 3),
        lambda: torch.rand(4),
        lambda: torch.arange(10),
        lambda: torch.arange(0.0, 1.0, 0.25),
        lambda: torch.linspace(0, 1, 5),
        lambda: torch.full((2,), 3),
        lambda: torch.full((2,), 3.0, dtype=torch.float16),
        lambda: torch.eye(3),
        lambda: torch.empty_strided((2, 3), (1, 2)),
        lambda: torch.randint(0, 5, (2, 2)),
        lambda: torch.randperm(4),
        lambda: torch.scalar_tensor(5.0),
        lambda: torch.ones(2, requires_grad=True),
        lambda: torch.tril_indices(3, 3),
        lambda: torch.hann_window(4),
        lambda: torch.zeros(2, device="meta"),
        lambda: torch.normal(0.0, 1.0, (2,)),
    ],
)
def test_factories_give_fakes(factory: Any) -> None:
    state = torch.get_rng_state()
    with room.FakeScope(accept_reals=False):
        fake = factory()
    assert room.is_fake(fake)
    assert torch.equal(state, torch.get_rng_state())
    same_facts(factory(), fake)


@pytest.mark.parametrize("make", [lambda: torch.tensor([1.0, 2.0]), lambda: torch.tensor(3), lambda: torch.as_tensor([1])])
def test_tensors_from_data_do_not_crash(make: Any) -> None:
    with room.FakeScope():
        try:
            made = make()
        except (RuntimeError, NotImplementedError):
            return
    assert made.shape == make().shape


def test_real_tensors_are_asked_for() -> None:
    real = torch.randn(3)
    with room.FakeScope(accept_reals=True):
        assert room.is_fake(real + 1)
        assert room.is_fake(torch.cat([real, real]))
        with pytest.raises(NotImplementedError, match="outside"):
            real.add_(1)
        with pytest.raises(NotImplementedError, match="real"):
            real[1:].add_(1)
    with room.FakeScope(accept_reals=False), pytest.raises(LookupError, match="does not know"):
        real + 1
    assert real._version == 0


def test_reported_operators_replay() -> None:
    """The operators that the observer sees are a program: run on real tensors it returns what eager returns."""
    weight = torch.randn(5, 6)
    bias = torch.randn(5)

    def program(t: torch.Tensor) -> torch.Tensor:
        h = torch.nn.functional.layer_norm(t, (6,)) * 2
        h = torch.nn.functional.gelu(torch.nn.functional.linear(h, weight, bias))
        parts = h.split([2, 3], 1)
        return torch.cat([parts[0].to(torch.float64), parts[1].sum(1, keepdim=True) + torch.ones(4, 1)], 1).softmax(-1)

    real = torch.randn(4, 6)
    fake = room.make_fake(real)
    reals: dict[int, Any] = {id(fake): real}
    with room.FakeScope(accept_reals=True, report=True) as scope:
        result = program(fake)
    keep = [scope.calls]
    fakes_of_reals = {}
    for known, value in scope.fakes.items():
        fakes_of_reals[id(value)] = known
    reals.update(fakes_of_reals)

    def lookup(leaf: Any) -> Any:
        return reals[id(leaf)] if room.is_fake(leaf) else leaf

    for target, args, kwargs, out in scope.calls:
        value = target(*torch.utils._pytree.tree_map(lookup, args), **torch.utils._pytree.tree_map(lookup, kwargs))
        for a, b in zip(torch.utils._pytree.tree_leaves(out), torch.utils._pytree.tree_leaves(value), strict=True):
            reals[id(a)] = b
    torch.testing.assert_close(reals[id(result)], program(real))
    assert keep


@pytest.mark.parametrize(
    ("program", "impure"),
    [
        (lambda t: t + 1, False),
        (lambda t: t.add_(1), True),
        (lambda t: torch.rand(2), True),
        (lambda t: torch.nn.functional.dropout(t, 0.5, True), True),
        (lambda t: torch.nn.functional.dropout(t, 0.5, False), False),
        (lambda t: torch.add(t, 1, out=t), True),
        (lambda t: torch.block_diag(t, t), False),
        (lambda t: torch.nn.functional.batch_norm(t, t[0], t[0], training=True), True),
        (lambda t: torch.nn.functional.batch_norm(t, t[0], t[0], training=False), False),
    ],
)
def test_impure_operators_are_told(program: Any, impure: bool, x: torch.Tensor) -> None:
    with room.FakeScope() as scope:
        program(x)
    assert bool(scope.impure) == impure


def test_scope_restores_state() -> None:
    def snapshot() -> Any:
        return (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
            torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.get_float32_matmul_precision(),
            torch.get_default_device(),
            torch.zeros(1).device,
            torch._C._len_torch_function_stack(),
        )

    before = snapshot()
    state = room.TorchState()
    with pytest.raises(KeyError), room.FakeScope():
        torch.set_grad_enabled(False)
        torch.autocast("cpu", torch.float16).__enter__()
        torch.set_autocast_cache_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_float32_matmul_precision("high")
        torch.device("meta").__enter__()
        torch.inference_mode().__enter__()
        raise KeyError
    assert snapshot() == before
    assert state.matches(), state.difference()
    assert torch.autocast_increment_nesting() == 1
    torch.autocast_decrement_nesting()


def test_autocast_cache_keeps_no_fake() -> None:
    weight = room.make_fake(torch.nn.Parameter(torch.randn(3, 6)))
    t = room.make_fake(torch.randn(4, 6))
    with room.FakeScope(), torch.autocast("cpu", torch.bfloat16):
        out = torch.nn.functional.linear(t, weight)
        assert out.dtype == torch.bfloat16
        out = None
    alive = weakref.ref(weight)
    del weight
    gc.collect()
    assert alive() is None


def test_fakes_die_with_their_last_reference() -> None:
    parameter = torch.nn.Parameter(torch.randn(3, 6))
    weight = room.make_fake(parameter)
    t = room.make_fake(torch.randn(4, 6))
    with room.FakeScope():
        out = torch.nn.functional.linear(t, weight).relu()
    refs = [weakref.ref(weight), weakref.ref(out)]
    del weight, out
    assert [r() for r in refs] == [None, None]


def test_nested_scopes(x: torch.Tensor) -> None:
    with room.FakeScope(report=True) as outer:
        results = [torch.sin(x)]
        with room.FakeScope(report=True) as inner:
            results.append(torch.cos(x))
        results.append(torch.tan(x))
    assert [str(c[0]) for c in inner.calls] == ["aten.cos.default"]
    assert [str(c[0]) for c in outer.calls] == ["aten.sin.default", "aten.tan.default"]
    assert not room.is_fake(torch.zeros(1))


# --- autograd, modes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [False, True])
def test_gradients_are_fakes(scope: bool) -> None:
    def program(weight: torch.Tensor, t: torch.Tensor) -> Any:
        loss = torch.nn.functional.cross_entropy(torch.nn.functional.linear(t, weight).tanh(), torch.zeros(4, dtype=torch.int64))
        return torch.autograd.grad(loss, (weight, t), create_graph=True)

    weight, t = torch.randn(3, 6, requires_grad=True), torch.randn(4, 6, requires_grad=True)
    expected = program(weight, t)
    with room.FakeScope():
        got = program(room.make_fake(weight), room.make_fake(t))
    opinfo_oracle.compare(expected, got, (), (), room)


def test_backward_accumulates_into_fakes() -> None:
    weight = room.make_fake(torch.nn.Parameter(torch.randn(3)))
    with room.FakeScope():
        (weight * 2).sum().backward()
        assert room.is_fake(weight.grad) and weight.grad.shape == (3,)
        (weight * 2).sum().backward()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)])
def test_modes(mode: Any) -> None:
    conv = torch.nn.Conv2d(3, 4, 3)
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def program(image: torch.Tensor, words: torch.Tensor, *weights: torch.Tensor) -> Any:
        with mode():
            a = torch.nn.functional.conv2d(image, *weights[:2]).relu().flatten(1)
            b = torch.nn.functional.multi_head_attention_forward(
                words, words, words, 8, 2, weights[2], weights[3], None, None, False, 0.0, weights[4], weights[5]
            )
            return a, a.view(-1), b, torch.nn.functional.linear(words, weights[4], weights[5])

    reals = [torch.randn(2, 3, 8, 8), torch.randn(5, 2, 8), conv.weight, conv.bias, attention.in_proj_weight,
             attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias]  # fmt: skip
    expected = program(*reals)
    with room.FakeScope(accept_reals=False):
        got = program(*[room.make_fake(r) for r in reals])
    opinfo_oracle.compare(expected, got, (), (), room)


def test_modules_end_to_end() -> None:
    """Whole modules with fakes for parameters and buffers."""
    modules = [
        (torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (torch.randn(2, 5, 8),)),
        (torch.nn.LSTM(6, 7, 2, bidirectional=True), (torch.randn(3, 2, 6),)),
        (torch.nn.GRU(6, 7), (torch.randn(3, 2, 6),)),
        (torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.MaxPool2d(2)), (torch.randn(2, 3, 9, 9),)),
        (torch.nn.EmbeddingBag(10, 4), (torch.randint(0, 10, (3, 4)),)),
        (torch.nn.ConvTranspose2d(3, 4, 3), (torch.randn(2, 3, 5, 5),)),
    ]  # fmt: skip
    for module, inputs in modules:
        for training in (True, False):
            module.train(training)
            expected = module(*inputs)
            tensors = dict(itertools.chain(module.named_parameters(), module.named_buffers()))
            fakes = {n: room.make_fake(t) for n, t in tensors.items()}
            with room.FakeScope(accept_reals=False):
                got = torch.func.functional_call(module, fakes, tuple(room.make_fake(i) for i in inputs))
            opinfo_oracle.compare(expected, got, (), (), room)


# --- custom operators ------------------------------------------------------------------------------------------------


def test_custom_operator_with_a_fake(x: torch.Tensor) -> None:
    @torch.library.custom_op("mdtest::scale", mutates_args=())
    def scale(t: torch.Tensor, factor: float) -> torch.Tensor:
        return t * factor

    @scale.register_fake
    def _(t: torch.Tensor, factor: float) -> torch.Tensor:
        return torch.empty_like(t)

    assert scale(x, 2.0).shape == (4, 6)
    with room.FakeScope(report=True) as scope:
        scaled = torch.ops.mdtest.scale(x, 2.0)
    assert room.is_fake(scaled)
    assert [str(c[0]) for c in scope.calls] == ["mdtest.scale.default"]


def test_custom_operator_without_a_fake(x: torch.Tensor) -> None:
    @torch.library.custom_op("mdtest::nofake", mutates_args=())
    def nofake(t: torch.Tensor) -> torch.Tensor:
        return t.clone()

    with pytest.raises(NotImplementedError, match="mdtest::nofake"):
        nofake(x)


def test_custom_operator_with_a_data_dependent_shape(x: torch.Tensor) -> None:
    @torch.library.custom_op("mdtest::dynamic", mutates_args=())
    def dynamic(t: torch.Tensor) -> torch.Tensor:
        return t[t > 0]

    @dynamic.register_fake
    def _(t: torch.Tensor) -> torch.Tensor:
        return t.new_empty(torch.library.get_ctx().new_dynamic_size())

    with pytest.raises(NotImplementedError, match="mdtest::dynamic"):
        dynamic(x)


def test_custom_operator_that_mutates(x: torch.Tensor) -> None:
    @torch.library.custom_op("mdtest::fill", mutates_args=("t",))
    def fill(t: torch.Tensor) -> None:
        t.fill_(1)

    @fill.register_fake
    def _(t: torch.Tensor) -> None:
        return None

    version = x._version
    with room.FakeScope() as scope:
        fill(x)
    assert scope.impure and x._version == version + 1


def test_custom_operator_defined_again(x: torch.Tensor) -> None:
    for shape in ((1,), (2,)):
        with torch.library._scoped_library("mdagain", "FRAGMENT") as library:
            library.define("f(Tensor t) -> Tensor")
            library.impl("f", lambda t, shape=shape: t.new_empty(shape), "Meta")
            assert torch.ops.mdagain.f.default(x).shape == shape


# --- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda: torch.randn(3, 2), "size"),
        (lambda: torch.randn(3, 2).t(), "stride"),
        (lambda: torch.randn(2, 3).double(), "dtype"),
        (lambda: torch.randn(2, 3, requires_grad=True), "requires_grad"),
        (lambda: torch.nn.Parameter(torch.randn(2, 3)), "Parameter"),
        (lambda: torch.randn(2, 3, device="meta"), "device"),
        (lambda: 3, "int"),
        (lambda: torch._neg_view(torch.randn(2, 3)), "keys"),
    ],
)
def test_tensor_record_sees_each_difference(other: Any, what: str) -> None:
    real = torch.randn(2, 3)
    record = room.TensorRecord(real)
    assert record.matches(real) and record.difference(real) == ""
    assert record.matches(torch.zeros(5, 2, 3)[2])
    assert not record.matches(other())
    assert what in record.difference(other())


def test_tensor_record_sees_leaves() -> None:
    leaf = torch.randn(2, requires_grad=True)
    assert "is_leaf" in room.TensorRecord(leaf).difference(leaf * 1)


def test_tensor_record_text_is_python() -> None:
    for tensor in (torch.randn(2, 3), torch.nn.Parameter(torch.randn(1)), torch.zeros((), dtype=torch.int8)):
        text = room.TensorRecord(tensor).to_text("L['x']")
        assert eval(text, {"torch": torch, "L": {"x": tensor}})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (torch.no_grad, "grad mode"),
        (torch.inference_mode, "mode is"),
        (lambda: torch.autocast("cpu"), "autocast"),
        (lambda: torch.device("meta"), "torch function modes"),
        (lambda: torch.set_grad_enabled(False), "grad mode"),
    ],
)
def test_torch_state_sees_each_difference(change: Any, what: str) -> None:
    state = room.TorchState()
    assert state.matches() and state.difference() == ""
    with change():
        assert not state.matches()
        assert what in state.difference()
        inside = room.TorchState()
        assert inside.matches()
    assert state.matches(), state.difference()
    with change():
        assert inside.matches(), inside.difference()
    assert eval(state.to_text(), {"torch": torch})


@pytest.mark.parametrize("backend", [torch.backends.cuda, torch.backends.cudnn, torch.backends.mkldnn], ids=lambda it: it.__name__)
@pytest.mark.parametrize("kind", ["", "matmul", "conv", "rnn"])
def test_torch_state_sees_precisions(backend: types.ModuleType, kind: str) -> None:
    settings = getattr(backend, kind, None) if kind else backend
    if not hasattr(settings, "fp32_precision"):
        pytest.skip("torch has no such setting")
    state = room.TorchState()
    before = settings.fp32_precision
    settings.fp32_precision = "ieee" if before == "tf32" or (backend is torch.backends.mkldnn and before == "bf16") else "tf32"
    changed = settings.fp32_precision != before
    try:
        assert state.matches() is not changed
        assert bool(state.difference()) is changed
    finally:
        settings.fp32_precision = before
    assert state.matches()


def test_torch_state_sees_global_settings() -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    state = room.TorchState()
    torch.set_float32_matmul_precision("high")
    try:
        assert "precision" in state.difference()
    finally:
        torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(True)
    try:
        assert "deterministic" in state.difference()
    finally:
        torch.use_deterministic_algorithms(False)
    try:
        assert state.matches()
    finally:
        torch.set_float32_matmul_precision(before)


# --- OpInfo ----------------------------------------------------------------------------------------------------------


def test_operators_agree_with_eager() -> None:
    """The first samples of every operator; the full run has a command of its own (opinfo_oracle.py)."""
    pytest.importorskip("expecttest")
    names = [opinfo_oracle.name_of(op) for op in opinfo_oracle.all_operators()]
    report = opinfo_oracle.summary(opinfo_oracle.run(names, limit=4, workers=2, chunk=80))
    assert "crash" not in report["samples"], report
    assert report["share"] >= 0.98, report


def test_common_models_are_captured_without_sympy() -> None:
    """Which torch's Python kernels import, a fifth of a second."""
    program = """
import sys, torch, minidynamo

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, stride=2, padding=1, groups=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.ConvTranspose2d(4, 3, 2), torch.nn.Flatten(2))
        self.words = torch.nn.Embedding(10, 9)
        self.norm, self.out = torch.nn.LayerNorm(9), torch.nn.Linear(9, 2)

    def forward(self, x, i):
        return self.out(torch.nn.functional.gelu(self.norm(self.convolution(x)[:, :, :9] + self.words(i)))).softmax(-1)

model = Model()
optimized = minidynamo.compile(model, backend="eager", fullgraph=True)
x, i = torch.randn(2, 3, 8, 8), torch.tensor([[1, 2, 3], [4, 5, 6]])
for training in (True, False):
    model.train(training)
    assert optimized(x, i).shape == (2, 3, 2)

@minidynamo.compile(backend="eager", fullgraph=True)
def step(x, i):
    loss = model(x, i).square().sum()
    loss.backward()
    return loss

step(x, i)
assert minidynamo.stats()["captured"] == 3 and "sympy" not in sys.modules, sorted(sys.modules)[-5:]
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
