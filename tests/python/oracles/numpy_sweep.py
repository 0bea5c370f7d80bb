"""Every name of torch's layer for NumPy, captured and plain: the results have the same bits, dtypes, classes, shapes and strides.

The calls are made from the layer itself (functions, ufuncs with their keywords, numpy.linalg, numpy.fft, methods of arrays) and from a
table of operators and forms. Each is made with arrays of several dtypes and layouts. The oracle is NumPy: the same call, uncaptured.

    python tests/python/oracles/numpy_sweep.py [part of a call's text] [--dtype float32] [--layout transposed] [--kinds]
"""

from __future__ import annotations

import argparse
import collections
import inspect
import itertools
import re
import warnings
from typing import Any

import numpy as np
import torch
import torch._numpy as layer

import minidynamo


def words(text: str) -> list[str]:
    return text.split()


DTYPES = words("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128")
# Functions of torch's kernels whose last digits are not those of NumPy's loops: the algorithm, the order of a sum, or the use of vector
# instructions differs. Their values may differ by a few units in the last place, and everything else may not.
ROUGH = re.compile(
    r"\b(sin|cos|tan|arcsin|arccos|arctan|arctan2|sinh|cosh|tanh|arcsinh|arccosh|arctanh|exp|exp2|expm1|log|log2|log10|log1p|sinc"
    r"|logaddexp|logaddexp2|power|pow|float_power|sqrt|reciprocal|hypot|abs|absolute|fabs|angle|sum|nansum|mean|nanmean|average|std|var"
    r"|prod|cumsum|cumprod|cumproduct|nanstd|nanvar|median|percentile|quantile|trace|dot|vdot|inner|outer|tensordot|einsum|matmul|kron"
    r"|cross|cov|corrcoef|linspace|geomspace|logspace|vander|linalg|fft|divide|true_divide|floor_divide|divmod|remainder|fmod|mod|mean"
    r"|clip|histogram|histogram2d|histogramdd|deg2rad|rad2deg|degrees|radians|arange|multiply|square|convolve|correlate|polyfit|trapz|i0|interp)\b|\*\*|/|@|\*"
)
# They give what lies in memory, read or write files, or have a deprecated name, about which a graph does not warn.
NOT_FOR_PROGRAMS = {"empty", "empty_like", "save", "load", "shares_memory", "may_share_memory", "row_stack"}

