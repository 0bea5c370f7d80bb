"""Tensors of a program's class that has a method or property of its own in the place of each of torch.Tensor's.

The trace asks fakes of such a class for sizes, dtypes and results all the time. None of that may run the program's
methods: each of them runs as often, in the same order and with the same results as in eager PyTorch.
"""

import copy
import functools
import operator
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

CALLS: list[str] = []

# Not calls of methods: how objects are made, looked up, hashed and end.
KEPT = {"__class__", "__new__", "__init__", "__del__", "__hash__", "__getattribute__", "__setattr__", "__delattr__",
        "__init_subclass__", "__subclasshook__", "__torch_function__", "__torch_dispatch__", "__dict__", "__weakref__",
        "__doc__", "__module__", "__slots__", "as_subclass", "_make_subclass", "_make_wrapper_subclass", "_make_dtensor"}  # fmt: skip


@minidynamo.disable
def note(name: str) -> None:
    CALLS.append(name)


as_subclass = torch.Tensor.as_subclass
LINEAR = torch.nn.Linear(4, 2)


def plain(x: torch.Tensor) -> torch.Tensor:
    return as_subclass(x, torch.Tensor)


def noted_method(name: str) -> Callable[..., Any]:
    inner = getattr(torch.Tensor, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(name)
        return inner(self, *args, **kwargs)

    return method


def noted_property(name: str) -> property:
    inner = getattr(torch.Tensor, name)

    def read(self: Any) -> Any:
        note(name)
        return inner.__get__(self, type(self))

    def write(self: Any, value: Any) -> None:
        note(name + " =")
        inner.__set__(self, value)

    return property(read, write)


def class_with(of_its_own: Callable[[str], Any], kinds: tuple[type, ...], name: str) -> type[torch.Tensor]:
    members = {}
    for owner in reversed(torch.Tensor.__mro__[:-1]):
        for key, value in vars(owner).items():
            if key not in KEPT and isinstance(value, kinds):
                members[key] = of_its_own(key)
    return type(name, (torch.Tensor,), members)


def p_getitem(x: Any) -> Any:
    return plain(x[0]) + 1


def p_setitem(x: Any) -> Any:
    x[1] = 2.0
    return plain(x) * 2


def p_len(x: Any) -> Any:
    return plain(x) + len(x)


def p_iter(x: Any) -> Any:
    r: Any = 0
    for v in x:
        r = r + plain(v)
    return r


def p_unpack(x: Any) -> Any:
    a, _b, _c, d = x
    return plain(a) + plain(d)


def p_list(x: Any) -> Any:
    return [plain(v) * 2 for v in list(x)]


def p_star(x: Any) -> Any:
    return torch.stack([plain(v) for v in (*x,)])


def p_zip(x: Any) -> Any:
    return [plain(a) + plain(b) for a, b in zip(x, x)]


def p_enum(x: Any) -> Any:
    return [plain(a) + i for i, a in enumerate(x)]


def p_contains(x: Any) -> Any:
    return plain(x) + (1 if 3.0 in x else 2)


def p_add(x: Any) -> Any:
    return plain(x + 1)


def p_radd(x: Any) -> Any:
    return plain(1 + x)


def p_iadd(x: Any) -> Any:
    x += 1
    return plain(x)


def p_eq(x: Any) -> Any:
    return plain(x == x)


def p_neg(x: Any) -> Any:
    return plain(-x)


def p_bool(x: Any) -> Any:
    return plain(x) + (1 if x.any() else 0)


def p_if(x: Any) -> Any:
    return plain(x) + 1 if torch.Tensor.sum(x) > 0 else plain(x)


def p_opget(x: Any) -> Any:
    return plain(operator.getitem(x, 1)) + 1


def p_opset(x: Any) -> Any:
    operator.setitem(x, 1, 7.0)
    return plain(x) + 1


def p_opadd(x: Any) -> Any:
    return plain(operator.add(x, 1))


def p_itemgetter(x: Any) -> Any:
    return plain(operator.itemgetter(2)(x))


def p_stack(x: Any) -> Any:
    return plain(torch.stack([x, x]))


def p_cat(x: Any) -> Any:
    return plain(torch.cat([x, x]))


def p_stackiter(x: Any) -> Any:
    return plain(torch.stack(list(x)))


def p_stackself(x: Any) -> Any:
    return plain(torch.stack(x))


def p_tadd(x: Any) -> Any:
    return plain(torch.add(x, 1))


def p_tsum(x: Any) -> Any:
    return plain(torch.sum(x))


def p_msum(x: Any) -> Any:
    return plain(x.sum())


def p_size(x: Any) -> Any:
    return plain(x) + x.size(0)


def p_shape(x: Any) -> Any:
    return plain(x) + x.shape[0]


def p_ndim(x: Any) -> Any:
    return plain(x) + x.ndim


def p_dim(x: Any) -> Any:
    return plain(x) + x.dim()


def p_numel(x: Any) -> Any:
    return plain(x) + x.numel()


def p_detach(x: Any) -> Any:
    return plain(x.detach())


def p_clone(x: Any) -> Any:
    return plain(x.clone())


def p_T(x: Any) -> Any:
    return plain(x.T)


def p_data(x: Any) -> Any:
    return plain(x.data)


def p_setdata(x: Any) -> Any:
    x.data = torch.ones(4)
    return plain(x) + 1


def p_setgrad(x: Any) -> Any:
    x.grad = None
    return plain(x) + 1


def p_setgrad2(x: Any) -> Any:
    x.grad = torch.ones(4)
    return plain(x) + 1


def p_setreq(x: Any) -> Any:
    x.requires_grad = False
    return plain(x) + 1


def p_dtype(x: Any) -> Any:
    return plain(x) + (1 if x.dtype == torch.float32 else 0)


def p_device(x: Any) -> Any:
    return plain(x) + (1 if x.device.type == "cpu" else 0)


def p_foo(x: Any) -> Any:
    return plain(x) + getattr(x, "foo", 1)


def p_hasattr(x: Any) -> Any:
    return plain(x) + (1 if hasattr(x, "bar") else 2)


def p_tensorof(x: Any) -> Any:
    return torch.tensor([1.0, 2.0]) + plain(x).sum()


def p_tensorofs(x: Any) -> Any:
    return torch.as_tensor(x).as_subclass(torch.Tensor) + 1


def p_tensorlist(x: Any) -> Any:
    return plain(x).view(2, 2) + torch.Tensor.sum(x)


def p_index(x: Any) -> Any:
    y = torch.arange(4.0)
    return y[x.to(torch.int64) if False else plain(x).long().clamp(0, 3)]


def p_idxby(x: Any) -> Any:
    i = torch.tensor([0, 1]).as_subclass(type(x))
    return plain(x[i])


def p_plainidx(x: Any) -> Any:
    i = torch.tensor([0, 1]).as_subclass(type(x))
    return torch.arange(4.0)[i]


def p_made(x: Any) -> Any:
    z = (plain(x) + 1).as_subclass(type(x))
    a = z[0]
    z[2] = 5.0
    return plain(a) + plain(z)


def p_expandas(x: Any) -> Any:
    return torch.ones(1).expand_as(x)


def p_viewas(x: Any) -> Any:
    return torch.arange(4.0).view_as(x)


def p_zeroslike(x: Any) -> Any:
    return plain(torch.zeros_like(x))


def p_newzeros(x: Any) -> Any:
    return plain(x.new_zeros(3))


def p_newempty(x: Any) -> Any:
    return plain(x.new_empty(3).fill_(1))


def p_newtensor(x: Any) -> Any:
    return plain(x.new_tensor([1.0, 2.0]))


def p_reversed(x: Any) -> Any:
    return plain(reversed(x))


def p_sorted(x: Any) -> Any:
    return plain(x) + len(sorted([1, 2]))


def p_max(x: Any) -> Any:
    return plain(max(x, key=lambda v: 0))


def p_sumb(x: Any) -> Any:
    return plain(sum(x))


def p_map(x: Any) -> Any:
    return list(map(lambda v: plain(v) * 2, x))  # noqa: C417


def p_matmul(x: Any) -> Any:
    return plain(x @ x)


def p_to(x: Any) -> Any:
    return plain(x.to(torch.float64))


def p_double(x: Any) -> Any:
    return plain(x.double())


def p_split(x: Any) -> Any:
    return [plain(v) for v in x.split(2)]


def p_tsplit(x: Any) -> Any:
    return [plain(v) for v in torch.split(x, 2)]


def p_chunk(x: Any) -> Any:
    return [plain(v) for v in torch.chunk(x, 2)]


def p_norm(x: Any) -> Any:
    return plain(torch.norm(x))


def p_mnorm(x: Any) -> Any:
    return plain(x.norm())


def p_Fpad(x: Any) -> Any:
    return plain(torch.nn.functional.pad(x, (1, 1)))


def p_Flin(x: Any) -> Any:
    return plain(torch.nn.functional.linear(x, torch.ones(3, 4)))


def p_Fdrop(x: Any) -> Any:
    return plain(torch.nn.functional.dropout(x, 0.5, False))


def p_Fsm(x: Any) -> Any:
    return plain(torch.nn.functional.softmax(x, 0))


def p_einsum(x: Any) -> Any:
    return plain(torch.einsum("i,i->", x, x))


def p_meshgrid(x: Any) -> Any:
    return [plain(v) for v in torch.meshgrid(x, x, indexing="ij")]


def p_broadcast(x: Any) -> Any:
    return [plain(v) for v in torch.broadcast_tensors(x, torch.ones(2, 4))]  # type: ignore[no-untyped-call]


def p_unique(x: Any) -> Any:
    return plain(x) + 1


def p_req(x: Any) -> Any:
    y = plain(x).clone().as_subclass(type(x))
    y.requires_grad_()
    return plain(y) * 2


def p_grad(x: Any) -> Any:
    y = plain(x).clone().requires_grad_()
    (y.as_subclass(type(x)) * 2).sum().backward()
    return y.grad


def p_go(x: Any) -> Any:
    x.sum = lambda: 5
    r = x.sum()
    del x.sum
    return plain(x) + r


def p_reduce(x: Any) -> Any:
    return plain(functools.reduce(operator.add, [x, x]))


def p_mapadd(x: Any) -> Any:
    return [plain(v) for v in map(operator.add, [x], [x])]


def p_mapabs(x: Any) -> Any:
    return [type(v) is type(x) for v in map(abs, [x])]


def p_igtype(x: Any) -> Any:
    return (
        (type(operator.itemgetter(2)(x)) is type(x)),
        type(operator.add(x, x)) is type(x),
        type(sum([x, x])) is type(x),
        type(max([x.sum(), x.sum()])) is type(x),
    )


def p_methcaller(x: Any) -> Any:
    return type(operator.methodcaller("sum")(x)) is type(x)


def p_attrgetter(x: Any) -> Any:
    return type(operator.attrgetter("T")(x)) is type(x), operator.attrgetter("shape")(x)


def p_sortk(x: Any) -> Any:
    return [type(v) is type(x) for v in sorted([x.sum(), x.sum()], key=lambda v: 1)]


def p_pow(x: Any) -> Any:
    return plain(pow(x, 2)), type(pow(x, 2)) is type(x)


def p_abs(x: Any) -> Any:
    return plain(abs(x)), type(abs(x)) is type(x)


def p_ret(x: Any) -> Any:
    return x


def p_retadd(x: Any) -> Any:
    return torch.Tensor.add(x, 1)


def p_mut(x: Any) -> Any:
    torch.Tensor.add_(x, 1)
    return plain(x) * 2


def p_fmt(x: Any) -> Any:
    return plain(x) + len(f"{x}")


def p_repr(x: Any) -> Any:
    return plain(x) + len(repr(x))


def p_isinst(x: Any) -> Any:
    return plain(x) + (1 if isinstance(x, torch.Tensor) else 0)


def p_istensor(x: Any) -> Any:
    return plain(x) + (1 if torch.is_tensor(x) else 0)


def p_isfloat(x: Any) -> Any:
    return plain(x) + (1 if torch.is_floating_point(x) else 0)


def p_numelf(x: Any) -> Any:
    return plain(x) + torch.numel(x)


def p_float(x: Any) -> Any:
    return plain(x) + float(torch.Tensor.sum(x))


def p_item(x: Any) -> Any:
    return plain(x) + torch.Tensor.sum(x).item()


def p_tolist(x: Any) -> Any:
    return x.tolist()


def p_numpy(x: Any) -> Any:
    return plain(x) + x.numpy().sum()


def p_copy_(x: Any) -> Any:
    return torch.ones(4).copy_(x)


def p_out(x: Any) -> Any:
    o = torch.empty(4)
    torch.add(x, 1, out=o)
    return o


def p_where(x: Any) -> Any:
    return plain(torch.where(x > 0, x, x))


def p_where2(x: Any) -> Any:
    return plain(torch.where(plain(x) > 0, x, 0.0))


def p_plainsetslice(x: Any) -> Any:
    y = torch.zeros(4)
    y[:] = x
    return y


def p_plainsetidx(x: Any) -> Any:
    y = torch.zeros(4, 4)
    y[0] = x
    return y


def p_plainadd(x: Any) -> Any:
    return plain(torch.ones(4) + x)


def p_plainmul_(x: Any) -> Any:
    y = torch.ones(4)
    y *= x
    return y


def p_eqb(x: Any) -> Any:
    return plain(x) + (1 if torch.equal(x, x) else 0)


def p_allclose(x: Any) -> Any:
    return plain(x) + (1 if torch.allclose(x, x) else 0)


def p_in_list(x: Any) -> Any:
    return plain(x) + (1 if any(v is x for v in [1, x]) else 0)


def p_copycopy(x: Any) -> Any:
    return plain(copy.copy(x))


def p_deepcopy(x: Any) -> Any:
    return plain(copy.deepcopy(x))


def p_typeas(x: Any) -> Any:
    return torch.ones(4, dtype=torch.float64).type_as(x)


def p_sizeof(x: Any) -> Any:
    return torch.zeros(x.size()) + plain(x)


def p_zeros(x: Any) -> Any:
    return torch.zeros(x.shape) + plain(x)


def p_reshape(x: Any) -> Any:
    return plain(x.reshape(2, -1))


def p_gather(x: Any) -> Any:
    return plain(x.gather(0, torch.tensor([0, 1])))


def p_dir(x: Any) -> Any:
    return plain(x) + len(dir(x))


def p_module(x: Any) -> Any:
    return plain(LINEAR(x))


def p_param(x: Any) -> Any:
    return plain(torch.nn.Parameter(plain(x))) + 1


def p_vmap(x: Any) -> Any:
    return plain(torch.vmap(lambda v: v * 2)(x))


def p_ctx(x: Any) -> Any:
    with torch.no_grad():
        return plain(x * 2)


METHODS = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
OfMethods = class_with(noted_method, METHODS, "OfMethods")
OfProperties = class_with(noted_property, (types.GetSetDescriptorType, property), "OfProperties")


class AsksFirst(torch.Tensor):
    """Hears of all attributes, by itself and by __torch_function__."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        note(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})  # type: ignore[no-untyped-call]

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__"):
            note(name)
        return super().__getattribute__(name)


class WithoutSay(torch.Tensor):
    """A class of torch's plain kind, with methods of its own."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Any:
        note("getitem")
        return super().__getitem__(index)

    def size(self, *dimension: int) -> Any:  # type: ignore[override]
        note("size")
        return super().size(*dimension)


PROGRAMS = {name[2:]: value for name, value in list(globals().items()) if name.startswith("p_")}


def run(function: Callable[..., Any], x: torch.Tensor) -> tuple[Any, Any, list[str]]:
    CALLS.clear()
    try:
        return function(x), None, list(CALLS)
    except Exception as error:
        return None, (type(error), str(error)), list(CALLS)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return type(a) is type(b) and torch.equal(plain(a), plain(b)) and plain(a).dtype == plain(b).dtype
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.mark.parametrize("kind", [OfMethods, OfProperties, AsksFirst, WithoutSay])
@pytest.mark.parametrize("name", PROGRAMS)
def test_methods_run_as_often(name: str, kind: type[torch.Tensor]) -> None:
    minidynamo.reset()
    captured: Any = minidynamo.compile(PROGRAMS[name], backend="eager")
    data = torch.tensor([0.5, -1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            x, y = as_subclass(data.clone(), kind), as_subclass(data.clone(), kind)
            expected, raised, calls = run(PROGRAMS[name], x)
            result, raised_here, calls_here = run(captured, y)
            assert (raised_here, calls_here) == (raised, calls)
            assert same(result, expected)
            assert torch.equal(plain(x), plain(y))


def test_it_is_captured() -> None:
    """The trace goes on through such classes: their methods are traced, torch's are recorded."""
    minidynamo.reset()
    captured: Any = minidynamo.compile(lambda x: plain(x + 1) * x.size(0) + plain(x[0]), backend="eager", fullgraph=True)

    class Sized(torch.Tensor):
        def size(self, *dimension: int) -> Any:  # type: ignore[override]
            return super().size(*dimension) + 3

        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index) + 10

    assert torch.equal(captured(as_subclass(torch.ones(2), Sized)), torch.full((2,), 21.0))


def test_an_attribute_hides_a_method() -> None:
    class Going(torch.Tensor):
        def go(self) -> int:
            return 1

    minidynamo.reset()
    captured: Any = minidynamo.compile(lambda x: plain(x) + x.go(), backend="eager")
    x: Any = as_subclass(torch.ones(2), Going)
    y: Any = as_subclass(torch.ones(2), Going)
    assert captured(x)[0] == 2
    y.go = lambda: 7
    assert captured(y)[0] == 8
    assert captured(x)[0] == 2


def test_a_reversed_tensor_is_a_tensor() -> None:
    minidynamo.reset()
    captured: Any = minidynamo.compile(lambda x: reversed(x), backend="eager", fullgraph=True)
    x = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(captured(x), reversed(x))
