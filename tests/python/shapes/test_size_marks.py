"""Users' marks on sizes, by torch: bounds, sizes that decide nothing; what is dynamic behind a break, and at the recompile limit."""

import pytest
import torch

import minidynamo


def rows(*sizes):
    return [torch.randn(n, 8) for n in sizes]


def captures(f, inputs, backend="eager", **settings):
    optimized = minidynamo.optimize(backend, **settings)(f)
    made = []
    for x in inputs:
        arguments = x if isinstance(x, tuple) else (x,)
        before = minidynamo.stats()["captured"]
        torch.testing.assert_close(optimized(*arguments), f(*arguments), rtol=1e-5, atol=1e-5)
        made.append(minidynamo.stats()["captured"] - before)
    return made


class TestBounds:
    @pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
    def test_one_capture_within(self, backend):
        inputs = rows(4, 5, 64, 2)
        torch._dynamo.mark_dynamic(inputs[0], 0, min=2, max=64)
        assert captures(lambda x: (x.t() @ x) + x.shape[0], inputs, backend) == [1, 0, 0, 0]

    def test_beyond_is_another_entry(self):
        inputs = rows(4, 8, 9, 10)
        torch._dynamo.mark_dynamic(inputs[0], 0, min=4, max=8)
        assert captures(lambda x: x * x.shape[0], inputs)[:3] == [1, 0, 1]

    def test_bounds_answer_questions(self):
        def f(x):
            return x * 2 if x.shape[0] <= 64 else x + 1

        inputs = rows(4, 64)
        torch._dynamo.mark_dynamic(inputs[0], 0, max=64)
        assert captures(f, inputs, fullgraph=True) == [1, 0]

    def test_narrower_than_marked(self):
        def f(x):
            return x * 2 if x.shape[0] > 5 else x + 1

        x = torch.randn(8, 8)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=64)
        with pytest.raises(minidynamo.DynamicSizeError) as raised:
            minidynamo.optimize("eager")(f)(x)
        lines = str(raised.value).splitlines()
        assert len(lines) == 3 and "L['x'].size(0) is marked dynamic" in lines[0]
        assert f"{__file__}:{f.__code__.co_firstlineno + 1}" in lines[1]

    def test_out_of_bounds(self):
        x = torch.randn(8, 8)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=4)
        with pytest.raises(minidynamo.DynamicSizeError) as raised:
            minidynamo.optimize("eager")(lambda x: x + 1)(x)
        lines = str(raised.value).splitlines()
        assert len(lines) == 3 and lines[0] == "L['x'].size(0) is marked dynamic from 2 to 4, and is 8."

    def test_backend_may_ask_for_less(self):
        """As without bounds: what a compiler asks is a guard, no breach."""
        inputs = rows(4, 5)
        torch._dynamo.mark_dynamic(inputs[0], 0, min=2, max=1024)
        captures(lambda x: torch.softmax(x.view(-1), 0).sum(), inputs, "inductor")


class TestUnbacked:
    @pytest.mark.parametrize("backend", ["eager", "aot_eager"])
    def test_open(self, backend):
        inputs = rows(4, 5, 6)
        torch._dynamo.decorators.mark_unbacked(inputs[0], 0)
        assert captures(lambda x: (x * 2).sum(0) * x.shape[0], inputs, backend, fullgraph=True) == [1, 0, 0]

    def test_a_branch_is_a_break(self):
        def f(x):
            y = x * 2
            if x.shape[0] > 5:
                return y + 1
            return y - 1

        inputs = rows(4, 5, 6, 7)
        torch._dynamo.decorators.mark_unbacked(inputs[0], 0)
        captures(f, inputs)
        (graph_break, *_) = minidynamo.debug.graph_breaks()
        assert graph_break.line == f.__code__.co_firstlineno + 2
        assert "marked unbacked" in graph_break.detail

    def test_a_branch_under_fullgraph(self):
        x = torch.randn(4, 8)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        with pytest.raises(minidynamo.Unsupported, match="marked unbacked"):
            minidynamo.optimize("eager", fullgraph=True)(lambda x: x * 2 if x.shape[0] > 5 else x)(x)

    def test_bounds(self):
        inputs = rows(4, 64)
        torch._dynamo.decorators.mark_unbacked(inputs[0], 0, min=2, max=64)
        f = lambda x: x * 2 if x.shape[0] <= 64 else x
        assert captures(f, inputs, fullgraph=True) == [1, 0]

    def test_may_be_fixed(self):
        inputs = rows(4, 4)
        torch._dynamo.decorators.mark_unbacked(inputs[0], 0)
        assert captures(lambda x: x * {4: 1}[x.shape[0]], inputs) == [1, 0]

    def test_strict(self):
        def f(x):
            return x * {4: 1}[x.shape[0]]

        x = torch.randn(4, 8)
        torch._dynamo.decorators.mark_unbacked(x, 0, strict=True)
        with pytest.raises(minidynamo.DynamicSizeError) as raised:
            minidynamo.optimize("eager")(f)(x)
        lines = str(raised.value).splitlines()
        assert len(lines) == 3 and lines[0] == "L['x'].size(0) is marked unbacked, and has to be 4."
        assert f"{__file__}:{f.__code__.co_firstlineno + 1}" in lines[1]