OPERATORS = [
    *(f"{a} {op} {b}" for op in words("+ - * / // % ** < <= == != > >= & | ^") for a, b in ("xy", "x2", "2x", ("x", "x.T"), ("1.5", "x"))),
    *(f"{a} {op} {b}" for op in ("<<", ">>", "@") for a, b in ("xy", "x2")),
    *(f"in_place(x, {op!r}, {b})" for op in words("+ - * / // % ** & | ^") for b in ("y", "2", "1.5", "x")),
    *words("-x +x ~x abs(x) divmod(x,y) len(x) x.T x.real x.imag x.shape x.ndim x.size x.itemsize x.nbytes x.dtype"),
    *words("x.strides x.flags.c_contiguous x.flat x.base x[0] x[...] x[()] x[None] x[::2] x[::-1] x[x>1] x[...,0] x[-1] x[0,0] x[[0]]"),
    *words("x.T.copy() x.T.ravel() x.T.flatten() x.T+x.T x.T.astype(np.float64) x.T.reshape(-1) x.copy().T np.copy(x.T) (x+1).T*2"),
    *(f"{form.format(o)}" for o in "CFAK" for form in ("x.copy({!r})", "x.copy(order={!r})", "x.T.copy(order={!r})", "x.flatten({!r})")),
    *(f"{form.format(o)}" for o in "CFAK" for form in ("np.copy(x, order={!r})", "np.array(x, order={!r})", "np.asarray(x, order={!r})")),
    *(f"{form.format(o)}" for o in "CFAK" for form in ("x.astype('float64', order={!r})", "np.zeros_like(x, order={!r})", "x.ravel({!r})")),
    *(f"{form.format(o)}" for o in "CFAK" for form in ("np.add(x, y, order={!r})", "np.ones_like(x, order={!r})")),
    "np.ascontiguousarray(x)",
    "np.asfortranarray(x)",
    "np.zeros((2, 3), order='F') + x.size",
    *(f"x.astype(np.{d})" for d in DTYPES if d != "bool"),
    *(f"x.astype(np.{d}, copy=False)" for d in ("float32", "int64", "uint16")),
    *(f"{a}.{m}" for a in ("x",) for m in ("sum()", "mean()", "max()", "argmax()", "all()", "any()", "prod()", "std()", "cumsum()")),
    *(f"x.{m}(axis={k})" for m in words("sum mean max min argmax any all prod std var cumsum") for k in (0, -1, None)),
    *(f"x.{m}(axis=0, keepdims=True)" for m in words("sum mean max min any all prod std var")),
    *(f"np.{m}(x, dtype=np.float32)" for m in words("sum mean prod cumsum std")),
    *words("x.clip(0,2) np.clip(x,0,2) np.clip(x,None,1) np.clip(x,y,y) x.repeat(2) np.tile(x,2) np.roll(x,1) np.flip(x) np.diff(x)"),
    *words("x.reshape(-1) x.reshape(-1,1) x.reshape(-1,order='F') x.transpose() x.swapaxes(0,-1) x.squeeze() x[...,None] x.round(1)"),
    *words("np.concatenate([x,y]) np.stack([x,y]) np.where(x,x,y) np.where(x>1,x,0) np.vstack([x,y]) np.hstack([x,y]) np.full_like(x,3)"),
    *words("np.split(x,1) np.full((2,),x.max()) np.full_like(x,1.5) np.pad(x,1) np.take(x,0) x.take([0]) np.sort(x) np.argsort(x)"),
    *words("np.linalg.norm(x) np.isclose(x,y) np.allclose(x,y) np.array_equal(x,y) np.searchsorted(x,1) np.histogram(x) np.bincount(x)"),
    *words("np.expand_dims(x,0) np.moveaxis(x,0,-1) np.broadcast_to(x,(2,2,3)) np.reshape(x,-1) np.ravel(x) np.rot90(x) np.squeeze(x)"),
    *words("np.round(x) np.round(x,1) np.around(x,-1) np.unique(x) np.nonzero(x) x.nonzero() np.count_nonzero(x) np.tril(x) np.triu(x)"),
    *words("np.quantile(x,.5) np.percentile(x,30) np.median(x) np.average(x) np.einsum('...i->...',x) np.outer(x,y) np.dot(x,y)"),
    "np.maximum(x, 1.5)",
    "store(x, 0, 3)",
    "store(x, ..., y)",
    "store(x, x > 1, 0)",
    "store(x, 0, 2.5)",
    "store(x, ..., -1)",
    "np.add.reduce(x)",
    "np.add(x, y, out=np.zeros_like(x))",
    "np.sqrt(x, out=np.zeros_like(x))",
    "torch.from_numpy(x) + 1",
    "(x + x).sum() + y",
    "x.sum() * x",
    "x.max() + 1",
    "x.item()",
    "x.tolist()",
    "x.fill(2)",
    "x.sort()",
    "x.view(np.int8)",
    "np.float64(2) * x",
    "np.float32(2) + x",
    "np.int8(2) * x",
    "np.array([1, 2, 3]) + x",
    "np.array([1, 2, 3], dtype=np.float32) * x",
    "[1, 2, 3] + x",
    "True + x",
    "300 + x",
    "-1 * x",
    "2j * x",
]


def in_place(x: Any, operator: str, other: Any) -> Any:
    match operator:
        case "+":
            x += other
        case "-":
            x -= other
        case "*":
            x *= other
        case "/":
            x /= other
        case "//":
            x //= other
        case "%":
            x %= other
        case "**":
            x **= other
        case "&":
            x &= other
        case "|":
            x |= other
        case "^":
            x ^= other
    return x


