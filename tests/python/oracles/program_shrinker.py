"""Takes from a program what is not needed for what it shows: statements, then parts of expressions.

The text is parsed anew for each attempt. What remains may be any valid program: only the question that is asked of it counts.
"""

import ast
import contextlib
import itertools
import time
from collections.abc import Callable, Iterator

Reduction = Callable[[], None]  # makes the tree smaller


def shrunk(text: str, shows_it: Callable[[str], bool], seconds: float = 120) -> str:
    """The smallest text found by dropping one thing after another for which `shows_it` is still true."""
    end = time.monotonic() + seconds
    before = ""
    while text != before:
        before = text
        for reductions in (_of_statements, _of_expressions):
            index = 0
            while time.monotonic() < end:
                smaller = _reduced(text, reductions, index)
                if smaller is None:
                    break
                if smaller != text and _is_valid(smaller) and shows_it(smaller):
                    text = smaller
                else:
                    index += 1
    return text


def _reduced(text: str, reductions: Callable[[ast.Module], Iterator[Reduction]], index: int) -> str | None:
    tree = ast.parse(text)
    reduction = next(itertools.islice(reductions(tree), index, None), None)
    if reduction is None:
        return None
    reduction()
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except ValueError:  # no syntax has such a tree
        return text


def _is_valid(text: str) -> bool:
    with contextlib.suppress(SyntaxError, ValueError):
        compile(text, "", "exec")
        return True
    return False


def _of_statements(tree: ast.Module) -> Iterator[Reduction]:
    """Every statement, outermost first: without it; and one that holds others, with these in its place."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            may_be_empty = field != "body"
            for number, statement in enumerate(block):
                if isinstance(statement, ast.Pass):
                    continue
                yield lambda b=block, n=number, e=may_be_empty: _replace(b, n, [], e)  # type: ignore[misc]
                held = getattr(statement, "body", None)
                if isinstance(held, list) and isinstance(statement, ast.stmt):
                    yield lambda b=block, n=number, h=held: _replace(b, n, h, True)  # type: ignore[misc]


def _replace(block: list[ast.AST], number: int, held: list[ast.AST], may_be_empty: bool) -> None:
    block[number : number + 1] = held or ([] if may_be_empty or len(block) > 1 else [ast.Pass()])


def _of_expressions(tree: ast.Module) -> Iterator[Reduction]:
    """Every expression, outermost first: one of its own parts in its place; and lists of expressions less one.

    No module comes into the place of an object: what is set on it would be seen by all programs that run later.
    """
    modules = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for part in _parts(value, modules):
                    yield lambda n=node, f=field, p=part: setattr(n, f, p)  # type: ignore[misc]
            elif isinstance(value, list):
                for number, item in enumerate(value):
                    if isinstance(item, (ast.expr, ast.keyword, ast.comprehension, ast.withitem)):
                        yield lambda v=value, n=number: v.__delitem__(n)  # type: ignore[misc]
                        for part in _parts(item, modules) if isinstance(item, ast.expr) else ():
                            yield lambda v=value, n=number, p=part: v.__setitem__(n, p)  # type: ignore[misc]


def _parts(expression: ast.expr, modules: set[str]) -> list[ast.expr]:
    if isinstance(getattr(expression, "ctx", ast.Load()), ast.Load):
        parts = [part for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr)]
        return [part for part in parts if not (isinstance(part, ast.Name) and part.id in modules)]
    return []
