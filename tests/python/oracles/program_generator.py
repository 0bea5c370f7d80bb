"""Writes programs as source in the form that differential.py runs: program_grammar.py says what they are made of.

The writer fills the grammar's templates with draws from a generator of random numbers, keeps track of which names are bound
to which kind, and counts how often a statement may run. The same number makes the same program.
A line on which a graph break is expected ends in `# breaks`.
"""

import contextlib
import dataclasses
import functools
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from program_grammar import (
    BINDINGS,
    BREAKING_STATEMENTS,
    BREAKING_VALUES,
    CAUGHT,
    CHANGES,
    CLASS_BODIES,
    CONTAINERS,
    DEFINITIONS,
    ENDINGS,
    FOR_HEADERS,
    GLOBALS,
    IMPORTS,
    IN_PLACE,
    LETTERS,
    LITERALS,
    MATCHED,
    OBJECTS,
    TALKS,
    TENSOR_CHANGES,
    TENSOR_CONDITIONS,
    VALUES,
    WITH_HEADERS,
    YIELDS,
)

T = TypeVar("T")

COST_LIMIT = 400  # statements that one function may run, about
BREAKS = "  # breaks"


@dataclasses.dataclass(frozen=True)
class Program:
    """A program's text, and how many statements were generated for it."""

    text: str
    statements: int


PARAMETERS = {"x": "vec", "y": "mat", "items": "ints", "table": "table", "box": "box", "leaf": "leaf"}
# How a helper takes what follows its first argument.
FORMS = ("plain", "plain", "named", "more", "keywords")


@dataclasses.dataclass(frozen=True)
class Signature:
    parameters: dict[str, str]  # names, and kinds
    result: str
    form: str  # one of FORMS

    @property
    def text(self) -> str:
        first, *others = self.parameters
        if self.form == "named":
            return ", ".join([first, "/", *(["*", *others] if others else ())])
        return ", ".join([*self.parameters, *{"more": ["*more"], "keywords": ["**keywords"]}.get(self.form, [])])


@dataclasses.dataclass(frozen=True)
class Hole:
    tag: str
    kind: str
    form: str  # one of "", "!", "~", "=", "+", "-", "binder", "bound"
    prefix: str  # "", "^", "*" or "%"
    bare: bool  # stands alone between brackets or commas, so that it needs none of its own


HOLE = re.compile(r"<([*^%]?)(\w+)(?::(\w+))?([!~=+-]?)>")


@functools.cache
def parsed(template: str) -> tuple[tuple[str | Hole, ...], frozenset[tuple[str, str]]]:
    """A template's text and holes in order, and the (form, kind) pairs for which a name must be there."""
    parts: list[str | Hole] = []
    tags = {match[2] for match in HOLE.finditer(template) if match[3]}
    end = 0
    for match in HOLE.finditer(template):
        parts.append(template[end : match.start()])
        end = match.end()
        prefix, tag, bound, form = match.groups()
        before, after = template[: match.start()], template[end:]
        bare = before.endswith(("(", "[", ", ", "= ", "if ", "in ", "return ", "assert ")) and (not after or after[0] in "),]:")
        if bound or tag in tags:
            parts.append(Hole(tag, bound or "", "binder" if bound else "bound", "", True))
        else:
            parts.append(Hole(tag, tag, form, prefix, bare))
    parts.append(template[end:])
    needed = frozenset((part.form, part.kind) for part in parts if isinstance(part, Hole) and part.form in ("!", "~", "-"))
    return tuple(parts), needed


