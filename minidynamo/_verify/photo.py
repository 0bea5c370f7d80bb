"""The contents of the objects that a call can reach: taken, put back, and looked at again.

A photo holds, for each object that can be reached from named roots, what it held at that moment. A call can then be made twice from
one state (`put_back` between them), and two photos can be compared (`comparison`). Objects are kept by identity: nothing is copied but
the bytes of tensors and arrays, so that a captured function meets the very objects that its guards know.

What has no contents that can be read (an open file, a running generator) is listed in `Photo.opaque`. A call that changes it is made
twice for real.
"""

import abc
import collections
import enum
import functools
import hashlib
import io
import random
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

Part = tuple[str, Any]
"""How a path goes on to what an object holds, and that object."""


class Kept(abc.ABC):
    """What an object of one kind holds. Made when the photo is taken.

    Attributes:
        value: the object.
        parts: the objects that it holds.
        facts: what is compared as it is, by name.
    """

    def __init__(self, value: Any, parts: list[Part], **facts: Any) -> None:
        self.value = value
        self.parts = parts
        self.facts = facts

    @abc.abstractmethod
    def put_back(self) -> None:
        """Gives the object what it held."""


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
    """A dict, or the attributes of an object or a class of the program, as `keys` and values."""

    def __init__(self, value: Any, suffix: Callable[[Any], str], items: Mapping[Any, Any]) -> None:
        self.items = dict(items)
        keys = [(f".key({index})", key) for index, key in enumerate(items) if not is_atom(key)]
        super().__init__(
            value,
            [*keys, *((suffix(key), item) for key, item in items.items())],
            keys=[key if is_atom(key) else "an object" for key in items],
        )

    def put_back(self) -> None:
        if len(self.value) == len(self.items) and all(
            key is now and item is value for (key, item), (now, value) in zip(self.items.items(), self.value.items(), strict=True)
        ):
            return
        kind: Any = collections.OrderedDict if isinstance(self.value, collections.OrderedDict) else dict
        kind.clear(self.value)
        for key, item in self.items.items():
            kind.__setitem__(self.value, key, item)


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


class KeptTensor(Kept):
    """A tensor: what it is, and where in which memory. The bytes are the photo's, once for each storage."""

    def __init__(self, value: torch.Tensor, storages: "dict[int, _Storage]") -> None:
        self.inner = _inner_tensors(value)
        self.storage: _Storage | None = None
        parts: list[Part] = [(f".{name}", part) for name, part in self.inner]
        if value.is_leaf and value.grad is not None:
            parts.append((".grad", value.grad))
        parts += [(f".{name}", item) for name, item in vars(value).items() if name not in dict(self.inner)]
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
            self.storage = storages.get(storage._cdata) or storages.setdefault(storage._cdata, _Storage(storage))
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


class _Storage:
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


class Photo:
    """What all objects held that could be reached from the roots.

    Args:
        roots: the objects to begin with, under the names by which people are told of them.

    Attributes:
        kept: what each object held, by its address.
        paths: where each object was found first, by its address.
        storages: the memory of the tensors, by the address of torch's storage.
        opaque: paths of objects whose contents cannot be read, and their types.

    Example:
        >>> items = [1, torch.zeros(2)]
        >>> before = Photo({"items": items})
        >>> items[1].add_(1); items.append(2)
        tensor([1., 1.])
        >>> before.put_back()
        >>> items
        [1, tensor([0., 0.])]
    """

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self.roots = dict(roots)
        self.kept: dict[int, Kept] = {}
        self.paths: dict[int, str] = {}
        self.opaque: dict[str, str] = {}
        self.storages: dict[int, _Storage] = {}
        waiting = list(reversed(self.roots.items()))
        while waiting:
            path, value = waiting.pop()
            if is_atom(value) or id(value) in self.kept:
                continue
            kept = self._keep(value)
            if kept is None:
                self.opaque.setdefault(path, type(value).__qualname__)
                continue
            if isinstance(value, functools._lru_cache_wrapper):
                self.opaque[path] = "functools.lru_cache"
            self.kept[id(value)] = kept
            self.paths[id(value)] = path
            waiting += [(path + suffix, part) for suffix, part in reversed(kept.parts)]

    def put_back(self) -> None:
        """Gives every object what it held."""
        for kept in self.kept.values():
            kept.put_back()
            if isinstance(kept, KeptTensor) and kept.is_leaf != kept.value.is_leaf:  # of a view, the history cannot be taken away
                self.opaque[self.paths[id(kept.value)]] = "the history of a view"
        for storage in self.storages.values():
            storage.put_back()

    def leaves(self) -> list[torch.Tensor]:
        """The tensors that gradients are for."""
        return [kept.value for kept in self.kept.values() if isinstance(kept, KeptTensor) and kept.is_leaf and kept.facts["requires_grad"]]

    def _keep(self, value: Any) -> Kept | None:
        if isinstance(value, torch.Tensor):
            return KeptTensor(value, self.storages)
        for kinds, keep in _KINDS:
            if isinstance(value, kinds):
                return _with_attributes(keep(value))
        if type(value).__module__.split(".")[0] == "numpy":
            return _kept_of_numpy(value)
        if hasattr(value, "__wrapped__") and not isinstance(vars(value), dict):  # a function of C around one of the program
            return _Unchanging(value, [("", value.__wrapped__)])
        if _has_attributes(value):
            return _Attributes(value)
        return None


