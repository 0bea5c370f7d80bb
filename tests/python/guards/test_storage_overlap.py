"""Inputs that share a storage at one call and not at the next, where one of them is written to."""

import pytest
import torch

import minidynamo

BACKENDS = ["eager", "aot_eager"]


def separate():
    return torch.arange(4.0), torch.arange(4.0)


def same_memory():
    base = torch.arange(4.0)
    return base, base.view(4)


def overlapping():
    base = torch.arange(6.0)
    return base[:4], base[2:]


def overlapping_elsewhere():
    base = torch.arange(7.0)
    return base[:4], base[3:]


def apart_in_one_storage():
    base = torch.arange(8.0)
    return base[:4], base[4:]


def turned():
    base = torch.arange(6.0)
    return base[2:], base[:4]


def outside_autograd():
    base = torch.arange(6.0)
    return base.detach()[:4], base.detach()[2:]


LAYOUTS = [separate, same_memory, overlapping, overlapping_elsewhere, apart_in_one_storage, turned, outside_autograd]


def write_first(x, y):
    x.add_(1)
    return y * 2


def write_second(x, y):
    y.mul_(3)
    return x + y


def write_both(x, y):
    x.add_(1)
    y.mul_(2)
    x.sub_(3)
    return x * y


def write_through_view(x, y):
    x[1:3].zero_()
    return y.clone(), x.sum()


def write_by_out(x, y):
    torch.add(x, 1, out=y)
    return x * 2


def write_what_is_read(x, y):
    y.add_(x)
    return x * 2


def write_with_item(x, y):
    x[0] = 7.0
    return y + x


def read_only(x, y):
    return x * 2 + y


FUNCTIONS = [write_first, write_second, write_both, write_through_view, write_by_out, write_what_is_read, write_with_item, read_only]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_sharing_changes_between_calls(function, backend):
    for first in LAYOUTS if backend == "eager" else [separate, overlapping]:
        captured = minidynamo.compile(function, backend=backend)
        for layout in (first, *(LAYOUTS if backend == "eager" else [separate, overlapping, outside_autograd]), first):
            expected_inputs, inputs = layout(), layout()
            try:
                expected = function(*expected_inputs)
            except RuntimeError:
                with pytest.raises(RuntimeError):
                    captured(*inputs)
                continue
            got = captured(*inputs)
            for a, b in zip((*inputs, *got) if isinstance(got, tuple) else (*inputs, got),
                            (*expected_inputs, *expected) if isinstance(expected, tuple) else (*expected_inputs, expected)):  # fmt: skip
                assert torch.equal(a, b), (first.__name__, layout.__name__)
        minidynamo.reset()


def test_no_guard_where_nothing_is_written():
    graphs = []

    def backend(graph_module, inputs):
        graphs.append(graph_module)
        return graph_module.forward

    captured = minidynamo.compile(read_only, backend=backend)
    for layout in LAYOUTS:
        captured(*layout())
    assert len(graphs) == 1


def test_running_statistics_that_become_one_storage():
    def f(x, mean, variance):
        return torch.nn.functional.batch_norm(x, mean, variance, training=True), mean + variance

    x = torch.randn(4, 3)
    captured = minidynamo.compile(f, backend="aot_eager")

    def apart() -> tuple[torch.Tensor, ...]:
        return torch.zeros(3), torch.ones(3)

    def in_one_storage() -> tuple[torch.Tensor, ...]:
        return torch.ones(6).view(2, 3).unbind()

    for make in (apart, in_one_storage, apart):
        expected_statistics, statistics = make(), make()
        expected, got = f(x, *expected_statistics), captured(x, *statistics)
        for a, b in zip((*got, *statistics), (*expected, *expected_statistics), strict=True):
            torch.testing.assert_close(a, b)


