"""The key of a compiled graph: all that it depends on, as one short text. Equal keys, equal code.

The graph counts by its structure: operations, constants, and which value goes where. Names of nodes, places in the program and names of
modules do not count, so that another process, and another model with the same layers, finds the entry. What lies between follows from
the inputs' metadata, which counts; dynamic sizes, and strides beside them, do not: the entry has conditions on them. Beside the graph
count the versions, the processor, torch's modes and the compiler's settings.
"""

import enum
import functools
import hashlib
import math
import operator
import os
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch

from minidynamo._artifacts.generated_module import NotKept
from minidynamo._capture.tracing_context import is_static

FORM = 2
"""The number of the form of entries and keys. It grows with each change of what is written to, or read from, the disk."""

# Namespaces of operators that are torch's own: what such an operator does is known by torch's version.
_NAMESPACES = frozenset({"_quantized", "aten", "inductor", "mkl", "mkldnn", "prim", "prims", "quantized"})
_MODULES = frozenset({"torch", "_operator", "math", "builtins"})
_PLAIN = frozenset({bool, int, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout, torch.memory_format})
COMPILERS_SETTINGS = ("torch._inductor.config", "torch._functorch.config", "torch._dynamo.config", "torch.fx.experimental._config")
_FOLDERS = ("_DIR", "_DIRS", "_PATH")


def key(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: dict[str, Any]) -> str:
    """The key of a graph for inputs like the examples, compiled by Inductor with these options: 64 hexadecimal digits.

    Raises NotKept for a graph that means something only in this process (a function of the program's, a tensor that the graph holds).
    """
    lines = [f"form {FORM}", *_surroundings(options), *_inputs(graph_module, example_inputs), *_nodes(graph_module)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _nodes(graph_module: torch.fx.GraphModule) -> Iterator[str]:
    numbers: dict[torch.fx.Node, str] = {}

    def text(value: Any) -> str:
        kind = type(value)
        if kind is torch.fx.Node:
            return numbers[value]
        if kind in _PLAIN:
            return repr(value)
        if kind is float:
            return value.hex() if math.isfinite(value) else repr(value)
        if kind is complex:
            return f"complex({text(value.real)},{text(value.imag)})"
        if kind is tuple or kind is torch.Size:
            return f"({','.join(map(text, value))})"
        if kind is list or kind is torch.fx.immutable_collections.immutable_list:
            return f"[{','.join(map(text, value))}]"
        if kind is dict or kind is torch.fx.immutable_collections.immutable_dict:
            return "{" + ",".join(f"{text(name)}:{text(item)}" for name, item in value.items()) + "}"
        if kind is slice:
            return f"slice({text(value.start)},{text(value.stop)},{text(value.step)})"
        if isinstance(value, enum.Enum):
            return _lasting_name(kind) + "." + value.name
        return _lasting_name(value)

    for number, node in enumerate(graph_module.graph.nodes):
        numbers[node] = f"%{number}"
        if node.op == "placeholder":
            yield "input"
        elif node.op == "get_attr":
            held = operator.attrgetter(str(node.target))(graph_module)
            if not isinstance(held, torch.fx.GraphModule):
                raise NotKept("the graph holds a tensor")
            yield "graph {"
            yield from _nodes(held)
            yield "}"
        elif node.op == "call_method":
            yield f".{node.target}{text(node.args)}{text(node.kwargs)}"
        elif node.op in ("call_function", "output"):
            called = "return " if node.op == "output" else _lasting_name(node.target)
            yield f"{called}{text(node.args)}{text(node.kwargs)}"
        else:
            raise NotKept(f"the graph has a node of kind {node.op}")


_names: dict[Any, str] = {}


def _lasting_name(value: Any) -> str:
    """The name of a function, a class or an operator that means the same in each process with this torch."""
    try:
        known = _names.get(value)
    except TypeError:
        raise NotKept(f"the graph holds an object of type {type(value).__qualname__}") from None
    if known is None:
        known = _found_name(value)
        if len(_names) < 10_000:
            _names[value] = known
    return known


def _found_name(value: Any) -> str:
    if isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)):
        namespace = "aten" if isinstance(value, torch._ops.HigherOrderOperator) else str(value).partition(".")[0].partition("::")[0]
        if namespace not in _NAMESPACES:
            raise NotKept(f"the graph calls {value}, which is no operator of torch's own")
        return f"{type(value).__name__} {value}"
    if type(value) is functools.partial and not value.args and not value.keywords:  # 0 += tensor is recorded so
        return f"partial {_lasting_name(value.func)}"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType)) or not name:
        raise NotKept(f"the graph holds an object of type {type(value).__qualname__}")
    module = getattr(value, "__module__", None)
    says_where = module is not None
    if not says_where:  # a function of C++: torch.add
        owner = getattr(value, "__self__", None) or getattr(value, "__objclass__", None)
        owner = owner if isinstance(owner, (type, types.ModuleType)) else type(owner)
        module = getattr(owner, "__module__", None) or owner.__name__
        name = f"{owner.__name__}:{name}"
    elif "<" in name:  # made by a function of torch's, under a name of the module: max_pool2d
        name = value.__name__
    if says_where and not _is_at(value, str(module), name):
        raise NotKept(f"the graph calls {module}.{name}, which other processes may not have")
    if str(module).partition(".")[0] not in _MODULES:
        raise NotKept(f"the graph calls {module}.{name}, which is not torch's")
    return f"{module}.{name}"


