"""The wheel and its installation: torch is found without importing it, the extension links with four of its libraries, the metadata."""

import html
import importlib.metadata
import os
import pathlib
import re
import runpy
import shutil
import site
import subprocess
import sys
import tomllib
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import _C, _built_for, _requirements

ROOT = pathlib.Path(__file__).parents[3]
EXTENSION = pathlib.Path(str(_C.__file__))  # type: ignore[attr-defined]  # no attribute of stub files
REPOSITORY = "https://github.com/minidynamo/minidynamo"


@pytest.fixture
def finder() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "cmake" / "find_torch.py"))


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


# The build


def test_torch_is_found_as_the_interpreter_has_it() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(ROOT / "cmake" / "find_torch.py")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    folder, version, new_abi = done.stdout.split(";")
    assert pathlib.Path(folder) == pathlib.Path(torch.__file__).parent
    assert version == torch.__version__
    assert bool(int(new_abi)) == torch._C._GLIBCXX_USE_CXX11_ABI
    assert not re.search(r"\| +torch$", done.stderr, re.MULTILINE), "torch was imported"


def test_torch_is_found_in_an_isolated_build(finder: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """pip leaves the environment's packages off sys.path there, and fetches what the build asks for into another folder."""
    packages = str(pathlib.Path(torch.__file__).parents[1])
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not (pathlib.Path(path) / "torch").exists()])
    monkeypatch.setattr(site, "getsitepackages", lambda: [packages])
    assert finder["find_torch"]() == pathlib.Path(torch.__file__).parent
    monkeypatch.setattr(site, "getsitepackages", list)
    monkeypatch.setattr(site, "getusersitepackages", lambda: "/nowhere")
    assert finder["find_torch"]() is None


def test_an_interpreter_that_will_not_do_is_refused_before_torch_is_asked_for(
    finder: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "abiflags", "t")
    assert "and this is free-threaded CPython" in finder["unmet"](None)


def test_a_torch_that_will_not_do_is_said_in_one_sentence(finder: dict[str, Any], tmp_path: pathlib.Path) -> None:
    unmet = finder["unmet"]
    supported = _requirements.one_of(_requirements.TORCHES)
    assert f"has none: first pip install torch ({supported}" in unmet(None)
    (tmp_path / "version.py").write_text("__version__ = '2.12.1+cu130'\n")
    assert unmet(tmp_path) == f"minidynamo needs torch {supported}, and torch 2.12.1+cu130 is installed. It is {tmp_path}."
    (tmp_path / "version.py").write_text("__version__ = '2.13.4'\n")
    assert "without include/torch/extension.h" in unmet(tmp_path)
    assert unmet(pathlib.Path(torch.__file__).parent) is None


def test_a_build_fetches_no_torch() -> None:
    required = project()["build-system"]["requires"]
    assert not [name for name in required if name.startswith("torch")]


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    module = runpy.run_path(str(ROOT / "cmake" / "package_metadata.py"))

    def of(state: str, tag: str | None = None) -> dict[str, Any]:
        monkeypatch.delenv("MINIDYNAMO_WHEEL_TAG", raising=False)
        if tag:
            monkeypatch.setenv("MINIDYNAMO_WHEEL_TAG", tag)
        provider = module["Metadata"]()
        provider.build_state(state)
        made: dict[str, Any] = provider.dynamic_metadata({}, {})
        return made

    return of


def test_a_wheel_requires_the_torch_that_it_was_built_for(metadata: Callable[..., dict[str, Any]]) -> None:
    oldest, newest = _requirements.TORCHES[0], int(_requirements.TORCHES[-1].split(".")[1])
    assert metadata("sdist") == {"version": minidynamo.__version__, "dependencies": [f"torch>={oldest},<2.{newest + 1}"]}
    running = _requirements.minor(torch.__version__)
    for state in ("wheel", "metadata_wheel", "editable"):
        assert metadata(state) == {"version": minidynamo.__version__, "dependencies": [f"torch=={running}.*"]}
    assert metadata("wheel", f"torch{running}")["version"] == f"{minidynamo.__version__}+torch{running}"


