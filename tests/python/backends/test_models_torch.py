"""Models written in plain torch: a ResNet-18 with its running statistics, an LSTM loop, attention, an elementwise chain."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import minidynamo

BACKENDS = ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow)]


class BasicBlock(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.downsample: nn.Module | None = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet18(nn.Module):
    """The usual layout, at an eighth of its width."""

    def __init__(self, width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.inside = width
        self.layer1 = self._layer(width, 1)
        self.layer2 = self._layer(width * 2, 2)
        self.layer3 = self._layer(width * 4, 2)
        self.layer4 = self._layer(width * 8, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width * 8, classes)

    def _layer(self, outside: int, stride: int) -> nn.Sequential:
        blocks = [BasicBlock(self.inside, outside, stride), BasicBlock(outside, outside, 1)]
        self.inside = outside
        return nn.Sequential(*blocks)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


class LSTM(nn.Module):
    """The cell written out, in a loop over time, with a learned start state."""

    def __init__(self, inside: int = 6, hidden: int = 8) -> None:
        super().__init__()
        self.hidden = hidden
        self.input = nn.Linear(inside, 4 * hidden)
        self.recurrent = nn.Linear(hidden, 4 * hidden, bias=False)
        self.start = nn.Parameter(torch.zeros(2, hidden))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        h, c = (state.expand(x.size(0), self.hidden) for state in self.start)
        outputs = []
        for t in range(x.size(1)):
            i, f, g, o = (self.input(x[:, t]) + self.recurrent(h)).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, dim=1), (h, c)


class AttentionBlock(nn.Module):
    """Pre-norm attention with a causal and a padding mask, then a gated feed-forward layer."""

    def __init__(self, dim: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.gate, self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, dim = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        allowed = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()[None, None]
        if lengths is not None:
            inside = torch.arange(length, device=x.device)[None, :] < lengths[:, None]
            allowed = allowed & inside[:, None, None, :]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, dim))
        z = self.norm2(x)
        return x + self.down(F.silu(self.gate(z)) * self.up(z))


def seeded(*shape: int, seed: int = 5) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]] = {
    "resnet18": (ResNet18, lambda: (seeded(4, 3, 32, 32),)),
    "lstm": (LSTM, lambda: (seeded(3, 5, 6),)),
    "attention": (AttentionBlock, lambda: (seeded(2, 6, 16), torch.tensor([6, 4]))),
}


def flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [tensor for item in value for tensor in flat(item)]


def close(expected: torch.Tensor, actual: torch.Tensor, backend: str, what: str) -> None:
    exact = backend == "eager"
    tolerance: dict[str, float | None] = {"rtol": 0.0, "atol": 0.0} if exact else {"rtol": None, "atol": None}
    if not exact and expected.dtype is torch.float64:
        tolerance = {"rtol": 1e-6, "atol": 1e-9}
    torch.testing.assert_close(actual, expected, msg=lambda text: f"{what}: {text}", **tolerance)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_training_steps(name: str, backend: str) -> None:
    """Two steps: results, gradients, and what the steps leave in buffers and weights.

    In double precision: a compiler may add up in another order, and batch normalization of few numbers amplifies that.
    """
    make, inputs = CASES[name]
    torch.manual_seed(0)
    module = make().double().train()
    twin = copy.deepcopy(module)
    optimized = minidynamo.compile(module, backend=backend, fullgraph=True)
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.05, momentum=0.9) for each in (twin, module)]
    for step in range(2):
        results = []
        for each, optimizer in zip((twin, optimized), optimizers):
            optimizer.zero_grad()
            result = flat(each(*(tensor.double() if tensor.is_floating_point() else tensor for tensor in inputs())))
            sum((tensor.square().mean() for tensor in result), torch.zeros((), dtype=torch.float64)).backward()
            results.append(result)
        for index, (expected, actual) in enumerate(zip(*results, strict=True)):
            close(expected, actual, backend, f"step {step}, result {index}")
        for (path, theirs), ours in zip(twin.named_parameters(), module.parameters()):
            close(theirs.grad, ours.grad, backend, f"step {step}, gradient of {path}")
        for optimizer in optimizers:
            optimizer.step()
    for (path, theirs), (_, ours) in zip(twin.state_dict().items(), module.state_dict().items()):
        close(theirs, ours, backend, f"state {path}")
    assert minidynamo.stats()["graphs"] == 1


RECURRENT: dict[str, tuple[type[nn.Module], dict[str, Any]]] = {
    "lstm": (nn.LSTM, {}),
    "lstm_of_projections": (nn.LSTM, {"proj_size": 2}),
    "lstm_bidirectional": (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    "gru": (nn.GRU, {"num_layers": 2}),
    "rnn": (nn.RNN, {}),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("needs_gradient", [False, True], ids=["data", "activations"])
@pytest.mark.parametrize("name", RECURRENT)
def test_training_of_recurrent_layers(name: str, needs_gradient: bool, backend: str) -> None:
    """In single precision, in which torch takes other kernels; with inputs that need gradients or do not, which matters too."""
    if backend == "inductor" and name != "lstm":
        pytest.skip("one is enough: what differs is in AOTAutograd")
    cls, settings = RECURRENT[name]
    torch.manual_seed(0)
    module = cls(3, 4, **settings)
    twin = copy.deepcopy(module)
    optimized = minidynamo.compile(module, backend=backend, fullgraph=True)
    for step in range(2):
        xs = [seeded(5, 2, 3, seed=step).requires_grad_(needs_gradient) for _ in range(2)]
        results = [flat(each(x)) for each, x in zip((twin, optimized), xs)]
        for result in results:
            sum((tensor.square().mean() for tensor in result), torch.zeros(())).backward()
        for index, (expected, actual) in enumerate(zip(*results, strict=True)):
            close(expected, actual, backend, f"step {step}, result {index}")
        for (path, theirs), ours in zip(twin.named_parameters(), module.parameters()):
            close(theirs.grad, ours.grad, backend, f"step {step}, gradient of {path}")
        if needs_gradient:
            close(xs[0].grad, xs[1].grad, backend, f"step {step}, gradient of the input")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_evaluation(name: str, backend: str) -> None:
    make, inputs = CASES[name]
    torch.manual_seed(0)
    module = make().eval()
    before = copy.deepcopy(module.state_dict())
    optimized = minidynamo.compile(module, backend=backend, fullgraph=True)
    with torch.no_grad():
        for expected, actual in zip(flat(module(*inputs())), flat(optimized(*inputs())), strict=True):
            close(expected, actual, backend, "result")
            assert not actual.requires_grad
    for path, value in module.state_dict().items():
        assert torch.equal(value, before[path]), path


def test_running_statistics_move_in_training_only() -> None:
    torch.manual_seed(0)
    module = ResNet18()
    optimized = minidynamo.compile(module, backend="eager", fullgraph=True)
    x = seeded(4, 3, 32, 32)
    start = module.bn1.running_mean.clone()
    optimized(x)
    moved = module.bn1.running_mean.clone()
    assert not torch.equal(start, moved) and int(module.layer4[1].bn2.num_batches_tracked) == 1
    optimized.eval()
    optimized(x)
    assert torch.equal(module.bn1.running_mean, moved) and int(module.bn1.num_batches_tracked) == 1
    assert minidynamo.stats()["graphs"] == 2


def test_optional_argument_makes_another_entry() -> None:
    torch.manual_seed(0)
    module = AttentionBlock().eval()
    optimized = minidynamo.compile(module, backend="eager", fullgraph=True)
    x = seeded(2, 6, 16)
    assert torch.equal(optimized(x), module(x))
    assert torch.equal(optimized(x, torch.tensor([2, 6])), module(x, torch.tensor([2, 6])))
    assert torch.equal(optimized(x, lengths=torch.tensor([6, 3])), module(x, torch.tensor([6, 3])))
    assert 2 <= minidynamo.stats()["graphs"] <= 3


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = (x + y) * 0.5
    b = a.sin() - x.cos()
    c = b.abs() + 1.0
    d = c.log() * y
    return d.sigmoid().tanh()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "python", "ts", pytest.param("inductor", marks=pytest.mark.slow)])
def test_elementwise_chain(backend: str) -> None:
    x, y = seeded(256, 256), seeded(256, 256, seed=6)
    optimized = minidynamo.compile(chain, backend=backend, fullgraph=True)
    torch.testing.assert_close(optimized(x, y), chain(x, y))
    torch.testing.assert_close(optimized(y, x), chain(y, x))
    assert minidynamo.stats()["graphs"] == 1 and minidynamo.stats()["operators"] == 11


def test_two_identical_layers_share_one_entry() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x).relu()

    first, second = Layer(), Layer()
    x = seeded(2, 4)
    optimize = minidynamo.optimize("eager", fullgraph=True)
    assert torch.equal(optimize(first)(x), first(x))
    assert torch.equal(optimize(second)(x), second(x))
    assert minidynamo.stats()["graphs"] == 1
