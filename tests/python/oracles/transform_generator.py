"""Random programs that nest transforms: torch.func's, autograd.Function within them, checkpoints, torch.cond.

A program is a text that defines `f`, and the shapes of its arguments by letters, so that it can be called with tensors of several
sizes. Each function in it takes tensors and returns one; its body is an expression of its parameters and of what the
functions around it have, or a transform of another such function.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

Shape = tuple[str, ...]

HEAD = """\
import torch
import torch.nn.functional as F
from torch import func
from torch.utils.checkpoint import checkpoint

torch.manual_seed(3)
MODULE = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3)).double()


class Generated(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin() * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0] * 3

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.saved_tensors[0] * 5


class Ruled(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor * 2, None

    @staticmethod
    def jvp(ctx, tangent, _):
        return tangent * ctx.factor * 4

    @staticmethod
    def vmap(info, in_dims, x, factor):
        return Ruled.apply(x, factor) + 0.0 * info.batch_size, in_dims[0]


class WithContext(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()

"""

UNARY = (
    "{0}.sin()", "{0}.cos()", "{0}.tanh()", "torch.exp(-{0} * {0})", "F.softplus({0})", "torch.sigmoid({0})", "{0} * 1.5", "-{0}",
    "F.relu({0})", "F.gelu({0})", "{0} ** 2", "{0}.clone()", "{0} / ({0}.abs() + 1.0)", "torch.where({0} > 0.1, {0}, 0.5 * {0})",
    "torch.clamp({0}, -0.7, 0.9)", "{0}.detach() * {0}", "({0} + {0}.shape.numel())", "{0}.double()", "{0}.masked_fill({0} < 0, 0.25)",
)  # fmt: skip
BINARY = ("{0} + {1}", "{0} * {1}", "{0} - {1}", "torch.maximum({0}, {1})", "torch.where({0} > {1}, {0}, {1})", "torch.lerp({0}, {1}, 0.3)")
ALONG = (
    "torch.softmax({0}, {1})", "{0}.cumsum({1})", "{0}.flip({1})", "{0}.roll(1, {1})", "{0}.sort({1}).values",
    "F.normalize({0}, dim={1})",
)  # fmt: skip
REDUCTIONS = (
    "{0}.sum({1})", "{0}.mean({1})", "{0}.logsumexp({1})", "{0}.amax({1})", "{0}.select({1}, 0)", "{0}.unbind({1})[-1]",
    "{0}.prod({1})",
)  # fmt: skip
FIXED = {"h": 3, "t": 2}  # letters of one size
MOST_NUMBERS = 700
LETTERS = "abch"


@dataclasses.dataclass(frozen=True)
class TransformProgram:
    """A program's text, and the shape of each of its arguments by letters."""

    text: str
    shapes: tuple[Shape, ...]


def sizes_of(call: int) -> dict[str, int]:
    """The meaning of the letters in the call of this number."""
    return {**({"a": 2, "b": 3, "c": 4} if call < 2 else {"a": 4, "b": 2, "c": 3}), **FIXED}


class Variables:
    """The variables of an expression: names with their shapes."""

    def __init__(self, known: list[tuple[str, Shape]]) -> None:
        self.known = known

    def of(self, wanted: Callable[[Shape], bool]) -> list[tuple[str, Shape]]:
        return [one for one in self.known if wanted(one[1])]


class Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def shape(self, most: int = 3) -> Shape:
        return tuple(self.random.choice(LETTERS) for _ in range(self.random.randint(0, most)))

    def function(
        self, shapes: list[Shape], around: list[tuple[str, Shape]], depth: int, inside: frozenset[str], pad: str, to: str = "any"
    ) -> tuple[list[str], str, Shape]:
        """Lines that define a function of tensors of these shapes, its name, and the shape of its result.

        Arguments:
            inside: the kinds of transforms that it is called in.
            to: "scalar" for a function that returns one number, "small" for one that returns few.
        """
        name = self.name("f")
        parameters = [self.name("x") for _ in shapes]
        known = [*around, *zip(parameters, shapes, strict=True)]
        own = [(parameter, shape) for parameter, shape in zip(parameters, shapes, strict=True)]
        lines = [f"{pad}def {name}({', '.join(parameters)}):"]
        for _ in range(self.random.randint(1, 3 if depth else 4)):
            made, variable, shape = self.statement(Variables(known), own, depth, inside, pad + "    ")
            lines += made
            known.append((variable, shape))
            own.append((variable, shape))
        result, shape = own[-1]
        if len(own) > 2 and self.random.random() < 0.5:
            other = [one for one in own[:-1] if one[1] == shape]
            if other:
                result = f"{result} + {self.random.choice(other)[0]}"
        if to == "scalar" and shape:
            result, shape = f"({result}).sin().sum()", ()
        while to == "small" and len(shape) > 1:
            result, shape = f"({result}).sum(0)", shape[1:]
        lines.append(f"{pad}    return {result}")
        return lines, name, shape

    def statement(
        self, known: Variables, own: list[tuple[str, Shape]], depth: int, inside: frozenset[str], pad: str
    ) -> tuple[list[str], str, Shape]:
        """Lines that give a variable its value, mostly of what the function itself was given or has made."""
        variable = self.name("v")
        at, shape = self.random.choice(own) if self.random.random() < 0.85 else self.random.choice(known.known)
        if depth > 0 and self.random.random() < 0.55:
            made = self.transformed(known, at, shape, depth, inside, pad)
            if made:
                lines, expression, shape = made
                return [*lines, f"{pad}{variable} = {expression}"], variable, shape
        kind = self.random.randrange(12)
        if kind < 3:
            return [f"{pad}{variable} = {self.random.choice(UNARY).format(at)}"], variable, shape
        if kind < 5:
            others = known.of(lambda other: other == shape or (other == shape[1:] and bool(shape)))
            return [f"{pad}{variable} = {self.random.choice(BINARY).format(at, self.random.choice(others)[0])}"], variable, shape
        if kind == 5 and shape:
            dim = self.random.randrange(-len(shape), len(shape))
            return [f"{pad}{variable} = {self.random.choice(ALONG).format(at, dim)}"], variable, shape
        if kind == 6 and shape:
            dim = self.random.randrange(len(shape))
            return [f"{pad}{variable} = {self.random.choice(REDUCTIONS).format(at, dim)}"], variable, shape[:dim] + shape[dim + 1 :]
        if kind == 7 and shape:
            right = known.of(lambda other: len(other) == 2 and other[0] == shape[-1])
            if right:
                name, other = self.random.choice(right)
                return [f"{pad}{variable} = ({at} @ {name}) * 0.3"], variable, (*shape[:-1], other[1])
        if kind == 8 and shape and shape[-1] == "h":
            functional = f"func.functional_call(MODULE, dict(MODULE.named_parameters()), ({at},))"
            call = f"MODULE({at})" if self.random.random() < 0.5 else functional
            return [f"{pad}{variable} = {call}"], variable, shape
        if kind == 9:
            return self.in_place(variable, at, shape, pad)
        if kind == 10:
            return self.custom(variable, at, shape, inside, pad)
        if len(shape) > 1 and self.random.random() < 0.5:
            return [f"{pad}{variable} = {at}.transpose(0, {len(shape) - 1})"], variable, (shape[-1], *shape[1:-1], shape[0])
        if len(shape) < 3 and self.random.random() < 0.5:
            return [f"{pad}{variable} = torch.stack([{at}, {at} * 0.5])"], variable, ("t", *shape)
        return [f"{pad}with torch.no_grad():", f"{pad}    {variable} = {at}.cos()"], variable, shape

    def in_place(self, variable: str, at: str, shape: Shape, pad: str) -> tuple[list[str], str, Shape]:
        lines = [f"{pad}{variable} = {at}.clone()"]
        forms = [f"{variable}.mul_(1.5)", f"{variable} += {at}", f"{variable}.copy_({at}.sin())", f"{variable}.zero_().add_({at})"]
        if shape:
            forms += [f"{variable}[0] = 0.5", f"{variable}[-1] = {at}[0]"]
            forms += [f"{variable}.select(0, 0).mul_(2.0)", f"{variable}[0] += {at}[-1]"]
        return [*lines, pad + self.random.choice(forms)], variable, shape

    def custom(self, variable: str, at: str, shape: Shape, inside: frozenset[str], pad: str) -> tuple[list[str], str, Shape]:
        forms = [f"Generated.apply({at})", f"Ruled.apply({at}, 0.7)"]
        if not inside:
            forms.append(f"WithContext.apply({at})")
        return [f"{pad}{variable} = {self.random.choice(forms)}"], variable, shape

    def transformed(
        self, known: Variables, at: str, shape: Shape, depth: int, inside: frozenset[str], pad: str
    ) -> tuple[list[str], str, Shape] | None:
        """Lines that define a function, the call of a transform of it, and the shape of that call's result; or None."""
        around = known.known
        kinds = ["vmap", "vmap", "grad", "grad_and_value", "jvp", "vjp", "jacrev", "jacfwd", "hessian", "parameters", "dual"]
        kinds += ["captured_vjp"]
        if not inside:
            kinds += ["checkpoint", "autograd_grad"]
        if inside <= {"vmap"} and self.random.random() < 0.15:
            kinds += ["cond"] * 6
        kind = self.random.choice(kinds)
        numbers = 1
        for letter in shape:
            numbers *= {**sizes_of(0), "c": 4, "a": 4}[letter]

        def inner(shapes: list[Shape], of: str, to: str = "any") -> tuple[list[str], str, Shape]:
            return self.function(shapes, around, depth - 1, inside | {of}, pad, to)

        if kind == "vmap":
            if not shape:
                return None
            dim = self.random.randrange(len(shape))
            letter = shape[dim]
            shapes, names, dims = [shape[:dim] + shape[dim + 1 :]], [at], [str(dim if self.random.random() < 0.7 else dim - len(shape))]
            for name, other in self.random.sample(around, min(len(around), self.random.randint(0, 2))):
                names.append(name)
                if letter in other and self.random.random() < 0.7:
                    place = other.index(letter)
                    shapes.append(other[:place] + other[place + 1 :])
                    dims.append(str(place))
                else:
                    shapes.append(other)
                    dims.append("None")
            lines, name, result = inner(shapes, "vmap")
            if len(result) > 3:
                return None
            out = self.random.randrange(len(result) + 1)
            more = f", in_dims=({', '.join(dims)},), out_dims={out}" if dims != ["0"] or out else ""
            more += ", chunk_size=2" if self.random.random() < 0.08 else ""
            return lines, f"func.vmap({name}{more})({', '.join(names)})", (*result[:out], letter, *result[out:])
        others = [one for one in self.random.sample(around, min(len(around), 1)) if self.random.random() < 0.5]
        names, shapes = [at, *(name for name, _ in others)], [shape, *(other for _, other in others)]
        if kind in ("grad", "grad_and_value"):
            argument = self.random.randrange(len(names))
            lines, name, _ = inner(shapes, "grad", "scalar")
            more = f", argnums={argument}" if argument else ""
            which = "[0]" if kind == "grad_and_value" else ""
            return lines, f"func.{kind}({name}{more})({', '.join(names)}){which}", shapes[argument]
        if kind == "jvp":
            lines, name, result = inner(shapes, "jvp")
            tangents = ", ".join(f"{one}.cos()" if self.random.random() < 0.5 else one for one in names)
            return lines, f"func.jvp({name}, ({', '.join(names)},), ({tangents},))[{self.random.choice('011')}]", result
        if kind == "vjp":
            lines, name, result = inner([shape], "grad")
            pair = self.name("p")
            return [*lines, f"{pad}{pair} = func.vjp({name}, {at})"], f"{pair}[1]({pair}[0].cos())[0]", shape
        if kind == "captured_vjp":
            lines, name, result = inner([shape], "grad", "scalar")
            pair = self.name("p")
            ones = "torch.tensor([1.0, 0.5], dtype=torch.float64)"
            return [*lines, f"{pad}{pair} = func.vjp({name}, {at})"], f"func.vmap({pair}[1])({ones})[0]", ("t", *shape)
        if kind in ("jacrev", "jacfwd") and numbers <= 16:
            lines, name, result = inner([shape], "grad" if kind == "jacrev" else "jvp", "small")
            if len(result) + len(shape) > 3:
                return None
            return lines, f"func.{kind}({name})({at})", (*result, *shape)
        if kind == "hessian" and numbers <= 8 and len(shape) < 2:
            lines, name, _ = inner([shape], "hessian", "scalar")
            return lines, f"func.hessian({name})({at})", (*shape, *shape)
        if kind == "parameters" and shape and shape[-1] == "h":
            loss, dictionary = self.name("f"), self.name("p")
            lines = [
                f"{pad}def {loss}({dictionary}):",
                f"{pad}    return func.functional_call(MODULE, {dictionary}, ({at},)).sin().sum()",
            ]
            return lines, f"func.grad({loss})(dict(MODULE.named_parameters()))['0.weight']", ("h", "h")
        if kind == "dual" and not inside:
            lines, name, result = inner([shape], "jvp")
            dual = self.name("d")
            made = [
                f"{pad}with torch.autograd.forward_ad.dual_level():",
                f"{pad}    {dual} = {name}(torch.autograd.forward_ad.make_dual({at}, {at} * 2.0))",
                f"{pad}    {dual} = torch.autograd.forward_ad.unpack_dual({dual})",
            ]
            return [*lines, *made], f"({dual}.primal if {dual}.tangent is None else {dual}.tangent)", result
        if kind == "checkpoint":
            lines, name, result = inner([shape], "checkpoint")
            return lines, f"checkpoint({name}, {at}, use_reentrant=False)", result
        if kind == "autograd_grad":
            lines, name, _ = inner([shape], "autograd", "scalar")
            leaf = self.name("l")
            call = f"torch.autograd.grad({name}({leaf}), {leaf}, allow_unused=True, materialize_grads=True)[0]"
            return [*lines, f"{pad}{leaf} = {at}.detach().requires_grad_()"], call, shape
        if kind == "cond":
            one, other = (f"lambda y: {self.random.choice(UNARY[:6]).format('y')}" for _ in range(2))
            return [], f"torch.cond({at}.sum() > 0.2, {one}, {other}, ({at},))", shape
        return None


def program(number: int) -> TransformProgram:
    """The program of this number, always the same."""
    writer = Writer(number)
    shapes = [writer.shape() for _ in range(writer.random.randint(1, 3))]
    if not any(shapes):
        shapes[0] = ("a", "b")
    lines, name, _ = writer.function(shapes, [], writer.random.randint(1, 3), frozenset(), "")
    return TransformProgram(HEAD + "\n" + "\n".join(lines) + f"\n\n\nf = {name}\n", tuple(shapes))
