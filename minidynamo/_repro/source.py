"""A captured graph as the text of a Python file that runs a backend on it.

The file needs torch, minidynamo and the backend. Whatever has neither source text nor a place in a data file (a function that cannot be
imported, an object that cannot be pickled) raises NotWritable: no file is better than a file that tests another graph.
"""

import contextlib
import dataclasses
import importlib
import operator
import platform
import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

import minidynamo
from minidynamo._repro.check import ROUNDING, in_place, rounded
from minidynamo._repro.form import digest
from minidynamo._repro.inputs import NotWritable, constant_line, input_lines, picklable
from minidynamo._verify.graphs import place_of

_PLAIN_NAMES = {"torch": "torch", "device": "torch.device", "inf": 'float("inf")', "nan": 'float("nan")', "NoneType": "type(None)"}
_UNUSED_NAMES = {"fx_pytree", "pytree"}  # torch.fx offers them to every graph
_IN_PLACE = {"setitem", *(name for name in dir(operator) if name.startswith("i") and f"__{name}__" in dir(operator))}
_MOST_LINES = 20  # lines of the program, and guards, in a header


@dataclasses.dataclass(frozen=True)
class Header:
    """The first lines of a file, besides versions.

    Attributes:
        failure: what went wrong; "" if nothing did.
        operator: the operator that fails, as the graph's text has it; "" if it is not known.
        guards: those of the cached entry that the graph belongs to.
    """

    failure: str = ""
    operator: str = ""
    guards: tuple[str, ...] = ()


def file_text(
    graph_module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    backend: str,
    settings: str,
    header: Header,
    data_file: str,
    with_values: bool = False,
) -> tuple[str, dict[str, Any]]:
    """The text of the file, and what the data file beside it holds; empty if it needs none.

    Args:
        graph_module, inputs: as a backend gets them.
        backend: the backend's name, or "module:name" of a function that can be imported.
        settings: the source of a dict with the backend's mode and options.
        header: what the first lines say.
        data_file: the name of the data file.
        with_values: whether the inputs' values go there; else the file makes inputs of the same kind.

    Raises NotWritable.
    """
    if torch._C._is_any_autocast_enabled():
        raise NotWritable("the graph is compiled under autocast")
    names: dict[str, str] = {}
    data: dict[str, Any] = {}
    classes = _classes(graph_module, "Graph", names, data)
    if with_values:
        data["inputs"] = picklable(list(inputs), "the inputs: a list that")
        values = ['inputs = data["inputs"]']
    else:
        values = ["inputs = [", *(f"    {line}," for line in input_lines(inputs, data)), "]"]
    open_sizes = graph_module.meta.get("open_sizes", ())
    lines = [
        f'"""{_header_text(graph_module, backend, header)}\n"""',
        "",
        "import torch",
        "",
        "from minidynamo._repro.check import call_higher_order, constant, load, main, tensor",
        "",
        *(f"{name} = {text}" for name, text in sorted(names.items()) if name != text),
        *([f"data = load(__file__, {data_file!r})"] if data else []),
        "",
        *classes,
        "",
        "torch.manual_seed(0)",
        *values,
        "",
        'if __name__ == "__main__":',
        f"    torch.set_grad_enabled({torch.is_grad_enabled()})",
        f"    main(Graph(), inputs, {backend!r}, settings={settings}, open_sizes={open_sizes!r}, graph={digest(graph_module)!r})",
        "",
    ]
    return "\n".join(lines), data


def _header_text(graph_module: torch.fx.GraphModule, backend: str, header: Header) -> str:
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, minidynamo {minidynamo.__version__}, {platform.platform()}"
    parts = [f"A captured graph for backend {backend}.", versions, header.failure or "Nothing failed."]
    if header.operator:
        parts.append(f"The operator that fails: {header.operator}")
    places = dict.fromkeys(place for node in graph_module.graph.nodes if (place := place_of(node)) is not None)
    if places:
        parts.append(_listed("Lines of the program:", [f"{file}:{line} in {function}" for file, line, function in places]))
    if header.guards:
        parts.append(_listed("Guards of the cached entry:", list(header.guards)))
    return "\n\n".join(parts).replace("\\", "/").replace('"""', "'''").rstrip('"')


def _listed(head: str, lines: list[str]) -> str:
    more = [f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    return "\n  ".join([head, *lines[:_MOST_LINES], *more])


def _classes(graph_module: torch.fx.GraphModule, name: str, names: dict[str, str], data: dict[str, Any]) -> list[str]:
    """The class of a graph, after those of the graphs that its operators run."""
    before: list[str] = []
    made: list[str] = []
    for attribute, module in graph_module.named_children():
        if not isinstance(module, torch.fx.GraphModule):
            raise NotWritable(f"the graph holds a module of type {type(module).__qualname__}")
        inner = f"{name}_{attribute}"
        before += _classes(module, inner, names, data)
        made.append(f"        self.{attribute} = {inner}()")
    constants = dict.fromkeys(str(node.target) for node in graph_module.graph.nodes if node.op == "get_attr")
    for constant in constants:
        value = getattr(graph_module, constant, None)
        if isinstance(value, torch.fx.GraphModule):
            continue
        if not isinstance(value, torch.Tensor) or not constant.isidentifier():
            raise NotWritable(f"the graph holds the constant {constant}, a {type(value).__qualname__}")
        text = constant_line(constant if name == "Graph" else f"{name}.{constant}", value, data)
        is_parameter = isinstance(value, torch.nn.Parameter)
        made.append(f"        self.register_{'parameter' if is_parameter else 'buffer'}({constant!r}, {text})")
    with _written_as_calls(graph_module.graph):
        code = graph_module.graph.python_code("self")
    for known, value in code.globals.items():
        if known not in _UNUSED_NAMES:
            names[known] = _importable(known, value)
    head = [f"class {name}(torch.nn.Module):"]
    if made:
        head += ["    def __init__(self):", "        super().__init__()", *made, ""]
    source = re.sub(r"(torch\.ops\.higher_order\.\w+)\(", r"call_higher_order(\1, ", code.src)
    body = [f"    {line}" if line else "" for line in source.strip().split("\n")]
    return [*before, *head, *body, "", ""]


@contextlib.contextmanager
def _written_as_calls(graph: torch.fx.Graph) -> Iterator[None]:
    """Within, what tracing makes something else of is a call of a function here: `x[0] = y` and `x += y`, which torch.fx writes as
    statements, and `round(x)`, which takes no proxy."""
    changed = []
    for node in graph.nodes:
        name = getattr(node.target, "__name__", "")
        if node.op != "call_function":
            continue
        if getattr(operator, name, None) is node.target and name in _IN_PLACE:
            changed.append((node, node.target, node.args))
            node.target, node.args = in_place, (name, *node.args)
        elif ROUNDING.get(name) is node.target:
            changed.append((node, node.target, node.args))
            node.target, node.args = rounded, (name, *node.args)
    try:
        yield
    finally:
        for node, target, args in changed:
            node.target, node.args = target, args


def _importable(name: str, value: Any) -> str:
    """How a name that the graph's code uses is made in a new process."""
    if name in _PLAIN_NAMES:
        return _PLAIN_NAMES[name]
    module, own = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if isinstance(module, str) and own and module != "__main__" and "<" not in own:
        try:
            found: Any = importlib.import_module(module)
            for part in own.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            found = None
        if found is value:
            return f'__import__("importlib").import_module({module!r}).{own}'
    raise NotWritable(f"the graph calls {name}, which cannot be imported by name")
