"""Every call of torch's that takes a Python float, with a float that changes: captured, it returns the bits that eager returns.

The calls are made from torch's own schemas (each argument that is a number, by every Python name of the operator), and from tables for
operators, lists of tensors and torch.nn.functional. Each is made with tensors of several dtypes and shapes, and called with floats
that differ, so that the float becomes an input of the graph, or is taken as it is, where the operator needs a number.

    python tests/python/oracles/float_sweep.py [part of a call's text] [--backend aot_eager] [--dtype float16] [--shape 3x4]
"""

from __future__ import annotations

import argparse
import collections
import itertools
import math
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import torch

import minidynamo

VALUES = (0.1, 0.3, 2.7, 1 / 3, -1.3, 0.0, 1e-9, 70000.5, 1e30, 1e300, float("inf"), float("nan"))
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
SHAPES: tuple[tuple[int, ...], ...] = ((3, 4), (), (0,), (1,), (2, 3, 4, 5))

OPERATORS = [
    *(f"{a} {op} {b}" for op in ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "&") for a, b in ("xv", "vx")),
    *(f"in_place(x, '{op}', v)" for op in ("+", "-", "*", "/", "//", "%", "**")),
    "divmod(x, v)",
    "v * x * v",
    "(v + 1) * x",
    "v / (x + v)",
    "x * (v * 3)",
    "x / (v + 2)",
    "(v + 2) / x",
    "x * -v",
    "x.T * v",
    "torch.stack([x * v, x / 3])",
    "[x * v, v, v * 2]",
    "torch.tensor(v)",
    "torch.tensor([v, 1])",
    "torch.as_tensor(v)",
    "x.new_tensor(v)",
    "torch.tensor(v, dtype=x.dtype)",
    "torch.full((2,), v)",
    "torch.full_like(x, v)",
    "x.new_full((2,), v)",
    "torch.full((2,), v, dtype=x.dtype)",
    "put(x, v)",
    "put(x, v, slice(1))",
    "put(x, v, x == 1)",
    "torch.scalar_tensor(v)",
    "torch.scalar_tensor(v, dtype=x.dtype)",
    "torch.linspace(0, v, 3)",
    "torch.arange(0, 3 * v * v, v * v + 1)",
    "torch.where(x == x, x, v)",
    "torch.where(x != 1, v, x)",
    "torch.where(x == 1, v, 2.5)",
    "torch.where(x == 1, v, 2)",
    "torch.result_type(x, v)",
    "x.copy_(torch.tensor(v))",
    "torch.maximum(x, torch.tensor(v))",
    "torch.clamp(x, v, 1)",
    "torch.clamp(x, v)",
    "torch.clamp(x, max=v)",
    "x.clamp(0, v)",
    "x.clip(v, 2.5)",
    "x.clone().clamp_(v)",
    "torch.div(x, v, rounding_mode='floor')",
    "torch.div(x, v, rounding_mode='trunc')",
    "x.div(v)",
    "x.rsub(v)",
    "torch.rsub(x, v, alpha=2)",
    "torch.add(v, x)",
    "torch.mul(v, x)",
    "torch.sub(v, x)",
    "torch.true_divide(v, x)",
    "torch.pow(v, x)",
    "torch.add(x, v, alpha=2)",
    "torch.sub(x, x, alpha=v)",
    "torch.add(x, x, alpha=v)",
    "x.clone().add_(x, alpha=v)",
    "x.clone().sub_(x, alpha=v)",
    "torch.add(x, 2, alpha=v)",
    "torch.mul(x, v, out=torch.empty_like(x))",
    "torch.div(x, v, out=torch.empty_like(x))",
    "torch.add(x, v, out=torch.empty_like(x))",
    "torch.add(x, x, alpha=v, out=torch.empty_like(x))",
    "x.__rtruediv__(v)",
    "x.__rmul__(v)",
    "x.__rsub__(v)",
    "x.__radd__(v)",
    "x.__rpow__(v)",
    "torch.Tensor.mul(x, v)",
    "torch.Tensor.__mul__(x, v)",
    "torch.Tensor.div_(x.clone(), v)",
    "x.mul(other=v)",
    "torch.mul(input=x, other=v)",
    "torch.lerp(x, x * 2, v)",
    "x.lerp(x * 2, v)",
    "x.clone().lerp_(x * 2, v)",
    "torch.addcmul(x, x, x, value=v)",
    "torch.addcdiv(x, x, x, value=v)",
    "x.clone().addcmul_(x, x, value=v)",
    "x.clone().addcdiv_(x, x, value=v)",
    "torch.add(x, x * v)",
    "torch.mul(x[..., None], v)",
    "x.expand(2, *x.shape) * v",
    "x.mul(v).mul_(v)",
    "float(v) * x",
    "torch.ones(()) * v * x",
    "(x * v).sum() * v",
    "x.to(torch.float16) * v",
    "sum([x * v, v])",
    "torch.sum(x * v) / v",
    "x.float().mean() * v",
    "v * x.float().mean().bfloat16()",
    "x.mul(v) + v / 3",
    "torch.atan2(x, x * v)",
]

