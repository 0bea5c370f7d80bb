"""Changes one thing that a captured function can see, and calls it again: a guard has to fail, or the change has not to matter.

A program of the corpus is called as it says, then one more time after a change, and a last time as at first. The same is done eagerly,
and everything that can be seen afterwards must be equal. The changes are found by walking from what the frame can reach (arguments,
keywords, globals, closure cells, defaults, the bound object; from there attributes, items, classes, functions) and by the state of the
process (torch's modes, builtins). Each change is a `Change`: a path that is walked anew in every load of the program, and what to do at
its end.

    python tests/python/oracles/guard_mutation.py                       # all changes of all programs
    python tests/python/oracles/guard_mutation.py --only dict_ --backend aot_eager
    python tests/python/oracles/guard_mutation.py --program tests/programs/model/x.py --change "arguments[0][1]: another int"

prints each change after which the captured program is not what it is eagerly.
"""

import argparse
import builtins
import collections
import contextlib
import copy
import dataclasses
import faulthandler
import gc
import itertools
import os
import pathlib
import random
import re
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import differential
import model_programs
import torch

import minidynamo
from minidynamo import backends

MOST_DEPTH = 6
MOST_DEPTH_OF_MODEL = 16
SECONDS_PER_RUN = 20
END = "= end"

EXEMPT: dict[str, str] = {}  # programs that are not changed, with the reason

Apply = Callable[[], object]  # makes the change


