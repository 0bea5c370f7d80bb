"""A captured graph as the text of a Python file that runs a backend on it.

The file needs torch, minidynamo and the backend. Whatever has no source text (a tensor subclass, a function that cannot be
imported) raises NotWritable: no file is better than a file that tests another graph.
"""

import platform
import re
from collections.abc import Sequence
from typing import Any

import torch

from minidynamo._repro.inputs import NotWritable, check_inputs, input_lines

_PLAIN_NAMES = {"torch": "torch", "device": "torch.device", "inf": 'float("inf")', "nan": 'float("nan")', "NoneType": "type(None)"}
_UNUSED_NAMES = {"fx_pytree", "pytree"}  # torch.fx offers them to every graph


def file_text(
    graph_module: torch.fx.GraphModule, inputs: Sequence[Any], backend: str, settings: str, failure: str, data_file: str | None = None
) -> str:
    """The text of the file.

    Args:
        graph_module, inputs: as a backend gets them.
        backend: the backend's name, or "module:name" of a function that can be imported.
        settings: the source of a dict with the backend's mode and options.
        failure: what went wrong; "" if nothing did.
        data_file: the name of the file beside it that holds the inputs' values; None makes inputs of the same kind.

    Raises NotWritable.
    """
    if torch._C._is_any_autocast_enabled():
        raise NotWritable("the graph is compiled under autocast")
    check_inputs(inputs)
    if any(True for _ in graph_module.parameters()) or any(True for _ in graph_module.buffers()):
        raise NotWritable("the graph holds parameters or buffers of its own")
    names: dict[str, str] = {}
    classes = _classes(graph_module, "Graph", names)
    made = [f"    {line}," for line in input_lines(inputs)]
    values = [f"inputs = load(__file__, {data_file!r})"] if data_file else ["inputs = [", *made, "]"]
    open_sizes = graph_module.meta.get("open_sizes", ())
    lines = [
        f'"""{_header(backend, failure)}\n"""',
        "",
        "import torch",
        "",
        "from minidynamo._repro.check import call_higher_order, load, main, tensor",
        "",
        *(f"{name} = {text}" for name, text in sorted(names.items()) if name != text),
        "",
        *classes,
        "",
        "torch.manual_seed(0)",
        *values,
        "",
        'if __name__ == "__main__":',
        f"    torch.set_grad_enabled({torch.is_grad_enabled()})",
        f"    main(Graph(), inputs, {backend!r}, settings={settings}, open_sizes={open_sizes!r}, operators={operators(graph_module)!r})",
        "",
    ]
    return "\n".join(lines)


def operators(graph_module: torch.fx.GraphModule) -> list[str]:
    """The graph's operators in order, by which a rebuilt graph is compared with the captured one."""
    return [f"{node.op} {_target(node)}" for node in graph_module.graph.nodes if node.op.startswith("call_")]


def _target(node: torch.fx.Node) -> str:
    return node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", node.target))


def _header(backend: str, failure: str) -> str:
    what = (failure or "Nothing failed.").replace("\\", "/").replace('"""', "'''").rstrip('"')
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, {platform.platform()}"
    return f"A captured graph for backend {backend}.\n\n{versions}\n\n{what}"


def _classes(graph_module: torch.fx.GraphModule, name: str, names: dict[str, str]) -> list[str]:
    """The class of a graph, after those of the graphs that its operators run."""
    before: list[str] = []
    made: list[str] = []
    for attribute, module in graph_module.named_children():
        if not isinstance(module, torch.fx.GraphModule):
            raise NotWritable(f"the graph holds a module of type {type(module).__qualname__}")
        inner = f"{name}_{attribute}"
        before += _classes(module, inner, names)
        made.append(f"        self.{attribute} = {inner}()")
    for node in graph_module.graph.nodes:
        if node.op == "get_attr" and not isinstance(getattr(graph_module, str(node.target), None), torch.fx.GraphModule):
            raise NotWritable(f"the graph holds the constant {node.target}")
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


def _importable(name: str, value: Any) -> str:
    """How a name that the graph's code uses is made in a new process."""
    if name in _PLAIN_NAMES:
        return _PLAIN_NAMES[name]
    module, own = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if isinstance(module, str) and own.isidentifier() and module.split(".")[0] in ("torch", "_operator", "math", "builtins"):
        return f'__import__("importlib").import_module({module!r}).{own}'
    raise NotWritable(f"the graph calls {name}, which cannot be imported by name")
