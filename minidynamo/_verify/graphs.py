"""Compiled graphs beside the same graphs run operator by operator: which call differs, and from which operator on."""

import copy
import dataclasses
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from minidynamo._capture import failed_graph
from minidynamo._verify.atoms import is_program_file
from minidynamo._verify.comparison import Difference, Tolerance, differences
from minidynamo._verify.photo import Photo

Compiler = Callable[[torch.fx.GraphModule, list[Any]], Callable[..., Any]]


@dataclasses.dataclass(frozen=True)
class GraphDifference:
    """A call of a compiled graph that does not do what the graph does.

    Attributes:
        graph: the graph.
        difference: the first thing that differs.
        node: the operator from which on it does; None if every shorter graph is right.
        place: file, line and function of the program's line that the operator comes from; None if it is not known.
    """

    graph: torch.fx.GraphModule
    difference: Difference
    node: torch.fx.Node | None
    place: tuple[str, int, str] | None

    def __str__(self) -> str:
        text = f"a compiled graph does not do what its operators do: {self.difference}"
        if self.node is not None:
            text += f"\n  first at {self.node.format_node() or self.node.name}"
        if self.place is not None:
            file, line, function = self.place
            text += f"\n  at {file}:{line} in {function}"
        return text


def checked(
    graph_module: torch.fx.GraphModule,
    example_inputs: list[Any],
    compile_graph: Compiler,
    tolerance: Tolerance,
    found: Callable[[GraphDifference], None],
) -> Callable[..., Any]:
    """A compiled graph that compares each of its calls with the graph's own, and says so where they differ.

    Args:
        graph_module, example_inputs: as a backend gets them.
        compile_graph: the backend.
        found: called with the first difference.

    Returns:
        A function of the graph's inputs, which does what the compiled graph does.
    """
    kept = copied(graph_module)  # a backend may change the one that it is given
    compiled = compile_graph(graph_module, example_inputs)
    has_differed = False

    def call(*inputs: Any) -> Any:
        nonlocal has_differed
        if has_differed:
            return compiled(*inputs)
        result, difference = compare(kept, compiled, inputs, tolerance)
        if difference is not None:
            has_differed = True
            node = _first_wrong(kept, example_inputs, compile_graph, inputs, tolerance)
            found(GraphDifference(kept, difference, node, place_of(node)))
        return result

    return call


def copied(graph_module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A graph module with a graph of its own, and the same parameters, buffers and submodules."""
    copy_of_module = copy.copy(graph_module)
    copy_of_module.graph = copy.deepcopy(graph_module.graph)
    copy_of_module.recompile()
    return copy_of_module


def random_state() -> dict[str, Any]:
    """The generators of random numbers that every program has, by name."""
    roots: dict[str, Any] = {"torch's random numbers": torch.default_generator, "Python's random numbers": random._inst}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        roots["NumPy's random numbers"] = numpy.random.mtrand._rand
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        for index, generator in enumerate(torch.cuda.default_generators):
            roots[f"random numbers of cuda:{index}"] = generator
    return roots


def gradients(result: Any, leaves: Sequence[torch.Tensor]) -> tuple[torch.Tensor | None, ...]:
    """The gradients of everything in a result that has a history, weighted by fixed random numbers; empty if nothing has.

    Args:
        result: tensors, and objects that hold tensors.
        leaves: the tensors to give gradients for.

    Raises RuntimeError for a history whose backward pass refuses to be asked for some gradients alone (reentrant checkpoints).
    """
    reached = (kept.value for kept in Photo({"result": result}).kept.values())
    outputs = [value for value in reached if isinstance(value, torch.Tensor) and value.requires_grad and value.grad_fn is not None]
    if not outputs or not leaves:
        return ()
    generator = torch.Generator().manual_seed(0)
    weights = [_weights(output, generator) for output in outputs]
    return torch.autograd.grad(outputs, leaves, weights, retain_graph=True, allow_unused=True)


def _weights(output: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    drawn = torch.randn(output.shape, generator=generator, dtype=torch.complex128 if output.is_complex() else torch.float64)
    return drawn.to(output.device, output.dtype)


def compare(
    graph_module: torch.fx.GraphModule, compiled: Callable[..., Any], inputs: tuple[Any, ...], tolerance: Tolerance
) -> tuple[Any, Difference | None]:
    """Runs the graph, then what was compiled of it, from one state; what the latter gave, and the first difference."""
    roots = {"inputs": inputs} | random_state()
    before = Photo(roots)
    leaves = [value for value in inputs if isinstance(value, torch.Tensor) and value.requires_grad]

    def run(function: Callable[..., Any]) -> tuple[Any, Photo]:
        result = function(*inputs)
        parts = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        given = gradients(parts, leaves) if torch.is_grad_enabled() else ()
        named = {f"output {index}": part for index, part in enumerate(parts)}
        named |= {f"gradient of input {index}": part for index, part in enumerate(given)}
        return result, Photo(named | roots)

    _, expected = run(lambda *values: failed_graph.run(graph_module, values))
    before.put_back()
    result, actual = run(compiled)
    return result, next(differences(expected, actual, before, tolerance), None)


def _first_wrong(
    graph_module: torch.fx.GraphModule,
    example_inputs: list[Any],
    compile_graph: Compiler,
    inputs: tuple[Any, ...],
    tolerance: Tolerance,
) -> torch.fx.Node | None:
    """The operator with which the shortest graph ends that is compiled wrongly; found by halving."""
    nodes = list(graph_module.graph.nodes)
    operators = [index for index, node in enumerate(nodes) if node.op not in ("placeholder", "output", "get_attr")]

    def is_wrong(index: int) -> bool:
        shorter = until(graph_module, index)
        before = Photo({"inputs": inputs} | random_state())
        try:
            _, difference = compare(shorter, compile_graph(copy.deepcopy(shorter), list(example_inputs)), inputs, tolerance)
        finally:
            before.put_back()
        return difference is not None

    low = first_index(len(operators), lambda index: is_wrong(operators[index]))
    return nodes[operators[low]] if low < len(operators) else None


def first_index(count: int, fails: Callable[[int], bool]) -> int:
    """The least of the indices below `count` for which `fails` is true, found by halving; `count` where it is true for none.

    Args:
        fails: false up to some index and true from there on. It is asked about log2(count) times.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle + 1
    return low


def until(graph_module: torch.fx.GraphModule, last: int) -> torch.fx.GraphModule:
    """The graph up to its node `last`. It returns that node's value, and the others of which the rest makes use."""
    shorter = copied(graph_module)
    nodes = list(shorter.graph.nodes)
    late = {id(node) for node in nodes[last + 1 :]}
    wanted = [node for node in nodes[: last + 1] if node is nodes[last] or any(id(user) in late for user in node.users)]
    wanted = [node for node in wanted if isinstance(node.meta.get("example_value"), torch.Tensor)]
    output = nodes[-1]
    output.args = (tuple(wanted),)
    for node in reversed(nodes[last + 1 : -1]):
        shorter.graph.erase_node(node)
    shorter.recompile()
    return shorter


def place_of(node: torch.fx.Node | None) -> tuple[str, int, str] | None:
    """The line of the program that an operator comes from; where libraries alone have part in it, the innermost."""
    stack = node.meta.get("stack_trace") if node is not None else None
    lines = failed_graph.entries(stack or "")
    own = [line for line in lines if is_program_file(line[0])]
    return (own or lines)[-1] if lines else None