def test_the_metadata_of_a_build_fail_without_a_supported_torch(
    metadata: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.12.1+cu130'\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(SystemExit) as refused:
        metadata("metadata_wheel")
    sentence, supported = str(refused.value).splitlines()
    assert sentence.startswith(f"minidynamo needs torch {_requirements.one_of(_requirements.TORCHES)}, and torch 2.12.1+cu130")
    assert supported == _requirements.supported()
    assert metadata("sdist")["version"] == minidynamo.__version__


def test_lists_of_wheels(tmp_path: pathlib.Path) -> None:
    for name in ("torch2.14/minidynamo-0.1.0.tar.gz", "torch2.15/minidynamo-0.1.0+torch2.15-cp312-cp312-manylinux_2_34_x86_64.whl"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "wheel_index.py"), str(tmp_path)], check=True, timeout=120)
    assert re.findall('href="(.*?)"', (tmp_path / "index.html").read_text()) == ["torch2.14/index.html", "torch2.15/index.html"]
    (link,) = re.findall("<a .*?</a>", (tmp_path / "torch2.15" / "index.html").read_text())
    assert 'href="minidynamo-0.1.0%2Btorch2.15-cp312-cp312-manylinux_2_34_x86_64.whl#sha256=e3b0c44298fc1c149afbf4c8996fb924' in link
    assert f'data-requires-python="{html.escape(project()["project"]["requires-python"])}"' in link


def test_every_list_of_the_supported_torches_is_the_same() -> None:
    supported = list(_requirements.TORCHES)
    assert re.search(r"^torches=\(([\d. ]+)\)", (ROOT / "scripts/environment.sh").read_text(), re.MULTILINE)[1].split() == supported[::-1]
    readme = (ROOT / "README.md").read_text()
    assert f"| torch | {', '.join(supported)}; " in readme
    home = (ROOT / "docs/index.md").read_text()
    assert f", torch {supported[0]} to {supported[-1]} and" in home
    for page in (readme, home):
        assert f'pip install "torch>={supported[0]},<2.{int(supported[-1].removeprefix("2.")) + 1}" && ' in page
    (first, last) = re.findall(r"TORCH_VERSION_MINOR [<>] (\d+)", (ROOT / "csrc/tensor/torch_compat.h").read_text())
    assert [f"2.{minor}" for minor in range(int(first), int(last) + 1)] == supported


def test_every_list_of_the_supported_pythons_is_the_same() -> None:
    supported = [f"{major}.{minor}" for major, minor in _requirements.PYTHONS]
    metadata = project()["project"]
    (_, newest) = _requirements.PYTHONS[-1]
    assert metadata["requires-python"] == f">={supported[0]},<3.{newest + 1}"
    assert [version for line in metadata["classifiers"] for version in re.findall(r"Python :: (3\.\d+)", line)] == supported
    assert re.search(r"^pythons=\(([\d. ]+)\)", (ROOT / "scripts/environment.sh").read_text(), re.MULTILINE)[1].split() == supported[::-1]
    assert f"find_package(Python {supported[0]}...<3.{newest + 1} REQUIRED" in (ROOT / "CMakeLists.txt").read_text()
    assert f"| CPython | {', '.join(supported)}; " in (ROOT / "README.md").read_text()
    assert f" CPython {supported[0]} to {supported[-1]} with" in (ROOT / "docs/index.md").read_text()
    tables = {path.stem.removeprefix("opcodes_") for path in (ROOT / "csrc/bytecode").glob("opcodes_*.def")}
    assert tables == {version.replace(".", "") for version in supported}


