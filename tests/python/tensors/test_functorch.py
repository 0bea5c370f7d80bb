"""Transforms in a trace: what the thread looks like afterwards, what breaks say, what happens beside and around them."""

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import opinfo_transforms
import pytest
import torch
import torch.autograd.forward_ad as forward
from torch import func

import minidynamo
from minidynamo import debug


def state() -> tuple[Any, ...]:
    """The state of the thread that a transform changes while it runs."""
    return (
        torch._C._functorch.get_dynamic_layer_stack_depth(),
        torch._C._functorch.get_inplace_requires_grad_allowed(),
        torch._C._autograd._saved_tensors_hooks_get_disabled_error_message(),
        torch._C._is_fwd_grad_enabled(),
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
        forward._current_level,
        str(torch._C._dispatch_tls_local_include_set()),
        str(torch._C._dispatch_tls_local_exclude_set()),
    )


@pytest.fixture(autouse=True)
def _thread_is_as_it_was() -> Any:
    before = state()
    yield
    assert state() == before
    with forward.dual_level():  # torch has one level for all: it is free
        pass


def whole(function: Callable[..., Any], backend: Any = "eager") -> Callable[..., Any]:
    return minidynamo.compile(function, backend=backend, fullgraph=True)


def graph_of(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The names of the calls in the one graph that the function becomes."""
    found: list[str] = []

    def backend(module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        found.extend(str(node.target) for node in module.graph.nodes if node.op.startswith("call"))
        return module

    whole(function, backend)(*arguments)
    return found


X = torch.randn(4, 3)

TRANSFORMS: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    func.vmap,
    lambda body: func.grad(lambda y: body(y).sum()),
    lambda body: lambda x: func.jvp(body, (x,), (x,)),
    lambda body: lambda x: func.vjp(body, x)[0],
    func.jacrev,
    func.jacfwd,
    lambda body: func.vmap(func.grad(lambda y: body(y).sum())),
    lambda body: func.grad(lambda y: func.vmap(body)(y).sum()),
    lambda body: lambda x: func.jvp(func.vmap(body), (x,), (x,)),
]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_graph_has_plain_operators_only(transform: Callable[..., Any]) -> None:
    calls = graph_of(lambda x: transform(lambda y: y.sin() * 2)(x), X)
    assert calls and not [name for name in calls if "functorch" in name or "dual" in name], calls


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_in_the_body(transform: Callable[..., Any], error: type[BaseException]) -> None:
    def body(y: torch.Tensor) -> torch.Tensor:
        if y.dim():
            raise error("here")
        return y

    with pytest.raises(error, match="here"):
        minidynamo.compile(lambda x: transform(body)(x), backend="eager")(X)
    assert torch.equal(whole(lambda x: func.vmap(torch.sin)(x))(X), X.sin())


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("cause", [minidynamo.graph_break, lambda: open("/dev/null").close(), lambda: time.sleep(0)])
def test_break_in_the_body(transform: Callable[..., Any], cause: Callable[[], object]) -> None:
    def body(y: torch.Tensor) -> torch.Tensor:
        cause()
        return y.sin()

    def program(x: torch.Tensor) -> Any:
        return torch.utils._pytree.tree_leaves(transform(body)(x + 1))[0] * 2

    assert torch.equal(minidynamo.compile(program, backend="eager")(X), program(X))
    with pytest.raises(minidynamo.exceptions.Unsupported, match=r"within torch\.func"):
        whole(program)(X)


def test_reason_names_the_transform_and_the_line() -> None:
    def program(x: torch.Tensor) -> Any:
        return func.vmap(lambda y: y.item() if y.dim() else y.tolist())(x)

    with pytest.raises(minidynamo.exceptions.Unsupported) as caught:
        whole(program)(X[0])
    assert f"within torch.func.vmap, called in line {program.__code__.co_firstlineno + 1}" in str(caught.value)


def test_break_where_dual_numbers_are_open() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        with forward.dual_level():
            dual = forward.make_dual(y, y)
            minidynamo.graph_break()
            tangent = forward.unpack_dual(dual.sin()).tangent
        return tangent * 2

    captured = minidynamo.compile(program, backend="eager")
    for _ in range(2):
        assert torch.equal(captured(X), program(X))
    records = [*debug.graph_breaks(), *debug.uncaptured()]
    assert "within a level of forward-mode AD" in str([record.detail for record in records])


def test_backend_that_raises() -> None:
    def backend(module: Any, inputs: Any) -> Any:
        assert state()[0] == 0
        raise RuntimeError("no backend")

    with pytest.raises(Exception, match="no backend"):
        whole(lambda x: func.vmap(func.grad(lambda y: y.sin().sum()))(x), backend)(X)


def test_captured_function_under_an_outer_transform() -> None:
    captured = minidynamo.compile(lambda y: y.sin() * 2, backend="eager")
    captured(X)
    captured(X[0])
    assert torch.equal(func.vmap(captured)(X), X.sin() * 2)
    assert torch.allclose(func.grad(lambda y: captured(y).sum())(X), X.cos() * 2)
    assert torch.allclose(func.jvp(captured, (X,), (X,))[1], X.cos() * 2 * X)
    with forward.dual_level():
        tangent = forward.unpack_dual(captured(forward.make_dual(X, X))).tangent
    assert torch.allclose(tangent, X.cos() * 2 * X)


def test_entry_is_not_used_within_a_level_of_forward_mode_ad() -> None:
    captured = minidynamo.compile(lambda y: y.sin(), backend="aot_eager")
    captured(X)
    with forward.dual_level():
        assert forward.unpack_dual(captured(forward.make_dual(X, X))).tangent is not None
    before = minidynamo.stats()["frames"]
    captured(X)
    assert minidynamo.stats()["frames"] == before


def test_levels_of_another_thread() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def other() -> None:
        def body(y: torch.Tensor) -> torch.Tensor:
            inside.set()
            go_on.wait(60)
            return y * 2

        assert torch.equal(func.vmap(body)(X), X * 2)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(60)
    assert torch.equal(whole(lambda x: func.vmap(lambda y: y + 1)(x))(X), X + 1)
    go_on.set()
    thread.join()


def test_wrappers_do_not_leave() -> None:
    kept: list[torch.Tensor] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        def body(y: torch.Tensor) -> torch.Tensor:
            kept.append(y)
            return y * 2

        return func.grad(lambda y: body(y).sum())(x)

    assert torch.equal(minidynamo.compile(program, backend="eager")(X), program(X))
    assert [torch._C._functorch.is_gradtrackingtensor(tensor) for tensor in kept] == [True, True]
    assert torch.equal(torch._C._functorch.get_unwrapped(kept[0]), X)


def test_dead_wrapper_from_before() -> None:
    kept: list[torch.Tensor] = []
    func.grad(lambda y: (kept.append(y), y.sum())[1])(X)
    captured = minidynamo.compile(lambda x: kept[0] + x, backend="eager")
    assert torch.equal(captured(X), X + X)


def test_changed_inputs() -> None:
    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        return func.vmap(lambda y: y * n, in_dims=n % 2)(x)

    captured = minidynamo.compile(program, backend="eager", fullgraph=True, recompile_limit=64)
    for x in (X, X.double(), torch.randn(5, 2), X.t(), X.clone().requires_grad_()):
        for n in (1, 2, 1):
            assert torch.equal(captured(x, n), program(x, n))


def test_body_that_is_exchanged() -> None:
    bodies = {"now": torch.sin}
    captured = whole(lambda x: func.vmap(bodies["now"])(x))
    assert torch.equal(captured(X), X.sin())
    bodies["now"] = torch.cos
    assert torch.equal(captured(X), X.cos())


def test_attribute_written_in_the_body() -> None:
    class Counter:
        calls = 0

    counter = Counter()

    def body(y: torch.Tensor) -> torch.Tensor:
        counter.calls += 1
        return y.sin()

    captured = whole(lambda x: func.vmap(body)(x))
    for _ in range(3):
        captured(X)
    assert counter.calls == 3


def test_gradient_through_the_history_of_an_argument() -> None:
    def program(y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad((y * w).sum(), w, retain_graph=True)[0]

    def results(function: Callable[..., torch.Tensor]) -> torch.Tensor:
        w = torch.arange(3.0, requires_grad=True)
        return function(w * w, w)

    assert torch.equal(results(minidynamo.compile(program, backend="eager")), results(program))


def test_own_leaf_that_leaves() -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.detach().requires_grad_()
        return y, y * 2

    leaf, double = minidynamo.compile(program, backend="aot_eager")(X)
    double.sum().backward()
    assert torch.equal(leaf.grad, torch.full_like(X, 2))


def test_nothing_is_kept_alive() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return func.vmap(func.grad(lambda y: (y * y).sum()))(x)

    captured = whole(program)
    captured(X)
    minidynamo.reset()
    gc.collect()
    before = sum(isinstance(thing, torch.Tensor) for thing in gc.get_objects())
    for _ in range(3):
        minidynamo.reset()
        captured(X)
    minidynamo.reset()
    gc.collect()
    assert sum(isinstance(thing, torch.Tensor) for thing in gc.get_objects()) <= before


@pytest.mark.slow
@pytest.mark.parametrize("transform", [TRANSFORMS[0], TRANSFORMS[5], TRANSFORMS[6]])
def test_inductor(transform: Callable[..., Any]) -> None:
    def program(x: torch.Tensor) -> Any:
        return transform(lambda y: y.sin() * y.sum())(x)

    x = X.clone().requires_grad_()
    expected = program(x)
    actual = whole(program, "inductor")(x)
    torch.testing.assert_close(actual, expected)
    for one, other in zip(*(torch.autograd.grad(result.sum(), x) for result in (actual, expected)), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("transform", opinfo_transforms.TRANSFORMS)
@pytest.mark.filterwarnings("ignore")
def test_operators_of_the_table(transform: str) -> None:
    for op in opinfo_transforms.operators():
        if op.name in opinfo_transforms.SAMPLE:
            for outcome, why in opinfo_transforms.check(op, transform, 2):
                assert outcome == "equal" or "depends on the data of a" in why, (op.name, outcome, why)  # masks as indices


class Square(torch.autograd.Function):
    """By a rule of its own for vmap, and a gradient that differs from the operators'."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 3 * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        return tangent * 5 * ctx.saved_tensors[0]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return Square.apply(x) + 0 * info.batch_size, in_dims[0]


class Cube(torch.autograd.Function):
    """By the rule that torch makes of its methods."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 4 * ctx.saved_tensors[0].sin()

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        return tangent * 7 * ctx.saved_tensors[0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program",
    [
        func.vmap(Square.apply),
        func.vmap(lambda x: Square.apply(x).sum(), in_dims=1),
        func.vmap(func.vmap(Square.apply)),
        func.grad(lambda x: Square.apply(x).sum()),
        func.grad(lambda x: Square.apply(x.sin()).cos().sum()),
        lambda x: func.vjp(Square.apply, x)[1](x),
        func.jacrev(Square.apply),
        func.vmap(func.grad(lambda x: Square.apply(x).sum())),
        lambda x: func.jvp(Square.apply, (x,), (x,)),
        lambda x: func.vmap(lambda y: func.jvp(Square.apply, (y,), (y,)))(x),
        lambda x: func.jvp(func.grad(lambda y: Square.apply(y).sin().sum()), (x,), (x,)),
        func.vmap(Cube.apply),
        func.vmap(func.vmap(Cube.apply)),
        func.vmap(func.grad(lambda x: Cube.apply(x).sum()), in_dims=1),
        func.jacrev(Cube.apply),
        func.jacfwd(Cube.apply),
        lambda x: func.hessian(lambda y: Cube.apply(y).sum())(x[0]),
    ],
)
def test_autograd_function_within(program: Callable[..., Any], backend: str) -> None:
    """The user's backward is taken, and one entry serves all calls."""

    def called(x: torch.Tensor) -> Any:
        return program(x)

    captured = whole(called, backend)
    gc.disable()  # a collection drops entries of aot_eager whose guards name what torch's tracing has made
    try:
        for scale in (1.0, 1.0, 3.0):
            torch.testing.assert_close(captured(X * scale), program(X * scale))
        assert len(minidynamo.debug.cache_entries(captured)) == 1
    finally:
        gc.enable()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program",
    [
        func.vmap(Square.apply),
        func.vmap(Cube.apply),
        func.vmap(func.grad(lambda x: Cube.apply(x).sum())),
        lambda x: func.jvp(Square.apply, (x,), (x,))[0],
        lambda x: func.vmap(lambda y: torch.cond(y.sum() > 0, torch.sin, torch.cos, (y,)))(x),
        lambda x: func.vmap(lambda y: torch.cond(x.sum() > 0, torch.sin, torch.cos, (y,)))(x),
    ],
)
def test_gradients_from_outside_of_a_transform(program: Callable[..., Any], backend: str) -> None:
    """They too go by the user's backward, or by the branch that was taken."""

    def called(x: torch.Tensor) -> Any:
        return program(x)

    captured = whole(called, backend)
    for scale in (1.0, -1.0):
        results = []
        for function in (captured, called):
            x = (X * scale).requires_grad_()
            results.append([function(x), *torch.autograd.grad(function(x).cos().sum(), x)])
        torch.testing.assert_close(results[0], results[1])


