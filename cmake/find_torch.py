"""Says where the torch is that this interpreter imports, for CMake: its folder, version and C++ ABI, separated by semicolons.

`find_package(Torch)` stops with the CUDA build of torch on a machine without a CUDA toolkit, and of CUDA nothing is needed here.
Torch is looked for and not imported: that would take seconds, and cannot be done everywhere (no driver, missing libraries).
An isolated build (`pip install .`) hides the environment's packages from sys.path; the torch that counts is still the one there.
Which torch is wanted says minidynamo/_requirements.py.
"""

import importlib.machinery
import pathlib
import runpy
import site
import sys

REQUIREMENTS = pathlib.Path(__file__).parents[1] / "minidynamo" / "_requirements.py"


def find_torch() -> pathlib.Path | None:
    """The folder of the torch package, or None."""
    folders = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    spec = importlib.machinery.PathFinder.find_spec("torch", [folder for folder in folders if folder])
    return pathlib.Path(spec.origin).parent if spec and spec.origin else None


def uses_new_abi(torch: pathlib.Path) -> bool:
    """Whether torch's libraries name std::string as std::__cxx11::string, by the constructor of c10::Error."""
    return b"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx11" in (torch / "lib" / "libc10.so").read_bytes()


def version_of(torch: pathlib.Path) -> str:
    return str(runpy.run_path(str(torch / "version.py"))["__version__"])


def unmet(torch: pathlib.Path | None) -> str | None:
    """The sentence that says what is missing, or None."""
    requirements = runpy.run_path(str(REQUIREMENTS))
    interpreter = requirements["interpreter"]()
    sentence: str | None = requirements["unmet"](*interpreter)
    if sentence:
        return sentence
    if torch is None:
        return (
            f"minidynamo is built against the torch that it will run with, and {sys.executable} has none: first pip install torch "
            f"({requirements['one_of'](requirements['TORCHES'])}; tools other than pip need --no-build-isolation beside that)"
        )
    version = version_of(torch)
    sentence = requirements["unmet"](*interpreter, version)
    if sentence:
        return f"{sentence} It is {torch}."
    for part in ("include/torch/extension.h", "lib/libc10.so", "lib/libtorch_python.so"):
        if not (torch / part).exists():
            return f"torch {version} in {torch} comes without {part}: install it with pip"
    return None


def main() -> None:
    torch = find_torch()
    sentence = unmet(torch)
    if torch is None or sentence:
        sys.exit(sentence)
    print(torch.as_posix(), version_of(torch), int(uses_new_abi(torch)), sep=";", end="")


if __name__ == "__main__":
    main()
