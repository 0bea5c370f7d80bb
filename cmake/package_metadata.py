"""What the package's metadata say that pyproject.toml cannot: the version, and the torch that a build is for.

An extension works with the minor version of torch whose headers it was built with, so a wheel requires that one; the source
package, which is built for whichever is installed, requires one of those that are supported. Where none of these is installed, the
metadata of a build fail with the sentence that says so, before pip fetches anything that the package requires.
"""

import os
import pathlib
import re
import runpy
import sys
from collections.abc import Mapping
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]


def version() -> str:
    """That of the package. A wheel that lies beside those for other versions of torch has the torch in its name too, e.g. 0.1.0+torch2.15:
    `scripts/wheels` sets the variable."""
    (written,) = re.findall(r'^__version__ = "(.*)"$', (ROOT / "minidynamo" / "__init__.py").read_text(), re.MULTILINE)
    tag = os.environ.get("MINIDYNAMO_WHEEL_TAG")
    return f"{written}+{tag}" if tag else written


def required_torch(is_source: bool) -> str:
    requirements = runpy.run_path(str(ROOT / "minidynamo" / "_requirements.py"))
    if is_source:
        oldest, newest = requirements["TORCHES"][0], int(requirements["TORCHES"][-1].split(".")[1])
        return f"torch>={oldest},<2.{newest + 1}"
    finder = runpy.run_path(str(ROOT / "cmake" / "find_torch.py"))
    torch = finder["find_torch"]()
    sentence = finder["unmet"](torch)
    if sentence:
        sys.exit(f"{sentence}\n{requirements['supported']()}")
    return f"torch=={requirements['minor'](finder['version_of'](torch))}.*"


class Metadata:
    """A provider of scikit-build-core's."""

    def build_state(self, build_state: str) -> None:
        self._is_source = build_state == "sdist"

    def dynamic_metadata(self, settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
        return {"version": version(), "dependencies": [required_torch(self._is_source)]}

    def dynamic_wheel(self, settings: Mapping[str, Any]) -> dict[str, bool]:
        """What a wheel says otherwise than the source package."""
        return {"dependencies": True}
