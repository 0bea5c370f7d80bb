# graphs: 1
"""Class statements that fail: in the body, in a hook, by a conflict of metaclasses, of bases or of slots."""

import torch


class MetaA(type):
    pass


class MetaB(type):
    pass


class A(metaclass=MetaA):
    pass


class B(metaclass=MetaB):
    pass


class Strict:
    def __init_subclass__(cls, **keywords):
        raise ValueError(f"no {cls.__name__}")


class Named:
    def __set_name__(self, owner, name):
        raise KeyError(name)


def body():
    class Broken:
        x = 1
        y = x.missing

    return Broken


def undefined():
    class Broken:
        del nothing  # noqa: F821

    return Broken


def conflict():
    class Both(A, B):
        pass


def order():
    class Wrong(object, A):
        pass


def hook():
    class Refused(Strict):
        pass


def name():
    class Refused:
        field = Named()


def keyword():
    class Refused(extra=1):
        pass


def final():
    class Refused(bool):
        pass


def slots():
    class Refused:
        __slots__ = ("a",)
        a = 1


def lost_cell():
    def forget(name, bases, namespace):
        namespace.pop("__classcell__")
        return type(name, bases, namespace)

    class Refused(metaclass=forget):
        def method(self):
            return __class__


def f(x):
    messages = []
    for number, attempt in enumerate((body, undefined, conflict, order, hook, name, keyword, final, slots, lost_cell)):
        try:
            attempt()
        except Exception as error:
            x = x + number
            messages.append((type(error).__name__, str(error), repr(error.__cause__)))
    return x, messages, len(A.__bases__)


def inputs():
    return (torch.randn(2),)
