# graphs: 0
"""A generator in a variable is closed when the exception dies whose traceback keeps its frame; one in a closure with the function."""

LOG = []


def walk(limit):
    try:
        for k in range(limit):
            yield k
    finally:
        LOG.append("closed")


def refuses():
    raise ValueError


def raises_here(log):
    generator = walk(2)
    next(generator)
    raise ValueError


def raises_in_a_call(log):
    generator = walk(2)
    next(generator)
    refuses()


def held_by_a_closure(log):
    generator = walk(2)

    def take():
        return generator

    log.append(next(generator))


def f(which, log):
    try:
        which(log)
    except ValueError:
        log.append(list(LOG))


def of(which):
    def inputs():
        LOG.append(which.__name__)
        return which, []

    return inputs


calls = [of(which) for which in (raises_here, raises_in_a_call, held_by_a_closure, raises_here)]
inputs = calls[0]