def _kept_function(value: types.FunctionType) -> Kept:
    parts: list[Part] = []
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
        parts.append((f".<{name}>", cell))
    parts += [(".__defaults__", value.__defaults__), (".__kwdefaults__", value.__kwdefaults__), ("", vars(value))]
    parts.append((".", GlobalsOf(value)))
    return _Unchanging(value, parts)


def _kept_mapping(value: Any) -> Kept:
    return _Dict(value, lambda key: f"[{key!r}]" if is_atom(key) else ".value", value)


class _AndAttributes(Kept):
    """An object of a class that is derived from a container's, with attributes beside what it contains."""

    def __init__(self, contents: Kept) -> None:
        self._contents = contents
        self._attributes = _Attributes(contents.value)
        super().__init__(contents.value, [*contents.parts, *self._attributes.parts], **contents.facts, **self._attributes.facts)

    def put_back(self) -> None:
        self._contents.put_back()
        self._attributes.put_back()


def _with_attributes(kept: Kept) -> Kept:
    return _AndAttributes(kept) if isinstance(kept.value, _CONTAINERS) and _has_attributes(kept.value) else kept


_CONTAINERS = (list, collections.deque, tuple, dict, set, frozenset, bytearray)


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
    (dict, _kept_mapping),
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
    ((type, types.ModuleType), _Namespace),
]


def is_atom(value: Any) -> bool:
    """Whether an object is compared by value and never changes, or belongs to Python, torch or another library."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, type):
        return not is_of_program(value.__module__)
    if isinstance(value, types.ModuleType):
        return not is_of_program(value.__name__)
    if isinstance(value, types.FunctionType):
        return not is_of_program(value.__module__)
    return type(value).__module__.split(".")[0] in _LIBRARY_OBJECTS and not isinstance(value, _LIBRARY_CONTAINERS)


_PLAIN = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    enum.Enum,
    type(...),
    type(NotImplemented),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MethodWrapperType,
    types.CodeType,
    types.GenericAlias,
    torch.SymInt,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)

# Loggers, locks, weak references, operators and the like have a state of their own, which no call is compared by.
_LIBRARY_OBJECTS = {"logging", "threading", "_thread", "weakref", "_weakref", "re", "abc", "typing", "io", "_io", "torch"}
_LIBRARY_CONTAINERS = (
    threading.local,
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
    io.StringIO,
    io.BytesIO,
    torch.Tensor,
    torch.nn.Module,
    torch.Generator,
    torch.optim.Optimizer,
    tuple,
    list,
    dict,
    set,
)


@functools.cache
def is_of_program(module: str | None) -> bool:
    """Whether a module is neither Python's nor installed: its functions may write to its global variables."""
    if not module:
        return False
    top = module.split(".")[0]
    if top in sys.stdlib_module_names and top != "__main__":
        return False
    return is_program_file(getattr(sys.modules.get(module), "__file__", None) or "")


def is_program_file(file: str) -> bool:
    """Whether a file is neither Python's nor an installed package's."""
    return not any(file.startswith(folder) for folder in _installed())


@functools.cache
def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({paths[name] for name in ("purelib", "platlib", "stdlib", "platstdlib")})


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
    """Of a tensor that is made of tensors, these."""
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