def store(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def calls_of_layer() -> list[str]:
    """A call for each name that the layer and NumPy have in common, with one, two or three arrays and some numbers."""
    calls: dict[str, None] = {}
    spaces = {"np": (np, layer), "np.linalg": (np.linalg, layer.linalg), "np.fft": (np.fft, layer.fft)}
    for path, (own, theirs) in spaces.items():
        for name in dir(theirs):
            function = getattr(own, name, None)
            if name.startswith("_") or name in NOT_FOR_PROGRAMS or not callable(function) or inspect.isclass(function):
                continue
            call = f"{path}.{name}"
            if isinstance(function, np.ufunc):
                arguments = "x, y" if function.nin == 2 else "x"
                forms = ["{a}", "{t}", "{a}, dtype=np.float64", "{a}, dtype='float32', casting='unsafe'", "{a}, order='F'"]
                forms += ["{a}, out=np.zeros_like(x)", "{a}, out=np.zeros(x.shape)", "{a}, where=x > 1, out=np.zeros(x.shape)"]
                forms += ["{a}, casting='no'"] if function.nin == 2 else []
                turned = ", ".join(f"{a}.T" for a in arguments.split(", "))
                calls |= {f"{call}({form.format(a=arguments, t=turned)})": None for form in forms}
                calls |= {f"{call}({a})": None for a in (("x, 2", "2, x", "1.5, x", "x, x.T") if function.nin == 2 else ())}
                continue
            forms = ["x", "x.T", "x, y", "x, 1", "x, y, x", "[x, y]", "x, axis=0", "x, [0], 0", "3", "2, 3"]
            calls |= {f"{call}({form})": None for form in forms}
    for name in dir(layer.ndarray):
        if not name.startswith("_") and callable(getattr(np.ndarray, name, None)) and name not in NOT_FOR_PROGRAMS:
            calls |= {f"x.{name}({a})": None for a in ("", "0", "y", "0, 1", "axis=0", "out=np.zeros_like(x)")}
    return list(calls)


def all_calls() -> list[str]:
    return list(dict.fromkeys([*OPERATORS, *calls_of_layer()]))


def values(dtype: str, shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape))
    if dtype == "bool":
        flat = np.arange(size) % 3 > 0
    elif dtype.startswith("complex"):
        flat = np.resize([1 + 2j, -2.5 + 0.5j, 0, 3 - 1j, 0.25, -1j], size)
    elif dtype.startswith("float"):
        flat = np.resize([2.5, -1.75, 0.5, -0.0, 3, 1e-3, 1.25], size)
    elif dtype.startswith("uint"):
        flat = np.resize([3, 1, 250, 0, 2, 7], size)
    else:
        flat = np.resize([3, -1, 120, 0, -2, 7], size)
    return flat.astype(dtype).reshape(shape)


def read_only(x: Any) -> Any:
    x.flags.writeable = False
    return x


def regular(dtype):
    """A matrix that has an inverse: of others the last digits decide what comes out."""
    x = values(dtype, (3, 3))
    x[np.diag_indices(3)] += np.ones(3, dtype) if dtype == "bool" else np.asarray([9, 17, 30], dtype)
    return x


LAYOUTS = {
    "matrix": lambda d: values(d, (2, 3)),
    "vector": lambda d: values(d, (3,)),
    "transposed": lambda d: values(d, (3, 2)).T,
    "square": lambda d: regular(d),
    "zero": lambda d: values(d, ()),
    "empty": lambda d: values(d, (0, 3)),
    "one": lambda d: values(d, (1,)),
    "strided": lambda d: values(d, (4, 6))[::2, ::2],
    "negative": lambda d: values(d, (2, 3))[:, ::-1],
    "cube": lambda d: values(d, (2, 3, 2)).transpose(1, 0, 2),
    "broadcast": lambda d: np.broadcast_to(values(d, (3,)), (2, 3)),
    "readonly": lambda d: read_only(values(d, (2, 3))),
}


def arrays(dtype: str, layout: str) -> tuple[Any, Any]:
    x = LAYOUTS[layout](dtype)
    return x, x.copy()[::-1].copy() if x.ndim else x.copy()


def steps(array: Any) -> tuple[int, ...]:
    """Strides that decide about where elements lie."""
    return tuple(s for s, n in zip(array.strides, array.shape, strict=True) if n > 1) if array.size else ()


def ulps(one: Any, other: Any, precision: float) -> bool:
    """True if values are as near as those of two algorithms for the same thing are, in the precision of the arguments."""
    if one.dtype.kind not in "fc":
        return bool((one == other).all())
    width = max(np.finfo(one.dtype).eps, precision)
    return bool(np.allclose(one, other, rtol=64 * width, atol=64 * width, equal_nan=True))


