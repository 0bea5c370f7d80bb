"""Writes programs: a hypothesis strategy whose examples are Python source in the form that differential.py runs.

The grammar is a set of tables of templates. A hole in a template stands for a value, a name or a target of some kind; the
writer fills it with draws and keeps track of which names are bound to which kind. Forms of a hole:

    <vec>    an expression of that kind; <^vec> the same, where no name may be bound (`:=`)
    <*vec>   the same, inside something that runs later, never or many times
    <vec!>   a name that can be read        <vec~>   a name of this function that may be bound anew (for `+=`)
    <vec=>   a target: an old or a new name <vec+>   a new name
    <vec->   a name of this block, unbound by the template
    <k:int>  a variable of the template itself, known in its <*...> holes and, for a loop, in its body

Kinds: tensors `vec` of (2,), `three` of (3,), `mat` of (2, 2) and `num` of (); `int`, `float`, `bool`, `str`; `cond`, a bool
or a tensor; containers `ints`, `deque`, `whole` (a set), `table` (str to int), `tensors` (a list of vec), `pair` (vec, int);
`box`, an instance; `gives_vec`, `gives_int`, functions; `makes`, a generator function, and `walk`, an iterator over ints.

Programs end: loops are bounded, nothing calls itself but `down`, and the writer counts how often a statement may run. They
are deterministic, and what they do not say is as small as can be: a draw of zeros is the empty program.
A line on which a graph break is expected ends in `# breaks`.
"""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import hypothesis.strategies as st

import minidynamo

T = TypeVar("T")

COST_LIMIT = 400  # statements that one function may run, about
BREAKS = "  # breaks"

LETTERS = {
    "vec": "v", "three": "w", "mat": "m", "num": "s", "int": "n", "float": "r", "bool": "b", "str": "t", "ints": "l",
    "deque": "q", "whole": "u", "table": "d", "tensors": "ts", "pair": "p", "box": "o", "walk": "it",
    "gives_vec": "g", "gives_int": "h", "makes": "gen",
}


def templates(text: str) -> list[str]:
    """A table: templates stand apart by more than one space."""
    return re.split(r"\s{2,}", text.strip())


LITERALS = {
    "vec": ["torch.tensor([0.5, -1.0])", "torch.ones(2)", "torch.zeros(2)"],
    "three": ["torch.ones(3)", "torch.tensor([1.0, 0.25, -2.0])"],
    "mat": ["torch.eye(2)", "torch.ones(2, 2)", "torch.tensor([[0.5, -1.0], [2.0, 0.0]])"],
    "num": ["torch.tensor(0.5)", "torch.tensor(-2.0)"],
    "int": ["0", "1", "2", "3", "5", "-1"],
    "float": ["0.5", "-1.5", "2.0"],
    "bool": ["True", "False"],
    "str": ["'a'", "'b'", "'ef'", "''"],
    "ints": ["[1, 2]", "[]", "[3, 0, 2]", "[-1]"],
    "deque": ["collections.deque([1, 2])"],
    "whole": ["{1, 2}", "set()"],
    "table": ["{'a': 1}", "{'b': 2, 'a': 0}", "{}"],
    "tensors": ["[torch.ones(2), torch.zeros(2)]"],
    "pair": ["(torch.ones(2), 1)"],
    "box": ["Box(torch.ones(2))"],
}

