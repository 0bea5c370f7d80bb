"""Functions that become graphs within the graph: what the programs of tests/programs cannot show."""

from typing import Any

import pytest
import torch
from torch.autograd import Function
from torch.nn.attention import flex_attention
from torch.utils.checkpoint import checkpoint

import minidynamo
from minidynamo import debug


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


def cube(x: torch.Tensor) -> torch.Tensor:
    return Cube.apply(x).sum()  # type: ignore[no-any-return,no-untyped-call]


def with_checkpoint(x: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda y: torch.dropout(y.sin(), 0.5, True) * y, x, use_reentrant=False).sum()  # type: ignore[no-any-return]


def with_condition(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 2, (x,)).sum()  # type: ignore[no-any-return]


def gradient(f: Any) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.linspace(0.1, 1.0, 8).requires_grad_()
    torch.manual_seed(0)
    result = f(x)
    return result.detach(), torch.autograd.grad(result, x)[0]


@pytest.mark.parametrize("f", [cube, with_condition])
def test_inductor(f: Any) -> None:
    torch.testing.assert_close(gradient(minidynamo.compile(f, fullgraph=True, backend="inductor")), gradient(f))


def test_inductor_computes_a_checkpoint_again_with_the_same_random_numbers() -> None:
    result, found = gradient(minidynamo.compile(with_checkpoint, fullgraph=True, backend="inductor"))
    x = torch.linspace(0.1, 1.0, 8)
    kept = found != 0  # Inductor draws numbers of its own
    torch.testing.assert_close(result, (2 * x.sin() * x)[kept].sum())
    torch.testing.assert_close(found[kept], (2 * (x.sin() + x * x.cos()))[kept])


def test_double_backward() -> None:
    def second(f: Any) -> torch.Tensor:
        x = torch.linspace(0.1, 1.0, 8).requires_grad_()
        (first,) = torch.autograd.grad(f(x), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    torch.testing.assert_close(second(minidynamo.compile(cube, fullgraph=True, backend="eager")), second(cube))


def reason_of(f: Any, *arguments: Any) -> str:
    with pytest.raises(minidynamo.exceptions.Unsupported) as raised:
        minidynamo.compile(f, fullgraph=True, backend="eager")(*arguments)
    return str(raised.value)


def test_branches_that_return_different_tensors_are_named() -> None:
    text = reason_of(lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), (x * 2,)), torch.ones(3))
    assert "returns a tensor that it was given" in text
    text = reason_of(lambda x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x.sum(), (x,)), torch.ones(3))
    assert "the true branch has torch.float32 torch.Size([3]) cpu where the false branch has torch.float32 torch.Size([]) cpu" in text
    text = reason_of(lambda x: torch.cond(x.sum() > 0, lambda x: (x * 2,), lambda x: [x * 2], (x,)), torch.ones(3))
    assert "different structures" in text


@pytest.mark.parametrize(
    "change",
    [
        lambda kept, x: kept["list"].append(1),
        lambda kept, x: kept.update(new=1),
        lambda kept, x: kept["inner"]["deep"].add(1),
        lambda kept, x: setattr(kept["object"], "name", 1),
        lambda kept, x: next(kept["iterator"]),
        lambda kept, x: x.add_(1),
    ],
)
def test_what_a_branch_changes_is_found(change: Any) -> None:
    class Holder:
        pass

    def f(x: torch.Tensor) -> Any:
        kept = {"list": [], "inner": {"deep": set()}, "object": Holder(), "iterator": iter([1, 2])}

        def branch(y: torch.Tensor) -> torch.Tensor:
            change(kept, y)
            return y * 2

        return torch.cond(x.sum() > 0, branch, lambda y: y * 3, (x,)), len(kept)

    assert "body-effect" in reason_of(f, torch.ones(3))


def test_a_break_in_a_body_ends_the_graph_at_the_call() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def body(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        minidynamo.graph_break()
        return y.cos()

    def f(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(body, x * 2, use_reentrant=False) + 1  # type: ignore[no-any-return]

    x = torch.linspace(0.1, 1.0, 8).requires_grad_()
    torch.testing.assert_close(minidynamo.compile(f, backend=backend)(x), f(x))
    assert len(list(graphs[0].graph.find_nodes(op="get_attr"))) == 0


def test_graph_has_the_names_that_torch_gives() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    minidynamo.compile(lambda x: (with_checkpoint(x) + with_condition(x)) * cube(x), fullgraph=True, backend=backend)(
        torch.ones(3).requires_grad_()
    )
    names = [node.target for node in graphs[0].graph.find_nodes(op="get_attr")]
    assert names == ["wrap_body_0", "cond_true_0", "cond_false_0", "fwd_body_0", "bwd_body_0"]
    assert all(isinstance(getattr(graphs[0], name), torch.fx.GraphModule) for name in names)


FLEX_MASK = flex_attention.create_block_mask(lambda batch, head, i, j: i >= j, None, None, 128, 128, device="cpu")
FLEX_BIAS = torch.tensor([0.5, -0.5])


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    return flex_attention.flex_attention(q, k, v)


def attend_by_distance(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    return flex_attention.flex_attention(q, k, v, score_mod=lambda score, batch, head, i, j: score + (i - j) * 0.1)


def attend_with_bias(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    return flex_attention.flex_attention(q, k, v, score_mod=lambda score, batch, head, i, j: score + FLEX_BIAS[head])


def attend_masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    return flex_attention.flex_attention(
        q * 2, k, v, score_mod=lambda score, batch, head, i, j: score * FLEX_BIAS[head], block_mask=FLEX_MASK, return_lse=True
    )


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", [attend, attend_by_distance, attend_with_bias, attend_masked])
@pytest.mark.filterwarnings("ignore:flex_attention")
def test_flex_attention(function: Any, backend: str) -> None:
    torch.manual_seed(0)
    captured = minidynamo.compile(function, fullgraph=True, backend=backend)
    for _ in range(2):
        inputs = [torch.randn(1, 2, 128, 16) for _ in range(3)]
        expected = function(*inputs)  # first: torch warns once about what it is called with
        torch.testing.assert_close(captured(*inputs), expected)
    assert len(debug.cache_entries(captured)) == 1
    if function is attend_with_bias:
        FLEX_BIAS.add_(1)
        torch.testing.assert_close(captured(*inputs), function(*inputs))
        FLEX_BIAS.sub_(1)


def test_a_nested_region_is_part_of_the_graph() -> None:
    @torch.compiler.nested_compile_region
    def region(y: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return y.sin() * factor

    def program(x: torch.Tensor) -> torch.Tensor:
        return region(x) + region(x + 1, factor=3.0)

    x = torch.linspace(0, 1, 5)
    assert torch.equal(minidynamo.compile(program, fullgraph=True, backend="eager")(x), program(x))
