"""Records the contents of objects of each kind, and restores them."""

import abc
import collections
import functools
import hashlib
import io
import random
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from minidynamo import _C
from minidynamo._verify.atoms import is_atom

Part = tuple[str, Any]
"""How a path goes on to what an object holds, and that object."""


class Kept(abc.ABC):
    """The contents of an object of one kind. Made when the photo is taken.

    Attributes:
        value: the object.
        parts: the objects that it holds.
        facts: values that are compared as they are, by name.
    """

    def __init__(self, value: Any, parts: list[Part], **facts: Any) -> None:
        self.value = value
        self.parts = parts
        self.facts = facts

    @abc.abstractmethod
    def put_back(self) -> None:
        """Restores the contents of the object."""


class _Unchanging(Kept):
    """An object whose own contents stay: a tuple, a method."""

    def put_back(self) -> None:
        pass


class _List(Kept):
    def __init__(self, value: Any) -> None:
        super().__init__(value, [(f"[{index}]", item) for index, item in enumerate(value)], length=len(value))

    def put_back(self) -> None:
        items = [item for _, item in self.parts]
        if len(items) == len(self.value) and all(map(_is, items, self.value)):
            return
        kind = list if isinstance(self.value, list) else collections.deque  # not the methods of a class derived from it
        kind.clear(self.value)
        kind.extend(self.value, items)


class _Dict(Kept):
    def __init__(self, value: Any) -> None:
        self._kind: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict  # not the value's own methods
        self.items = dict(self._kind.items(value))
        keys = [(f".key({index})", key) for index, key in enumerate(self.items) if not is_atom(key)]
        values = [(f"[{key!r}]" if is_atom(key) else ".value", item) for key, item in self.items.items()]
        super().__init__(value, [*keys, *values], keys=[key if is_atom(key) else "an object" for key in self.items])

    def put_back(self) -> None:
        if len(self.value) == len(self.items) and all(
            key is now and item is value for (key, item), (now, value) in zip(self.items.items(), self.value.items(), strict=True)
        ):
            return
        self._kind.clear(self.value)
        for key, item in self.items.items():
            self._kind.__setitem__(self.value, key, item)


class _Set(Kept):
    """A set. Its order follows from all that was ever put in and taken out: it is the same each time that the set is put back."""

    def __init__(self, value: Any) -> None:
        self.items = list(value)
        atoms = [item for item in self.items if is_atom(item)]
        others = [item for item in self.items if not is_atom(item)]
        super().__init__(value, [(f".element({index})", item) for index, item in enumerate(others)], elements=sorted(map(repr, atoms)))

    def put_back(self) -> None:
        set.clear(self.value)
        set.update(self.value, self.items)


class _WeakContainer(Kept):
    """A dict with weak keys or values, or a set of weak references."""

    def __init__(self, value: Any) -> None:
        is_set = isinstance(value, weakref.WeakSet)
        self.items = list(value) if is_set else list(value.items())
        super().__init__(value, [(f".item({index})", item) for index, item in enumerate(self.items)], length=len(self.items))

    def put_back(self) -> None:
        self.value.clear()
        self.value.update(self.items)


class _Attributes(Kept):
    """The attributes of an object: in its `__dict__`, and in slots."""

    def __init__(self, value: Any) -> None:
        self.attributes = dict(_dict_of(value))
        self.slots = dict(_slots_of(value))
        every = self.attributes | self.slots
        parts = [(f".{name}", item) for name, item in every.items()]
        super().__init__(value, [*parts, ("'s class", type(value))], attributes=sorted(every))

    def put_back(self) -> None:
        now = _dict_of(self.value)
        if now.keys() != self.attributes.keys() or not all(now[name] is item for name, item in self.attributes.items()):
            now.clear()
            now.update(self.attributes)
        slots = dict(_slots_of(self.value))
        for name in slots.keys() - self.slots.keys():
            object.__delattr__(self.value, name)
        for name, item in self.slots.items():
            if name not in slots or slots[name] is not item:
                object.__setattr__(self.value, name, item)