VALUES = {
    "vec": templates("""
        torch.sin(<vec>)   <vec>.cos()   <vec> + <vec>   <vec> - <num>   <vec> * <float>   <vec> * <int>   <mat> @ <vec>
        <vec>.clamp(-1, 1)   <vec>.tanh()   <mat>[0]   <mat>[:, 1]   <mat>.sum(0)   <mat>.diagonal()   <three>[1:]
        torch.where(<vec> > 0, <vec>, <vec>)   torch.stack([<num>, <num>])   <vec>.flip(0)   <vec>.view(2)
        <vec>.detach()   <vec>.clone()   <vec>.clone().mul_(<float>)   <box!>.tensor   <box!>.nested[1]['k']
        <tensors!>[0]   <tensors!>[-1]   <pair!>[0]   <box!>.scaled(<float>)   <box!>.scaled(by=<int>)   <box!>.step()
        (<*vec> if <cond> else <*vec>)   sum([<*vec> for <k:int> in <^ints>[:3]], <vec>)   down(<int> % 3, <vec>)
        functools.reduce(torch.add, <tensors>, <vec>)   next(<*vec> for <k:int> in [1, 2])   <mat>.view(4)[::3]
        functools.reduce(lambda <a:vec>, <b:vec>: <*vec>, <tensors>[:3], <vec>)   torch.cat([<vec>[:1], <vec>[1:]])
        <gives_vec!>()   <gives_vec!>(<int>)   (<vec+> := <vec>)   max(<tensors>[:3], key=lambda <a:vec>: <*int>)
    """),
    "three": templates("""
        <three>.sin()   <three> * <float>   torch.cat([<vec>, <num>.reshape(1)])   torch.arange(3) * <num>
    """),
    "mat": templates("""
        <mat> + <mat>   <mat> @ <mat>   <mat>.t()   <mat>.tanh()   torch.outer(<vec>, <vec>)   <mat> * <num>
        <mat> * <vec>   torch.stack([<vec>, <vec>])   <mat>.clone()   <vec>.expand(2, 2)
        <vec>.unsqueeze(0) + <vec>.unsqueeze(1)
    """),
    "num": templates("""
        <vec>.sum()   <vec>[0]   <vec> @ <vec>   <mat>.mean()   <num> * <float>   <mat>[0, 1]   <vec>.max()
        <num>.tanh()   <three>.sum()   <num> + <int>   <num> - <num>   <vec>[<int> % 2]
    """),
    "int": templates("""
        <int> + 1   (<int> + <int>) % 9   <int> - <int>   <int> * <int> % 7   <int> // <int>   -<int>   len(<ints>)
        <ints!>[0]   <ints!>[<int>]   <table!>.get('a', 0)   <table!>['b']   sum(<ints>)   max(<ints>, default=0)
        len(str(<vec>.shape))   <mat>.shape[0]   <vec>.dim()   <box!>.count   <box!>.doubled   <box!>.nested[0][0]
        <box!>.shared   len(<deque!>)   sum(<*int> for <k:int> in <^ints>[:3])   sum(numbers(<int>))   next(<walk!>, 0)
        <gives_int!>()   <gives_int!>(<int>)   (<int+> := <int>)   (<*int> if <cond> else <*int>)   <pair!>[1]
        int(<bool>)   len(<str>)   int(torch.is_grad_enabled())   sorted(<ints>)[0]   sum(<makes!>())   TOTAL
        len(<box!>.items)   getattr(<box!>, 'extra_count', <int>)   <ints!>.count(<int>)   len(HISTORY)
        min(<int>, <int>)
    """),
    "float": templates("""
        <float> * 0.5   float(<int>)   <int> / 2   math.sin(<float>)   -<float>   round(<float>, 1)   <float> + <int>
    """),
    "bool": templates("""
        <int> > <int>   <int> == <int>   <int> in <ints>   'a' in <table!>   not <ints>   <ints!> is <ints!>
        <vec!> is <vec!>   0 < <int> < 3   <vec>.shape[0] == 2   isinstance(<int>, int)   <bool> and <*bool>
        <bool> or <*bool>   not <bool>   <str> < <str>   <vec>.requires_grad   len(<ints>) > 2
        hasattr(<box!>, 'extra')   any(<*bool> for <k:int> in <^ints>[:3])   <ints!> == <ints!>
        <box!>.tensor is <vec!>   <int> in <whole!>
    """),
    "str": templates("""
        <str> + 'c'   f'{<int!>}-{<str!>}'   str(<int>)   <str>.upper()   <str>[:2]   'n%d' % <int>
        type(<vec>).__name__   '-'.join(str(<*int>) for <k:int> in <^ints>[:3])   f'{<float!>:.2f}'
        ('y' if <bool> else <*str>)
    """),
    "ints": templates("""
        <ints> + [<int>]   [<*int> for <k:int> in <^ints>[:3]]   [<*int> for <k:int> in <^ints>[:3] if <*bool>]
        list(range(<int> % 4))   sorted(<ints>, reverse=<bool>)   sorted(<ints>, key=lambda <k:int>: <*int>)
        <ints>[1:]   list(<ints>)   list(map(lambda <k:int>: <*int>, <ints>[:3]))   [*<ints>, <int>]   <box!>.items
        list(<table!>.values())   list(<deque!>)   sorted(<whole!>)   list(reversed(<ints>))   list(<makes!>())
        [<*int> for <k:str> in <table!>]   [<k> + 1 for <k:int> in <^ints>]   list(itertools.islice(<walk!>, 2))
        list(numbers(<int>))   (<*ints> if <cond> else <*ints>)
    """),
    "deque": ["collections.deque(<ints>)", "collections.deque(<ints>, maxlen=2)"],
    "whole": ["{<int>, <int>}", "set(<ints>)", "<whole> | {<int>}", "{<*int> for <k:int> in <^ints>[:3]}"],
    "table": templates("""
        {'a': <int>, 'c': <int>}   dict(<table!>)   {**<table!>, 'b': <int>}
        {<*str>: <*int> for <k:int> in <^ints>[:3]}
    """),
    "tensors": templates("""
        [<vec>, <vec>]   [<*vec> for <k:int> in range(2)]   <tensors> + [<vec>]   list(<mat>)   [*<mat>.unbind(1)]
    """),
    "pair": ["(<vec>, <int>)"],
    "box": ["Box(<vec>)", "Box(<vec>, <ints>)"],
}