LISTS = [
    f"foreach('{name}', x, {rest})"
    for name in ("add", "sub", "mul", "div", "clamp_min", "clamp_max", "maximum", "minimum", "pow")
    for rest in ("v", "[v, v + 1]", "[v, 2.5]")
]
LISTS += ["torch._foreach_pow(v, [x, x])"]
LISTS += [f"foreach('{name}', x, {rest})" for name in ("add", "sub") for rest in ("[x, x + 1], alpha=v",)]
LISTS += [
    f"foreach('{name}', x, [x, x * 2], [x, x * 3], {rest})" for name in ("addcmul", "addcdiv") for rest in ("v", "value=v", "[v, 2.5]")
]
LISTS += [f"foreach('lerp', x, [x * 2, x * 3], {rest})" for rest in ("v", "[v, 2.5]")]
LISTS += ["foreach('norm', x, v)", "torch._foreach_norm([x, x], ord=v)"]

FUNCTIONAL = [
    "leaky_relu(x, v)",
    "elu(x, v)",
    "celu(x, v)",
    "hardtanh(x, -v, v)",
    "hardtanh(x, -1.0, v)",
    "threshold(x, v, 0.5)",
    "threshold(x, 0.5, v)",
    "softplus(x, v)",
    "softplus(x, 1.0, v)",
    "softshrink(x, v)",
    "hardshrink(x, v)",
    "normalize(x, v)",
    "normalize(x, 2.0, 0, v)",
    "pad(x, (1, 1), value=v)",
    "dropout(x, v)",
    "alpha_dropout(x, v)",
    "layer_norm(x, x.shape[-1:], eps=v)",
    "layer_norm(x, x.shape[-1:], x[0], x[0], eps=v)",
    "rms_norm(x, x.shape[-1:], eps=v)",
    "group_norm(x, 1, eps=v)",
    "batch_norm(x, None, None, training=True, eps=v)",
    "batch_norm(x, x[0], x[0], momentum=v)",
    "batch_norm(x, x[0].clone(), x[0].clone(), None, None, True, v)",
    "batch_norm(x, x[0].clone(), x[0].clone(), None, None, True, 0.1, v)",
    "instance_norm(x, eps=v)",
    "local_response_norm(x, 2, v)",
    "local_response_norm(x, 2, 1e-4, v)",
    "local_response_norm(x, 2, 1e-4, 0.75, v)",
    "huber_loss(x, x * 2, delta=v)",
    "smooth_l1_loss(x, x * 2, beta=v)",
    "pairwise_distance(x, x * 2, v)",
    "pairwise_distance(x, x * 2, 2.0, v)",
    "cosine_similarity(x, x * 2, eps=v)",
    "interpolate(x, scale_factor=v)",
    "lp_pool1d(x, v, 2)",
    "gumbel_softmax(x, v)",
    "scaled_dot_product_attention(x, x, x, scale=v)",
    "cross_entropy(x, x.softmax(-1), label_smoothing=v)",
    "poisson_nll_loss(x, x, eps=v)",
    "margin_ranking_loss(x, x, x, v)",
    "hinge_embedding_loss(x, x, v)",
    "cosine_embedding_loss(x, x, x[:, 0], v)",
    "triplet_margin_loss(x, x, x, v)",
    "triplet_margin_loss(x, x, x, 1.0, v)",
    "gaussian_nll_loss(x, x, x.abs(), eps=v)",
    "pdist(x, v)",
    "softmax(x / v, -1)",
    "log_softmax(x * v, -1)",
    "embedding(x, x, max_norm=v)",
    "rrelu(x, v, 3.0)",
    "rrelu(x, v, v + 1, True)",
    "gelu(x * v)",
    "linear(x * v, x)",
    "mse_loss(x, x * v)",
    "logsigmoid(x * v)",
    "kl_div(x * v, x)",
    "glu(x * v)",
    "feature_alpha_dropout(x, v)",
]