def difference(expected: Any, actual: Any, rough: float = 0) -> str:
    """How two results differ; "" if they do not."""
    if type(expected) is not type(actual):
        return f"class: {type(expected).__name__} {expected!r} is {type(actual).__name__} {actual!r}"
    if isinstance(expected, tuple | list):
        if len(expected) != len(actual):
            return "number of results"
        return next((text for a, b in zip(expected, actual, strict=True) if (text := difference(a, b, rough))), "")
    if isinstance(expected, torch.Tensor):
        expected, actual = expected.numpy(), actual.numpy()
    if not isinstance(expected, np.ndarray | np.generic):
        return "" if plain_text(expected) == plain_text(actual) else f"object: {expected!r} is {actual!r}"
    if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
        return f"kind: {expected.dtype}{list(expected.shape)} is {actual.dtype}{list(actual.shape)}"
    if isinstance(expected, np.ndarray):
        if steps(expected) != steps(actual):
            return f"strides: {expected.strides} are {actual.strides}"
        flags = [(a.flags.c_contiguous, a.flags.f_contiguous, a.flags.writeable) for a in (expected, actual)]
        if flags[0] != flags[1]:
            return f"flags: {flags[0]} are {flags[1]}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if expected.dtype == object or bits(expected) == bits(actual) or (rough and ulps(expected, actual, rough)):
            return ""
    return f"values: {expected!r} are {actual!r}"


def plain_text(value: Any) -> str:
    """The text of a value, or of an error, without addresses and the class that a method's error may name."""
    return re.sub(r"0x\w+|ndarray\.", "", repr(value))


def bits(array: Any) -> bytes:
    """The values, with one NaN in place of all. torch adds complex numbers by a formula that loses signs of zeros."""
    flat = np.array(array, order="C").reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype) + 0.0
    if flat.dtype.kind == "f":
        flat[np.isnan(flat)] = np.nan
    return flat.tobytes()


def outcome(function: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The result, or the error, and which of the arguments it shares memory with; the warnings."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = function(x, y)
        except Exception as error:
            result = type(error).__name__, re.sub(r"0x\w+", "", str(error)).split("\n")[0]
    parts = result if isinstance(result, tuple | list) else [result]
    shared = [[np.shares_memory(p, a) for a in (x, y)] for p in parts if isinstance(p, np.ndarray) and p.dtype != object]
    # torch warns once in a process of arrays that cannot be written to.
    kept = [w for w in given if not issubclass(w.category, RuntimeWarning) and "not writable" not in str(w.message)]
    told = sorted({f"{w.category.__name__}: {w.message}" for w in kept})
    return (result, x, y, shared), told


def function_of(text: str) -> Any:
    return eval(f"lambda x, y: {text}", {"np": np, "torch": torch, "in_place": in_place, "store": store})


def precision_of(dtype: str) -> float:
    """The distance of two numbers in the type that NumPy computes with, where it makes floating-point numbers of such arrays."""
    kind = np.dtype(dtype)
    return float(np.finfo(kind if kind.kind in "fc" else np.result_type(kind, np.float16)).eps)


def check(text: str, dtype: str, layout: str) -> str:
    """How the captured call differs from the plain one; "" if it does not."""
    if layout == "zero" and "cum" in text and "out=" in text:
        return ""  # NumPy itself reads memory that is not there
    plain = function_of(text)
    expected, told = outcome(plain, *arrays(dtype, layout))
    refused = isinstance(expected[0], tuple) and expected[0] and isinstance(expected[0][0], str)
    if refused and expected[0][0] in ("AttributeError",):
        return ""
    if difference(expected, outcome(plain, *arrays(dtype, layout))[0]):
        return ""  # uninitialized memory decides
    captured = minidynamo.optimize("eager", recompile_limit=32)(plain)
    try:
        actual, own = outcome(captured, *arrays(dtype, layout))
    finally:
        minidynamo.reset()
    rough = 0.0 if refused or not ROUGH.search(text) else precision_of(dtype)
    return difference(expected, actual, rough) or (f"warnings: {told} are {own}" if told != own else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--dtype", help="several are separated by commas")
    parser.add_argument("--layout", help="several are separated by commas")
    parser.add_argument("--trace", action="store_true", help="print each call before it is made")
    options = parser.parse_args()
    dtypes = [d for d in DTYPES if not options.dtype or d in options.dtype.split(",")]
    layouts = [s for s in LAYOUTS if not options.layout or s in options.layout.split(",")]
    different: collections.Counter[str] = collections.Counter()
    made = 0
    for text in all_calls():
        if options.part not in text:
            continue
        for dtype, layout in itertools.product(dtypes, layouts):
            made += 1
            if options.trace:
                print(text, dtype, layout, flush=True)
            if how := check(text, dtype, layout):
                different[text] += 1
                print(f"{text}  {dtype} {layout}  {how}", flush=True)
    print(f"{made} calls, {different.total()} differ, of {len(different)} texts")


if __name__ == "__main__":
    main()