# Values that no graph can hold: the trace ends there.
BREAKING_VALUES = {
    "vec": templates("""
        apart(<vec>)   <vec> * <num>.item()   torch.tensor(<vec>.tolist())
        max(<tensors>, key=lambda <a:vec>: <a>.sum())
    """),
    "int": ["int(<num>.clamp(-3, 3).item())", "apart(<int>)", "(print(<int>) or <int>)"],
    "float": ["<num>.item()", "<vec>.tolist()[0]"],
    "bool": ["bool(<num> > 0)", "(<vec> > 0).any().item()", "<vec>.tolist()[0] > 0"],
    "str": ["('+' if <num> > 0 else '-')"],
    "ints": ["[int(<a>) for <a:float> in <^vec>.clamp(-3, 3).tolist()]"],
    "num": ["torch.tensor(<num>.item())"],
}
TENSOR_CONDITIONS = templates("""
    <num> > 0   (<vec> > 0).any()   <vec>[0] < <vec>[1]   not <num> > 0   <bool> and <num> < <float>
    <num> > 0 or <*bool>
""")

BINDINGS = ["<vec=> = <vec>"] * 6 + ["<int=> = <int>"] * 4 + templates("""
    <mat=> = <mat>   <num=> = <num>   <three=> = <three>   <float=> = <float>   <bool=> = <bool>   <str=> = <str>
    <ints=> = <ints>   <ints=> = <ints!>   <vec=> = <vec!>   <deque=> = <deque>   <whole=> = <whole>
    <table=> = <table>   <table=> = <table!>   <tensors=> = <tensors>   <pair=> = <pair>   <box=> = Box(<vec>)
    <box=> = <box!>   <int~> += <int>   <str~> += <str>   del <vec->   del <int->   <int=>, *<ints=> = <ints>
    <vec=>, <int=> = <pair>   *<tensors=>, <vec=> = <mat>   (<vec=>, <int=>), <int=> = <pair>, <int>
    <vec=> = <vec=> = <vec>   <vec=>, <vec=> = <tensors>   <gives_vec+> = lambda <k:int>=<int>: <*vec>
    <gives_int+> = lambda <k:int>=<int>: <*int>   <walk+> = iter(<ints>)   <walk+> = numbers(<int>)
    <walk+> = <makes!>()   <walk+> = (<*int> for <k:int> in <^ints>[:3])   <walk+> = map(lambda <k:int>: <*int>, <ints>)
""")
IN_PLACE = templates("""
    <vec~> += <vec>   <vec!>.mul_(<float>)   <vec!>.add_(<vec>)   <vec!>[0] = <num>   <vec!>[<int> % 2] = <float>
    <mat!>[1] = <vec>   <mat!>[:, 0] += <vec>   <mat!>.t_()   <vec!>.copy_(<vec>)   <vec!>.zero_()
    <box!>.tensor.add_(1)   <box!>.tensor[1] = <float>   <tensors!>[0].neg_()   <box!>.tensor *= <float>
    torch.cos(<vec>, out=<vec!>)
""")
CONTAINERS = templates("""
    <ints!>.append(<int>)   <ints!>[0] = <int>   <ints!>.pop()   <ints!>.insert(0, <int>)
    <ints!>.extend([<int>, <int>])   <ints!>.sort()   <ints!>.reverse()   del <ints!>[0]   <ints!>[1:] = [<int>]
    <ints!>.clear()   <ints~> += [<int>]   <ints!>.remove(<int>)   <table!>['a'] = <int>   <table!>[<str>] = <int>
    <table!>['a'] += <int>   <table!>.clear()   <table!>.pop('b', None)   del <table!>['a']   <table!>.update(c=<int>)
    <int=> = <table!>.setdefault('d', <int>)   <deque!>.append(<int>)   <deque!>.appendleft(<int>)   <deque!>.rotate(1)
    <int=> = <deque!>.popleft()   <int=> = <ints!>.pop(0)   <whole!>.add(<int>)   <whole!>.discard(<int>)
    <tensors!>.append(<vec>)   <tensors!>[0] = <vec>   <vec=> = <tensors!>.pop()
""")
OBJECTS = templates("""
    <box!>.count = <int>   <box!>.count += <int>   <box!>.doubled = <int>   <box!>.tensor = <vec>   <box!>.extra = <vec>
    del <box!>.extra   <box!>.items.append(<int>)   <box!>.nested[0][0] = <int>   <box!>.nested[1]['k'] = <vec>
    <box!>.items = <ints>   setattr(<box!>, 'extra_count', <int>)   <box!>.tensor, <box!>.count = <vec>, <int>
    Box.shared = <int>
""")
GLOBALS = templates("""
    TOTAL += <int>   TOTAL = <int>   HISTORY.append(<int>)   HISTORY[0] = <int>   CACHE[<str>] = <vec>
    CACHE.pop('a', None)
""")
BREAKING_STATEMENTS = [
    *("print(<int>)", "print(<str>, <int>)", "<float=> = <num>.item()", "<int=> = apart(<int>)", "<vec=> = apart(<vec>)"),
    *("change_apart(<ints!>)", "<box!>.count = int(<vec>.sum().clamp(-3, 3).item())", "print(<box!>.count, <ints!>)"),
    *(["minidynamo.graph_break()"] * 3 if hasattr(minidynamo, "graph_break") else []),
]
ENDINGS = ["if <cond>:\n    raise Problem(<int>)", "assert <cond>, <str>", "if <cond>:\n    return <result>"]