@pytest.mark.skipif(not shutil.which("readelf"), reason="needs readelf")
def test_extension_needs_no_more_of_torch_than_every_build_has() -> None:
    shown = subprocess.run(["readelf", "-d", EXTENSION], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*?)\]", shown))
    of_system = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}
    sanitizers = {name for name in needed if name.startswith(("libasan", "libubsan", "libtsan"))}
    assert needed - of_system - sanitizers <= {"libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so"}


# The installed distribution


@pytest.fixture
def distribution() -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution("minidynamo")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("minidynamo is not installed as a package")


def test_installed_extension_is_stripped(distribution: importlib.metadata.Distribution) -> None:
    shown = subprocess.run(["readelf", "-S", "-W", EXTENSION], capture_output=True, text=True, check=True).stdout
    if "asan" in shown:
        pytest.skip("built with sanitizers")
    assert ".debug_info" not in shown and ".symtab" not in shown
    assert len(zlib.compress(EXTENSION.read_bytes())) < 3_000_000  # nearly all of the wheel


def test_metadata(distribution: importlib.metadata.Distribution) -> None:
    urls = dict(entry.split(", ") for entry in distribution.metadata.get_all("Project-URL") or [])
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(urls)
    assert distribution.version.partition("+")[0] == minidynamo.__version__
    assert f"torch=={_requirements.minor(_built_for.TORCH)}.*" in (distribution.requires or [])
    text = distribution.metadata.get_payload()  # type: ignore[attr-defined]  # it is an email.message.Message
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert f"{REPOSITORY}/blob/main/docs/usage.md" in links
    assert [link for link in links if not link.startswith("https://")] == []


def test_readme_links_become_absolute() -> None:
    (rule,) = project()["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    readme = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", re.sub(rule["pattern"], rule["replacement"], readme))
    assert links
    for link in links:
        assert link.startswith(f"{REPOSITORY}/blob/main/"), link
        assert (ROOT / link.removeprefix(f"{REPOSITORY}/blob/main/").partition("#")[0]).exists(), link


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")
def test_the_address_of_the_project_is_in_one_file() -> None:
    found = subprocess.run(["git", "grep", "-l", REPOSITORY], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(found.split()) <= {"pyproject.toml", "tests/python/api/test_packaging.py"}


# The names that a program sees


def test_dir_shows_public_names_only() -> None:
    assert {name for name in dir(minidynamo) if not name.startswith("__")} == set(minidynamo.__all__)
    assert "__version__" in dir(minidynamo) and "__doc__" in dir(minidynamo)


def run_module(**environment: str) -> str:
    cleaned = {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO")}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "minidynamo"], capture_output=True, text=True, env={**cleaned, **environment}, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_module_prints_versions_settings_and_environment() -> None:
    text = run_module()
    assert text.startswith(f"minidynamo {minidynamo.__version__} in ")
    assert f"torch {torch.__version__}, built for {_built_for.TORCH}\n" in text
    assert f"CPython {'.'.join(map(str, sys.version_info[:3]))} in {sys.executable}" in text
    assert "frames are evaluated by CPython; nothing is captured unasked" in text
    assert "no variable" in text and "*" not in text
    for name in minidynamo.config.to_dict():
        assert f"  {name} = " in text
    text = run_module(MINIDYNAMO_LOGS="graph", MINIDYNAMO_FULL="1")
    assert "logs = graph  * default: none" in text
    assert "MINIDYNAMO_LOGS=graph  (topics to log)" in text
    assert "MINIDYNAMO_FULL=1  (not read by the package)" in text


def test_module_says_whose_hook_is_installed() -> None:
    code = """
import minidynamo, minidynamo.__main__ as command, minidynamo._api.global_capture as capture
capture.start("eager")
print(command.info())
capture.stop()
print(command.info())
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "by minidynamo; the whole program is captured, for eager" in done.stdout
    assert "by CPython; nothing is captured unasked" in done.stdout


@pytest.mark.slow
def test_decorators_keep_types() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "tests/typing/decorators.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
