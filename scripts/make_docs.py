#!/usr/bin/env python
"""Writes the pages of docs/ that are made of data.

    python scripts/make_docs.py

docs/graph_breaks.md comes from the table of break reasons and their examples (minidynamo/_records/break_pages.py), docs/coverage.md
from the cases of tests/python/language/test_coverage.py, which are run for it.
tests/python/breaks/test_break_reports.py and test_coverage.py compare the committed pages with what this makes.
"""

import pathlib
import sys

from minidynamo import debug
from minidynamo._records import break_pages

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "graph_breaks.md"

HEAD = """\
# Graph breaks

<!-- Made by scripts/make_docs.py from csrc/world/state/break_reasons.def and minidynamo/_break_examples: change those, not this page. -->

What a captured function does besides computing with tensors is done while tracing, or written down as an effect to be
repeated. What can be neither has a *reason*, and ends the capture at that place. Results are the same either way; what is lost
is speed. Under `fullgraph=True` it is an error.

To see what stops a capture, ask for a report of one call:

```python
import torch
import minidynamo

def f(x):
    y = x.sin()
    scale = int(y.sum())
    return y * scale

report = minidynamo.explain(f)(torch.ones(3))
print(report)
(record,) = report.breaks
assert record.reason == "scalar-read" and record.line == f.__code__.co_firstlineno + 2
print(record.source)  # the line, and carets below the expression
print(record.hints)  # what can be done
```

The same records are in `minidynamo.debug.graph_breaks()`, where a frame was split, and `minidynamo.debug.uncaptured()`, where
it ran uncaptured. `MINIDYNAMO_LOGS=breaks` writes each as it happens, and `minidynamo.Unsupported` carries the same text and
fields:

```python
import torch
import minidynamo

@minidynamo.optimize("eager", fullgraph=True)
def f(x):
    return x * 2 if x.sum() > 0 else x

try:
    f(torch.ones(3))
except minidynamo.Unsupported as error:
    assert error.reason == "data-dependent-branch"
    print(error)
```

`minidynamo.debug.break_reasons()` returns the list below as data. The names are stable. `python -m minidynamo breaks` lists them in
a terminal, and `python -m minidynamo breaks data-dependent-branch` prints what stands below about one.

In the examples, `before` is a function that has this graph break, and `after` has the same result and is captured as one graph.
`call_before` and `call_after` show how the program calls the captured function, where that matters; `settings_before` and
`settings_after` are settings of `minidynamo.config`, `backend_before` and `backend_after` the backends. `before_raises` says
that the exception comes without minidynamo too, `not_compared` why the two results differ.

## Reasons
"""


def page() -> str:
    """The text of docs/graph_breaks.md."""
    return "\n".join([HEAD, *map(break_pages.section, debug.break_reasons())])


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.path[:0] = [str(ROOT / "tests" / "python" / folder) for folder in ("language", "oracles")]
    import test_coverage

    test_coverage.PAGE.write_text(test_coverage.page())
