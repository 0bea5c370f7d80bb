"""Adapts docstrings for the site's reference: `Example:` is the section that griffe calls `Examples:`."""

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Makes the examples of a docstring a section of code, where griffe would read them as Markdown."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
