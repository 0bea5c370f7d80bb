# graphs: 1
"""StopIteration out of a generator's body is a RuntimeError, also through `yield from`; throw() and close() reach the inner one."""

import torch


def inner(log):
    try:
        got = yield 1
        log.append(got)
        yield 2
    except ValueError as error:
        log.append(str(error))
        yield 3
    finally:
        log.append("closed")
    return "done"


def outer(log):
    result = yield from inner(log)
    log.append(result)


def stops():
    yield 1
    raise StopIteration(5)


def f(x):
    log = []
    first = outer(log)
    seen = [next(first), first.send("sent")]
    second = outer(log)
    next(second)
    seen.append(second.throw(ValueError("thrown")))
    first.close()
    second.close()
    try:
        list(stops())
    except RuntimeError as error:
        log.append((str(error), type(error.__cause__).__name__, error.__cause__.value))
    return x * len(log), seen, log


def inputs():
    return (torch.ones(2),)
