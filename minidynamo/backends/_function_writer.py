"""A graph as one plain Python function, for the backend `python`."""

import builtins
import functools
import itertools
import keyword
import math
from collections.abc import Sequence
from typing import Any

import torch

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_PREFIX = {"neg": "-", "pos": "+", "invert": "~"}


class FunctionWriter:
    """Python source of a graph, and the global names that it needs."""

    def __init__(self, graph_module: torch.fx.GraphModule) -> None:
        self._module = graph_module
        self._nodes = list(graph_module.graph.nodes)
        self._names: dict[torch.fx.Node, str] = {node: node.name for node in self._nodes}
        self._taken = {node.name for node in self._nodes} | set(dir(builtins))
        self._globals: dict[str, Any] = {}
        self._global_names: dict[int, str] = {}
        self._last_use = self._find_last_uses()

    def write(self) -> tuple[str, dict[str, Any], str]:
        name = self._free_name(str(self._module.meta.get("name") or "graph"))
        parameters = [node.name for node in self._nodes if node.op == "placeholder"]
        lines = [f"def {name}({', '.join(parameters)}):"]
        place = None
        for node in self._nodes:
            trace = node.meta.get("stack_trace")
            if trace and trace != place:
                place = trace
                lines.append(f"    # {_innermost_line(trace)}")
            statement = self._statement(node)
            if statement:
                lines.append("    " + statement)
        return "\n".join(lines) + "\n", self._globals, name

    def _find_last_uses(self) -> dict[torch.fx.Node, list[torch.fx.Node]]:
        seen: set[torch.fx.Node] = set()
        last: dict[torch.fx.Node, list[torch.fx.Node]] = {}
        for user in reversed(self._nodes):
            for node in user.all_input_nodes:
                if node not in seen:
                    seen.add(node)
                    last.setdefault(user, []).append(node)
        return last

    def _statement(self, node: torch.fx.Node) -> str:
        if node.op == "placeholder":
            return ""
        if node.op == "output":
            return f"return {self._value(node.args[0])}"
        if node.op == "get_attr":
            self._names[node] = self._global(functools.reduce(getattr, str(node.target).split("."), self._module))
            return ""
        text = self._in_place(node)
        if text is None:
            expression = self._expression(node)
            text = f"{node.name} = {expression}" if node.users else expression
        dead = [used.name for used in self._last_use.get(node, ()) if used.op != "get_attr"]
        return f"{text}; del {', '.join(dead)}" if dead else text

    def _operator(self, node: torch.fx.Node) -> str | None:
        """The name of a function of the operator module that is called on a node; None for other calls."""
        if node.op != "call_function" or node.kwargs or not node.args or not isinstance(node.args[0], torch.fx.Node):
            return None
        return target_name(node) if getattr(node.target, "__module__", None) == "_operator" else None

    def _in_place(self, node: torch.fx.Node) -> str | None:
        name = self._operator(node)
        if name == "setitem" and len(node.args) == 3 and not node.users:
            target, index, value = node.args
            return f"{self._value(target)}[{self._subscript(index)}] = {self._value(value)}"
        return None

    def _expression(self, node: torch.fx.Node) -> str:
        name = self._operator(node)
        if name in _INFIX and len(node.args) == 2:
            return f"{self._value(node.args[0])} {_INFIX[name]} {self._value(node.args[1])}"
        if name in _PREFIX and len(node.args) == 1:
            return f"{_PREFIX[name]}{self._value(node.args[0])}"
        if name == "getitem" and len(node.args) == 2:
            return f"{self._value(node.args[0])}[{self._subscript(node.args[1])}]"
        if node.op == "call_method":
            first, *rest = node.args
            return f"{self._value(first)}.{node.target}({self._arguments(rest, node.kwargs)})"
        if node.target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{self._value(node.args[0])}.{node.args[1]}"
        if node.op == "call_module":
            called = self._global(self._module.get_submodule(str(node.target)))
        else:
            called = self._global(node.target)
        return f"{called}({self._arguments(node.args, node.kwargs)})"

    def _arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self._value, args), *(f"{key}={self._value(value)}" for key, value in kwargs.items())])

    def _subscript(self, index: Any) -> str:
        if type(index) is tuple and index:
            parts = [self._subscript_part(part) for part in index]
            return ", ".join(parts) + ("," if len(parts) == 1 else "")
        return self._subscript_part(index)

    def _subscript_part(self, part: Any) -> str:
        if not isinstance(part, slice):
            return self._value(part)
        start, stop, step = ("" if bound is None else self._value(bound) for bound in (part.start, part.stop, part.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    def _value(self, value: Any) -> str:
        if isinstance(value, torch.fx.Node):
            return self._names[value]
        if value is Ellipsis:
            return "..."
        if value is None or type(value) in (bool, int, str, bytes):
            return repr(value)
        if type(value) is float and math.isfinite(value):
            return repr(value)
        if isinstance(value, tuple):
            items = [self._value(item) for item in value]
            if hasattr(value, "_fields"):
                return f"{self._global(type(value))}({', '.join(items)})"
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self._value(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self._value(value.start)}, {self._value(value.stop)}, {self._value(value.step)})"
        return self._global(value)

    def _global(self, value: Any) -> str:
        """The global name that an object is bound to, given to it when it is first asked for."""
        if id(value) not in self._global_names:
            name = self._free_name(_dotted_name(value))
            self._globals[name] = value
            self._global_names[id(value)] = name
        return self._global_names[id(value)]

    def _free_name(self, wanted: str) -> str:
        base = "".join(c if c.isascii() and c.isalnum() else "_" for c in wanted).strip("_") or "value"
        base = f"_{base}" if base[0].isdigit() else base
        name = base
        for count in itertools.count(1):
            if name not in self._taken and name.isidentifier() and not keyword.iskeyword(name):
                break
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


def _dotted_name(value: Any) -> str:
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return str(value)
    module = getattr(value, "__module__", None) or ("torch" if getattr(torch, name, None) is value else None)
    return f"{module}.{name}" if module and module != "builtins" else name


def _innermost_line(stack_trace: str) -> str:
    """`file.py:3 in f: return x + 1` for a stack trace in the format of the traceback module."""
    place, _, code = stack_trace.rstrip().rpartition("  File ")[2].partition("\n")
    return " ".join(f"File {place}: {code.strip()}".split()) if code else f"File {place}"


def target_name(node: torch.fx.Node) -> str:
    return node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", ""))