NAMESPACES = {
    "torch": torch,
    "torch._C._nn": torch._C._nn,
    "torch.special": torch.special,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
}
FILLERS = {
    "int": "1",
    "SymInt": "1",
    "List[int]": "[1]",
    "List[SymInt]": "[1]",
    "bool": "True",
    "str": "'none'",
    "Optional[int]": "None",
    "Optional[bool]": "True",
}
# Kernels of other devices, and private ones, some of which crash where arguments do not belong together. The bits of
# lstsq() depend on where its memory lies.
NOT_FOR_PROGRAMS = re.compile(
    r"^aten::_(?!foreach)|quantized|fbgemm|mkldnn|cudnn|miopen|batch_norm_(gather|backward|elemt|stats)|^aten::range|lstsq"
)
NUMBERS = {"number", "float", "Optional[float]", "Optional[number]", "List[number]", "List[float]"}


def in_place(x: Any, operator: str, v: float) -> Any:
    y = x.clone()
    match operator:
        case "+":
            y += v
        case "-":
            y -= v
        case "*":
            y *= v
        case "/":
            y /= v
        case "//":
            y //= v
        case "%":
            y %= v
        case "**":
            y **= v
    return y


def put(x: Any, v: float, key: Any = ...) -> Any:
    y = x.clone()
    y[key] = v
    return y


def foreach(name: str, x: Any, *rest: Any, **keywords: Any) -> Any:
    """A function of lists, and its form in place."""
    made = getattr(torch, f"_foreach_{name}")([x, x + x], *rest, **keywords)
    own = [x.clone(), x + x]
    getattr(torch, f"_foreach_{name}_", lambda *_, **__: None)(own, *rest, **keywords)
    return made, own


def calls_of_schema(schema: Any) -> Iterator[tuple[str, str]]:
    """The arguments' text of a call for each number that the operator takes, after the first tensor, and the operator's name."""
    arguments = schema.arguments
    if any(a.type.kind() == "GeneratorType" and not a.has_default_value() for a in arguments) or not arguments:
        return
    for place, argument in enumerate(arguments):
        kind = str(argument.type)
        if kind not in NUMBERS:
            continue
        parts = []
        for other, given in enumerate(arguments):
            text = {"Tensor": "x", "List[Tensor]": "[x, x]"}.get(str(given.type), FILLERS.get(str(given.type), "None"))
            if str(given.type) in NUMBERS:
                text = "0.5"
            if other == place:
                text = "[v, v]" if kind.startswith("List") else "v"
            elif given.has_default_value() and not given.is_out:
                continue
            if given.is_out:
                text = "torch.empty_like(x)"
            by_name = given.kwarg_only or given.is_out or len(parts) != other
            parts.append(f"{given.name}={text}" if by_name else text)
        yield schema.name.removeprefix("aten::"), ", ".join(parts)


def schema_calls() -> list[str]:
    calls = {}
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith("aten::") or NOT_FOR_PROGRAMS.search(schema.name):
            continue
        for name, arguments in calls_of_schema(schema):
            for path, space in NAMESPACES.items():
                own = name
                for prefix in ("special_", "linalg_", "fft_"):
                    own = own.removeprefix(prefix) if path.endswith(prefix[:-1]) else own
                if callable(getattr(space, own, None)) and not (own.endswith("_") and arguments.startswith("x")):
                    calls[f"{path}.{own}({arguments})"] = None
            if arguments.startswith("x") and callable(getattr(torch.Tensor, name, None)) and "out=" not in arguments:
                calls[f"x.clone().{name}({arguments[1:].removeprefix(', ')})"] = None
    return sorted(calls)


