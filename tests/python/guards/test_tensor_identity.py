"""Which tensor is which: id(), `is`, sets and dicts of tensors, list searches; classes and legacy types of tensors."""

import operator
import re
import weakref

import pytest
import torch

import minidynamo

A, B = torch.randn(3), torch.randn(3)
REMEMBERED = id(A)
GRAD_FN = re.compile(r"grad_fn=<\w+>")


def check(function, *calls, backend="eager"):
    captured = minidynamo.compile(function, backend=backend)
    for arguments in (*calls, *calls):
        expected, got = function(*arguments), captured(*arguments)
        assert GRAD_FN.sub("", repr(expected)) == GRAD_FN.sub("", repr(got)), (function, arguments)
    minidynamo.reset()


def remembered_number(x, y):
    return x + 1 if id(x) == REMEMBERED else x + 2


def numbers_differ(x, y):
    return id(x) == id(y), x + 1


def number_of_result(x, y):
    z = x + 1
    return id(z) == id(x), id(z) == id(z), z


def set_of_two(x, y):
    return len({x, y})


def set_of_two_and_a_graph(x, y):
    return len({x, y}), x + y


def frozen_set(x, y):
    return len(frozenset([x, y])), x in frozenset([y])


def member_of_set(x, y):
    seen = {x}
    return y in seen, x in seen


def dict_of_two(x, y):
    return len({x: 1, y: 2}), {x: 1, y: 2}[y]


def dict_get(x, y):
    return {x: 1}.get(y), x + 1


def same(x, y):
    return x is y, x is not y


def same_by_operator(x, y):
    return operator.is_(x, y), operator.is_not(x, y)


def member_of_list(x, y):
    return x in [x, y], x + 1


def place_in_list(x, y):
    return [x, y].index(x), [x].count(x)


def place_by_operator(x, y):
    return operator.indexOf([x, y], x), operator.contains([x], x)


def in_tuple_compared(x, y):
    return (1, x) == (1, x)


def identity_of_weak_reference(x, y):
    return weakref.ref(x)() is x, weakref.ref(x) is weakref.ref(x)


def hashes(x, y):
    return hash(x) == hash(y), hash(x) == hash(A)


def set_is_returned(x, y):
    made = {x, y}
    return [t in made for t in (x, y, A, B)]


FUNCTIONS = [value for value in list(globals().values()) if getattr(value, "__module__", None) == __name__ and callable(value)]


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f is not check], ids=lambda f: f.__name__)
def test_identity(function):
    check(function, (A, B), (A, A))
    check(function, (A, A), (A, B))
    check(function, (A, B), (B, A), (torch.zeros(3), torch.ones(3)))


def test_a_set_that_leaves():
    def f(x, y):
        return {x, y}, {x: 1, y: 2}

    captured = minidynamo.compile(f, backend="eager")
    for arguments in ((A, B), (torch.zeros(3), torch.ones(3))):
        made, mapping = captured(*arguments)
        assert all(t in made and t in mapping for t in arguments) and len(made) == 2


def test_sets_of_parameters_do_not_tie_an_entry_to_one_model():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.second(self.first(x)) * len(set(self.parameters()))

    runs = []

    def backend(graph_module, inputs):
        runs.append(graph_module)
        return graph_module.forward

    def call(model, x):
        return model(x)

    captured = minidynamo.compile(call, backend=backend)
    for _ in range(3):
        model = Model()
        assert torch.equal(captured(model, A), model(A))
    assert len(runs) == 1
    tied = Model()
    tied.second.weight = tied.first.weight
    assert torch.equal(captured(tied, A), tied(A))


KINDS = [
    lambda x: isinstance(x, torch.FloatTensor),
    lambda x: isinstance(x, (torch.LongTensor, torch.FloatTensor)),
    lambda x: isinstance(x + 0, torch.DoubleTensor),
    lambda x: isinstance(x, torch.Tensor),
    lambda x: isinstance(x, torch.nn.Parameter),
    lambda x: isinstance(x, torch.nn.Buffer),
    lambda x: isinstance(x + 0, torch.nn.Parameter),
    lambda x: isinstance(x, (int, torch.nn.Parameter)),
    lambda x: isinstance(x, torch.Tensor | int),
    lambda x: type(x) is torch.Tensor,
    lambda x: (x.type(), x.type() == "torch.FloatTensor"),
    lambda x: (torch.is_tensor(x), torch.is_storage(x), torch.is_floating_point(x), torch.is_complex(x)),
    lambda x: issubclass(type(x), torch.nn.Parameter),
]


