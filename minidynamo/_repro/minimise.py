"""A smaller graph that fails as a graph does: its shortest failing beginning, without the nodes that the failure does not need.

What a smaller graph gets in place of a removed node is a new placeholder, with the value that the node had in the whole graph. Whether a
smaller graph fails is asked of the backend each time, so the number of calls and the time are limited.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from minidynamo._repro.inputs import copied_inputs
from minidynamo._verify.comparison import Tolerance
from minidynamo._verify.graphs import Compiler, compare, copied, first_index, random_state, until
from minidynamo._verify.photo import Photo

MOST_CALLS = 200
MOST_SECONDS = 120.0
_MOST_BYTES = 2**30  # size of observed values

Fails = Callable[[torch.fx.GraphModule, list[Any]], bool]
Improved = Callable[[torch.fx.GraphModule, list[Any]], None]


class LimitMet(Exception):
    """The backend has been called as often, or for as long, as is allowed."""


def raises_alike(compiler: Compiler, error: BaseException) -> Fails:
    """True if the backend raises for a graph what it raised before: the class, and the message without numbers and generated names."""
    wanted = _signature(error)

    def fails(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> bool:
        before = Photo({"inputs": inputs} | random_state())
        try:
            compiler(copied(graph_module), list(inputs))
        except Exception as found:
            return _signature(found) == wanted
        finally:
            before.put_back()
        return False

    return fails


def differs(compiler: Compiler, tolerance: Tolerance) -> Fails:
    """True if the compiled graph does not do what the graph's operators do. A graph that raises does not count."""

    def fails(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> bool:
        before = Photo({"inputs": inputs} | random_state())
        try:
            _, difference = compare(graph_module, compiler(copied(graph_module), list(inputs)), tuple(inputs), tolerance)
        except Exception:  # from the backend, or an operator that the removed nodes kept from raising
            return False
        finally:
            before.put_back()
        return difference is not None

    return fails


def minimise(
    graph_module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    fails: Fails,
    improved: Improved,
    *,
    most_calls: int = MOST_CALLS,
    most_seconds: float = MOST_SECONDS,
) -> bool:
    """Makes a failing graph smaller for as long as it still fails.

    Args:
        graph_module, inputs: as a backend gets them; they stay as they are.
        fails: whether a graph fails with these inputs.
        improved: called with each smaller graph that fails, and its inputs.
        most_calls, most_seconds: after which no further graph is tried.

    Returns:
        Whether a limit was met, so that the last graph may be larger than needed.
    """
    search = _Search(graph_module, list(inputs), fails, improved, most_calls, most_seconds)
    try:
        search.run()
    except LimitMet:
        return True
    return False


class _Search:
    def __init__(
        self, graph_module: torch.fx.GraphModule, inputs: list[Any], fails: Fails, improved: Improved, calls: int, seconds: float
    ) -> None:
        self._graph_module = graph_module
        self._inputs = inputs
        self._fails = fails
        self._improved = improved
        self._calls = calls
        self._until = time.monotonic() + seconds
        self._values: dict[str, torch.Tensor] = {}

    def run(self) -> None:
        if not self._still_fails(self._graph_module, self._inputs):
            return  # it fails for other values or another state; a smaller graph would be another defect
        self._shorten()
        self._values = observed(self._graph_module, self._inputs)
        self._in_chunks(self._outputs, self._without_outputs)
        self._in_chunks(self._operators, self._without_operators)

    def _still_fails(self, graph_module: torch.fx.GraphModule, inputs: list[Any]) -> bool:
        if self._calls <= 0 or time.monotonic() > self._until:
            raise LimitMet
        self._calls -= 1
        return self._fails(graph_module, inputs)

    def _take_if_failing(self, graph_module: torch.fx.GraphModule, inputs: list[Any]) -> bool:
        if not self._still_fails(graph_module, inputs):
            return False
        self._graph_module, self._inputs = graph_module, inputs
        self._improved(graph_module, inputs)
        return True

    def _shorten(self) -> None:
        whole = self._graph_module
        calls = [index for index, node in enumerate(whole.graph.nodes) if node.op.startswith("call_")]
        low = first_index(len(calls), lambda index: self._still_fails(until(whole, calls[index]), self._inputs))
        if low < len(calls):
            self._take_if_failing(until(whole, calls[low]), self._inputs)

    def _in_chunks(self, names: Callable[[], list[str]], without: Callable[[set[str]], "tuple[torch.fx.GraphModule, list[Any]]"]) -> None:
        """Removes what `names` lists in chunks: all of it, then halves, and so on down to single ones. The last ones go first."""
        size = len(names())
        while size:
            waiting = names()[::-1]
            for start in range(0, len(waiting), size):
                chunk = set(waiting[start : start + size]) & set(names())
                if chunk:
                    self._take_if_failing(*without(chunk))
            size //= 2

    def _outputs(self) -> list[str]:
        (results,) = _output(self._graph_module).args
        return [str(index) for index in range(len(results))] if isinstance(results, (tuple, list)) and len(results) > 1 else []

    def _without_outputs(self, indices: set[str]) -> tuple[torch.fx.GraphModule, list[Any]]:
        smaller = _own_copy(self._graph_module)
        output = _output(smaller)
        results: Any = output.args[0]
        output.args = (tuple(result for index, result in enumerate(results) if str(index) not in indices),)
        return _tidied(smaller, self._inputs)

    def _operators(self) -> list[str]:
        return [node.name for node in self._graph_module.graph.nodes if node.op.startswith("call_")]

    def _without_operators(self, names: set[str]) -> tuple[torch.fx.GraphModule, list[Any]]:
        smaller = _own_copy(self._graph_module)
        inputs = list(self._inputs)
        place = next(node for node in smaller.graph.nodes if node.op != "placeholder")
        for node in reversed(list(smaller.graph.nodes)):
            if node.name not in names:
                continue
            if node.users and node.name in self._values:
                with smaller.graph.inserting_before(place):
                    made = smaller.graph.placeholder(f"seen_{node.name}")
                made.meta = dict(node.meta)
                node.replace_all_uses_with(made)
                inputs.append(self._values[node.name])
                if "open_sizes" in smaller.meta:
                    smaller.meta["open_sizes"] = (*smaller.meta["open_sizes"], ())
            if not node.users:
                smaller.graph.erase_node(node)
        return _tidied(smaller, inputs)


def observed(graph_module: torch.fx.GraphModule, inputs: Sequence[Any]) -> dict[str, torch.Tensor]:
    """The tensors that the graph's nodes return, by the nodes' names, as they are when the node has run. None of them has a history."""
    values: dict[str, torch.Tensor] = {}
    left = _MOST_BYTES

    class Observer(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            nonlocal left
            value = super().run_node(n)
            if n.op.startswith("call_") and type(value) is torch.Tensor and value.layout is torch.strided:
                left -= value.nbytes
                if left >= 0:
                    values[n.name] = value.detach().clone().requires_grad_(value.requires_grad)
            return value

    before = Photo({"inputs": inputs} | random_state())
    try:
        Observer(graph_module).run(*copied_inputs(inputs))
    except Exception:  # from a graph that cannot run: the backend is what fails
        return values
    finally:
        before.put_back()
    return values


def _tidied(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> tuple[torch.fx.GraphModule, list[Any]]:
    """The graph without nodes whose results nothing uses, and without inputs that it does not use."""
    for node in reversed(list(graph_module.graph.nodes)):
        if node.op not in ("placeholder", "output") and not node.users and not _writes(node):
            graph_module.graph.erase_node(node)
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    used = [bool(node.users) for node in placeholders]
    for node, is_used in zip(placeholders, used, strict=True):
        if not is_used:
            graph_module.graph.erase_node(node)
    open_sizes = graph_module.meta.get("open_sizes", ())
    if open_sizes:
        graph_module.meta["open_sizes"] = tuple(sizes for sizes, is_used in zip(open_sizes, used, strict=True) if is_used)
    graph_module.delete_all_unused_submodules()
    graph_module.recompile()
    return graph_module, [value for value, is_used in zip(inputs, used, strict=True) if is_used]


def _writes(node: torch.fx.Node) -> bool:
    """True if an operator may be there for its effect on a tensor or on the process."""
    name = str(node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target))
    return node.is_impure() or "out" in node.kwargs or name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))


def _own_copy(graph_module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    made = copied(graph_module)
    made.meta = dict(graph_module.meta)
    return made


def _output(graph_module: torch.fx.GraphModule) -> torch.fx.Node:
    output: torch.fx.Node = next(node for node in reversed(graph_module.graph.nodes) if node.op == "output")
    return output


def _signature(error: BaseException) -> tuple[type, str]:
    inner = getattr(error, "inner_exception", error)
    text = re.sub(r"\b[A-Za-z_]\w*_\d+\b", "NAME", str(inner))
    return type(inner), re.sub(r"\d+", "N", text)