def _is_at(value: Any, module: str, name: str) -> bool:
    try:
        return operator.attrgetter(name)(sys.modules[module]) is value
    except (AttributeError, KeyError):
        # A function of C++ may be elsewhere than it says.
        return isinstance(value, types.BuiltinFunctionType)


def _inputs(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Iterator[str]:
    open_sizes = graph_module.meta.get("open_sizes") or [()] * len(example_inputs)
    storages: dict[int, int] = {}
    seen: dict[int, int] = {}
    for number, (x, dynamic) in enumerate(zip(example_inputs, open_sizes, strict=True)):
        if dynamic is None and type(x) is int:
            yield "int"
            continue
        if type(x) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            raise NotKept(f"an input is of type {type(x).__qualname__}")
        if x.layout != torch.strided or x.device.type != "cpu":
            raise NotKept(f"an input is on {x.device}, with the layout {x.layout}")
        if seen.setdefault(id(x), number) != number:
            raise NotKept("one tensor is two inputs")
        place = storages.setdefault(x.untyped_storage()._cdata, number)  # inputs that share memory have one
        sizes = tuple("dynamic" if dimension in dynamic else size for dimension, size in enumerate(x.shape))
        yield (
            f"{x.dtype} {sizes} {'' if dynamic else x.stride()} {x.storage_offset()} {type(x).__name__} {x.requires_grad} {x.is_leaf} "
            f"{place} {x.is_conj()} {x.is_neg()} {x.is_inference()} {x._is_view()}"
        )
    for node, x in zip(graph_module.graph.find_nodes(op="placeholder"), example_inputs, strict=True):
        yield "static" if is_static(x, str(node.meta.get("source", node.target))) else "other"


def _surroundings(options: dict[str, Any]) -> Iterator[str]:
    import minidynamo

    yield f"torch {torch.__version__} {torch.version.git_version}, minidynamo {minidynamo.__version__}"
    yield f"{sys.implementation.cache_tag} {os.uname().sysname} {os.uname().machine}"
    yield f"{torch.backends.cpu.get_cpu_capability()} {sorted(torch.cpu.get_capabilities().items())} {torch.get_num_threads()}"
    yield (
        f"grad {torch.is_grad_enabled()} inference {torch.is_inference_mode_enabled()} autocast {torch.is_autocast_enabled('cpu')} "
        f"{torch.get_autocast_dtype('cpu')} {torch.is_autocast_cache_enabled()} {torch._C._is_any_autocast_enabled()}"
    )
    yield (
        f"default {torch.get_default_dtype()} deterministic {torch.are_deterministic_algorithms_enabled()} "
        f"{torch.is_deterministic_algorithms_warn_only_enabled()} {cast(Any, torch.utils.deterministic).fill_uninitialized_memory} "
        f"precision {torch.get_float32_matmul_precision()} mkldnn {torch.backends.mkldnn.enabled}"
    )
    # AOTAutograd chooses operators by these settings.
    attention, einsum = cast(Any, torch.backends.cuda), cast(Any, torch.backends.opt_einsum)
    yield (
        f"attention {attention.flash_sdp_enabled()} {attention.mem_efficient_sdp_enabled()} {attention.math_sdp_enabled()} "
        f"{attention.cudnn_sdp_enabled()} {torch._C._get_sdp_priority_order()} einsum {einsum.enabled} {einsum.strategy} "
        f"nnpack {torch._C._get_nnpack_enabled()} device {torch.get_default_device()} anomaly {torch.is_anomaly_enabled()} "
        f"{torch.is_anomaly_check_nan_enabled()}"
    )
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("TORCH", "AOT", "CXX", "CFLAGS", "CPPFLAGS")) and not name.endswith(_FOLDERS)
    }
    yield repr(sorted(variables.items()))
    yield repr(sorted((name, _plain(value)) for name, value in options.items()))
    for name in COMPILERS_SETTINGS:
        if name in sys.modules:
            yield f"{name}: { {setting: _plain(value) for setting, value in changed_settings(sys.modules[name]).items()} }"
        else:
            yield f"{name}: {{}}"


def changed_settings(settings: Any) -> dict[str, Any]:
    """The entries of one of torch's modules of settings that somebody has changed. What the environment says counts by itself, also in
    a process that has not imported the module."""
    skipped = {*getattr(settings, "_save_config_ignore", ())}
    found = {}
    for name, entry in sorted(settings._config.items()):
        if name in skipped or entry.alias is not None or entry.deprecated:
            continue
        value = getattr(settings, name)
        if not any(value is usual or value == usual for usual in (entry.default, entry.env_value_default, entry.env_value_force)):
            found[name] = value
    return found


def _plain(value: Any) -> Any:
    """The value, if its text says all of it."""
    if type(value) in _PLAIN or type(value) is float:
        return value
    if type(value) in (list, tuple, set, frozenset):
        items = [_plain(item) for item in value]
        return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
    if type(value) is dict:
        return sorted((repr(name), _plain(item)) for name, item in value.items())
    raise NotKept(f"a setting of the compiler is an object of type {type(value).__qualname__}")
