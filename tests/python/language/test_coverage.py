"""docs/coverage.md says the truth: every case of coverage_cases.py runs the same captured as eagerly, and is captured as the page says.

A case is a few lines for one name: an opcode, a builtin function, a method of a type, a function of a module, or a feature
of the language. It becomes a program like those of tests/programs, called twice with fresh arguments, and is compared with
the eager run in all that differential.py sees. Whether it is captured is asked afterwards. Which names there have to be is
taken from CPython and the modules, so a name without a case fails.
"""

import ast
import builtins
import collections
import contextlib
import dataclasses
import dis
import functools
import importlib
import itertools
import pathlib
import re
import string
import sys
import tempfile
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import coverage_cases
import differential
import pytest

import minidynamo
from minidynamo import _C, debug

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "coverage.md"
IS_OF_THE_PAGE = sys.version_info[:2] == (3, 11)
"""Other versions lack some of its instructions, and have cases of their own."""

HEAD = """\
# What is captured

<!-- Made by scripts/make_docs.py from tests/python/language/coverage_cases.py: change that, not this page. -->

What a capture makes of each opcode, builtin function, method of a builtin type, function of the library modules that models
use most, and feature of the language. Every row is a short program, called twice with fresh arguments: strings, numbers,
lists, dicts, objects from outside and made inside, with tensor operations before and after. Its results, what it changes and
what it raises are the same as without minidynamo in every row, or the test fails. The programs are in
`tests/python/language/coverage_cases.py`.

* **captured**: one graph, without a break, and the second call is served from the cache.
* **captured anew**: one graph, but the second call did not fit its guards: they hold a value that the program itself changes
  from call to call, or an object by its identity.
* **breaks**: split into several graphs, with the [reason](graph_breaks.md) and what was met.
* **runs uncaptured**: not captured at all.
* **not applicable**: cannot be in a function, or is none.
"""

REASONS_IN_A_ROW = 2
STATES = ("captured", "captured anew", "breaks", "runs uncaptured", "not applicable")


@dataclasses.dataclass(frozen=True)
class Case:
    """One row of the page.

    Attributes:
        name: what the row is about; several cases may share it, with a remark in parentheses behind.
        code: Python statements; the last may be an expression, which is the result. Empty for a name that is not applicable.
        reason: why the name is not applicable.
    """

    name: str
    code: str
    reason: str = ""

    @property
    def subject(self) -> str:
        return self.name.partition(" (")[0]

    @functools.cached_property
    def program(self) -> str:
        """The case as a program for differential.py."""
        before, separator, body = self.code.rpartition("\n---\n")
        module = ast.parse(before)
        whole = not separator and any(isinstance(node, ast.FunctionDef) and node.name == "f" for node in ast.parse(body).body)
        module.body += ast.parse(body).body if whole else [_function(body)]
        (function,) = (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "f")
        if not any(isinstance(node, ast.FunctionDef) and node.name == "inputs" for node in module.body):
            values = [coverage_cases.INPUTS[parameter.arg] for parameter in function.args.args]
            module.body += ast.parse(f"def inputs():\n    return ({', '.join(values)},)").body
        names = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
        helpers = [ast.parse(text).body for name, text in coverage_cases.HELPERS.items() if name in names]
        module.body[:0] = itertools.chain.from_iterable(helpers)
        names |= {node.id for node in ast.walk(module) if isinstance(node, ast.Name)} | {"torch"}
        imports = [f"import {name}\n" for name in coverage_cases.MODULES if name.partition(".")[0] in names]
        return "".join(imports) + ast.unparse(module) + "\n"


def _function(body: str) -> ast.FunctionDef:
    """`f` around statements: its parameters are the inputs that they name, and there is tensor work before and after."""
    statements = ast.parse(body).body
    names = {node.id for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)}
    parameters = ["x", *(name for name in coverage_cases.INPUTS if name in names and name != "x")]
    (function,) = ast.parse(f"def f({', '.join(parameters)}):\n    doubled = x * 2\n    return None, doubled + 1").body
    assert isinstance(function, ast.FunctionDef)
    result = function.body[-1]
    assert isinstance(result, ast.Return) and isinstance(result.value, ast.Tuple)
    if isinstance(last := statements[-1], ast.Expr):
        result.value.elts[0] = last.value
        statements.pop()
    function.body[1:1] = statements
    return function


# Cases


def read(table: str, prefix: str = "") -> list[Case]:
    """The cases of a table: a name at the start of a line, behind two spaces its code; lines that are indented go on with it."""
    cases = []
    for block in re.split(r"\n(?=\S)", table.strip("\n")):
        first, _, rest = block.partition("\n")
        name, _, code = first.partition("  ")
        code = "\n".join(part for part in (code.strip(), textwrap.dedent(rest).strip("\n")) if part)
        cases.append(Case(prefix + name, code))
    return cases


def with_missing(cases: list[Case], names: Iterable[str]) -> list[Case]:
    """The cases in the order of the names; names without a case get the reason why they need none."""
    by_subject = collections.defaultdict(list)
    for case in cases:
        by_subject[case.subject].append(case)
    reasons = coverage_cases.NOT_APPLICABLE
    return [
        case for name in dict.fromkeys(names) for case in by_subject.pop(name, [Case(name, "", reasons[name])] if name in reasons else [])
    ] + list(itertools.chain.from_iterable(by_subject.values()))