class _Namespace(Kept):
    """A class or a module of the program: its data, and the global variables that a class's functions name."""

    def __init__(self, value: Any) -> None:
        self.data = dict(_data_of(value))
        parts = [(f".{name}", item) for name, item in self.data.items()]
        if isinstance(value, type):
            parts += [(f".{name}", function) for name, item in vars(value).items() for function in _functions_in(item)]
        super().__init__(value, parts, names=sorted(self.data))

    def put_back(self) -> None:
        now = dict(_data_of(self.value))
        for name in now.keys() - self.data.keys():
            delattr(self.value, name)
        for name, item in self.data.items():
            if name not in now or now[name] is not item:
                setattr(self.value, name, item)


class _Globals(Kept):
    """The global variables that a function of the program names."""

    def __init__(self, value: "GlobalsOf") -> None:
        names = sorted(_global_names(value.function.__code__) - {"__builtins__"})
        self.variables = {name: value.function.__globals__[name] for name in names if name in value.function.__globals__}
        super().__init__(value, [(f"global {name}", item) for name, item in self.variables.items()], names=sorted(self.variables))
        self._names = names

    def put_back(self) -> None:
        namespace = self.value.function.__globals__
        for name in self._names:
            if name not in self.variables:
                namespace.pop(name, None)
            elif namespace.get(name) is not self.variables[name]:
                namespace[name] = self.variables[name]


class GlobalsOf:
    """Stands for the global variables that a function names, which no object of Python's is."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function


class _Cell(Kept):
    def __init__(self, value: types.CellType) -> None:
        try:
            super().__init__(value, [("", value.cell_contents)])
        except ValueError:
            super().__init__(value, [], empty=True)

    def put_back(self) -> None:
        if not self.parts:
            del self.value.cell_contents
        else:
            self.value.cell_contents = self.parts[0][1]


class _Bytes(Kept):
    def __init__(self, value: bytearray) -> None:
        super().__init__(value, [], bytes=bytes(value))

    def put_back(self) -> None:
        self.value[:] = self.facts["bytes"]


class _Array(Kept):
    """An array of NumPy's."""

    def __init__(self, value: Any) -> None:
        self.data = value.copy()
        items = [(f".item({index})", item) for index, item in enumerate(value.ravel())] if value.dtype.hasobject else []
        super().__init__(value, items, shape=value.shape, dtype=value.dtype)

    def put_back(self) -> None:
        if self.value.flags.writeable:
            self.value[...] = self.data


class _State(Kept):
    """An object that hands out its whole state: a generator of random numbers."""

    def __init__(self, value: Any, get: Callable[[], Any], set_: Callable[[Any], Any]) -> None:
        state = get()
        super().__init__(value, [], state=hashlib.blake2b(repr(_frozen(state)).encode(), digest_size=4).hexdigest())
        self._state = state
        self._set = set_

    def put_back(self) -> None:
        self._set(self._state)


class _Buffer(Kept):
    """Text or bytes in memory that are read and written as a file."""

    def __init__(self, value: "io.StringIO | io.BytesIO") -> None:
        super().__init__(value, [], text=value.getvalue(), position=value.tell())

    def put_back(self) -> None:
        self.value.seek(0)
        self.value.truncate()
        self.value.write(self.facts["text"])
        self.value.seek(self.facts["position"])


class _AndAttributes(Kept):
    """An object of a class that is derived from a container's, with attributes beside what it contains."""

    def __init__(self, contents: Kept) -> None:
        self._contents = contents
        self._attributes = _Attributes(contents.value)
        super().__init__(contents.value, [*contents.parts, *self._attributes.parts], **contents.facts, **self._attributes.facts)

    def put_back(self) -> None:
        self._contents.put_back()
        self._attributes.put_back()