def bracketed(text: str) -> str:
    """The expression, in brackets where an operator stands outside of brackets."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and (letter == " " or (letter == "-" and index == 0)):
            return f"({text})"
    return text


class Scope:
    """The names of one function while it is written.

    Attributes:
        own: what this function binds, by kind; may be bound anew.
        seen: what it can read only: enclosing functions' names.
        fixed: own names on which a loop's end depends.
        fresh: the names bound in each open block, innermost last.
        result: what it returns; None for a generator function and the root.
    """

    def __init__(self, own: dict[str, str], seen: dict[str, str], result: str | None) -> None:
        self.own = own
        self.seen = seen
        self.fixed: set[str] = set()
        self.fresh: list[set[str]] = []
        self.result = result
        self.loops = 0
        self.in_except = False
        self.writes_global: set[str] = set()

    def bind(self, name: str, kind: str) -> None:
        self.own[name] = kind
        if self.fresh:
            self.fresh[-1].add(name)

    def readable(self, kind: str) -> list[str]:
        return [name for names in (self.own, self.seen) for name, held in names.items() if held == kind]

    def assignable(self, kind: str) -> list[str]:
        return [name for name, held in self.own.items() if held == kind and name not in self.fixed]

    def removable(self, kind: str) -> list[str]:
        return [name for name in self.assignable(kind) if self.fresh and name in self.fresh[-1]]


CALLS_METHODS = re.compile(r"leaf|Leaf|Base|gives_|<makes|<walk|<talk|<box!>\.\w+\(")


class Writer:
    """Writes one program. Draws everything that it decides."""

    def __init__(self, numbers: random.Random) -> None:
        self.numbers = numbers
        self.differentiable = self.chance(3)
        self.careless = self.chance(3)  # changes in place what autograd may have saved
        self.unbroken = self.chance(10)  # nothing that is known to end a graph
        self.functions: list[str] = []
        self.classes = ["Leaf"]  # the module's, that classes may derive from
        self.signatures: dict[str, Signature] = {}
        self.costs: dict[str, int] = {}
        self.scope = Scope({}, {}, None)
        self.names = 0
        self.statements = 0
        self.inner = 0
        self.in_method = False  # the function being written may be a method of a leaf, so that it must not call one
        self.nesting = 0  # functions being written
        self.times = 1  # how often what is being written runs, at most
        self.cost = 0
        self.breaks = False

    def below(self, count: int) -> int:
        return int(self.numbers.random() * count)

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1

    def choose(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))] if len(options) > 1 else options[0]

    def new(self, kind: str) -> str:
        self.names += 1
        return f"{LETTERS[kind]}{self.names}"

    # Templates

    def candidates(self, form: str, kind: str) -> list[str]:
        if form == "~":
            return self.scope.assignable(kind)
        if form == "-":
            return self.scope.removable(kind)
        names = self.scope.readable(kind)
        if kind == "ints":
            names.append("HISTORY")
        if kind == "leaf_class":
            names += self.classes
        if kind in ("gives_vec", "gives_int", "makes"):  # the rest of the budget must allow the call
            names = [name for name in names if self.costs.get(name, 1) * self.times < COST_LIMIT]
        return names

    def is_usable(self, template: str) -> bool:
        if (self.inner and ":=" in template) or (self.in_method and CALLS_METHODS.search(template)):
            return False
        return all(self.candidates(form, kind) for form, kind in parsed(template)[1])

    def one_of(self, templates: Sequence[str], otherwise: Sequence[str] = ()) -> str:
        """One of the templates for which all names are there."""
        for _ in range(5):
            if self.is_usable(template := self.choose(templates)):
                return template
        return self.choose([one for one in templates if self.is_usable(one)] or otherwise)

    def fill(self, template: str, depth: int = 2, bound: dict[str, str] | None = None) -> str:
        """The template with its holes filled. `bound` receives the template's own variables, by kind."""
        parts, _ = parsed(template)
        tags = {part.tag: (self.new(part.kind), part.kind) for part in parts if isinstance(part, Hole) and part.form == "binder"}
        own = dict(tags.values())
        if bound is not None:
            bound.update(own)
        # Values before targets: a target is bound only when its statement has run.
        filled = [part if isinstance(part, str) else "" for part in parts]
        for late in (False, True):
            for index, part in enumerate(parts):
                if isinstance(part, Hole) and (part.form in ("=", "+", "-")) == late:
                    filled[index] = tags[part.tag][0] if part.form in ("binder", "bound") else self.hole(part, depth, own)
        return "".join(filled)

    def hole(self, hole: Hole, depth: int, own: dict[str, str]) -> str:
        kind = hole.kind
        if hole.form in ("!", "~", "-"):
            name = self.choose(self.candidates(hole.form, kind))
            self.cost += self.costs.get(name, 0) * self.times
            if hole.form == "-":
                del self.scope.own[name]
            return name
        if hole.form in ("=", "+"):
            old = self.scope.assignable(kind) if hole.form == "=" else []
            name = self.choose([*old, ""]) or self.new(kind)
            self.scope.bind(name, kind)
            return name
        if kind == "result":
            text = self.result()
        elif hole.prefix:
            with self.inside({} if hole.prefix == "^" else own, in_method=hole.prefix == "%"):
                text = self.value(kind, depth - 1)
        else:
            text = self.value(kind, depth - 1)
        return text if hole.bare else bracketed(text)

    @contextlib.contextmanager
    def inside(self, own: dict[str, str], in_method: bool = False) -> Iterator[None]:
        """Within a lambda, a method, a comprehension or a branch of an expression, with its variables."""
        seen, was_in_method = self.scope.seen, self.in_method
        self.scope.seen = {**seen, **own}
        self.in_method |= in_method
        self.inner += 1
        self.times *= 4
        yield
        self.times //= 4
        self.inner -= 1
        self.scope.seen, self.in_method = seen, was_in_method

    # Expressions

    def value(self, kind: str, depth: int = 2) -> str:
        if kind == "cond":
            if not self.unbroken and self.chance(3):
                self.breaks = True
                return self.fill(self.one_of(TENSOR_CONDITIONS), depth)
            kind = "bool"
        form = self.below(14) if depth > 0 else 0
        if form <= (0 if kind == "bool" else 4):
            names = self.scope.readable(kind)
            return self.choose([*names, self.choose(LITERALS[kind])] if names else LITERALS[kind])
        if form == 13 and kind in BREAKING_VALUES and not self.unbroken:
            self.breaks = True
            return self.fill(self.one_of(BREAKING_VALUES[kind]), depth)
        if form == 12 and kind in ("vec", "int", "ints") and not self.in_method:
            return self.call(kind, depth)
        return self.fill(self.one_of(VALUES[kind]), depth)

    def call(self, kind: str, depth: int) -> str:
        """A call of a helper function: one that there is, or one written for it."""
        known = [name for name, signature in self.signatures.items() if signature.result == kind]
        known = [name for name in known if self.costs[name] * self.times < COST_LIMIT]
        if self.nesting < 3 and len(self.signatures) < 4 and self.times < 20:
            known.append("")
        if not known:
            return self.choose(LITERALS[kind])
        name = self.choose(known) or self.helper(kind)
        self.cost += self.costs[name] * self.times
        signature = self.signatures[name]
        arguments = []
        named = False
        for number, (parameter, its_kind) in enumerate(signature.parameters.items()):
            named |= number > 0 and (signature.form == "named" or (signature.form == "plain" and self.chance(5)))
            value = self.value(its_kind, depth - 1)
            arguments.append(f"{parameter}={value}" if named else value)
        more = {"more": ["*(1, 2)", "0", "*items"], "keywords": ["**{'a': 1}", "b=2", "**table"]}.get(signature.form)
        if more is not None and self.nesting == 1 and self.chance(2):
            arguments.append(self.choose(more))
        return f"{name}({', '.join(arguments)})"

    def result(self) -> str:
        if self.scope.result is not None:
            return self.value(self.scope.result)
        if self.nesting > 1:
            return ""  # a generator function's
        kinds = ["vec", "mat", "num", "int", "ints", "table", "float", "tensors", "three", "box", "str", "whole", "deque", "pair"]
        kinds += ["leaf", "wrap", "point", "loose", "bool", "colour"]
        values = []
        for _ in range(1 + self.below(4)):
            kind = self.choose(kinds)
            names = self.scope.readable(kind)
            values.append(self.choose(names) if names else self.value(kind))
        return values[0] if len(values) == 1 else f"({', '.join(values)})"

    # Functions

    def function(self, name: str, signature: str, scope: Scope, length: int, ends: Sequence[str] = ()) -> list[str]:
        """A definition. `ends` are templates written after the body, in the order given, each after a part of it."""
        outer = self.scope, self.times, self.cost, self.breaks, self.inner, self.statements
        self.scope, self.times, self.cost, self.inner = scope, 1, 0, 0
        self.nesting += 1
        body: list[str] = []
        for end in ends or ("return <result>",):
            body += self.block(length, may_be_empty=True)
            body += self.simple(self.one_of([end], ["yield <int>"]))
        if scope.writes_global:
            body.insert(0, f"global {', '.join(sorted(scope.writes_global))}")
        self.nesting -= 1
        self.costs[name] = self.cost + 1
        self.scope, self.times, self.cost, self.breaks, self.inner, _ = outer
        return [f"def {name}({signature}):", *indented(body)]

    def helper(self, result: str) -> str:
        """Writes a function at module level; returns its name."""
        kinds = [result, *(self.choose(("vec", "int", "ints", "box", "leaf")) for _ in range(self.below(3)))]
        parameters = {self.new(kind): kind for kind in kinds}
        name = f"helper{len(self.signatures)}"
        signature = Signature(parameters, "none yet", self.choose(FORMS))  # it must not call itself
        self.signatures[name] = signature
        scope = Scope(dict(parameters), {}, result)
        if signature.form == "more":
            scope.seen = {"more": "ints"}
        if signature.form == "keywords":
            scope.seen = {"keywords": "table"}
        self.functions.append("\n".join(self.function(name, signature.text, scope, 3)))
        self.signatures[name] = dataclasses.replace(signature, result=result)
        return name

    def closure(self) -> list[str]:
        kind = self.choose(("gives_vec", "gives_int", "makes"))
        scope = self.scope
        shared = {n: k for n, k in scope.own.items() if k in ("vec", "int", "ints") and n not in scope.fixed and self.chance(3)}
        parameters = {} if kind == "makes" else {self.new("int"): "int"}
        result = {"gives_vec": "vec", "gives_int": "int", "makes": None}[kind]
        ends = [self.choose(YIELDS) for _ in range(1 + self.below(3))] if kind == "makes" else ()
        name = self.new(kind)
        inner = Scope({**shared, **parameters}, {n: k for n, k in {**scope.seen, **scope.own}.items() if n not in shared}, result)
        lines = self.function(name, ", ".join(f"{parameter}=1" for parameter in parameters), inner, 2, ends)
        if shared:
            lines.insert(1, f"    nonlocal {', '.join(shared)}")
        scope.bind(name, kind)
        return lines

    def class_statement(self) -> list[str]:
        name = self.new("leaf_class")
        lines = []
        base = self.choose(self.candidates("!", "leaf_class"))
        for template in self.numbers.sample(CLASS_BODIES, 1 + self.below(3)):
            with self.inside({}, in_method=True):
                lines += [*self.fill(template, 2 if self.nesting else 1).split("\n"), ""]
            self.statements += 1
        if self.nesting == 0:
            self.classes.append(name)
        else:
            self.scope.bind(name, "leaf_class")
        return [f"class {name}({base}):", *indented(lines[:-1])]

    # Statements

    def block(self, length: int, may_be_empty: bool = False, own: dict[str, str] | None = None) -> list[str]:
        """About `length` statements. Names bound in it are forgotten after it, unless it is a function's."""
        scope = self.scope
        lines: list[str] = []
        if not may_be_empty:
            before = dict(scope.own)
            scope.fresh.append(set())
            for name, kind in (own or {}).items():
                scope.bind(name, kind)
            lines += self.statement()
        elif not scope.fresh:
            scope.fresh.append(set())
        while self.statements < 40 and self.cost < COST_LIMIT and self.below(length + 1):
            lines += self.statement()
        if not may_be_empty:
            scope.fresh.pop()
            if not self.chance(16):  # else some may be unbound where they are read
                scope.own = {name: kind for name, kind in before.items() if name in scope.own}
        return lines

    def simple(self, template: str, bound: dict[str, str] | None = None) -> list[str]:
        """A statement that is one template."""
        self.breaks = False
        lines = self.fill(template, 3, bound).rstrip().split("\n")
        if self.breaks:
            lines[0] += BREAKS
        self.breaks = False
        self.statements += len(lines)
        self.cost += self.times
        return lines

    def statement(self) -> list[str]:
        table = self.choose(STATEMENTS)
        if isinstance(table, str):
            if len(self.scope.fresh) > 3 or self.statements > 40:
                return self.simple(self.one_of(BINDINGS))
            lines: list[str] = getattr(self, table)()
            return lines
        # Changes in place of what autograd saved would end the program early.
        if (table is IN_PLACE and self.differentiable and not self.careless) or (table is BREAKING_STATEMENTS and self.unbroken):
            table = BINDINGS
        template = self.one_of(table, ["<vec=> = <vec>"])
        lines = self.simple(template)
        if written := re.match(r"([A-Z]{2,}) \+?= ", template):
            self.scope.writes_global.add(written[1])
        if table is BREAKING_STATEMENTS and BREAKS not in lines[0]:
            lines[0] += BREAKS
        return lines

    def condition(self) -> list[str]:
        lines = [*self.simple("if <cond>:"), *indented(self.block(1))]
        while self.chance(4):
            lines += ["el" + self.simple("if <cond>:")[0], *indented(self.block(1))]
        if self.chance(2):
            lines += ["else:", *indented(self.block(1))]
        return lines

    def for_loop(self) -> list[str]:
        bound: dict[str, str] = {}
        header = self.simple(self.one_of(FOR_HEADERS), bound)
        over = re.search(r"(?: in |enumerate\()((?:l|ts|items|HISTORY)\d*)\)?:", header[0])
        if over is None:
            return self.loop(header, [], bound)
        # The list may grow while it is iterated over: the loop must end, and so the name must stay with it.
        was_fixed = over[1] in self.scope.fixed
        self.scope.fixed.add(over[1])
        lines = self.loop(header, [f"if len({over[1]}) > 7:", "    break"], bound)
        if not was_fixed:
            self.scope.fixed.discard(over[1])
        return lines

    def while_loop(self) -> list[str]:
        counter = self.new("int")
        header = self.simple(self.choose([f"while {counter} < 3:", f"while {counter} < 3 and <cond>:"]))
        self.scope.bind(counter, "int")
        self.scope.fixed.add(counter)
        return [f"{counter} = 0", *self.loop(header, [f"{counter} += 1"], {})]

    def loop(self, header: list[str], first: list[str], bound: dict[str, str]) -> list[str]:
        self.scope.loops += 1
        self.times *= 4
        body = first + self.block(2, own=bound)
        self.times //= 4
        self.scope.loops -= 1
        lines = [*header, *indented(body)]
        if self.chance(6):
            lines += ["else:", *indented(self.block(1))]
        return lines

    def leave(self) -> list[str]:
        """break or continue, or in an except block raise; else any way to end a function."""
        words = ["break", "continue"] * (self.scope.loops > 0) + ["raise"] * self.scope.in_except
        if not words:
            return self.simple(self.one_of(ENDINGS))
        return self.simple(f"if <cond>:\n    {self.choose(words)}")

    def try_block(self) -> list[str]:
        scope = self.scope
        lines = ["try:", *indented(self.block(2))]
        form = self.below(4)  # except, except and else, all, finally
        if form < 3:
            error = self.new("error")
            was_in_except, scope.in_except = scope.in_except, True
            handler = self.block(1, own={error: "error"})
            scope.in_except = was_in_except
            if self.chance(4):
                handler += self.simple(f"raise Problem(<int>) from {error}")
            lines += [f"except {self.choose(CAUGHT)} as {error}:", *indented(handler)]
        if form in (1, 2):
            lines += ["else:", *indented(self.block(1))]
        if form > 1:
            lines += ["finally:", *indented(self.block(1))]
        return lines

    def with_block(self) -> list[str]:
        bound: dict[str, str] = {}
        header = self.simple(self.one_of(WITH_HEADERS), bound)
        return [*header, *indented(self.block(2, own=bound))]

    def swap(self) -> list[str]:
        kinds = [kind for kind in ("vec", "int", "ints", "mat") if len(self.scope.assignable(kind)) > 1]
        if not kinds:
            return self.simple("<vec=>, <vec=> = <vec>, <vec>")
        names = self.scope.assignable(self.choose(kinds))
        first, second = self.choose(names[:-1]), names[-1]
        return self.simple(f"{first}, {second} = {second}, {first}")

    def matched(self) -> list[str]:
        subject = self.one_of(list(MATCHED))
        lines = self.simple(f"match {subject}:")
        for pattern in self.numbers.sample(MATCHED[subject], 1 + self.below(3)):
            bound: dict[str, str] = {}
            lines += indented(self.simple(f"case {pattern}:", bound))
            lines += indented(indented(self.block(1, own=bound)))
        if self.chance(2):
            lines += ["    case _:", *indented(indented(self.block(1)))]
        return lines

    # The whole

    def inputs(self) -> str:
        tensors = [f"torch.tensor({values})" for values in ("[0.5, -1.0]", "[-2.0, 0.25]", "[3.0, 1.5]")]
        lines = [
            f"x = {self.choose(tensors)}",
            f"y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]]{', requires_grad=True' if self.differentiable else ''})",
            f"items = {self.choose(['[1, 2]', '[4, 0, 1]', '[]', '[2, 3]'])}",
            f"table = {self.choose(LITERALS['table'])}",
            f"box = Box({self.choose(['x', *tensors])}{self.choose(['', ', items'])})",
            f"leaf = {self.choose(self.classes)}({self.choose(['x', 'y[0]', *tensors])})",
            f"KEPT[:] = {', '.join(PARAMETERS)}",
            "return tuple(KEPT)",
        ]
        return "\n".join(["def inputs():", *indented(lines)])

    def changed_inputs(self, number: int, defined: set[str]) -> str:
        """A function that changes one thing or several, in new arguments or in those of the call before, and returns them."""
        names = ", ".join(PARAMETERS)
        lines = [f"{names} = {self.choose(['inputs()', 'inputs()', 'KEPT'])}"]
        written = set()
        for _ in range(1 + self.below(2)):
            table = TENSOR_CHANGES if self.chance(4) else CHANGES
            change = self.choose(table)
            while not needed_by(change) <= defined:
                change = self.choose(table)
            lines += ["with contextlib.suppress(Exception):", f"    {change}"]
            written |= needed_by(change) & {change.split(" = ")[0]}
        if written:
            lines.insert(0, f"global {', '.join(sorted(written))}")
        lines += [f"KEPT[:] = {names}", "return tuple(KEPT)"]
        return "\n".join([f"def changed{number}():", *indented(lines)])

    def program(self) -> Program:
        while self.chance(4):
            self.functions.append("\n".join(self.class_statement()))
        f = "\n".join(self.function("f", ", ".join(PARAMETERS), Scope(dict(PARAMETERS), {}, None), 20))
        parts = [*self.functions, f, self.inputs()]
        defined = defined_in("\n".join(parts))
        calls = ["inputs"]
        for number in range(1 + self.below(3)):
            calls += ["inputs"] * self.chance(3) + [f"changed{number}"]
            parts.append(self.changed_inputs(number, defined))
        calls += ["inputs"] * self.chance(2)
        return Program("\n\n\n".join([definitions("\n".join(parts)), *parts, f"calls = [{', '.join(calls)}]"]) + "\n", self.statements)