def test_dual_numbers_in_an_autograd_function() -> None:
    def program(x: torch.Tensor) -> Any:
        with forward.dual_level():
            return forward.unpack_dual(Square.apply(forward.make_dual(x, x.cos())))

    assert all(torch.equal(one, other) for one, other in zip(whole(program)(X), program(X)))


def test_branches_of_several_results_under_vmap() -> None:
    """torch's own rule returns the first of them alone."""

    def program(x: torch.Tensor) -> Any:
        return func.vmap(lambda y: torch.cond(y.sum() > 0, lambda z: (z.sin(), z), lambda z: (z.cos(), z + 1), (y,)))(x)

    with pytest.raises(minidynamo.exceptions.Unsupported, match="no rule"):
        whole(program)(X)


FACTOR = 2


class Scaled(Square):
    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * FACTOR * ctx.saved_tensors[0]


def test_the_backward_of_a_function_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that it reads is guarded, and so is which function it is."""

    def program(x: torch.Tensor) -> Any:
        return func.grad(lambda y: Scaled.apply(y).sum())(x)

    captured = whole(program)
    torch.testing.assert_close(captured(X), X * 2)
    monkeypatch.setattr(f"{__name__}.FACTOR", 5)
    torch.testing.assert_close(captured(X), X * 5)
    monkeypatch.setattr(Scaled, "backward", staticmethod(lambda _, gradient: gradient * 100))
    torch.testing.assert_close(captured(X), torch.full_like(X, 100))
