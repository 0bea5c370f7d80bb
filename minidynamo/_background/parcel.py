"""A graph, its inputs' metadata and the surroundings in which it is to be compiled, as bytes, and all three in another process.

What is sent is what an artifact's key is made of (`_artifacts.key`). The process that unpacks it makes the key again: where it differs,
something was lost on the way, and nothing is compiled.
"""

import contextlib
import dataclasses
import importlib
import io
import operator
import pickle
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import torch

from minidynamo import config
from minidynamo._artifacts import folder
from minidynamo._artifacts.key import COMPILERS_SETTINGS, changed_settings, key
from minidynamo.backends._pieces import with_history


class CannotBeSent(Exception):
    """A graph that means something in its own process only; says why."""


# The entries of a graph's meta about sizes that may differ from call to call.
_DYNAMIC = ("open_sizes", "layouts")

# Attributes by which torch tells buffers, and inputs that stay at their addresses.
_MARKS = ("_is_buffer", "_dynamo_static_input_type")


class _Input(NamedTuple):
    """An input: what a tensor of its kind is made of, without its values."""

    storage: int
    storage_bytes: int
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    is_parameter: bool
    requires_grad: bool
    is_leaf: bool
    is_view: bool
    is_inference: bool
    marks: dict[str, Any]


class _Node(NamedTuple):
    """A node of a graph. Arguments name nodes by their numbers, as `_Reference`."""

    op: str
    target: Any
    args: Any
    kwargs: Any
    source: str | None


@dataclasses.dataclass(frozen=True)
class _Reference:
    number: int


class _Parcel(NamedTuple):
    name: str
    nodes: list[_Node]
    dynamic: dict[str, Any]
    inputs: list[_Input | int]
    options: dict[str, Any]
    surroundings: dict[str, Any]


# ---- in the program


def packed(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: dict[str, Any], name: str) -> bytes:
    """The graph with all that compiling it needs. `name` is its key.

    Raises CannotBeSent for a graph that holds what no other process can have.
    """
    stream = io.BytesIO()
    try:
        dynamic = {key: graph_module.meta[key] for key in _DYNAMIC if key in graph_module.meta}
        contents = _Parcel(name, _described(graph_module), dynamic, _inputs(example_inputs), options, _surroundings())
        _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(contents)
    except Exception as error:
        raise CannotBeSent(f"{type(error).__name__}: {error}") from None
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    """Sends what belongs to torch by its name."""

    def persistent_id(self, value: Any) -> tuple[str, str] | None:
        if isinstance(value, torch._ops.HigherOrderOperator):
            return "torch.ops", f"higher_order.{value}"
        if isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            return "torch.ops", str(value)
        if isinstance(value, types.FunctionType) and "<" in value.__qualname__:
            return value.__module__, value.__name__  # made by a function of torch's, under a name of the module
        return None


def _described(graph_module: torch.fx.GraphModule) -> list[_Node]:
    numbers: dict[torch.fx.Node, Any] = {node: _Reference(number) for number, node in enumerate(graph_module.graph.nodes)}
    described = []
    for node in graph_module.graph.nodes:
        target: Any = node.target
        if node.op == "get_attr":
            target = (target, _described(cast(torch.fx.GraphModule, graph_module.get_submodule(target))))
        args, kwargs = (torch.fx.node.map_arg(value, numbers.__getitem__) for value in (node.args, node.kwargs))
        source = node.meta.get("source") if node.op == "placeholder" else None
        described.append(_Node(node.op, target, args, kwargs, None if source is None else str(source)))
    return described


def _inputs(given: Sequence[Any]) -> list[_Input | int]:
    storages: dict[int, int] = {}
    return [
        x
        if isinstance(x, int)
        else _Input(
            storages.setdefault(x.untyped_storage()._cdata, len(storages)),
            x.untyped_storage().nbytes(),
            x.dtype,
            tuple(x.size()),
            x.stride(),
            x.storage_offset(),
            type(x) is torch.nn.Parameter,
            x.requires_grad,
            x.is_leaf,
            x._is_view(),
            x.is_inference(),
            {name: getattr(x, name) for name in _MARKS if hasattr(x, name)},
        )
        for x in given
    ]