# The statements: a table of templates or a method of the writer, as often as it is to appear.
STATEMENTS: list[Any] = [
    *([BINDINGS] * 8 + [BREAKING_STATEMENTS] * 6 + [CONTAINERS] * 4 + [OBJECTS] * 5 + [IN_PLACE] * 4 + [GLOBALS] * 2 + [TALKS] * 2),
    *(["condition"] * 3 + ["for_loop"] * 3 + ["leave", "while_loop", "try_block", "with_block"] * 2),
    *("closure", "closure", "swap", "matched", "class_statement"),
]


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@functools.cache
def needed_by(text: str) -> set[str]:
    return DEFINITIONS.keys() & re.findall(r"\w+", text)


def defined_in(text: str) -> set[str]:
    """The module-level definitions that a text needs, and those that they need."""
    chosen: set[str] = set()
    wanted = set(re.findall(r"\w+", text))
    while more := wanted & DEFINITIONS.keys() - chosen:
        chosen |= more
        wanted |= {word for name in more for word in re.findall(r"\w+", DEFINITIONS[name])}
    return chosen


def definitions(text: str) -> str:
    """The imports and module-level definitions for a text."""
    chosen = defined_in(text)
    held = [source for name, source in DEFINITIONS.items() if name in chosen]
    wanted = re.findall(r"\w+", "\n".join([text, *held]))
    return "\n\n\n".join(["\n".join(f"import {module}" for module in IMPORTS if module in wanted), *held])