def all_calls() -> list[str]:
    return [*OPERATORS, *LISTS, *(f"F.{text}" for text in FUNCTIONAL), *schema_calls()]


def sample(dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    torch.manual_seed(5)
    values = torch.randn(shape, dtype=torch.float64) * 3
    if dtype.is_complex:
        return torch.complex(values, values.flip(0) if shape else -values).to(dtype)
    return (values > 0) if dtype == torch.bool else values.to(dtype)


def difference(expected: Any, actual: Any) -> str:
    """How two results differ; "" if they do not."""
    if type(expected) is not type(actual):
        return f"{type(expected).__name__} {expected} is {type(actual).__name__} {actual}"
    if isinstance(expected, tuple | list):
        if len(expected) != len(actual):
            return "another number of results"
        return next((text for a, b in zip(expected, actual, strict=True) if (text := difference(a, b))), "")
    if not isinstance(expected, torch.Tensor):
        return "" if repr(expected) == repr(actual) else f"{expected!r} is {actual!r}"
    kinds = [(t.dtype, tuple(t.shape), t.stride(), t.requires_grad) for t in (expected, actual)]
    if kinds[0] != kinds[1]:
        return f"{kinds[0]} is {kinds[1]}"
    if expected.is_complex():
        expected, actual = torch.view_as_real(expected.resolve_conj()), torch.view_as_real(actual.resolve_conj())
    wrong = (expected != actual) & ~((expected != expected) & (actual != actual))
    if expected.is_floating_point():
        wrong |= (expected == 0) & (torch.signbit(expected) != torch.signbit(actual))
    return f"{expected[wrong][:3].tolist()} are {actual[wrong][:3].tolist()}" if wrong.any() else ""


def outcome(function: Any, *arguments: Any) -> Any:
    torch.manual_seed(3)
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__, re.sub(r"0x\w+", "", str(error)).split("\n")[0]


def function_of(text: str) -> Any:
    names = {"torch": torch, "F": torch.nn.functional, "in_place": in_place, "put": put, "foreach": foreach}
    return eval(f"lambda x, v: {text}", names)


# torch's polynomials end their loop at a NaN, and return a variable that has not been set then (ATen/native/Math.h).
UNSET_AT_NAN = re.compile(r"torch\.special\.\w*_polynomial_\w\(")


def check(text: str, dtype: torch.dtype, shape: tuple[int, ...], backend: str = "eager", values: tuple[float, ...] = VALUES) -> str:
    """How the captured call differs from the plain one; "" if it does not."""
    if UNSET_AT_NAN.match(text):
        values = tuple(v for v in values if not math.isnan(v))
    plain = function_of(text)
    x = sample(dtype, shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [outcome(plain, x.clone(), v) for v in values]
        # One number of calls is enough for what does not take such arguments at all.
        refused = all(isinstance(e, tuple) and e and isinstance(e[0], str) for e in expected)
        if refused and expected[0][0] in ("TypeError", "AttributeError"):
            return ""
        if difference(expected[0], outcome(plain, x.clone(), values[0])):
            return ""  # uninitialized memory decides
        captured = minidynamo.optimize(backend, recompile_limit=32)(plain)
        try:
            for v, wanted in list(zip(values, expected, strict=True))[: 3 if refused else None]:
                if text := difference(wanted, outcome(captured, x.clone(), v)):
                    return f"v={v!r}: {text}"
        finally:
            minidynamo.reset()
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--dtype")
    parser.add_argument("--shape")
    parser.add_argument("--trace", action="store_true", help="print each call before it is made")
    options = parser.parse_args()
    dtypes = [d for d in DTYPES if options.dtype in (None, str(d).removeprefix("torch."))]
    shapes = [s for s in SHAPES if options.shape in (None, "x".join(map(str, s)))]
    different: collections.Counter[str] = collections.Counter()
    made = 0
    for text in all_calls():
        if options.part not in text:
            continue
        for dtype, shape in itertools.product(dtypes, shapes):
            made += 1
            if options.trace:
                print(text, dtype, shape, flush=True)
            if how := check(text, dtype, shape, options.backend):
                different[text] += 1
                print(f"{text}  {dtype} {list(shape)}  {how}", flush=True)
    print(f"{made} calls, {different.total()} differ, of {len(different)} texts")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