class TestAcrossBreaks:
    """A size that differs in the first part of a frame differs in the next: no capture takes it as it is first."""

    def test_marked(self):
        def f(x):
            y = x * 2
            torch._dynamo.graph_break()
            return y.view(-1) + y.shape[0]

        inputs = rows(4, 5, 6)
        torch._dynamo.mark_dynamic(inputs[0], 0)
        assert captures(f, inputs) == [2, 0, 0]

    def test_an_int(self):
        def f(x):
            n = x.shape[0] * 2
            torch._dynamo.graph_break()
            return x * n

        inputs = rows(4, 5, 6)
        torch._dynamo.mark_dynamic(inputs[0], 0)
        assert captures(f, inputs) == [2, 0, 0]

    def test_on_the_stack(self):
        def g():
            torch._dynamo.graph_break()
            return 1

        def f(x):
            return (x * 2).sum(0, keepdim=True) * x.shape[0] + g()

        inputs = rows(4, 5, 6)
        torch._dynamo.mark_dynamic(inputs[0], 0)
        assert sum(captures(f, inputs)[1:]) == 0

    def test_a_number_that_was_read(self):
        def f(x, n):
            k = n.item()
            y = x + k
            torch._dynamo.graph_break()
            return y * k

        assert captures(f, [(x, torch.tensor(n)) for n, x in enumerate(rows(4, 4, 4, 4), 3)]) == [2, 0, 0, 0]

    def test_a_float_that_was_read(self):
        def f(x):
            k = x.sum().item()
            y = x + k
            torch._dynamo.graph_break()
            return y * k

        assert captures(f, rows(4, 4, 4)) == [2, 0, 0]


class TestLimit:
    def test_open_at_last(self):
        """The first calls need the number itself, so it is left open no more: until no other capture may be made."""

        def f(x, n):
            if n < 10:
                for _ in range(n):
                    x = x + 1
                return x
            return x * n

        x = torch.ones(4)
        made = captures(f, [(x, n) for n in (*range(2, 10), 11, 12, 13, 14)])
        assert made == [1] * 8 + [1, 0, 0, 0]
        assert not minidynamo.debug.uncaptured()

    def test_one_warning_and_then_uncaptured(self, capfd):
        def f(x, n):
            return x * len(f"{n:n}") + sum(range(n))

        x = torch.ones(4)
        made = captures(f, [(x, n) for n in range(2, 16)])
        assert sum(made) <= 9 and made[-4:] == [0, 0, 0, 0]
        assert [one.reason for one in minidynamo.debug.uncaptured()].count("recompile-limit") == 1


def test_a_step_with_its_loss():
    """The loss is read behind backward() and step(): one graph."""
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    optimized = minidynamo.optimize("eager", fullgraph=True)(step)
    x = torch.randn(4, 8)
    start = [p.detach().clone() for p in model.parameters()]
    expected = [step(x) for _ in range(4)]
    with torch.no_grad():
        for p, value in zip(model.parameters(), start, strict=True):
            p.copy_(value)
            p.grad = None
    got = [optimized(x) for _ in range(4)]
    assert got == expected and all(type(value) is float for value in got)
