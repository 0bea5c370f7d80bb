# graphs: 1
"""What the clauses of except* raise is put together with what none of them caught."""

import torch


def describe(error):
    if isinstance(error, BaseExceptionGroup):
        return (type(error).__name__, error.message, [describe(one) for one in error.exceptions])
    return (type(error).__name__, error.args)


def work(raise_in_second):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError:
        raise RuntimeError("in the first")
    except* TypeError as group:
        if raise_in_second:
            raise
        raise group.exceptions[0] from None


def f(x):
    results = []
    for raise_in_second in (True, False):
        try:
            work(raise_in_second)
        except BaseExceptionGroup as error:
            x = x * len(error.exceptions)
            results.append(describe(error))
            results.append(describe(error.exceptions[0].__context__))
            results.append(error.__context__)
    try:
        try:
            raise ExceptionGroup("one", [ValueError(1)])
        except* ValueError as group:
            raise OSError("only") from group
    except OSError as error:
        results.append((repr(error), repr(error.__cause__), repr(error.__context__)))
    except ExceptionGroup as error:
        results.append((describe(error), repr(error.exceptions[0].__cause__)))
    return x, results


def inputs():
    return (torch.randn(2),)