FOR_HEADERS = templates("""
    for <k:int> in range(<int> % 4):   for <k:int> in <ints!>:   for <i:int>, <k:int> in enumerate(<ints!>):   for <k:int> in <ints>[:3]:
    for <k:str>, <i:int> in <table!>.items():   for <k:int>, <a:vec> in zip(<ints>[:3], <tensors>):
    for <a:vec> in <tensors!>:   for <a:vec> in <mat>:   for <k:int> in sorted(<whole!>):   for <k:int> in <deque!>:
    for <k:int> in numbers(<int>):   for <k:int> in <makes!>():   for <k:int>, <i:int> in zip(<walk!>, range(3)):
    for <k:int> in reversed(<ints>):
""")
WITH_HEADERS = templates("""
    with torch.no_grad():   with Noted(<ints!>):   with noted(<ints!>) as <k:int>:   with torch.enable_grad():
    with contextlib.suppress(Problem, IndexError):   with Noted(<ints!>), torch.no_grad():
    with noted(<box!>.items) as <k:int>:
""")
CAUGHT = ["Problem", "(IndexError, KeyError)", "ZeroDivisionError", "Exception", "(Problem, ValueError)", "LookupError"]

# Module-level definitions; a program has those that it names.
IMPORTS = ["collections", "contextlib", "functools", "itertools", "math", "torch", "minidynamo"]
DEFINITIONS = {
    "TOTAL": "TOTAL = 3",
    "HISTORY": "HISTORY = [1, 2]",
    "CACHE": "CACHE = {}",
    "Problem": "class Problem(Exception):\n    pass",
    "Noted": """class Noted:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(7)

    def __exit__(self, kind, error, where):
        self.log.append(8 if kind is None else 9)""",
    "noted": """@contextlib.contextmanager
def noted(log):
    log.append(4)
    try:
        yield len(log)
    finally:
        log.append(6)""",
    "apart": """@minidynamo.disable
def apart(value):
    HISTORY.append(len(HISTORY))
    return value + 1""",
    "change_apart": "@minidynamo.disable\ndef change_apart(log):\n    log.append(len(log))",
    "numbers": "def numbers(count):\n    for k in range(count % 4):\n        yield k * 2",
    "down": "def down(count, t):\n    return t if count <= 0 else down(count - 1, t.sin())",
    "Box": """class Box:
    shared = 1

    def __init__(self, tensor, items=(2, 1)):
        self.tensor = tensor
        self.items = items if isinstance(items, list) else list(items)
        self.count = 2
        self.nested = [[1, 2], {"k": tensor}]

    @property
    def doubled(self):
        return self.count * 2

    @doubled.setter
    def doubled(self, value):
        self.count = value // 2

    def scaled(self, by):
        return self.tensor * by

    def step(self):
        self.count += 1
        return self.tensor + self.count""",
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A program's text, and how many statements were generated for it."""

    text: str
    statements: int


@dataclasses.dataclass(frozen=True)
class Hole:
    tag: str
    kind: str
    form: str  # one of "", "!", "~", "=", "+", "-", "binder", "bound"
    prefix: str  # "", "^" or "*"
    bare: bool  # stands alone between brackets or commas, so that it needs none of its own


HOLE = re.compile(r"<([*^]?)(\w+)(?::(\w+))?([!~=+-]?)>")


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


@functools.cache
def below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


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
        self.writes_global = False

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


class Writer:
    """Writes one program. Draws everything that it decides; 0 is always the simplest."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.differentiable = self.chance(4)
        self.unbroken = self.chance(10)  # nothing that is known to end a graph
        self.functions: list[str] = []
        self.signatures: dict[str, tuple[list[str], str]] = {}
        self.costs: dict[str, int] = {}
        self.scope = Scope({}, {}, None)
        self.names = 0
        self.statements = 0
        self.inner = 0
        self.nesting = 0  # functions being written
        self.times = 1  # how often what is being written runs, at most
        self.cost = 0
        self.breaks = False

    def below(self, count: int) -> int:
        return int(self.draw(below(count)))

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
        if kind in ("gives_vec", "gives_int", "makes"):  # the rest of the budget must allow the call
            names = [name for name in names if self.costs.get(name, 1) * self.times < COST_LIMIT]
        return names

    def usable(self, templates: Sequence[str]) -> list[str]:
        found = []
        for template in templates:
            _, needed = parsed(template)
            if all(self.candidates(form, kind) for form, kind in needed) and not (self.inner and ":=" in template):
                found.append(template)
        return found

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
            with self.inside(own if hole.prefix == "*" else {}):
                text = self.value(kind, depth - 1)
        else:
            text = self.value(kind, depth - 1)
        return text if hole.bare else bracketed(text)

    @contextlib.contextmanager
    def inside(self, own: dict[str, str]) -> Iterator[None]:
        """Within a lambda, a comprehension or a branch of an expression, with its variables."""
        seen = self.scope.seen
        self.scope.seen = {**seen, **own}
        self.inner += 1
        self.times *= 4
        yield
        self.times //= 4
        self.inner -= 1
        self.scope.seen = seen

    # Expressions

    def value(self, kind: str, depth: int = 2) -> str:
        if kind == "cond":
            if not self.unbroken and self.chance(3):
                self.breaks = True
                return self.fill(self.choose(self.usable(TENSOR_CONDITIONS)), depth)
            kind = "bool"
        form = self.below(14) if depth > 0 else 0
        if form <= (0 if kind == "bool" else 4):
            names = self.scope.readable(kind)
            return self.choose([*names, self.choose(LITERALS[kind])] if names else LITERALS[kind])
        if form == 13 and kind in BREAKING_VALUES and not self.unbroken:
            self.breaks = True
            return self.fill(self.choose(self.usable(BREAKING_VALUES[kind])), depth)
        if form == 12 and kind in ("vec", "int", "ints"):
            return self.call(kind, depth)
        return self.fill(self.choose(self.usable(VALUES[kind])), depth)

    def call(self, kind: str, depth: int) -> str:
        """A call of a helper function: one that there is, or one written for it."""
        known = [name for name, (_, result) in self.signatures.items() if result == kind]
        known = [name for name in known if self.costs[name] * self.times < COST_LIMIT]
        if self.nesting < 3 and len(self.signatures) < 4 and self.times < 20:
            known.append("")
        if not known:
            return self.choose(LITERALS[kind])
        name = self.choose(known) or self.helper(kind)
        self.cost += self.costs[name] * self.times
        parameters = self.signatures[name][0]
        arguments = [self.value(parameter, depth - 1) for parameter in parameters]
        return f"{name}({', '.join(arguments)})"

    def result(self) -> str:
        if self.scope.result is not None:
            return self.value(self.scope.result)
        if self.nesting > 1:
            return ""  # a generator function's
        kinds = ["vec", "mat", "num", "int", "ints", "table", "float", "tensors", "three", "box", "str", "whole", "deque", "pair"]
        values = []
        for _ in range(1 + self.below(4)):
            kind = self.choose(kinds)
            names = self.scope.readable(kind)
            values.append(self.choose(names) if names else self.value(kind))
        return values[0] if len(values) == 1 else f"({', '.join(values)})"

    # Functions

    def function(self, name: str, parameters: dict[str, str], scope: Scope, length: int, ends: Sequence[str] = ()) -> list[str]:
        """A definition. `ends` are templates written after the body, in the order given, each after a part of it."""
        outer = self.scope, self.times, self.cost, self.breaks, self.inner, self.statements
        self.scope, self.times, self.cost, self.inner = scope, 1, 0, 0
        self.nesting += 1
        body: list[str] = []
        for end in ends or ("return <result>",):
            body += self.block(length, may_be_empty=True)
            body += self.simple(end)
        if scope.writes_global:
            body.insert(0, "global TOTAL")
        self.nesting -= 1
        self.costs[name] = self.cost + 1
        self.scope, self.times, self.cost, self.breaks, self.inner, _ = outer
        signature = ", ".join(f"{parameter}{'' if kind != 'default' else '=1'}" for parameter, kind in parameters.items())
        return [f"def {name}({signature}):", *indented(body)]

    def helper(self, result: str) -> str:
        """Writes a function at module level; returns its name."""
        kinds = [self.choose(("vec", "int", "ints", "box")) for _ in range(self.below(3))]
        kinds = [result, *kinds]
        parameters = {self.new(kind): kind for kind in kinds}
        name = f"helper{len(self.signatures)}"
        self.signatures[name] = (kinds, "none yet")  # it must not call itself
        self.functions.append("\n".join(self.function(name, parameters, Scope(dict(parameters), {}, result), 3)))
        self.signatures[name] = (kinds, result)
        return name

    def closure(self) -> list[str]:
        kind = self.choose(("gives_vec", "gives_int", "makes"))
        scope = self.scope
        shared = {n: k for n, k in scope.own.items() if k in ("vec", "int", "ints") and n not in scope.fixed and self.chance(3)}
        parameters = {} if kind == "makes" else {self.new("int"): "default"}
        own = {**shared, **dict.fromkeys(parameters, "int")}
        result = {"gives_vec": "vec", "gives_int": "int", "makes": None}[kind]
        ends = ["yield <int>"] * (1 + self.below(3)) if kind == "makes" else ()
        name = self.new(kind)
        inner = Scope(own, {n: k for n, k in {**scope.seen, **scope.own}.items() if n not in shared}, result)
        lines = self.function(name, parameters, inner, 2, ends)
        if shared:
            lines.insert(1, f"    nonlocal {', '.join(shared)}")
        scope.bind(name, kind)
        return lines

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
        while self.statements < 40 and self.cost < COST_LIMIT and (more := self.draw(next_statement(self, length))):
            lines += more
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
                return self.simple(self.choose(self.usable(BINDINGS)))
            lines: list[str] = getattr(self, table)()
            return lines
        # Changes in place of what autograd saved would end the program early.
        if (table is IN_PLACE and self.differentiable) or (table is BREAKING_STATEMENTS and self.unbroken):
            table = BINDINGS
        template = self.choose(self.usable(table) or self.usable(BINDINGS))
        lines = self.simple(template)
        if template.startswith("TOTAL"):
            self.scope.writes_global = True
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
        header = self.simple(self.choose(self.usable(FOR_HEADERS)), bound)
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
            return self.simple(self.choose(ENDINGS))
        return self.simple(f"if <cond>:\n    {self.choose(words)}")

    def try_block(self) -> list[str]:
        scope = self.scope
        lines = ["try:", *indented(self.block(2))]
        form = self.below(4)  # except, except and else, all, finally
        if form < 3:
            error = f"error{self.names}"
            was_in_except, scope.in_except = scope.in_except, True
            handler = self.block(1)
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
        header = self.simple(self.choose(self.usable(WITH_HEADERS)), bound)
        return [*header, *indented(self.block(2, own=bound))]

    def swap(self) -> list[str]:
        kinds = [kind for kind in ("vec", "int", "ints", "mat") if len(self.scope.assignable(kind)) > 1]
        if not kinds:
            return self.simple("<vec=>, <vec=> = <vec>, <vec>")
        names = self.scope.assignable(self.choose(kinds))
        first, second = self.choose(names[:-1]), names[-1]
        return self.simple(f"{first}, {second} = {second}, {first}")

    def matched(self) -> list[str]:
        number, rest = self.new("int"), self.new("ints")
        lines = [*self.simple("match <ints>:"), f"    case [{number}, *{rest}]:"]
        lines += indented(indented(self.block(1, own={number: "int", rest: "ints"})))
        return [*lines, "    case _:", *indented(indented(self.block(1)))]

    # The whole

    def inputs(self, number: int) -> str:
        tensors = [f"torch.tensor({values})" for values in ("[0.5, -1.0]", "[-2.0, 0.25]", "[3.0, 1.5]")[number:]]
        lists = ["[1, 2]", "[4, 0, 1]", "[]", "[2, 3]"][number:]
        lines = [
            f"x = {self.choose(tensors)}",
            f"y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]]{', requires_grad=True' if self.differentiable else ''})",
            f"items = {self.choose(lists)}",
            f"table = {self.choose(LITERALS['table'])}",
            f"box = Box({self.choose(['x', *tensors])}{self.choose(['', ', items'])})",
            "return x, y, items, table, box",
        ]
        return "\n".join([f"def {'inputs' if number == 0 else 'other_inputs'}():", *indented(lines)])

    def program(self) -> Program:
        parameters = {"x": "vec", "y": "mat", "items": "ints", "table": "table", "box": "box"}
        f = "\n".join(self.function("f", parameters, Scope(dict(parameters), {}, None), 20))
        inputs = [self.inputs(0), self.inputs(1)]
        calls = self.choose(["inputs, other_inputs", "inputs, inputs, other_inputs", "inputs, other_inputs, inputs"])
        parts = [*self.functions, f, *inputs]
        return Program("\n\n\n".join([definitions("\n".join(parts)), *parts, f"calls = [{calls}]"]) + "\n", self.statements)


# What a statement may be: a table of templates or a method of the writer, as often as it is to appear.
STATEMENTS: list[Any] = [
    *([BINDINGS] * 8 + [BREAKING_STATEMENTS] * 6 + [CONTAINERS] * 4 + [OBJECTS] * 3 + [IN_PLACE] * 3 + [GLOBALS] * 2),
    *(["condition"] * 3 + ["for_loop"] * 3 + ["leave", "while_loop", "try_block", "with_block"] * 2),
    *("closure", "swap", "matched"),
]


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def definitions(text: str) -> str:
    """The imports and module-level definitions that a text needs, and those that they need."""
    chosen: set[str] = set()
    wanted = set(re.findall(r"\w+", text))
    while more := wanted & DEFINITIONS.keys() - chosen:
        chosen |= more
        wanted |= {word for name in more for word in re.findall(r"\w+", DEFINITIONS[name])}
    imports = "\n".join(f"import {module}" for module in IMPORTS if module in wanted)
    return "\n\n\n".join([imports, *(source for name, source in DEFINITIONS.items() if name in chosen)])


@st.composite
def next_statement(draw: Callable[[st.SearchStrategy[Any]], Any], writer: Writer, length: int) -> list[str]:
    """A statement, or no line at the end of a block. Decision and statement are one draw, so that shrinking drops both."""
    return writer.statement() if draw(below(length + 1)) else []


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Program:
    """Programs with `f(x, y, items, table, box)`, its helpers, and two or three calls."""
    return Writer(draw).program()
