"""The page of each reason for which a capture stops: what it means, what to do, and an example before and after.

`python -m minidynamo breaks` prints them, and docs/graph_breaks.md is made of them. The examples are the files of
`_break_examples/`, which are read and never imported here: tests/python/breaks/test_break_examples.py runs them.
"""

import ast
import dataclasses
import difflib
import pathlib
import textwrap

from minidynamo._records.breaks import BreakReason, break_reasons

EXAMPLES = pathlib.Path(__file__).parents[1] / "_break_examples"

# The names that a file may define beside `inputs`, which pages leave out. All but the two functions is optional:
# * call_before, call_after: how a program calls the captured function, which is their first parameter;
# * settings_before, settings_after: of minidynamo.config;
# * backend_before, backend_after: other than "eager";
# * before_raises: the type of the exception that the function raises, with and without a capture;
# * not_compared: why the two results differ.
PARTS_OF_BEFORE = frozenset({"before", "call_before", "settings_before", "backend_before", "before_raises"})
PARTS_OF_AFTER = frozenset({"after", "call_after", "settings_after", "backend_after", "not_compared"})


@dataclasses.dataclass(frozen=True)
class Example:
    """The source of an example.

    Attributes:
        note: a sentence about it, or "".
        before: imports, what both functions use, and the function that is not captured as a whole.
        after: the function that is, which returns the same result.
    """

    note: str
    before: str
    after: str

    @property
    def comments(self) -> list[str]:
        """Comments on names in it, for the reader."""
        text = self.before + self.after
        return [comment for name, comment in _COMMENTS.items() if name in text]


_COMMENTS = {
    "def call_": "call_before and call_after show how the program calls the captured function",
    "settings_": "settings_before and settings_after are settings of minidynamo.config",
    "backend_": "backend_before and backend_after are the backends",
    "before_raises": "before_raises: the exception comes without minidynamo too",
    "not_compared": "not_compared: why the results are not the same",
}


def example_of(code: str) -> Example | None:
    """The example of a reason; None for one without."""
    path = EXAMPLES / f"{code.replace('-', '_')}.py"
    return example_from(path.read_text(encoding="utf-8")) if path.exists() else None


def example_from(text: str) -> Example:
    """Takes the source of an example apart."""
    module = ast.parse(text)
    note = ast.get_docstring(module) or ""
    statements = module.body[1:] if note else module.body
    first = _first_line(statements[0])
    end_of_before = max(node.end_lineno or 0 for node in statements if _names(node) & PARTS_OF_BEFORE)
    end = min(_first_line(node) for node in statements if "inputs" in _names(node)) - 1
    lines = text.splitlines()
    before, after = lines[first - 1 : end_of_before], lines[end_of_before:end]
    return Example(" ".join(note.split()), "\n".join(before).strip(), "\n".join(after).strip())


def _names(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def nearest(name: str) -> list[str]:
    """The codes of reasons that look most like a name, the nearest first."""
    codes = [reason.code for reason in break_reasons()]
    found = difflib.get_close_matches(name, codes, n=3, cutoff=0.5)
    return found + [code for code in codes if name and name in code and code not in found][:3]


def listing() -> str:
    """One line for each reason."""
    width = max(len(reason.code) for reason in break_reasons()) + 2
    return "\n".join(f"{reason.code:<{width}}{_first_sentence(reason)}" for reason in break_reasons())


def _first_sentence(reason: BreakReason) -> str:
    sentence, point, rest = reason.explanation.partition(". ")
    return textwrap.shorten(sentence.removesuffix(".") + ("." if point or not rest else ""), 110, placeholder="...")


def page(reason: BreakReason) -> str:
    """The page of a reason for a terminal."""
    parts = [reason.code, textwrap.fill(reason.explanation, 100)]
    parts.append("\n".join(textwrap.fill(hint, 100, initial_indent="  * ", subsequent_indent="    ") for hint in reason.hints))
    example = example_of(reason.code)
    if example:
        parts += [textwrap.fill(example.note, 100)] if example.note else []
        parts += ["Before, with this graph break:", textwrap.indent(example.before, "    ")]
        parts += ["After, captured as one graph:", textwrap.indent(example.after, "    ")]
        parts += ["\n".join(f"({comment})" for comment in example.comments)] if example.comments else []
    return "\n\n".join(parts)


def section(reason: BreakReason) -> str:
    """The section of docs/graph_breaks.md about a reason, in Markdown."""
    hints = "\n".join(textwrap.fill(hint, 118, initial_indent="* ", subsequent_indent="  ") for hint in reason.hints)
    parts = [f"### {reason.code}", textwrap.fill(reason.explanation, 120), hints]
    example = example_of(reason.code)
    if example:
        parts += [textwrap.fill(example.note, 120)] if example.note else []
        parts += [f"Before:\n\n```py\n{example.before}\n```", f"After:\n\n```py\n{example.after}\n```"]
    return "\n\n".join(parts) + "\n"