@dataclasses.dataclass(frozen=True)
class World:
    """The objects that a load of a program shows to a call.

    Attributes:
        roots: by name: the arguments (a list that the call is made with), keywords, and the captured function or method.
    """

    program: types.ModuleType
    arguments: list[Any]
    keywords: dict[str, Any]
    is_model: bool = False

    @property
    def function(self) -> types.FunctionType:
        target = self.program.f
        if isinstance(target, torch.nn.Module):
            target = target.forward
        return target.__func__ if isinstance(target, types.MethodType) else target


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an object is held: how to read it, replace it and take it away there. `replace` and `remove` may be None: it cannot be."""

    path: str
    value: Any
    replace: Callable[[Any], object] | None = None
    remove: Callable[[], object] | None = None


# Subclasses that replacements are of. Both runs must see the same class.


class OtherInt(int):
    pass


class OtherStr(str):
    pass


class OtherList(list[Any]):
    pass


class OtherDict(dict[Any, Any]):
    pass


class OtherTensor(torch.Tensor):
    pass


# Walking


def places(world: World) -> Iterator[Place]:
    """Every place that is reached from the frame, nearest first, each object once as an owner."""
    queue = collections.deque((place, 0) for place in roots(world))
    seen: set[int] = set()
    while queue:
        place, depth = queue.popleft()
        yield place
        if depth < (MOST_DEPTH_OF_MODEL if world.is_model else MOST_DEPTH) and id(place.value) not in seen:
            seen.add(id(place.value))
            queue.extend((inner, depth + 1) for inner in held_by(place))


def roots(world: World) -> Iterator[Place]:
    for index, value in enumerate(world.arguments):
        yield Place(f"arguments[{index}]", value, lambda new, index=index: world.arguments.__setitem__(index, new))
    for name, value in world.keywords.items():
        yield Place(f"keywords[{name!r}]", value, lambda new, name=name: world.keywords.__setitem__(name, new))
    target = world.program.f
    if isinstance(target, types.MethodType):
        yield Place("f.__self__", target.__self__)
    elif not isinstance(target, types.FunctionType):
        yield Place("f", target)
    names = vars(world.program)
    for name, value in list(names.items()):
        if name.startswith("__") or isinstance(value, types.ModuleType) or name in ("inputs", "keywords", "calls"):
            continue
        yield Place(
            f"globals[{name!r}]",
            value,
            lambda new, name=name: names.__setitem__(name, new),
            lambda name=name: names.__delitem__(name),
        )


def held_by(place: Place) -> Iterator[Place]:
    owner, path = place.value, place.path
    if isinstance(owner, (torch.Tensor, types.ModuleType)) or differential._torch_internal(owner):
        return
    if type(owner).__module__ == "typing":  # one for all loads of a program
        return
    if isinstance(owner, types.FunctionType):
        yield from _held_by_function(path, owner)
        return
    if isinstance(owner, types.MethodType):
        yield Place(f"{path}.__self__", owner.__self__)
        yield Place(f"{path}.__func__", owner.__func__)
        return
    if isinstance(owner, type):
        if owner.__module__ == "__program__":
            for name, value in list(vars(owner).items()):
                if not name.startswith("__") or isinstance(value, types.FunctionType):
                    yield _attribute(path, owner, name, value)
        return
    if isinstance(owner, dict):
        for key, value in list(owner.items()):
            yield Place(
                f"{path}[{key!r}]" if differential._constant(key) else f"{path}.value({type(key).__name__})",
                value,
                lambda new, key=key: _plain(owner).__setitem__(owner, key, new),
                lambda key=key: _plain(owner).pop(owner, key),
            )
    elif isinstance(owner, (list, collections.deque)):
        for index, value in enumerate(owner):
            yield Place(
                f"{path}[{index}]",
                value,
                lambda new, index=index: owner.__setitem__(index, new),
                lambda index=index: owner.__delitem__(index),
            )
    elif isinstance(owner, tuple):
        for index, value in enumerate(owner):
            replace = None
            if place.replace is not None and type(owner) is tuple:
                replace = lambda new, index=index: place.replace(owner[:index] + (new,) + owner[index + 1 :])  # type: ignore[misc]
            yield Place(f"{path}[{index}]", value, replace)
    if type(owner).__module__ == "__program__" and path.count("type(") == 0:
        yield Place(f"type({path})", type(owner))
    for name, value in list(getattr(owner, "__dict__", {}).items()):
        if isinstance(name, str):
            yield _attribute(path, owner, name, value)
    for kind in type(owner).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(owner, name):
                yield _attribute(path, owner, name, getattr(owner, name))


def _plain(dictionary: dict[Any, Any]) -> Any:
    """Its class without what a subclass written in Python adds. The methods of dict would leave an OrderedDict inconsistent."""
    return collections.OrderedDict if isinstance(dictionary, collections.OrderedDict) else dict


def _attribute(path: str, owner: Any, name: str, value: Any) -> Place:
    base = type if isinstance(owner, type) else object
    return Place(
        f"{path}.{name}",
        value,
        lambda new: base.__setattr__(owner, name, new),
        lambda: base.__delattr__(owner, name),
    )


def _held_by_function(path: str, function: types.FunctionType) -> Iterator[Place]:
    if function.__module__ != "__program__":
        return
    defaults = function.__defaults__ or ()
    for index, value in enumerate(defaults):
        yield Place(
            f"{path}.__defaults__[{index}]",
            value,
            lambda new, index=index: setattr(function, "__defaults__", defaults[:index] + (new,) + defaults[index + 1 :]),
        )
    for name, value in (function.__kwdefaults__ or {}).items():
        yield Place(f"{path}.__kwdefaults__[{name!r}]", value, lambda new, name=name: function.__kwdefaults__.__setitem__(name, new))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name == "__classdict__":  # writes to it go past the class
            continue
        with contextlib.suppress(ValueError):
            yield Place(
                f"{path}.<{name}>",
                cell.cell_contents,
                lambda new, cell=cell: setattr(cell, "cell_contents", new),
                lambda cell=cell: delattr(cell, "cell_contents"),
            )
    for name, value in function.__dict__.items():
        yield _attribute(path, function, name, value)


# Changes


@dataclasses.dataclass(frozen=True)
class Change:
    """One change: its name is the same in every load of a program."""

    name: str
    apply: Apply


def changes(world: World) -> Iterator[Change]:
    """All changes of a load of a program, in one order."""
    found = list(places(world))
    for place in found:
        for what, apply in _changes_at(place, found):
            yield Change(f"{place.path}: {what}", apply)
    yield from _aliases(found, with_containers=not world.is_model)
    if world.function.__module__ == "__program__":
        yield from _shadowed_builtins(world)


def _changes_at(place: Place, others: list[Place]) -> Iterator[tuple[str, Apply]]:
    value = place.value
    if place.replace is not None:
        for what, make in _replacements(value):
            yield what, lambda make=make: place.replace(make())  # type: ignore[misc]
    if place.remove is not None:
        yield "removed", place.remove
    yield from _in_place(value)


def _replacements(value: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Other objects for the same place."""
    if isinstance(value, torch.Tensor):
        yield from _other_tensors(value)
    elif isinstance(value, bool):
        yield "the other bool", lambda: not value
        yield "as an int", lambda: int(value)
    elif isinstance(value, int) and type(value) is int:
        yield "another int", lambda: value + 1
        yield "0", lambda: 0
        yield "as a float", lambda: float(value)
        if value in (0, 1):
            yield "as a bool", lambda: bool(value)
        yield "of a subclass of int", lambda: OtherInt(value)
    elif isinstance(value, float):
        yield "another float", lambda: value + 0.5
        yield "negative", lambda: -value
        yield "nan", lambda: float("nan")
    elif isinstance(value, str):
        yield "another str", lambda: value + "x"
        yield "of a subclass of str", lambda: OtherStr(value)
    elif isinstance(value, bytes):
        yield "other bytes", lambda: value + b"x"
    elif value is None:
        yield "1 for None", lambda: 1
    elif isinstance(value, list):
        yield "an equal list", lambda: list(value)
        yield "a tuple", lambda: tuple(value)
        yield "of a subclass of list", lambda: OtherList(value)
    elif isinstance(value, tuple) and type(value) is tuple:
        yield "a longer tuple", lambda: value + value[-1:] + (1,)
        yield "a list", lambda: list(value)
    elif isinstance(value, dict):
        yield "an equal dict", lambda: copy.copy(value)
        yield "the other way round", lambda: dict(reversed(list(value.items())))
        yield "of a subclass of dict", lambda: OtherDict(value)
    elif isinstance(value, (set, frozenset)):
        yield "an equal set", lambda: copy.copy(value)
        yield "with another element", lambda: type(value)([*value, "x"])
    elif isinstance(value, types.FunctionType):
        if value.__module__ == "__program__":
            yield "a function that returns something else", lambda: _another_result(value)
            yield "an equal function", lambda: _copied_function(value)
    elif not isinstance(value, (type, types.ModuleType)):
        if type(value).__module__ == "__program__" or isinstance(value, torch.nn.Module):
            yield "a copy", lambda: copy.copy(value)
        yield "None", lambda: None


