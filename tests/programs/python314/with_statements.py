# graphs: 1
"""`with` finds its two methods in the class, the exit first, whatever kind of attribute they are."""
import torch


class Noted:
    def __init__(self, log, name, suppress=False):
        self.log, self.name, self.suppress = log, name, suppress

    def __enter__(self):
        self.log.append("enter " + self.name)
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(f"exit {self.name} {kind and kind.__name__}")
        return self.suppress


class Static:
    @staticmethod
    def __enter__():
        return 5

    @staticmethod
    def __exit__(*details):
        return len(details) == 3


class OnlyEnter:
    def __enter__(self):
        return self


class OnlyExit:
    def __exit__(self, *details):
        return None


class Asynchronous:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *details):
        return None


def message(manager):
    try:
        with manager:
            return "entered"
    except TypeError as error:
        return str(error)


def early(x, log):
    for i in range(3):
        with Noted(log, str(i)), Noted(log, "inner"):
            x = x + i
            if i == 1:
                return x
    return x


def f(x):
    log = []
    with Noted(log, "a"), Noted(log, "b", True) as b:
        x = x * 2
        raise ValueError(b.name)
    with Static() as five:
        x = x + five
        raise KeyError
    with torch.no_grad():
        y = x * 3
    messages = [message(manager) for manager in (OnlyEnter(), OnlyExit(), Asynchronous(), 3)]
    return early(x, log), y, log, messages


def inputs():
    return (torch.ones(3, requires_grad=True),)
