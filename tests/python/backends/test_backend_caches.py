"""Without artifacts: what Inductor and AOTAutograd compiled in one process, a second one finds in torch's own cache."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
from environments import without_settings

import minidynamo
from minidynamo import backends
from minidynamo._capture.tracing_context import tracing_context

PACKAGE = pathlib.Path(str(importlib.util.find_spec("minidynamo").origin)).parents[1]  # type: ignore[union-attr]

PROGRAM = """
import json, sys, torch, minidynamo

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)
        self.register_buffer("scale", torch.full((16,), 0.5))

    def forward(self, x):
        return self.second((self.first(x) * self.scale).relu())

torch.manual_seed(0)
model = Model()
x = torch.randn(3, 8)
captured = minidynamo.optimize(sys.argv[1])(model)
expected = model(x)
expected.sum().backward()
gradients = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
result = captured(x)
torch.testing.assert_close(result, expected)
result.sum().backward()
for p, gradient in zip(model.parameters(), gradients):
    torch.testing.assert_close(p.grad, gradient)
with torch.no_grad():
    torch.testing.assert_close(captured(x), expected)
    # Parameters stay inputs.
    model.first.weight.fill_(1.0)
    torch.testing.assert_close(captured(x), model(x))

from torch._dynamo.utils import counters
print(json.dumps({**counters["inductor"], **counters["aot_autograd"]}))
"""


def run(folder: pathlib.Path, backend: str) -> dict[str, int]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    cleaned = without_settings()
    done = subprocess.run(
        [sys.executable, str(program), backend],
        capture_output=True,
        text=True,
        timeout=500,
        env={
            **cleaned,
            "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")]),
            "OMP_NUM_THREADS": "1",
            "MINIDYNAMO_ARTIFACTS": "0",
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
        },
    )
    assert done.returncode == 0, done.stderr[-4000:]
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


def test_a_second_process_compiles_nothing(tmp_path: pathlib.Path) -> None:
    first = run(tmp_path, "inductor")
    assert first.get("fxgraph_cache_miss", 0) >= 2 and not first.get("fxgraph_cache_hit"), first
    assert not first.get("fxgraph_cache_bypass") and not first.get("autograd_cache_bypass"), first
    second = run(tmp_path, "inductor")
    assert second.get("autograd_cache_hit", 0) == 2 and not second.get("autograd_cache_miss"), second
    assert second.get("fxgraph_cache_hit", 0) >= 2 and not second.get("fxgraph_cache_miss"), second


def inputs() -> list[torch.Tensor]:
    return [torch.randn(3), torch.nn.Parameter(torch.randn(3))]


def test_the_context_is_left_whatever_happens() -> None:
    current = torch._guards.TracingContext.try_get
    assert current() is None
    with tracing_context(inputs()) as outer:
        assert current() is outer
        with pytest.raises(ValueError, match="inner"), tracing_context(inputs()) as inner:
            assert current() is inner and inner.fake_mode is not outer.fake_mode
            raise ValueError("inner")
        assert current() is outer
    assert current() is None

    def broken(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> None:
        assert current() is not None
        raise RuntimeError("broken")

    for _ in range(2):
        with pytest.raises(minidynamo.exceptions.BackendCompilerFailed, match="broken"):
            minidynamo.optimize(broken)(lambda x: x + 1)(torch.ones(2))
        assert current() is None


def test_a_backend_within_a_backend_has_a_context_of_its_own() -> None:
    seen = []

    def outer(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> object:
        seen.append(torch._guards.TracingContext.get())
        inner = backends.resolve("aot_eager")(graph_module, example_inputs)
        seen.append(torch._guards.TracingContext.get())
        return inner

    f = minidynamo.optimize(outer)(lambda x: x.sin() + 1)
    x = torch.randn(3)
    torch.testing.assert_close(f(x), x.sin() + 1)
    assert seen[0] is seen[1]


def test_fakes_keep_what_inputs_are_and_shapes_are_numbers() -> None:
    given = [*inputs(), torch.randn(4, 4, requires_grad=True).t()]
    with tracing_context(given) as context:
        mode = context.fake_mode
        assert mode is not None and mode.shape_env is not None
        for real, fake in zip(given, context.fakes(), strict=True):
            assert all(type(size) is int for size in fake.shape)
            assert fake.requires_grad == real.requires_grad and fake.stride() == real.stride()
            assert isinstance(fake, torch.nn.Parameter) == isinstance(real, torch.nn.Parameter)
            assert mode.from_tensor(real) is fake  # who brings the real one gets the same, with static shapes
    assert not context.fakes() and context.fake_mode is mode


def test_a_backend_that_asks_for_nothing_makes_nothing() -> None:
    with tracing_context(inputs()) as context:
        pass
    assert context.fake_mode is None
    program = """
import sys, torch, minidynamo
f = minidynamo.optimize(lambda gm, inputs: gm.forward)(lambda x: x + 1)
f(torch.ones(2))
minidynamo.optimize("eager")(lambda x: x + 2)(torch.ones(2))
assert "torch._dynamo" not in sys.modules
"""
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300, env={**os.environ, "PYTHONPATH": path})