def _other_tensors(tensor: torch.Tensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    kind = type(tensor)
    if tensor.layout is not torch.strided:
        return

    def like(data: torch.Tensor) -> torch.Tensor:
        made = data.detach()
        if kind is torch.nn.Parameter:
            return torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
        return made.requires_grad_(tensor.requires_grad) if tensor.requires_grad and tensor.is_leaf else made

    data = tensor.detach()
    yield "equal data", lambda: like(data.clone())
    yield "other data", lambda: like(data.clone() * 2)
    if tensor.dim():
        yield "a row more", lambda: like(torch.cat([data, data[:1]]))
        yield "no rows", lambda: like(data[:0].clone())
        yield "another offset", lambda: like(torch.cat([data[:1], data])[1:])
        yield "other strides", lambda: like(torch.stack([data, data], -1)[..., 0])
        yield "a dimension less", lambda: like(data[0].clone())
    yield "a dimension more", lambda: like(data.unsqueeze(0).clone())
    if tensor.dtype.is_floating_point:
        yield "doubles", lambda: like(data.to(torch.float64 if tensor.dtype is not torch.float64 else torch.float32))
        yield "requires_grad the other way", lambda: data.clone().requires_grad_(not tensor.requires_grad)
        yield "not a leaf", lambda: data.clone().requires_grad_() * 1
        yield "a parameter", lambda: torch.nn.Parameter(data.clone(), requires_grad=tensor.requires_grad)
    else:
        yield "floats", lambda: like(data.to(torch.float32))
    yield "a plain tensor", lambda: data.clone()
    yield "with an attribute", lambda: _with_attribute(like(data.clone()))
    yield "inference", lambda: _inference(data)
    yield "a subclass", lambda: data.clone().as_subclass(OtherTensor)
    yield "None for a tensor", lambda: None


def _with_attribute(tensor: torch.Tensor) -> torch.Tensor:
    tensor.seen = 1  # type: ignore[attr-defined]
    return tensor


def _inference(tensor: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return tensor.clone()


def _another_result(function: types.FunctionType) -> Any:
    def changed(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            return result * 2
        return result + 1 if isinstance(result, (int, float)) and not isinstance(result, bool) else None

    return changed


def _copied_function(function: types.FunctionType) -> types.FunctionType:
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    return made


def _in_place(value: Any) -> Iterator[tuple[str, Apply]]:
    """The object stays, and is changed."""
    if isinstance(value, torch.Tensor):
        yield "data changed", lambda: _no_grad(lambda: value.mul_(2))
        if value.is_leaf and value.dtype.is_floating_point and value.requires_grad:
            yield "a gradient set", lambda: setattr(value, "grad", torch.ones_like(value))
            yield "requires_grad off", lambda: value.requires_grad_(False)
        if value.dtype.is_floating_point:
            yield ".data replaced", lambda: setattr(value, "data", value.detach().double())
            yield "transposed in place", lambda: _no_grad(lambda: value.t_() if value.dim() == 2 else value.unsqueeze_(0))
        yield "an attribute set", lambda: setattr(value, "seen", 1)
        return
    if isinstance(value, list):
        yield "an element more", lambda: list.append(value, copy.copy(value[-1]) if value else 1)
        if value:
            yield "emptied", lambda: list.clear(value)
            yield "turned round", lambda: list.reverse(value)
    elif isinstance(value, collections.deque):
        yield "an element more", lambda: collections.deque.append(value, 1)
    elif isinstance(value, dict):
        yield "a key more", lambda: _plain(value).__setitem__(value, "added", 1)
        if len(value) > 1:
            yield "its first key moved to the end", lambda: _move_first(value)
        if value:
            yield "emptied", lambda: _plain(value).clear(value)
    elif isinstance(value, set):
        yield "an element more", lambda: set.add(value, "added")
        if value:
            yield "emptied", lambda: set.clear(value)
    elif isinstance(value, types.FunctionType) and value.__module__ == "__program__":
        if not value.__closure__:
            yield "other code", lambda: setattr(value, "__code__", (lambda *args, **kwargs: None).__code__)
        if value.__defaults__:
            yield "no defaults", lambda: setattr(value, "__defaults__", None)
        yield "an attribute set", lambda: setattr(value, "added", 1)
    elif isinstance(value, type) and value.__module__ == "__program__":
        yield from _changes_of_class(value)
    if isinstance(value, torch.nn.Module):
        yield "a forward hook", lambda: value.register_forward_hook(lambda module, args, output: None)
        yield "a forward hook that changes", lambda: value.register_forward_hook(_doubled)
        yield "a forward pre-hook", lambda: value.register_forward_pre_hook(lambda module, args: None)
        yield "a backward hook", lambda: value.register_full_backward_hook(lambda module, before, after: None)
        yield "a backward hook that changes", lambda: value.register_full_backward_hook(_halved_gradients)
        yield "the other mode", lambda: value.train(not value.training)
        yield "as doubles", lambda: value.double()
    is_own = type(value).__module__ == "__program__" or isinstance(value, torch.nn.Module)
    if is_own and hasattr(value, "__dict__") and not isinstance(value, type):
        yield "an attribute more", lambda: object.__setattr__(value, "added", 1)
        yield "a class derived from its own", lambda: object.__setattr__(value, "__class__", _derived(type(value)))
        yield "another __dict__", lambda: object.__setattr__(value, "__dict__", dict(value.__dict__))
        for name in [name for name, item in vars(type(value)).items() if isinstance(item, types.FunctionType)][:4]:
            if not name.startswith("__"):
                method = getattr(value, name)
                yield (
                    f"a method {name} of its own",
                    lambda name=name, method=method: object.__setattr__(value, name, lambda *args, **kwargs: method(*args, **kwargs)),
                )


SPECIAL_METHODS: dict[str, Any] = {
    "__bool__": lambda self: False,
    "__len__": lambda self: 0,
    "__eq__": lambda self, other: True,
    "__hash__": lambda self: 1,
    "__getattr__": lambda self, name: 1,
    "__getattribute__": lambda self, name: object.__getattribute__(self, name),
    "__setattr__": lambda self, name, value: object.__setattr__(self, name, 1),
    "__call__": lambda self, *args: 1,
    "__iter__": lambda self: iter((1,)),
    "__contains__": lambda self, item: True,
    "__getitem__": lambda self, key: 1,
    "__add__": lambda self, other: other,
    "__radd__": lambda self, other: other,
    "__lt__": lambda self, other: True,
    "__index__": lambda self: 0,
    "__str__": lambda self: "changed",
    "__init__": lambda self, *args, **kwargs: None,
    "__enter__": lambda self: self,
    "__instancecheck__": lambda self, other: True,
    "__subclasscheck__": lambda self, other: True,
    "__subclasshook__": classmethod(lambda cls, other: True),
    "__torch_function__": classmethod(lambda cls, function, types, args=(), kwargs=None: 1),
    "__class_getitem__": classmethod(lambda cls, item: 1),
    "__class__": property(lambda self: int),
    "__get__": lambda self, owner, kind=None: 1,
    "__set__": lambda self, owner, value: None,
    "__set_name__": lambda self, owner, name: setattr(owner, "named", 1),
    "__delattr__": lambda self, name: None,
    "__exit__": lambda self, *args: True,
    "__next__": lambda self: 1,
    "__missing__": lambda self, key: 1,
    "__setitem__": lambda self, key, value: None,
    "__repr__": lambda self: "changed",
    "__format__": lambda self, form: "changed",
    "__float__": lambda self: 2.0,
    "__mul__": lambda self, other: other,
    "__iadd__": lambda self, other: self,
    "__neg__": lambda self: 1,
    "__ne__": lambda self, other: True,
    "__gt__": lambda self, other: True,
    "__copy__": lambda self: self,
    "__deepcopy__": lambda self, memo: self,
    "__reduce_ex__": lambda self, protocol: (int, (3,)),
    "__del__": lambda self: type.__setattr__(type(self), "ended", getattr(type(self), "ended", 0) + 1),
}


def _changes_of_class(kind: type) -> Iterator[tuple[str, Apply]]:
    for name, method in SPECIAL_METHODS.items():
        yield f"{name} set", lambda name=name, method=method: type.__setattr__(kind, name, method)
    if kind.__bases__ != (object,) or "__slots__" not in vars(kind):
        mixin = type("Mixin", (), {"__len__": lambda self: 3, "added": 1})
        yield "a base more", lambda: setattr(kind, "__bases__", (*[base for base in kind.__bases__ if base is not object], mixin))
    yield "an attribute more", lambda: type.__setattr__(kind, "added", 1)


def _derived(kind: type) -> type:
    return type(kind)(kind.__name__, (kind,), {"__slots__": ()} if "__slots__" in vars(kind) else {})


def _doubled(module: torch.nn.Module, args: Any, output: Any) -> Any:
    return output * 2 if isinstance(output, torch.Tensor) else output


def _halved_gradients(module: torch.nn.Module, before: Any, after: Any) -> Any:
    return tuple(gradient / 2 if isinstance(gradient, torch.Tensor) else gradient for gradient in before)


def _no_grad(action: Apply) -> None:
    with torch.no_grad():
        action()


def _move_first(dictionary: dict[Any, Any]) -> None:
    kind = _plain(dictionary)
    key = next(iter(kind.__iter__(dictionary)))
    kind.__setitem__(dictionary, key, kind.pop(dictionary, key))


def _aliases(found: list[Place], with_containers: bool) -> Iterator[Change]:
    """One object in two places, and tensors that overlap."""
    kinds = (torch.Tensor, list, dict, set) if with_containers else (torch.Tensor, torch.nn.Module)
    mutable = [
        place
        for place in found
        if place.replace is not None and (isinstance(place.value, kinds) or type(place.value).__module__ == "__program__")
    ]
    for index, first in enumerate(mutable):
        for second in mutable[index + 1 :]:
            if type(first.value) is not type(second.value):
                continue
            if first.value is second.value:
                yield Change(
                    f"{second.path}: no longer {first.path}",
                    lambda first=first, second=second: second.replace(_twin(first.value)),
                )
                continue
            yield Change(f"{second.path}: is {first.path}", lambda first=first, second=second: second.replace(first.value))
            if isinstance(first.value, torch.Tensor) and first.value.shape == second.value.shape:
                yield Change(
                    f"{second.path}: a view of {first.path}",
                    lambda first=first, second=second: second.replace(first.value.detach()[...]),
                )


def _twin(value: Any) -> Any:
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else copy.copy(value)


def _shadowed_builtins(world: World) -> Iterator[Change]:
    names = vars(world.program)
    for name in dict.fromkeys(name for name in world.function.__code__.co_names if hasattr(builtins, name)):
        value = getattr(builtins, name)
        if isinstance(value, (types.BuiltinFunctionType, type)) and name not in names and not name.startswith("__"):
            yield Change(
                f"globals[{name!r}]: shadows the builtin",
                lambda name=name, value=value: names.__setitem__(name, lambda *args, **kwargs: value(*args, **kwargs)),
            )


# The state of the process: around the changed call


@contextlib.contextmanager
def _attribute_set(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def _called(setter: Callable[[Any], object], value: Any, before: Any) -> Iterator[None]:
    setter(value)
    try:
        yield
    finally:
        setter(before)


MODES: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "default dtype": lambda: _called(torch.set_default_dtype, torch.float64, torch.float32),
    "default device": lambda: torch.device("cpu"),
    "deterministic": lambda: _called(lambda on: torch.use_deterministic_algorithms(on, warn_only=on), True, False),
    "mkldnn off": lambda: _called(torch._C._set_mkldnn_enabled, False, True),
    "math sdp only": lambda: torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
    "precision": lambda: _called(torch.set_float32_matmul_precision, "medium", "highest"),
    "recursion limit": lambda: _called(sys.setrecursionlimit, sys.getrecursionlimit() + 17, sys.getrecursionlimit()),
    "threads": lambda: _called(torch.set_num_threads, 2, 1),
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
}


# Running


@dataclasses.dataclass
class Run:
    """How a program is called: as it says, once after a change, and once more as at first."""

    path: pathlib.Path
    exact: bool = True
    is_model: bool = False

    def observe(self, wrap: Callable[[Any], Any], change: str | None) -> differential.Observation:
        mode = MODES.get(change.removeprefix("mode: ")) if change and change.startswith("mode: ") else None
        portrait = differential.Portrait(self.exact)
        with differential.observed_output(portrait, self.path) as (program, call):
            target = wrap(program.f)
            calls = getattr(program, "calls", [program.inputs] * 2)
            differential._seed()
            # An object in a circle of references ends when the collector comes: as it was at first, and by the end.
            ends_are_seen = change is not None and change.endswith("__del__ set")
            for index, make_inputs in enumerate([*calls, calls[0], calls[0]]):
                try:
                    arguments = list(make_inputs())
                    keywords = program.keywords() if hasattr(program, "keywords") else {}
                except Exception as error:  # the change was one for the program's own helpers too
                    portrait.line(f"call {index}: no arguments: {type(error).__name__}")
                    break
                around: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
                if index == len(calls) and change is not None:
                    if ends_are_seen:
                        gc.collect()
                    if mode is not None:
                        around = mode()
                    else:
                        self._apply(World(program, arguments, keywords, self.is_model), change)
                with around:
                    call(f"call {index}", target, arguments, keywords)
            if ends_are_seen:
                gc.collect()
        return differential.Observation(portrait.lines, portrait.tensors)

    @staticmethod
    def _apply(world: World, name: str) -> None:
        for change in changes(world):
            if change.name == name:
                # A change that cannot be made (a class that refuses an attribute, a base that does not fit) is no change.
                with contextlib.suppress(AttributeError, TypeError, RuntimeError, ValueError, IndexError, KeyError):
                    change.apply()
                return

    def names(self) -> list[str]:
        """The changes that there are, but those of what all loads of the program share (lists that a class of a library has): a change
        of that would stay."""
        with self._world() as world:
            held = {place.path: place.value for place in places(world)}
        if "torch.library" in self.path.read_text():  # which the two loads of a program would both want to define
            held.clear()
        with self._world() as world:
            shared = {place.path for place in places(world) if _is_shared(place.value, held.get(place.path))}
            found = [change.name for change in changes(world) if not _is_within(change.name.rpartition(": ")[0], shared)]
        return [*(f"mode: {name}" for name in MODES), *dict.fromkeys(found)]

    @contextlib.contextmanager
    def _world(self) -> Iterator[World]:
        with differential._loaded(self.path) as program:
            calls = getattr(program, "calls", [program.inputs] * 2)
            keywords = program.keywords() if hasattr(program, "keywords") else {}
            yield World(program, list(calls[0]()), keywords, self.is_model)

    def differences(self, change: str, backend: str) -> list[str]:
        """The differences from eager after the change, for a person; empty where there are none."""
        expected = self._observe_eagerly(change)
        if expected is None:
            return []
        minidynamo.reset()
        with minidynamo.config.patch(recompile_limit=64):
            actual = self.observe(lambda target: minidynamo.compile(target, backend=backends.resolve(backend)), change)
        minidynamo.reset()
        actual = _comparable(actual)
        found = differential.differences(expected, actual, exact=self.exact)
        if not found:
            return []
        # Some differences appear only the first time in a process (a warning), or vary each time (uninitialized memory).
        for value in (float("nan"), 1e30, 0.0):
            _litter(value)
            again = self._observe_eagerly(change)
            if again is None or differential.differences(expected, again, exact=True):
                return differential.differences(again, actual, exact=self.exact) if again and again.lines != expected.lines else []
        return found

    def _observe_eagerly(self, change: str) -> differential.Observation | None:
        """None: it has no end, or what comes after the calls fails (backward passes, removing hooks): nothing to compare with."""
        try:
            with differential.bounded(SECONDS_PER_RUN):
                return _comparable(self.observe(lambda target: target, change))
        except (Exception, differential.Hang):
            return None


def _is_shared(value: Any, before: Any) -> bool:
    return value is before and (isinstance(value, (list, dict, set, collections.deque)) or type(value).__module__ == "__program__")


def _is_within(path: str, outer: set[str]) -> bool:
    """True if a path is one of the others, or leads on from one."""
    return any(path[:end] in outer for end in range(1, len(path) + 1) if end == len(path) or path[end] in ".[")


def _litter(value: float) -> None:
    """Leaves a value in memory that is free, where a tensor that is not filled, or a kernel that reads beyond one, finds it."""
    held = [torch.full((size,), value) for size in range(1, 65) for _ in range(8)]
    del held


def _comparable(observation: differential.Observation) -> differential.Observation:
    lines = [re.sub(r"0x[0-9a-f]+", "0x...", line) for line in observation.lines]  # in texts of exceptions
    return differential.Observation(lines, observation.tensors)


def chosen(run: Run, share: int = 1, seed: int = 0, most: int | None = None) -> list[str]:
    """The changes of a program, or one in `share`, or `most` of them and of each kind as many as of the others, chosen by `seed`."""
    chooser = random.Random(f"{seed} {run.path.stem}")
    names = [name for name in run.names() if share == 1 or chooser.randrange(share) == 0]
    if most is None or len(names) <= most:
        return names
    kinds: dict[str, list[str]] = {}
    for name in chooser.sample(names, len(names)):
        kind = name.rpartition(": ")[2]
        kinds.setdefault(" ".join(kind.split()[:2]) if kind.startswith(("is ", "a view of")) else kind, []).append(name)
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*kinds.values()))
    return [name for name in in_turn if name is not None][:most]


def findings(
    path: pathlib.Path, backend: str, share: int = 1, seed: int = 0, most: int | None = None, is_model: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """The changes of a program, each with what differs after it: nothing where all is well."""
    run = Run(path, backend == "eager", is_model)
    for name in chosen(run, share, seed, most):
        yield name, finding(run, name, backend)


def finding(run: Run, name: str, backend: str) -> list[str]:
    try:
        with differential.bounded(2 * SECONDS_PER_RUN):
            different = run.differences(name, backend)
    except (Exception, differential.Hang) as error:
        different = [f"{type(error).__name__}: {error}"]
    return different + minidynamo.debug.mirror_differences()


def main() -> int:
    parser = argparse.ArgumentParser(description="Looks for changes after which a captured program is not what it is eagerly.")
    parser.add_argument("--only", default="", help="programs whose names contain this")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--share", type=int, default=1, help="every n-th change only")
    parser.add_argument("--seed", type=int, default=0, help="which ones of the share")
    parser.add_argument("--part", default="1/1", help="k/n: every n-th program, from the k-th on")
    parser.add_argument("--log", type=pathlib.Path, help="a folder for what is found, a file a program; programs that have one are done")
    parser.add_argument("--models", action="store_true", help="the models of model_programs.py in place of the programs")
    parser.add_argument("--most", type=int, help="no more changes of each than this, of all kinds")
    parser.add_argument("--program", type=pathlib.Path, help="one program, in this process")
    parser.add_argument("--kind", default="", help="changes whose names contain this")
    parser.add_argument("--change", help="one change of that program")
    options = parser.parse_args()
    torch.set_num_threads(1)
    minidynamo.config.mirror = True
    if options.program:
        return _one_program(options.program, options, skipped=0)
    if options.log:
        return _all_programs(options)
    with tempfile.TemporaryDirectory() as folder:
        options.log = pathlib.Path(folder)
        return _all_programs(options)


def _one_program(path: pathlib.Path, options: argparse.Namespace, skipped: int) -> int:
    """Prints each change but the first `skipped`, what differs after it, and a last line."""
    faulthandler.enable()
    run = Run(path, options.backend == "eager", options.models)
    found = 0
    names = [name for name in chosen(run, options.share, options.seed, options.most) if options.kind in name]
    for name in [options.change] if options.change else names[skipped:]:
        print(f"@ {name}", flush=True)
        faulthandler.dump_traceback_later(4 * SECONDS_PER_RUN, exit=True)  # in C code that no signal ends
        different = finding(run, name, options.backend)
        faulthandler.cancel_dump_traceback_later()
        if different:
            found += 1
            print("! " + "\n".join(different).replace("\n", "\n  "), flush=True)
    print(END, flush=True)
    return 1 if found else 0


def _all_programs(options: argparse.Namespace) -> int:
    """A process for each program, so that a crash is one finding."""
    options.log.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, options.part.split("/"))
    began, tried, found = time.monotonic(), 0, 0
    paths = model_programs.write_programs(options.log / "programs") if options.models else differential.PROGRAMS
    for path in paths[part - 1 :: parts]:
        header = differential.Header.read(path)
        if options.only not in path.stem or (header.backends and options.backend not in header.backends) or path.stem in EXEMPT:
            continue
        log = options.log / f"{path.stem}.txt"
        if not log.exists():
            _in_processes(path, log, options)
        change = ""
        for line in log.read_text().splitlines():
            if line.startswith("@ "):
                change, tried = line[2:], tried + 1
            elif line.startswith("! "):
                found += 1
                print(f"{path.stem}: {change}\n    {line[2:]}", flush=True)
            elif line != END:
                print(f"  {line}", flush=True)
    print(f"{tried} changes in {time.monotonic() - began:.0f} s, {found} with a difference")
    return 1 if found else 0


def _in_processes(path: pathlib.Path, log: pathlib.Path, options: argparse.Namespace) -> None:
    """All changes of a program in one fork of this process, and in one more after each crash, from the next change on."""
    unfinished = log.with_suffix(".unfinished")
    unfinished.write_text("")
    while END not in (lines := unfinished.read_text().splitlines()):
        child = os.fork()
        if not child:
            file = os.open(unfinished, os.O_WRONLY | os.O_APPEND)
            os.dup2(file, 1)
            os.dup2(file, 2)
            try:
                _one_program(path, options, skipped=sum(line.startswith("@ ") for line in lines))
            except BaseException as error:  # the program's own: nothing comes after it
                print(f"! {type(error).__name__}: {error}\n{END}", flush=True)
            finally:
                os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status and not _crashes_eagerly(path, unfinished.read_text(), options):
            with unfinished.open("a") as output:
                output.write(f"\n! the process ended with {status}\n")
    unfinished.rename(log)


def _crashes_eagerly(path: pathlib.Path, log: str, options: argparse.Namespace) -> bool:
    """True if the last change of the log brings CPython itself down (a `split` of an exception group that returns None)."""
    change = [line[2:] for line in log.splitlines() if line.startswith("@ ")][-1:]
    child = os.fork()
    if not child:
        try:
            with differential.bounded(SECONDS_PER_RUN):
                Run(path, is_model=options.models).observe(lambda target: target, change[0] if change else None)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) < 0


if __name__ == "__main__":
    sys.exit(main())
