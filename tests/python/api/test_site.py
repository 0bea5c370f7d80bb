"""The site of the documentation, as far as it can be seen without building it: every page is in its navigation, every public name in its
reference. `scripts/site` builds it."""

import ast
import importlib
import itertools
import pathlib
import pkgutil
import re
import runpy
import tomllib
import types
from typing import Any

import pytest

import minidynamo

ROOT = pathlib.Path(__file__).parents[3]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
MODULES = ("backends", "config", "debug", "exceptions")  # public submodules


def navigation() -> list[str]:
    """The pages that mkdocs.yml lists, in their order."""
    text = (ROOT / "mkdocs.yml").read_text()
    (listed,) = re.findall(r"^nav:\n((?: .*\n|\n)*)", text, re.MULTILINE)
    return re.findall(r"([\w/]+\.md)$", listed, re.MULTILINE)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    assert sorted(navigation()) == pages


def test_the_site_begins_with_its_home() -> None:
    assert navigation()[0] == "index.md"
    readme = (ROOT / "README.md").read_text()
    first, *_ = re.findall(r"\]\((docs/[^)]+)\)", readme)
    assert first == "docs/index.md"
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"].endswith("/docs/index.md")


def documented() -> list[str]:
    """The names that pages of the reference show."""
    return [name for page in sorted(REFERENCE.glob("*.md")) for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)]


def public() -> set[str]:
    """Every public name, where it is shown: classes of exceptions and functions of backends in the module that has them."""
    found = set()
    for name in minidynamo.__all__:
        if not isinstance(getattr(minidynamo, name), types.ModuleType):
            owners = [module for module in ("backends", "exceptions") if name in importlib.import_module(f"minidynamo.{module}").__all__]
            found.add(".".join(["minidynamo", *owners, name]))
    for module in MODULES:
        names = getattr(importlib.import_module(f"minidynamo.{module}"), "__all__", None)
        found |= {f"minidynamo.{module}.{name}" for name in names or ["LOG_TOPICS", "patch", "to_dict", *minidynamo.config.to_dict()]}
    return found


def test_every_public_name_is_in_the_reference() -> None:
    names = documented()
    assert len(names) == len(set(names))
    assert set(names) == public()


def test_every_public_submodule_has_a_page() -> None:
    on_disk = {module.name for module in pkgutil.iter_modules(minidynamo.__path__) if not module.name.startswith("_")}
    assert on_disk == set(MODULES)
    for module in MODULES:
        assert (REFERENCE / f"{module}.md").read_text().startswith(f"# minidynamo.{module}\n")


def described_below(path: pathlib.Path) -> set[str]:
    """The names of a module, or of those of a package, that are assigned at its top and have a string below."""
    found = set()
    for file in path.parent.glob("*.py") if path.name == "__init__.py" else [path]:
        for assigned, after in itertools.pairwise(ast.parse(file.read_text()).body):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
                targets = assigned.targets if isinstance(assigned, ast.Assign) else [getattr(assigned, "target", None)]
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_name_says_what_it_is(name: str) -> None:
    """A docstring; a setting or another value has one below it, which only the source shows."""
    module, _, attribute = name.rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    if not callable(value) or not value.__doc__:
        assert attribute in described_below(pathlib.Path(str(importlib.import_module(module).__file__)))


def test_the_version_for_citations_is_that_of_the_package() -> None:
    assert f"version: {minidynamo.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "site_hooks.py"))


def test_links_to_files_of_the_repository_lead_to_it(hooks: dict[str, Any]) -> None:
    linked, repository = hooks["_linked"], hooks["repository"]()
    assert linked("[a](../CONTRIBUTING.md#build-and-test), [b](usage.md)", "index.md") == (
        f"[a]({repository}/blob/main/CONTRIBUTING.md#build-and-test), [b](usage.md)"
    )
    assert (
        linked("[a](../../tests/python), [b](../usage.md)", "reference/index.md")
        == f"[a]({repository}/tree/main/tests/python), [b](../usage.md)"
    )
    assert linked("`[a](../CONTRIBUTING.md)` and `L['x'][0]`", "index.md") == "`[a](../CONTRIBUTING.md)` and `L['x'][0]`"
    assert linked("L['x'][0]", "index.md") == r"L['x']\[0]"


def test_blocks_of_code_are_left_alone(hooks: dict[str, Any]) -> None:
    page = types.SimpleNamespace(file=types.SimpleNamespace(src_uri="index.md"))
    text = "```python\nx[0][1] = f(a)(b)\n```\n~~~\n```\n[a](../README.md)\n~~~"
    assert hooks["on_page_markdown"](text, page=page) == text


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org",
        "https://",
        "https://example",
        "https://example.org:port/",
        "https://exa mple.org",
        "ftp://example.org",
        "https://a.org/<b>",
    ],
)
def test_addresses_of_a_wrong_form(hooks: dict[str, Any], address: str) -> None:
    assert hooks["problem_of"](address)


def test_an_address_of_the_right_form(hooks: dict[str, Any]) -> None:
    assert not hooks["problem_of"]("https://semver.org/spec/v2.0.0.html#summary")
