"""OptimizedModule: what it forwards, what it keeps for itself, how it travels. Compared with torch.compile's wrapper."""

import copy
import inspect
import io
import pickle
from typing import Any

import pytest
import torch
from torch import nn

import minidynamo
from minidynamo import OptimizedModule
from minidynamo._api import module

optimize = minidynamo.optimize("eager")


class Net(nn.Module):
    """At module level, so that it pickles."""

    kind = "net"

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.note = "original"

    def forward(self, x: torch.Tensor, *, scale: float = 1.0) -> torch.Tensor:
        return self.norm(self.first(x)) * scale

    def describe(self) -> str:
        return f"{self.note} {self.training}"


@pytest.fixture
def net() -> Net:
    torch.manual_seed(3)
    return Net()


X = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))


def test_call_equals_the_module(net: Net) -> None:
    twin = copy.deepcopy(net)
    optimized = optimize(net)
    assert torch.equal(optimized(X), twin(X))
    assert torch.equal(optimized(X, scale=3.0), twin(X, scale=3.0))
    assert torch.equal(net.norm.running_mean, twin.norm.running_mean)
    assert int(net.norm.num_batches_tracked) == 2
    assert minidynamo.stats()["graphs"] == 2


def test_gradients_reach_the_parameters(net: Net) -> None:
    twin = copy.deepcopy(net)
    optimize(net)(X).square().sum().backward()
    twin(X).square().sum().backward()
    for ours, theirs in zip(net.parameters(), twin.parameters()):
        assert torch.equal(ours.grad, theirs.grad)


def test_same_keys_and_names_as_torch_compile(net: Net) -> None:
    ours, theirs = optimize(net), torch.compile(net, backend="eager")
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]
    assert list(dict(ours.named_children())) == ["_orig_mod"]
    assert repr(ours).splitlines()[0] == "OptimizedModule(" == repr(theirs).splitlines()[0]


def test_load_state_dict(net: Net) -> None:
    optimized, other = optimize(net), optimize(Net())
    other.load_state_dict(optimized.state_dict())
    assert torch.equal(other._orig_mod.first.weight, net.first.weight)


def test_isinstance(net: Net) -> None:
    optimized = optimize(net)
    assert isinstance(optimized, OptimizedModule) and isinstance(optimized, nn.Module)
    assert not isinstance(optimized, Net)
    assert optimized._orig_mod is net


def test_attributes_are_the_originals(net: Net) -> None:
    optimized = optimize(net)
    assert optimized.note == "original" and optimized.kind == "net" and optimized.first is net.first
    optimized.note = "changed"
    optimized.extra = 5
    assert net.note == "changed" and net.extra == 5 and "extra" not in optimized.__dict__
    del optimized.extra
    assert not hasattr(net, "extra")
    optimized.head = nn.Linear(1, 1)
    assert net.head is optimized.head and "head" in net._modules
    assert optimized.describe() == "changed True"
    with pytest.raises(AttributeError, match="missing"):
        optimized.missing  # noqa: B018
    assert {"first", "describe", "_orig_mod"} <= set(dir(optimized))


def test_train_and_eval(net: Net) -> None:
    optimized = optimize(net)
    assert optimized.training
    assert optimized.eval() is optimized
    assert not net.training and not net.norm.training and not optimized.training
    twin = copy.deepcopy(net)
    assert torch.equal(optimized(X), twin(X))
    net.train()
    assert optimized.training
    optimized.training = False
    assert not net.training


def test_wrapping_keeps_evaluation_mode(net: Net) -> None:
    assert not optimize(net.eval()).training


def test_conversion_and_zero_grad(net: Net) -> None:
    optimized = optimize(net)
    assert optimized.double() is optimized
    assert net.first.weight.dtype is torch.float64
    assert optimized(X.double()).dtype is torch.float64
    optimized(X.double()).sum().backward()
    optimized.zero_grad()
    assert net.first.weight.grad is None
    optimized.requires_grad_(False)
    assert not net.first.weight.requires_grad


def test_hooks_of_the_original_and_of_the_wrapper(net: Net) -> None:
    seen: list[str] = []
    net.register_forward_hook(lambda module, args, output: output + 1)
    optimized = optimize(net.eval())
    handle = optimized.register_forward_hook(lambda module, args, output: seen.append(type(module).__name__))
    optimized.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    twin = copy.deepcopy(net)
    assert torch.equal(optimized(X), twin(X * 2))
    assert seen == ["OptimizedModule"]
    handle.remove()
    optimized(X)
    assert seen == ["OptimizedModule"]
    assert not net._forward_pre_hooks


def test_pickle_and_deepcopy(net: Net) -> None:
    optimized = optimize(net)
    optimized(X)
    for made in (pickle.loads(pickle.dumps(optimized)), copy.deepcopy(optimized)):
        assert type(made) is OptimizedModule and type(made._orig_mod) is Net and made._orig_mod is not net
        assert made._capture_config is optimized._capture_config
        assert torch.equal(made.eval()(X), net.eval()(X))
        made.note = "copy"
        assert net.note == "original"
        net.train()