def type_cases(name: str) -> list[Case]:
    """The cases for the methods of one type: of its own table, and of the templates for special methods."""
    values = coverage_cases.TYPES[name]
    cases = read(coverage_cases.METHODS.get(name, ""), f"{name}.") if name in coverage_cases.METHODS else []
    subjects = {case.subject for case in cases}
    templates = {case.name: case.code for case in read(coverage_cases.SPECIAL)}
    for method in vars(values.type):
        if f"{name}.{method}" not in subjects and method in templates and f"{name}.{method}" not in coverage_cases.NOT_APPLICABLE:
            code = string.Template(templates[method]).substitute(T=values.expression, v=values.first, w=values.second)
            cases.append(Case(f"{name}.{method}", code))
    return cases


def method_names(name: str) -> list[str]:
    kind = coverage_cases.TYPES[name].type
    private = re.compile(r"_(?!_)|_abc|__abstractmethods__|__annotat(?!e__)|__slotnames__$")
    return [f"{name}.{method}" for method in vars(kind) if isinstance(method, str) and not private.match(method)]


def public_names(name: str) -> list[str]:
    module = importlib.import_module(name)
    return [f"{name}.{public}" for public in getattr(module, "__all__", None) or dir(module) if not public.startswith("_")]


def is_exception(name: str) -> bool:
    value = getattr(builtins, name)
    return isinstance(value, type) and issubclass(value, BaseException)


def exception_cases() -> list[Case]:
    cases = read(coverage_cases.EXCEPTIONS)
    subjects = {case.subject for case in cases}
    template = string.Template(coverage_cases.EXCEPTION)
    names = filter(is_exception, dir(builtins))
    return cases + [Case(name, template.substitute(E=name)) for name in names if name not in subjects]


