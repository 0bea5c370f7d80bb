"""NumPy in captured functions: arrays of tensors and arrays from outside are traced as tensors, by torch's layer for NumPy; results
have the classes, dtypes and shapes of NumPy's own."""

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._numpy import _funcs_impl, _reductions_impl  # which names there are

import minidynamo
from minidynamo import debug

Function = Callable[..., Any]
TABLE = np.arange(12.0).reshape(4, 3)
BACKENDS = ["eager", "aot_eager"]


def differs(expected: Any, actual: Any) -> str:
    """How two results differ; "" if they do not. Values are compared with the tolerance of another library's kernels."""
    if type(expected) is not type(actual):
        return f"{type(expected)} is {type(actual)}"
    if isinstance(expected, tuple | list):
        if len(expected) != len(actual):
            return f"{len(expected)} items are {len(actual)}"
        return next((text for one, other in zip(expected, actual, strict=True) if (text := differs(one, other))), "")
    if isinstance(expected, torch.Tensor):
        same = expected.dtype == actual.dtype and torch.allclose(expected, actual, rtol=1e-4, atol=1e-5, equal_nan=True)
        return "" if same else f"{expected} is {actual}"
    if isinstance(expected, np.ndarray | np.generic):
        kind = (expected.dtype, expected.shape), (actual.dtype, actual.shape)
        if kind[0] != kind[1]:
            return f"{kind[0]} is {kind[1]}"
        return "" if np.allclose(expected, actual, rtol=1e-4, atol=1e-5, equal_nan=True) else f"{expected} is {actual}"
    return "" if expected == actual else f"{expected!r} is {actual!r}"


def sample(dtype: Any = np.float32, order: Any = "C") -> Any:
    values = np.random.default_rng(7).standard_normal((4, 3)) * 3
    return np.array(values.astype(dtype), order=order)


# --- functions of an array


def arithmetic(a: Any) -> Any:
    return a * 2 + 1, 2 - a, a / 3, a // 2, a % 2, a**2, -a, +a, abs(a), np.float32(2) * a, a + np.arange(3, dtype=np.float32)


def comparisons(a: Any) -> Any:
    return a > 0, a == a, (a > 0) & (a < 1), ~(a > 0), np.isnan(a).any(), (a == a).all(), a > 0


def reductions(a: Any) -> Any:
    return a.sum(), a.mean(axis=1, keepdims=True), a.std(), a.max(axis=0), np.argmax(a), a.prod(axis=1), np.median(a), np.ptp(a)


def shapes(a: Any) -> Any:
    return a.reshape(2, 6).T, a.ravel(), a[..., None], np.squeeze(a), np.transpose(a), np.expand_dims(a, 0), a.flatten(), a.swapaxes(0, 1)


def indexing(a: Any) -> Any:
    return a[1], a[:, 1:], a[0, 0], a[[0, 1]], a[np.array([2, 0])], a[-1, ::2], a[::-1] * 2, a[np.int64(1)], a[a.argmax(axis=0)]


def joined(a: Any) -> Any:
    return np.concatenate([a, a], axis=1), np.stack([a, a]), np.vstack([a, a]), np.split(a, 2), np.where(a > 0, a, 0), np.tile(a, 2)


def linear_algebra(a: Any) -> Any:
    square = a.T @ a + np.eye(3, dtype=a.dtype) * 10
    return np.linalg.norm(a), a @ a.T, np.dot(a, a.T).trace(), np.linalg.inv(square), np.einsum("ij,kj->ik", a, a), np.outer(a[0], a[1])


def scalars(a: Any) -> Any:
    total = a.sum()
    before = total
    total += 1
    return total, before, a[0, 0] * 2, total.dtype, isinstance(total, np.floating), isinstance(a.sum(dtype=np.float64), float), total.shape


def facts(a: Any) -> Any:
    kinds = isinstance(a, np.ndarray), type(a) is np.ndarray, hasattr(a, "no")
    return a.shape, a.ndim, a.size, a.dtype, a.itemsize, a.nbytes, len(a), kinds


def made(a: Any) -> Any:
    filled = np.zeros((4, 3), dtype=np.float32)
    filled[0] = a[1]
    filled[1:] += np.ones(3, dtype=np.float32)
    return filled, np.zeros_like(a), np.full((2, 2), 7), np.arange(a.shape[0]), np.empty_like(a).shape, np.eye(3)