@pytest.mark.parametrize("function", KINDS)
def test_kinds(function):
    def with_graph(x):
        return function(x), x + 1

    tensors = [A, A.long(), A.double(), torch.nn.Parameter(A), torch.nn.Buffer(A.clone()), A.clone().requires_grad_()]
    for first in tensors:
        check(with_graph, *((x,) for x in (first, *tensors)))


class Loud(torch.Tensor):
    """sin() is a hundred times itself, by __torch_function__."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        return result * 100 if func is torch.sin else result


class Quiet(torch.Tensor):
    pass


class Weight(torch.nn.Parameter):
    @property
    def double_size(self):
        return 2 * self.numel()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", [Loud, Quiet])
def test_tensors_of_classes_of_their_own(kind, backend):
    check(lambda x: torch.sin(x), (A.as_subclass(kind),), (A,), backend=backend)
    check(lambda x: torch.sin(x) + A, (A,), (A.as_subclass(kind),), backend=backend)
    check(lambda x: torch.sin(x.as_subclass(kind)), (A,), backend=backend)
    check(lambda x, y: (x + 1, torch.sin(y)), (A, A.as_subclass(kind)), backend=backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_parameters_of_classes_of_their_own(backend):
    check(lambda x: torch.sin(x) * x.double_size, (Weight(A),), backend=backend)


FACTORIES = [
    lambda x: torch.ones(2, requires_grad=True),
    lambda x: torch.zeros(2, requires_grad=True),
    lambda x: torch.empty(0, requires_grad=True),
    lambda x: torch.full((2,), 3.0, requires_grad=True),
    lambda x: torch.eye(2, requires_grad=True),
    lambda x: torch.arange(3.0, requires_grad=True),
    lambda x: torch.linspace(0, 1, 3, requires_grad=True),
    lambda x: torch.tensor([1.0, 2.0], requires_grad=True),
    lambda x: torch.scalar_tensor(1.0, requires_grad=True),
    lambda x: torch.zeros_like(x, requires_grad=True),
    lambda x: torch.full_like(x, 1.0, requires_grad=True),
    lambda x: x.new_zeros(2, requires_grad=True),
    lambda x: x.new_full((2,), 1.0, requires_grad=True),
    lambda x: x.new_tensor([1.0], requires_grad=True),
    lambda x: torch.ones(3, requires_grad=True) * x,
    lambda x: torch.ones(3, requires_grad=False) * x,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("factory", FACTORIES)
def test_leaves_made_inside(factory, backend):
    captured = minidynamo.compile(lambda x: (factory(x), x + 1), backend=backend)
    for _ in range(2):
        made, expected = captured(A)[0], factory(A)
        assert (made.requires_grad, made.is_leaf) == (expected.requires_grad, expected.is_leaf)
        assert torch.equal(made, expected)
        if made.requires_grad:
            made.sum().backward()
            assert made.is_leaf == (made.grad is not None)


CALLS = [
    lambda x: x.sin().max(0).values,
    lambda x: x.sin().max(0).values.view(-1),
    lambda x: torch.nn.functional.layer_norm(x, (4,)),
    lambda x: torch.nn.functional.max_pool1d(x, 2),
    lambda x: x.topk(2).values,
    lambda x: torch.var_mean(x, 1)[1],
    lambda x: (x + 1).unbind(0)[1],
    lambda x: x.sin(),
]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("call", CALLS)
def test_results_of_equal_calls_are_tensors_of_their_own(call, backend):
    """AOTAutograd merges equal calls of a graph with gradients."""
    captured = minidynamo.compile(lambda x: (call(x), call(x), call(x)), backend=backend)
    x, eager_x = (torch.arange(16.0).reshape(4, 4).cos().requires_grad_() for _ in range(2))
    results, expected = captured(x), call(eager_x)
    with torch.no_grad():
        results[0].detach().add_(1)
        results[1].detach().add_(2)
    assert len({result.untyped_storage().data_ptr() for result in results}) == 3
    torch.testing.assert_close(results[2], expected)
    (results[0] + results[1] * 2 + results[2] * 3).sum().backward()
    (expected * 6).sum().backward()
    torch.testing.assert_close(x.grad, eager_x.grad)
