"""The hooks that decide about an object's attributes are called as in CPython: any object in the place of `__setattr__` and the like,
modules, keys in a `__dict__` that are no names."""

import types
from collections.abc import Callable
from typing import Any

import pytest

import minidynamo


class Counting:
    """A descriptor that returns a function which counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., int]:
        def counted(*_: Any) -> int:
            self.count += 1
            return self.count

        return counted


class CountingCallable:
    """A callable that is no descriptor."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: Any) -> int:
        self.count += 1
        return self.count


def set_attribute(target: Any) -> None:
    target.name = 3


def delete_attribute(target: Any) -> None:
    del target.name


USES: dict[str, Callable[[Any], Any]] = {
    "__setattr__": set_attribute,
    "__delattr__": delete_attribute,
    "__getattr__": lambda target: target.name,
    "__getattribute__": lambda target: target.name,
    "__dir__": lambda target: dir(target),
}


@pytest.mark.parametrize("kind", [Counting, CountingCallable])
@pytest.mark.parametrize("hook", USES)
@pytest.mark.parametrize("base", [object, types.ModuleType, type])
def test_any_object_may_be_the_hook(base: type, hook: str, kind: type) -> None:
    """For an object, a module and a class; made outside and inside."""

    def use(given: Any) -> tuple[Any, int]:
        counter, target = given
        try:
            result = USES[hook](target)
        except (TypeError, AttributeError) as error:
            result = repr(error)
        return result, counter.count

    def make() -> tuple[Any, Any]:
        counter = kind()
        owner = type("Owner", (base,), {hook: counter})
        arguments = {types.ModuleType: ("m",), type: ("Made", (), {})}.get(base, ())
        return counter, owner(*arguments)

    compiled, makes = minidynamo.compile(use, backend="eager"), minidynamo.compile(lambda: use(make()), backend="eager")
    for _ in range(3):
        assert compiled(make()) == use(make())
        assert makes() == use(make())


def test_class_of_modules_that_overrides_setattr() -> None:
    def f() -> list[tuple[Any, ...]]:
        log: list[tuple[Any, ...]] = []

        class Module(types.ModuleType):
            def __setattr__(self, name: str, value: Any) -> None:
                log.append(("set", name, value))
                types.ModuleType.__setattr__(self, name, value)

            def __delattr__(self, name: str) -> None:
                log.append(("delete", name))
                types.ModuleType.__delattr__(self, name)

        module = Module("module")
        module.number = 12
        log.append((module.number, sorted(key for key in vars(module) if key[0] != "_")))
        del module.number
        log.append((hasattr(module, "number"),))
        return log

    compiled = minidynamo.compile(f, backend="eager")
    assert compiled() == f()
    assert compiled() == f()


def test_a_module_gets_another_class() -> None:
    """As modules do that compute their attributes when they are asked for."""

    class Lazy(types.ModuleType):
        answer = 42

    def f(module: types.ModuleType) -> tuple[Any, ...]:
        before = (type(module) is Lazy, hasattr(module, "answer"))
        module.__class__ = Lazy
        return (*before, module.__class__ is Lazy, module.answer)  # type: ignore[attr-defined]

    compiled = minidynamo.compile(f, backend="eager")
    for _ in range(3):
        assert compiled(types.ModuleType("module")) == (False, False, True, 42)
    assert minidynamo.compile(lambda: f(types.ModuleType("module")), backend="eager")() == (False, False, True, 42)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_dict_of_a_module_is_not_replaced(is_deleted: bool) -> None:
    def f(module: Any) -> str:
        try:
            if is_deleted:
                del module.__dict__
            else:
                module.__dict__ = {}
        except AttributeError as error:
            return str(error)
        return "done"

    compiled = minidynamo.compile(f, backend="eager")
    assert compiled(types.ModuleType("m")) == f(types.ModuleType("m"))
    assert compiled(types.ModuleType("m")) == f(types.ModuleType("m"))


def test_attributes_of_a_module_come_and_go() -> None:
    def f(module: Any) -> list[Any]:
        seen: list[Any] = []
        for _ in range(2):
            seen.append(hasattr(module, "here"))
            module.here = 1
            seen.append((hasattr(module, "here"), "here" in vars(module)))
            del module.here
            seen.append((hasattr(module, "here"), "here" in vars(module)))
            for action in (lambda: module.here, lambda: delattr(module, "here")):
                try:
                    action()
                except AttributeError as error:
                    seen.append(str(error))
        return seen

    compiled = minidynamo.compile(f, backend="eager")
    for is_there in (False, False, True, False):
        given = types.ModuleType("given"), types.ModuleType("given")
        if is_there:
            for module in given:
                module.here = 0  # type: ignore[attr-defined]
        assert compiled(given[0]) == f(given[1])
    nameless = types.ModuleType.__new__(types.ModuleType)
    assert compiled(nameless) == f(types.ModuleType.__new__(types.ModuleType))


def test_annotations_of_a_module_are_made_when_they_are_asked_for() -> None:
    def f(module: types.ModuleType) -> list[Any]:
        seen: list[Any] = []
        for _ in range(2):
            seen.append("__annotations__" in vars(module))
            first = module.__annotations__
            seen.append((first, first is module.__annotations__, "__annotations__" in vars(module)))
            del module.__annotations__
        return seen

    compiled = minidynamo.compile(f, backend="eager")
    for _ in range(3):
        assert compiled(types.ModuleType("module")) == f(types.ModuleType("module"))


class Slotted:
    __slots__ = ("slot",)


class Borrowing:
    __slots__ = ("own",)
    borrowed = Slotted.slot  # type: ignore[attr-defined]


@pytest.mark.parametrize("use", [lambda o: o.borrowed, lambda o: setattr(o, "borrowed", 1), lambda o: delattr(o, "borrowed")])
def test_a_slot_of_another_class_raises_in_the_program(use: Callable[[Any], Any]) -> None:
    def f(instance: Any) -> str:
        instance.own = 3
        try:
            use(instance)
        except TypeError as error:
            return str(error)
        return "no error"

    compiled, made_inside = minidynamo.compile(f, backend="eager"), minidynamo.compile(lambda: f(Borrowing()), backend="eager")
    for _ in range(2):
        assert compiled(Borrowing()) == made_inside() == f(Borrowing())


class Key:
    """Has the hash of a name, and an __eq__ that counts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        self.asked += 1
        return other == self.name


class Plain:
    pass


@pytest.mark.parametrize("is_made_inside", [False, True])
def test_keys_in_a_dict_that_are_no_names(is_made_inside: bool) -> None:
    def fill(instance: Any, key: Key) -> None:
        vars(instance)[key] = "by key"
        vars(instance)[4] = "by number"  # type: ignore[index]

    def look(instance: Any, key: Key) -> tuple[Any, ...]:
        first = (instance.name, key.asked > 0, hasattr(instance, "other"))
        return (*first, sorted(map(repr, vars(instance).values())), len(vars(instance)))

    def f(instance: Any, key: Key) -> tuple[Any, Any]:
        if is_made_inside:
            instance = Plain()
            fill(instance, key)
        return look(instance, key), instance

    compiled = minidynamo.compile(f, backend="eager")
    for _ in range(3):
        results = []
        for function in (f, compiled):
            instance, key = Plain(), Key("name")
            fill(instance, key)
            seen, given = function(instance, key)
            results.append((seen, [type(name) for name in vars(given)]))
        assert results[0] == results[1]