def written(a: Any) -> Any:
    b = a[1:]
    b[0] = 5
    a += 1
    a[:, 0] *= 2
    a[a.shape[0] - 1, 0] = b[0, 1]
    return a.sum(), b.shape


def given_back(a: Any) -> Any:
    return np.add(a, 1, out=a) is a, a


def walked(a: Any) -> Any:
    total = np.float32(0)
    for row in a:
        for value in row:
            total = total + value
    first, *_, last = a
    return total, first, last, [row * 2 for row in a]


def converted(a: Any) -> Any:
    return a.astype(np.float64), a.astype(int), a.astype("float32"), np.asarray(a) is a, np.array(a) is a, np.asarray(a, dtype=np.float64)


def to_tensors(a: Any) -> Any:
    shared, own = torch.from_numpy(a), torch.tensor(a)
    shared += 1
    return shared, own, torch.as_tensor(a, dtype=torch.float64), a.sum(), torch.asarray(a).sum()


def with_global(a: Any) -> Any:
    return TABLE + a, TABLE.mean(), (TABLE * a).sum(axis=1)


def softmax(a: Any) -> Any:
    shifted = np.exp(a - a.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def branch_on_kind(a: Any) -> Any:
    if a.dtype == np.float64:
        return a * 2
    return a * 3 if isinstance(a, np.ndarray) else a


def nested(a: Any) -> Any:
    parts = {"rows": [a[0], a[1]], "sum": a.sum()}
    return [part * 2 for part in parts["rows"]], parts["sum"]


def with_tensors(a: Any) -> Any:
    x = torch.ones(4, 3, dtype=torch.from_numpy(a).dtype)
    return x * a, x + a.sum(), x > a.max(), x - np.float64(2)


def wrapped(a: Any) -> Any:
    return torch.compiler.wrap_numpy(lambda b: b.sum(axis=0) * 2)(torch.from_numpy(a))


FUNCTIONS = [
    arithmetic, comparisons, reductions, shapes, indexing, joined, linear_algebra, scalars, facts, made, written, given_back, walked,
    converted, to_tensors, with_global, softmax, branch_on_kind, nested, with_tensors, wrapped,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_array_from_outside(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, fullgraph=True, backend=backend)
    for array in (sample(), sample() + 1, sample(np.float64)):
        expected_array, actual_array = array.copy(), array.copy()
        assert not differs(function(expected_array), captured(actual_array))
        assert not differs(expected_array, actual_array), "what was written to it"
    column_major = sample(order="F")
    own = sample(order="F")
    assert not differs(function(column_major), captured(own)) and not differs(column_major, own)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_array_of_a_tensor(function: Function, backend: str) -> None:
    def through_tensor(x: torch.Tensor) -> Any:
        return function(x.numpy()), x * 2

    captured = minidynamo.compile(through_tensor, fullgraph=True, backend=backend)
    for array in (sample(), sample() + 1):
        expected_tensor, actual_tensor = torch.from_numpy(array.copy()), torch.from_numpy(array.copy())
        assert not differs(through_tensor(expected_tensor), captured(actual_tensor))
        assert torch.equal(expected_tensor, actual_tensor), "what was written to it"


def test_one_capture_serves_other_values() -> None:
    captured = minidynamo.compile(softmax, fullgraph=True, backend="eager")
    for array, entries in ((sample(), 1), (sample() * 2, 1), (sample(np.float64), 2), (sample(), 2)):
        captured(array)
        assert len(debug.cache_entries(captured)) == entries


def test_inductor() -> None:
    captured = minidynamo.compile(softmax, fullgraph=True, backend="inductor")
    assert not differs(softmax(sample()), captured(sample()))


def test_results_share_memory_as_in_numpy() -> None:
    def parts(a: Any) -> Any:
        b = a * 2
        return a, b, b[1:], b.T, b.copy(), a[0]

    array = sample()
    whole, made, rows, transposed, copy, first = minidynamo.compile(parts, fullgraph=True, backend="eager")(array)
    assert whole is array
    made[1] = 100
    assert rows[0, 0] == 100 and transposed[0, 1] == 100 and copy[1, 0] != 100
    array[0, 0] = 50
    assert first[0] == 50


def test_what_is_written_is_seen_through_other_arrays() -> None:
    def write(a: Any, b: Any) -> Any:
        a += 1
        return b * 2

    base, other = sample(), sample()
    for backend in BACKENDS:
        captured = minidynamo.compile(write, backend=backend)
        for _ in range(2):  # apart, and over the same memory, each twice
            one, two = base.copy(), other.copy()
            assert not differs(write(one.copy(), two), captured(one, two))
            expected, shared = base.copy(), base.copy()
            assert not differs(write(expected, expected[1:]), captured(shared, shared[1:])) and not differs(expected, shared)
            expected, shared = base.copy(), base.copy()
            assert not differs(write(expected, torch.from_numpy(expected)), captured(shared, torch.from_numpy(shared))) and not differs(
                expected, shared
            )


def test_a_reversed_view_is_one() -> None:
    def turned(a: Any) -> Any:
        b = a[::-1]
        a[0] = 7
        return b.copy(), b

    array, own = sample(), sample()
    expected, actual = turned(array), minidynamo.compile(turned, backend="eager")(own)
    assert not differs(expected, actual)
    own[1] = 9
    assert actual[1][2, 0] == 9


def test_kinds_of_arrays_that_no_tensor_shows_run_as_they_are() -> None:
    read_only = sample()
    read_only.setflags(write=False)
    others = [read_only, sample()[::-1], sample().astype(">f4"), np.array(["a", "b"]), np.ma.masked_array(sample())]
    others.append(np.array([1, "x"], dtype=object))

    def keep(a: Any) -> Any:
        return a.shape, a[0], len(a)

    captured = minidynamo.compile(keep, backend="eager")
    for array in others:
        for _ in range(2):
            expected, actual = keep(array), captured(array)
            assert expected[0] == actual[0] and expected[2] == actual[2] and type(expected[1]) is type(actual[1])
            assert np.array_equal(expected[1], actual[1])


ERRORS: list[Function] = [
    lambda a: a @ a,
    lambda a: a + np.zeros(5),
    lambda a: a[10],
    lambda a: a.reshape(5, 5),
    lambda a: np.concatenate([a, a[0]]),
    lambda a: a.no_such_attribute,
    lambda a: {a: 1},
    lambda a: a.sum(axis=7),
    lambda a: np.linalg.inv(a),
    lambda a: a.__setitem__(0, "x"),
    lambda a: bool(a),
    lambda a: a & 1,
]


@pytest.mark.parametrize("function", ERRORS)
def test_errors_are_numpys_own(function: Function) -> None:
    outcomes = []
    for run in (function, minidynamo.compile(function, backend="eager")):
        with pytest.raises(Exception) as raised:
            run(sample())
        outcomes.append((type(raised.value), str(raised.value)))
    assert outcomes[0] == outcomes[1]


def test_values_end_the_graph() -> None:
    def choose(a: Any) -> Any:
        return a * 2 if a.sum() > 0 else a - 1

    captured = minidynamo.compile(choose, backend="eager")
    for array in (np.ones((2, 2)), -np.ones((2, 2))):
        assert not differs(choose(array), captured(array))
    assert debug.break_reasons()


def test_arrays_live_across_a_break() -> None:
    def broken(x: torch.Tensor) -> Any:
        a = x.numpy() * 2
        total = a.sum()
        print(x.sum().item() > 100, end="")
        a += 1
        return a, total, a.mean() + total

    captured = minidynamo.compile(broken, backend="eager")
    for _ in range(2):
        assert not differs(broken(torch.ones(3)), captured(torch.ones(3)))


def test_random_numbers_are_numpys() -> None:
    def noisy(a: Any) -> Any:
        return a + np.random.standard_normal(a.shape)

    captured = minidynamo.compile(noisy, backend="eager")
    for _ in range(3):
        np.random.seed(3)
        expected = noisy(sample())
        np.random.seed(3)
        assert not differs(expected, captured(sample()))


SCALARS: list[Function] = [
    lambda s: (torch.tensor(s), torch.tensor([s, 1]), torch.as_tensor(s), torch.asarray(s), torch.tensor([[s], (2.5,)])),
    lambda s: (torch.tensor(s, dtype=torch.float16), torch.ones(2).new_tensor(s), torch.tensor(s.item())),
    lambda s: (torch.ones(2) * s, s * torch.ones(2), torch.ones((), dtype=torch.int64) * s, s / torch.ones(2)),
    lambda s: (torch.full((2,), s), torch.add(torch.ones(2), s), torch.where(torch.ones(2) > 0, s, torch.zeros(2))),
]


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64", "int8", "uint16", "bool_", "complex64", "complex128"])
@pytest.mark.parametrize("function", SCALARS)
def test_torch_takes_a_scalar_as_in_eager(function: Function, kind: str) -> None:
    captured = minidynamo.compile(function, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (2.5, 1.25, 3.5):
            scalar = getattr(np, kind)(value)
            try:
                expected = function(scalar)
            except (TypeError, RuntimeError) as error:
                with pytest.raises(type(error)):
                    captured(scalar)
                continue
            assert not differs(expected, captured(scalar))


INTEGERS = np.array([-15, 25, 35])
OTHERWISE_IN_THE_LAYER: list[tuple[Function, Any]] = [
    (lambda a: np.sqrt(a, where=a > 0.5, out=np.full(2, 7.0)), np.array([0.0, 1.0])),
    (lambda a: np.sum(a, where=a > 0.5), np.array([0.25, 1.0])),
    (lambda a: np.sum(a, initial=2.0), np.array([0.25, 1.0])),
    (lambda a: np.add(a, 1, casting="unsafe", out=a), INTEGERS),
    (lambda a: np.round(a, -1), INTEGERS),
    (lambda a: a.round(-1), INTEGERS),
    (lambda a: 2**a, INTEGERS),
    (lambda a: np.power(2, a), INTEGERS),
    (lambda a: a**a, INTEGERS),
    (lambda a: float(a), np.ones((1, 1))),
    (lambda a: float(a * 2), np.ones(1)),
    (lambda a: (a * 2).__float__(), np.ones(1)),
    (lambda a: complex(a * 2), np.ones((1,))),
    (lambda a: float(a * 2), np.ones(())),
]


@pytest.mark.parametrize("index", range(len(OTHERWISE_IN_THE_LAYER)))
def test_where_the_layer_does_otherwise_numpy_decides(index: int) -> None:
    function, array = OTHERWISE_IN_THE_LAYER[index]
    captured = minidynamo.compile(function, backend="eager")
    try:
        expected = function(array.copy())
    except Exception as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            captured(array.copy())
        return
    assert not differs(expected, captured(array.copy()))


# --- every function of torch's layer, and methods, on what it takes


def calls() -> list[Any]:
    names = [name for name, value in inspect.getmembers(_funcs_impl) + inspect.getmembers(_reductions_impl) if inspect.isfunction(value)]
    names += [name for name in dir(torch._numpy._ufuncs) if isinstance(getattr(np, name, None), np.ufunc)]
    return sorted({name for name in names if not name.startswith("_") and callable(getattr(np, name, None))})


ARGUMENTS: list[tuple[str, Function]] = [
    ("a", lambda call, a: call(a)),
    ("a, a", lambda call, a: call(a, a)),
    ("a, 1", lambda call, a: call(a, 1)),
    ("a, a.T", lambda call, a: call(a, a.T)),
    ("a[0], a[1]", lambda call, a: call(a[0], a[1])),
    ("a, axis=0", lambda call, a: call(a, axis=0)),
    ("[a, a]", lambda call, a: call([a, a])),
    ("a, (2, 6)", lambda call, a: call(a, (2, 6))),
    ("a, 0, 1", lambda call, a: call(a, 0, 1)),
    ("a > 0, a, 0", lambda call, a: call(a > 0, a, 0)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex64], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", calls())
def test_every_function_of_the_layer(name: str, dtype: Any) -> None:
    function = getattr(np, name)
    for text, form in ARGUMENTS:

        def run(a: Any, form: Function = form) -> Any:
            return form(function, a)

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected_array = sample(dtype)
                expected = run(expected_array)
            except Exception:  # not a call of this function
                continue
            actual_array = sample(dtype)
            actual = minidynamo.compile(run, backend="eager")(actual_array)
            if name not in {"empty", "empty_like"}:
                assert not differs(expected, actual), text
            assert not differs(expected_array, actual_array), text
        minidynamo.reset()