def program(number: int) -> Program:
    """The program of that number: `f(x, y, items, table, box, leaf)`, its helpers, and two to seven calls."""
    return Writer(random.Random(number)).program()


# How tensors that the grammar makes of a given size are made of any.
SIZED = {
    r"torch\.tensor\(\[(-?[\d.]+), (-?[\d.]+)\]": r"torch.linspace(\1, \2, SIZE",
    r"torch\.tensor\(\[\[[^]]*\], \[[^]]*\]\]": "torch.eye(SIZE",
    r"torch\.(ones|zeros|eye)\(2, 2": r"torch.\1(SIZE, SIZE",
    r"torch\.(ones|zeros|eye)\(2": r"torch.\1(SIZE",
    r"\.view\(2, 2\)": ".view(SIZE, SIZE)",
    r"\.expand\(2, 2\)": ".expand(SIZE, SIZE)",
    r"\.(view|expand)\(2\)": r".\1(SIZE)",
}


def with_sizes(program: Program, sizes: Sequence[int]) -> Program:
    """The program with calls more, in which all tensors have other sizes. Some of them raise, as they do eagerly."""
    text = program.text
    for fixed, open_size in SIZED.items():
        text = re.sub(fixed, open_size, text)
    body, calls = text.rsplit("\n\n\n", 1)
    makers = [f"def sized{size}():\n    global SIZE\n    SIZE = {size}\n    return inputs()" for size in sizes]
    more = ", ".join(f"sized{size}" for size in sizes)
    imports, definitions = re.match(r"((?:import .*\n)*)", body), "SIZE = 2"
    assert imports
    start = imports.end()
    parts = [body[:start] + "\n" + definitions + "\n\n\n" + body[start:].lstrip("\n"), *makers, calls.rstrip()[:-1] + f", {more}]"]
    return Program("\n\n\n".join(parts) + "\n", program.statements)