def test_a_storage_that_is_replaced():
    def f(x, y):
        x.add_(1)
        return y * 2

    captured = minidynamo.compile(f, backend="aot_eager")
    x, y = torch.arange(4.0), torch.arange(4.0)
    captured(x, y)
    captured(x, y)
    x.data = y.data  # the same objects, another storage
    expected = (y + 1) * 2
    assert torch.equal(captured(x, y), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_written_input_whose_elements_overlap(backend):
    """AOTAutograd cannot write to the result of expand(), not even to a column that has its memory for itself."""

    def f(x):
        x[:, 0] += 1
        return x.sum()

    captured = minidynamo.compile(f, backend=backend)
    for make in (lambda: torch.ones(2, 2), lambda: torch.ones(2, 1).expand(2, 2), lambda: torch.ones(2, 2)):
        expected, actual = make(), make()
        assert torch.equal(captured(actual), f(expected)) and torch.equal(actual, expected)
    (entry,) = minidynamo.debug.cache_entries(captured)
    assert entry.hits == 1


def view_gets_history(x, view, leaf):
    view -= leaf
    return x.requires_grad, (x * 2).requires_grad, x._version


def base_gets_history(x, view, leaf):
    read = view.sum()
    x *= leaf.sum()
    return read.requires_grad, view.requires_grad, (view * 2).requires_grad, view._version


def base_is_seen_late(x, view, leaf):
    view *= leaf
    minidynamo.graph_break()
    view.mul_(leaf)
    return (x * 3).sum()


def both_count(x, view, leaf):
    view += 1
    before = x._version
    x += 1
    view.detach().add_(1)
    return before, x._version, view._version


def counts_apart(x, view, leaf):
    data = view.data
    data += 1
    x += 1
    return data._version, view._version


def written_to_where_it_is_saved(x, view, leaf):
    y = (view * leaf).exp()
    view += 1
    x[:1] = 2
    return y.sum()


FOR_ALL_BACKENDS = [view_gets_history, base_gets_history, both_count]
# AOTAutograd refuses to write to what it saves, and to a tensor beside its `data`.
FOR_EAGER_ALONE = [base_is_seen_late, counts_apart, written_to_where_it_is_saved]


@pytest.mark.parametrize(
    ("function", "backend"),
    [(f, backend) for f in FOR_ALL_BACKENDS for backend in BACKENDS] + [(f, "eager") for f in FOR_EAGER_ALONE],
)
def test_histories_and_counts_of_views(function, backend):
    """Both views are inputs of the graph."""

    def observed(called):
        x, leaf = torch.arange(4.0), torch.full((2,), 3.0, requires_grad=True)
        view = x[1:3]
        result = called(x, view, leaf)
        after = (x._version, view._version, x.requires_grad, view.requires_grad, x.tolist())
        if isinstance(result, tuple):
            return result, after
        try:
            result.backward()
        except RuntimeError as error:
            return result.item(), after, "modified by an inplace operation" in str(error)
        return result.item(), after, leaf.grad.tolist()

    captured = minidynamo.compile(function, backend=backend)
    assert [observed(captured), observed(captured)] == [observed(function)] * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_grad_mode_behind_a_graph_that_switches_it_and_writes_to_one_of_two_views(backend):
    def f(y):
        row = y[0]
        with torch.no_grad():
            minidynamo.graph_break()
            torch._C._set_grad_enabled(True)
            row.add_(1)
            y.t()
            torch._C._set_grad_enabled(False)
            minidynamo.graph_break()
            return torch.is_grad_enabled()

    assert minidynamo.compile(f, backend=backend)(torch.ones(2, 2)) is f(torch.ones(2, 2)) is False


def test_a_view_that_autograd_refuses_since_its_base_has_changed():
    def f(y):
        row = y.unbind()[0]
        row.detach().add_(1)
        try:
            row[0].add_(1)
        finally:
            torch.cat([row])

    for called in (f, minidynamo.compile(f, backend="eager")):
        with pytest.raises(RuntimeError, match="has been modified inplace") as caught:
            called(torch.ones(2, 2, requires_grad=True))
        assert isinstance(caught.value.__context__, RuntimeError)