def _surroundings() -> dict[str, Any]:
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()),
        "dtype": torch.get_default_dtype(),
        "deterministic": (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        "fill": cast(Any, torch.utils.deterministic).fill_uninitialized_memory,
        "precision": torch.get_float32_matmul_precision(),
        "threads": torch.get_num_threads(),
        "settings": {name: changed_settings(sys.modules[name]) for name in COMPILERS_SETTINGS if name in sys.modules},
        "folder": folder.path(),
        "limit": config.artifact_limit,
    }


# ---- in the process that compiles


class Unpacked(NamedTuple):
    """The arguments of `packed`, rebuilt in this process. The inputs' memory is not initialised."""

    graph_module: torch.fx.GraphModule
    example_inputs: list[torch.Tensor | int]
    options: dict[str, Any]


@contextlib.contextmanager
def unpacked(content: bytes) -> Iterator[Unpacked]:
    """For a `with` block that compiles the graph in the surroundings that it was packed in.

    Raises CannotBeSent if they, the graph or its inputs are not here what they were there.
    """
    contents: _Parcel = _Unpickler(io.BytesIO(content)).load()
    with _as_there(contents.surroundings):
        found = Unpacked(_graph(contents.nodes), _examples(contents.inputs), contents.options)
        found.graph_module.meta.update(contents.dynamic)
        if key(found.graph_module, found.example_inputs, found.options) != contents.name:
            raise CannotBeSent("it is another graph in another process")
        yield found


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, where: tuple[str, str]) -> Any:
        module, path = where
        return operator.attrgetter(path)(torch.ops if module == "torch.ops" else importlib.import_module(module))


def _graph(nodes: Sequence[_Node]) -> torch.fx.GraphModule:
    graph = torch.fx.Graph()
    root = torch.nn.Module()
    made: list[torch.fx.Node] = []

    def value(given: Any) -> Any:
        return torch.fx.node.map_aggregate(given, lambda item: made[item.number] if isinstance(item, _Reference) else item)

    for node in nodes:
        target = node.target
        if node.op == "get_attr":
            target, held = target
            setattr(root, target, _graph(held))
        made.append(graph.create_node(node.op, target, value(node.args), value(node.kwargs)))
        if node.source is not None:
            made[-1].meta["source"] = node.source
    return torch.fx.GraphModule(root, graph)


def _examples(inputs: Sequence[_Input | int]) -> list[torch.Tensor | int]:
    storages: dict[int, torch.UntypedStorage] = {}
    for given in inputs:
        if isinstance(given, _Input) and given.storage not in storages:
            with torch.inference_mode(given.is_inference):
                storages[given.storage] = torch.empty(given.storage_bytes, dtype=torch.uint8).untyped_storage()
    return [given if isinstance(given, int) else _tensor(given, storages[given.storage]) for given in inputs]


def _tensor(given: _Input, storage: torch.UntypedStorage) -> torch.Tensor:
    with torch.inference_mode(given.is_inference):
        tensor = torch.empty(0, dtype=given.dtype)
        if given.is_view:
            tensor = tensor.set_(storage).as_strided(given.size, given.stride, given.offset)
        else:
            tensor = tensor.set_(storage, given.offset, given.size, given.stride)
        if given.is_parameter:
            tensor = torch.nn.Parameter(tensor, requires_grad=given.requires_grad)
    if given.requires_grad:
        tensor = tensor.requires_grad_() if given.is_leaf else with_history(tensor)
    for name, value in given.marks.items():
        setattr(tensor, name, value)
    return tensor


@contextlib.contextmanager
def _as_there(surroundings: dict[str, Any]) -> Iterator[None]:
    torch.set_default_dtype(surroundings["dtype"])
    is_deterministic, warns_only = surroundings["deterministic"]
    torch.use_deterministic_algorithms(is_deterministic, warn_only=warns_only)
    cast(Any, torch.utils.deterministic).fill_uninitialized_memory = surroundings["fill"]
    torch.set_float32_matmul_precision(surroundings["precision"])
    torch.set_num_threads(surroundings["threads"])
    is_autocast, autocast_dtype, keeps_casts = surroundings["autocast"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(config.patch(artifacts=True, artifact_folder=surroundings["folder"], artifact_limit=surroundings["limit"]))
        for name, changes in surroundings["settings"].items():
            stack.enter_context(importlib.import_module(name).patch(changes))
        stack.enter_context(torch.inference_mode(surroundings["inference"]))
        stack.enter_context(torch.set_grad_enabled(surroundings["grad"]))
        if is_autocast:
            stack.enter_context(torch.autocast("cpu", dtype=autocast_dtype, cache_enabled=keeps_casts))
        yield