def opcodes() -> list[str]:
    """Those that a code object can have before anything has looked at it: no forms for tools, none of the compiler's own."""
    return [name for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")]


def opcode_cases() -> list[Case]:
    cases, names = read(coverage_cases.OPCODES), opcodes()
    return with_missing([case for case in cases if IS_OF_THE_PAGE or case.subject in names], names)


@functools.cache
def sections() -> dict[str, list[Case]]:
    """All cases, by the heading that they stand below."""
    found = {
        "Opcodes": opcode_cases(),
        "Builtin functions": with_missing(read(coverage_cases.BUILTINS), (name for name in dir(builtins) if not is_exception(name))),
        "Builtin exceptions": with_missing(exception_cases(), filter(is_exception, dir(builtins))),
    }
    for name in coverage_cases.TYPES:
        found[f"Methods of {name}"] = with_missing(type_cases(name), method_names(name))
    for name, table in coverage_cases.LIBRARY.items():
        found[f"Module {name}"] = with_missing(read(table, f"{name}."), public_names(name))
    for name, table in coverage_cases.FEATURES.items():
        found[f"Features: {name}"] = read(table)
    return found


# Outcomes


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a case: its state, why, how it differs from the eager run, and whether that raises."""

    state: str
    reasons: tuple[tuple[str, str], ...] = ()
    differences: tuple[str, ...] = ()
    raises: bool = False


@contextlib.contextmanager
def written(program: str) -> Iterator[pathlib.Path]:
    """The program as a file of a name that only it has; no bytecode is kept."""
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "case.py")
        path.write_text(program)
        try:
            yield path
        finally:
            sys.dont_write_bytecode = kept


@functools.cache
def outcome(case: Case) -> Outcome:
    if not case.code:
        return Outcome("not applicable", (("", case.reason),))
    entries: list[int] = []  # after each call
    graphs: list[int] = []

    def captured(target: Callable[..., Any]) -> Callable[..., Any]:
        optimized = minidynamo.optimize("eager")(target)

        def call(*arguments: Any) -> Any:
            try:
                return optimized(*arguments)
            finally:
                entries.append(minidynamo.stats()["entries"])
                graphs.append(minidynamo.stats()["graphs"])

        return call

    minidynamo.reset()
    with written(case.program) as path:
        expected = differential.observe(path, lambda target: target)
        actual = differential.observe(path, captured)
        splits, uncaptured = debug.graph_breaks(), debug.uncaptured()
        different = tuple(differential.differences(expected, actual, exact=True))
    minidynamo.reset()
    reasons = tuple(dict.fromkeys((record.reason, _plain(record.detail)) for record in [*uncaptured, *splits]))
    # A frame that ran uncaptured may be a callee's, behind a break: then there are graphs.
    if any(record.frame == "f" for record in uncaptured):
        state = "runs uncaptured"
    elif reasons:
        state = "breaks"
    else:
        assert graphs[0] == 1, f"{case.name} is not captured, and nothing says why"
        state = "captured" if entries[0] == entries[-1] else "captured anew"
    return Outcome(state, reasons, different, any(": raises " in line for line in expected.lines))


def _plain(detail: str) -> str:
    """The detail without what differs from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x...", detail)


# The page


def row(case: Case) -> str:
    # The first break is the reason; the next ones are often its consequences.
    found = outcome(case)
    reasons = [f"[{code}](graph_breaks.md#{code}): {detail}" if code else detail for code, detail in found.reasons]
    if len(reasons) > REASONS_IN_A_ROW:
        reasons[REASONS_IN_A_ROW:] = ["and others"]
    why = "; ".join(reasons).replace("|", "\\|").replace("\n", " ")
    return f"| `{case.name}` | {found.state} | {why} |"


def page() -> str:
    """The text of docs/coverage.md."""
    total = collections.Counter(outcome(case).state for cases in sections().values() for case in cases)
    head = ["| section | " + " | ".join(STATES) + " |", "| --- |" + " ---: |" * len(STATES)]
    parts = []
    for heading, cases in sections().items():
        counts = collections.Counter(outcome(case).state for case in cases)
        anchor = re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")
        head.append(f"| [{heading}](#{anchor}) | " + " | ".join(str(counts[state] or "") for state in STATES) + " |")
        parts.append("\n".join([f"## {heading}\n", "| name | state | why |", "| --- | --- | --- |", *map(row, cases)]) + "\n")
    head.append("| all | " + " | ".join(str(total[state]) for state in STATES) + " |")
    return "\n".join([HEAD, "\n".join(head) + "\n", *parts, types_part()])


TYPES_HEAD = """\
## C types

Made from `csrc/world/external/types.def`. An object *enters* a trace when the function meets it and it was there before the call; it
*leaves* when the trace made it and it is needed afterwards. *Classes over it*: instances of Python classes that derive from
the type. A type that is not in the table enters by its identity and can be passed on; reading its attributes, or giving it to
native code, is a break.

| type | enters | known | leaves | classes over it |
| --- | --- | --- | --- | --- |
"""


def types_part() -> str:
    """The table of C types."""
    for module in ("datetime", "numpy", "re", "struct"):
        importlib.import_module(module)
    rows = {}
    for facts in _C.c_types():
        made = facts["type"]
        name = made.__qualname__ if made.__module__ == "builtins" else f"{made.__module__}.{made.__qualname__}"
        family = " and C types over it" if facts["is_family"] else ""
        rows[f"| `{name}`{family} | {facts['enters']} | {facts['known']} | {facts['leaves']} | {facts['over_it']} |\n"] = None
    return TYPES_HEAD + "".join(rows)


# Tests


@pytest.mark.parametrize("heading", sections())
def test_cases_run_the_same(heading: str) -> None:
    different = {case: outcome(case).differences for case in sections()[heading] if outcome(case).differences}
    assert not different, "\n\n".join("\n".join([case.name, *lines, case.program]) for case, lines in different.items())


def test_no_case_raises_by_mistake() -> None:
    raising = [case.name for cases in sections().values() for case in cases if outcome(case).raises]
    assert all("leave the function" in name for name in raising), raising


@pytest.mark.skipif(not IS_OF_THE_PAGE, reason="the page lists the instructions of CPython 3.11")
def test_page_is_made_of_the_cases() -> None:
    assert PAGE.read_text() == page(), "run scripts/make_docs.py"


def test_every_name_has_a_case() -> None:
    names = [*opcodes(), *dir(builtins)]
    for name in coverage_cases.TYPES:
        names += method_names(name)
    for name in coverage_cases.LIBRARY:
        names += public_names(name)
    subjects = {case.subject for heading, cases in sections().items() if "Features" not in heading for case in cases}
    assert not [name for name in names if name not in subjects], "no case, and no reason why there is none"
    inherited = {f"{name}.{method}" for name, values in coverage_cases.TYPES.items() for method in dir(values.type)}
    assert not subjects - set(names) - inherited, "these do not exist"
    if IS_OF_THE_PAGE:
        assert not [name for name in coverage_cases.NOT_APPLICABLE if name not in names]


def test_every_builtin_type_is_there() -> None:
    kinds = {value for value in vars(builtins).values() if isinstance(value, type) and not issubclass(value, BaseException)}
    kinds -= {type(builtins.__spec__), builtins.__loader__}
    assert not kinds - {values.type for values in coverage_cases.TYPES.values()}


@pytest.mark.parametrize("name", sorted(opcodes()))
def test_case_of_an_opcode_contains_it(name: str) -> None:
    cases = [case for case in sections()["Opcodes"] if case.subject == name]
    for case in cases:
        assert not case.code or name in opcodes_of(compile(case.program, "case.py", "exec")), case.program


def opcodes_of(code: types.CodeType) -> set[str]:
    """The opcodes of the functions in a module's code: its own are not traced."""
    nested = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    own = {instruction.opname for instruction in dis.get_instructions(code)} if code.co_name != "<module>" else set()
    return own.union(*map(opcodes_of, nested))


def test_names_are_given_once() -> None:
    for heading, cases in sections().items():
        names = [case.name for case in cases]
        assert len(set(names)) == len(names), (heading, [name for name in names if names.count(name) > 1])