class KeptTensor(Kept):
    """A tensor: what it is, and where in which memory. The bytes are the photo's, once for each storage."""

    def __init__(self, value: torch.Tensor, storages: "dict[int, KeptStorage]") -> None:
        self.inner = _inner_tensors(value)
        self.storage: KeptStorage | None = None
        parts: list[Part] = [(f".{name}", part) for name, part in self.inner]
        if value.is_leaf and value.grad is not None:
            parts.append((".grad", value.grad))
        # Marks of torch's compilers on a tensor are no part of what a program computes.
        own = (name for name in vars(value) if name not in dict(self.inner) and not name.startswith("_dynamo_"))
        parts += [(f".{name}", vars(value)[name]) for name in own]
        facts: dict[str, Any] = {
            "shape": tuple(value.shape),
            "dtype": value.dtype,
            "device": value.device,
            "layout": value.layout,
            "requires_grad": value.requires_grad,
        }
        self.is_leaf = value.is_leaf
        self.grad = value.grad if value.is_leaf else None
        self.attributes = dict(vars(value))
        self.copy: torch.Tensor | None = None  # where there is no storage to copy: sparse and the like
        if _has_storage(value) and not self.inner:
            self.place = (value.storage_offset(), tuple(value.shape), value.stride())
            storage = value.untyped_storage()
            self.storage = storages.get(storage._cdata) or storages.setdefault(storage._cdata, KeptStorage(storage))
        elif not self.inner:
            self.copy = value.detach().clone()
        super().__init__(value, parts, **facts)

    @property
    def stride(self) -> tuple[int, ...] | None:
        return self.place[2] if self.storage else None

    def data(self) -> torch.Tensor | None:
        """The values at that moment; None where a tensor is made of others, or has none."""
        if self.storage is None:
            return self.copy
        if self.storage.bytes is None:
            return None
        made = torch.empty(0, dtype=self.facts["dtype"], device=self.facts["device"])
        with torch.no_grad():
            return made.set_(self.storage.bytes, *self.place)

    def put_back(self) -> None:
        tensor = self.value
        with torch.no_grad():
            if self.is_leaf and not tensor.is_leaf and not tensor._is_view():
                tensor.detach_()
            if self.storage is not None and (
                tensor.untyped_storage()._cdata != self.storage.storage._cdata
                or (tensor.storage_offset(), tuple(tensor.shape), tensor.stride()) != self.place
            ):
                made = torch.empty(0, dtype=self.facts["dtype"], device=self.facts["device"])
                tensor.data = made.set_(self.storage.storage, *self.place)
            if self.copy is not None:
                tensor.copy_(self.copy)
        if self.is_leaf and tensor.is_leaf:
            if tensor.requires_grad != self.facts["requires_grad"]:
                tensor.requires_grad_(self.facts["requires_grad"])
            if tensor.grad is not self.grad:
                tensor.grad = self.grad
        now = vars(tensor)
        if now != self.attributes:
            now.clear()
            now.update(self.attributes)


