"""Refuses words of a private dialect in comments, docstrings, messages and docs; see CONTRIBUTING.md, "How code is written".

A comment or docstring begins with its subject, and a predicate's with "True if": not with a relative clause ("What is kept ...",
"Whether it fits") or a genitive ("Of the frame that runs"). A function returns or raises, it does not "give"; a frame "runs
uncaptured". Made pages are not looked at, their sources are.
"""

import ast
import io
import pathlib
import re
import sys
import tokenize

ROOT = pathlib.Path(__file__).parents[1]
OPENINGS = re.compile(r"(What|Whether|Of)\b", re.IGNORECASE)
WORDS = {
    r"\bnobody\b": "name who does, or does not",
    r"\bbusiness\b": "say who is responsible",
    r"\bha(s|ve) (a|its) say\b": "say what is called",
    r"\b(run|runs|ran|running) as (it|they) (was|were)\b": "runs uncaptured",
    r"\bgives\b": "returns, makes, yields",
}
MADE_PAGES = {"docs/graph_breaks.md", "docs/coverage.md"}

Finding = tuple[pathlib.Path, int, str, str]


def words_in(text: str) -> list[tuple[str, str]]:
    return [(match[0], better) for word, better in WORDS.items() for match in re.finditer(word, text, re.IGNORECASE)]


def cpp_comments(text: str) -> list[tuple[int, str, bool]]:
    """(line, text, whether a block begins there), a line of a comment each. A string that holds two slashes is none."""
    comments, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r'"(\\.|[^"\\])*"', lambda string: "_" * len(string[0]), line)
        at = code.find("//")
        whole = at >= 0 and not code[:at].strip()
        if at >= 0:
            comments.append((number, line[at + 2 :].strip(), not (inside and whole)))
        inside = at >= 0
    return comments


def in_cpp(file: pathlib.Path) -> list[Finding]:
    text = file.read_text()
    found: list[Finding] = []
    for number, comment, begins in cpp_comments(text):
        if begins and (opening := OPENINGS.match(comment)):
            found.append((file, number, opening[0], "begin with the subject"))
        found += [(file, number, word, better) for word, better in words_in(comment)]
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith("//"):
            continue
        for string in re.findall(r'"((?:\\.|[^"\\])*)"', line):
            found += [(file, number, word, better) for word, better in words_in(string)]
    return found


def in_python(file: pathlib.Path) -> list[Finding]:
    text = file.read_text()
    found: list[Finding] = []
    last_line = 0  # of the comment before, if it is a line of its own
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            number, comment = token.start[0], token.string[1:].strip()
            is_whole = not token.line[: token.start[1]].strip()
            if not (is_whole and last_line == number - 1) and (opening := OPENINGS.match(comment)):
                found.append((file, number, opening[0], "begin with the subject"))
            found += [(file, number, word, better) for word, better in words_in(comment)]
            last_line = number if is_whole else 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [(file, node.lineno, word, better) for word, better in words_in(node.value)]
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring and (opening := OPENINGS.match(docstring)):
                found.append((file, node.body[0].lineno, opening[0], "begin with the subject"))
    return found


def in_page(file: pathlib.Path) -> list[Finding]:
    return [(file, number, word, better) for number, line in enumerate(file.read_text().splitlines(), 1) for word, better in words_in(line)]


def files(arguments: list[str]) -> list[pathlib.Path]:
    places = [ROOT / argument for argument in arguments] or [
        *(ROOT / room for room in ("csrc", "minidynamo", "tests/cpp", "tests/python", "scripts", "bench", "docs")),
        *ROOT.glob("*.md"),
    ]
    return sorted({file for place in places for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file()})


def main() -> int:
    readers = {".h": in_cpp, ".cpp": in_cpp, ".def": in_cpp, ".py": in_python, ".md": in_page}
    found: list[Finding] = []
    for file in files(sys.argv[1:]):
        name = str(file.relative_to(ROOT))
        if file.suffix in readers and name not in MADE_PAGES and file != pathlib.Path(__file__):
            found += readers[file.suffix](file)
    for file, number, word, better in sorted(set(found)):
        print(f'{file.relative_to(ROOT)}:{number}: "{word}": {better}')
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