def test_torch_save(net: Net) -> None:
    buffer = io.BytesIO()
    torch.save(optimize(net), buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert isinstance(loaded, OptimizedModule) and torch.equal(loaded.first.weight, net.first.weight)


def test_copy_of_a_module_with_its_own_deepcopy() -> None:
    graph_module = torch.fx.symbolic_trace(nn.Linear(2, 2))
    made = copy.deepcopy(optimize(graph_module))
    assert type(made) is OptimizedModule and made._orig_mod is not graph_module


def test_wrapping_twice_wraps_the_original(net: Net) -> None:
    again = minidynamo.optimize("aot_eager")(optimize(net))
    assert again._orig_mod is net and again._capture_config.backend_name == "aot_eager"


def test_length_and_truth() -> None:
    optimized = optimize(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert len(optimized) == 2 and optimized
    single = optimize(nn.Linear(2, 2))
    assert single
    with pytest.raises(TypeError, match=r"'Linear' has no len"):
        len(single)


def test_wrapper_as_a_child() -> None:
    """A captured block in a module that is not captured, and in one that is."""
    block = nn.Linear(3, 3)
    outer = nn.Sequential(optimize(block), nn.ReLU())
    assert torch.equal(outer(X), block(X).relu())
    assert list(outer.state_dict()) == ["0._orig_mod.weight", "0._orig_mod.bias"]
    minidynamo.reset()
    assert torch.equal(optimize(outer)(X), block(X).relu())


def test_lazy_module_gets_its_parameters_at_the_first_call() -> None:
    optimized = optimize(nn.Sequential(nn.LazyLinear(4)))
    assert optimized(X).shape == (5, 4)
    lazy = optimize(nn.LazyLinear(4))
    assert lazy(X).shape == (5, 4)
    assert type(lazy._orig_mod) is nn.Linear
    assert torch.equal(lazy(X), lazy._orig_mod(X))


def test_changed_attribute_makes_another_entry() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    optimized = optimize(Scaled())
    assert torch.equal(optimized(X), X * 2)
    optimized.scale = 3
    assert torch.equal(optimized(X), X * 3)
    assert minidynamo.stats()["graphs"] == 2


def test_two_instances_of_one_class_share_an_entry() -> None:
    first, second = nn.Linear(3, 2), nn.Linear(3, 2)
    assert torch.equal(optimize(first)(X), first(X))
    assert torch.equal(optimize(second)(X), second(X))
    assert minidynamo.stats()["graphs"] == 1


def test_in_place(net: Net) -> None:
    twin = copy.deepcopy(net)
    minidynamo.compile_in_place(net, backend="eager")
    assert type(net) is Net and list(net.state_dict()) == list(twin.state_dict())
    assert torch.equal(net(X), twin(X))
    assert minidynamo.stats()["graphs"] == 1
    assert type(pickle.loads(pickle.dumps(net))) is Net


class Writer(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    def generate(self, x: torch.Tensor, steps: int = 2) -> torch.Tensor:
        for _ in range(steps):
            x = self(x)
        return x


def test_generate_says_once_that_it_is_not_captured(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_said_so", False)
    writer = Writer()
    wrapper = optimize(writer)
    assert callable(wrapper.generate) and wrapper.generate.__self__ is writer
    assert inspect.signature(wrapper.generate) == inspect.signature(writer.generate)
    assert not caplog.records  # nothing is said before it is called
    for _ in range(2):
        assert torch.equal(wrapper.generate(X, steps=3), writer.generate(X, steps=3))
    (said,) = (record.getMessage() for record in caplog.records)
    assert "Writer.generate()" in said and "minidynamo.compile_in_place(model)" in said
    assert minidynamo.stats()["captured"] == 0
    minidynamo.compile_in_place(writer, backend="eager")
    assert torch.equal(writer.generate(X), Writer().generate(X))
    assert minidynamo.stats()["captured"] == 1 and minidynamo.stats()["cache_hits"] == 1


def test_generate_within_a_captured_function_says_nothing(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_said_so", False)
    wrapper = optimize(Writer())
    captured = minidynamo.compile(lambda x: wrapper.generate(x), backend="eager", fullgraph=True)
    assert torch.equal(captured(X), Writer().generate(X))
    assert not caplog.records


def test_module_call_with_wrong_arguments(net: Net) -> None:
    with pytest.raises(TypeError, match="forward"):
        optimize(net)(X, X, X)


def test_optimizer_takes_the_wrappers_parameters(net: Net) -> None:
    optimized = optimize(net)
    optimizer = torch.optim.SGD(optimized.parameters(), lr=0.1)
    before: Any = net.first.weight.detach().clone()
    optimized(X).square().mean().backward()
    optimizer.step()
    assert not torch.equal(before, net.first.weight)