class KeptStorage:
    """The memory of tensors, and a copy of its bytes."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self.storage = storage
        self.bytes = storage.clone() if storage.device.type != "meta" else None  # type: ignore[no-untyped-call]

    def put_back(self) -> None:
        if self.bytes is None:
            return
        if self.storage.nbytes() != self.bytes.nbytes():
            self.storage.resize_(self.bytes.nbytes())
        self.storage.copy_(self.bytes)


def kept_of(value: Any, storages: dict[int, KeptStorage]) -> Kept | None:
    """The contents of an object; None if they cannot be read.

    Args:
        storages: the memory that was copied so far, by the address of torch's storage; that of tensors is added.
    """
    if isinstance(value, torch.Tensor):
        return KeptTensor(value, storages)
    for kinds, keep in _KINDS:
        if isinstance(value, kinds):
            return _AndAttributes(keep(value)) if isinstance(value, _CONTAINERS) and _has_attributes(value) else keep(value)
    if type(value).__module__.split(".")[0] == "numpy":
        return _kept_of_numpy(value)
    return _Attributes(value) if _has_attributes(value) else None


_CONTAINERS = (list, collections.deque, tuple, dict, set, frozenset, bytearray)


def _kept_function(value: types.FunctionType) -> Kept:
    parts: list[Part] = []
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
        parts.append((f".<{name}>", cell))
    parts += [(".__defaults__", value.__defaults__), (".__kwdefaults__", value.__kwdefaults__), ("", vars(value))]
    parts.append((".", GlobalsOf(value)))
    return _Unchanging(value, parts)


def _kept_tuple(value: Any) -> Kept:
    names = getattr(type(value), "_fields", None) or ()
    named = len(names) == len(value)
    parts = [(f".{names[index]}" if named else f"[{index}]", item) for index, item in enumerate(value)]
    return _Unchanging(value, parts, length=len(value))


def _kept_of_numpy(value: Any) -> Kept | None:
    import numpy

    if isinstance(value, numpy.ndarray):
        return _Array(value)
    if isinstance(value, numpy.random.RandomState):
        return _State(value, value.get_state, value.set_state)
    return None


_KINDS: list[tuple[Any, Callable[[Any], Kept]]] = [
    ((list, collections.deque), _List),
    (tuple, _kept_tuple),
    (types.MappingProxyType, lambda value: _Unchanging(value, [(f"[{key!r}]", item) for key, item in value.items()])),
    (dict, _Dict),
    (set, _Set),
    (frozenset, lambda value: _Unchanging(value, [(".element", item) for item in value], length=len(value))),
    (bytearray, _Bytes),
    (types.CellType, _Cell),
    (GlobalsOf, _Globals),
    (types.FunctionType, _kept_function),
    (types.MethodType, lambda value: _Unchanging(value, [("", value.__self__), ("", value.__func__)])),
    (
        functools.partial,
        lambda value: _Unchanging(value, [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]),
    ),
    ((weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet), _WeakContainer),
    ((io.StringIO, io.BytesIO), _Buffer),
    (torch.Generator, lambda value: _State(value, value.get_state, value.set_state)),
    (random.Random, lambda value: _State(value, value.getstate, value.setstate)),
    (_C.OptimizedFunction, lambda value: _Unchanging(value, [("", value.__wrapped__)])),
    ((type, types.ModuleType), _Namespace),
]


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _has_attributes(value: Any) -> bool:
    return isinstance(getattr(value, "__dict__", None), dict) or any(True for _ in _slots_of(value))


def _dict_of(value: Any) -> dict[str, Any]:
    found = getattr(value, "__dict__", None)
    return found if isinstance(found, dict) else {}


def _slots_of(value: Any) -> Iterator[tuple[str, Any]]:
    for kind in type(value).__mro__:
        for name, member in vars(kind).items():
            if isinstance(member, types.MemberDescriptorType) and "__slots__" in vars(kind):
                try:
                    yield name, member.__get__(value)
                except AttributeError:
                    continue


def _data_of(value: Any) -> Iterator[tuple[str, Any]]:
    for name, item in list(vars(value).items()):
        is_special = name.startswith("__") and name != "__annotations__"
        if not is_special and not isinstance(item, _CODE):
            yield name, item


def _functions_in(item: Any) -> Iterator[types.FunctionType]:
    """The functions behind an item of a class."""
    if isinstance(item, property):
        items = [item.fget, item.fset, item.fdel]
    else:
        items = [item.__func__ if isinstance(item, (classmethod, staticmethod)) else item]
    yield from (function for function in items if isinstance(function, types.FunctionType))


_CODE = (
    types.FunctionType,
    types.ModuleType,
    type,
    property,
    classmethod,
    staticmethod,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
)


def _has_storage(tensor: torch.Tensor) -> bool:
    try:
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False
    return tensor.layout is torch.strided


def _inner_tensors(tensor: torch.Tensor) -> list[tuple[str, torch.Tensor]]:
    """The tensors that a tensor is made of."""
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is None or type(tensor) in (torch.Tensor, torch.nn.Parameter):
        return []
    return [(name, getattr(tensor, name)) for name in flatten()[0]]


def _is(one: Any, other: Any) -> bool:
    return one is other


def _frozen(state: Any) -> Any:
    """A state in a form that `==` compares."""
    if isinstance(state, torch.Tensor):
        return state.numpy().tobytes()
    if isinstance(state, tuple):
        return tuple(map(_frozen, state))
    return state.tobytes() if hasattr(state, "tobytes") else state
