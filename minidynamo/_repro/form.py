"""A graph in a form that does not depend on names: by it a graph that a file builds is compared with the captured one."""

import hashlib
import inspect
import types
from typing import Any

import torch


def digest(graph_module: torch.fx.GraphModule) -> str:
    """A short digest of the graph's operators, their arguments, and the graphs that they run."""
    return hashlib.sha256(text(graph_module).encode()).hexdigest()[:16]


def text(graph_module: torch.fx.GraphModule) -> str:
    """One line for each node, numbered; results are named by these numbers, and the graphs that operators run stand in the line."""
    numbers: dict[torch.fx.Node, int] = {}
    lines = []
    for node in graph_module.graph.nodes:
        if node.op == "get_attr":
            continue
        numbers[node] = len(numbers)
        target = "" if node.op in ("placeholder", "output") else _target(node.target)
        arguments, keywords = ((), {}) if node.op == "placeholder" else _arguments(node)
        shown = f"{_shown(arguments, numbers, graph_module)} {_shown(keywords, numbers, graph_module)}"
        lines.append(f"%{numbers[node]} {node.op} {target} {shown}")
    return "\n".join(lines)


def _arguments(node: torch.fx.Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A node's arguments; those of a Python function by name and without the defaults, which torch's functions add to a recorded call."""
    args, kwargs = node.args, {key: node.kwargs[key] for key in sorted(node.kwargs)}
    if not isinstance(node.target, types.FunctionType):
        return args, kwargs
    try:
        signature = inspect.signature(node.target)
        bound = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return args, kwargs
    named = {}
    for name, value in bound.items():
        default = signature.parameters[name].default
        if type(value) is not type(default) or value != default:
            named[name] = value
    return (), named


def _target(target: Any) -> str:
    return target if isinstance(target, str) else str(getattr(target, "__name__", target))


def _shown(value: Any, numbers: dict[torch.fx.Node, int], graph_module: torch.fx.GraphModule) -> str:
    if isinstance(value, torch.fx.Node):
        return f"%{numbers[value]}" if value in numbers else _attribute(value, graph_module)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_shown(item, numbers, graph_module) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shown(item, numbers, graph_module)}" for key, item in value.items()) + "}"
    if isinstance(value, slice):
        return f"slice{_shown((value.start, value.stop, value.step), numbers, graph_module)}"
    if isinstance(value, (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return repr(value)
    return _target(value) if callable(value) else type(value).__qualname__


def _attribute(node: torch.fx.Node, graph_module: torch.fx.GraphModule) -> str:
    value = getattr(graph_module, str(node.target), None)
    if isinstance(value, torch.fx.GraphModule):
        return "graph(" + text(value).replace("\n", "; ") + ")"
    return f"self.{node.target}"
