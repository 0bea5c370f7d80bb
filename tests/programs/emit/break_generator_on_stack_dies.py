# graphs: 0
"""A loop over a generator is left by an exception: what the generator has left to do comes before any handler."""

LOG = []


def walk(limit):
    try:
        for k in range(limit):
            yield k
    finally:
        LOG.append("closed")


def chained(limit):
    yield from walk(limit)


def fails(limit):
    for _ in walk(limit):
        LOG.append("raise")
        raise ValueError("in the loop")


def handled_outside(limit):
    try:
        for _ in chained(limit):
            missing  # noqa: B018, F821
    except IndexError:
        LOG.append("never")


def after_a_break(limit):
    try:
        raise KeyError
    except KeyError:
        for _ in walk(limit):
            print("break")
            LOG.append("after the break")
            list(None)


def in_the_caller(limit):
    for _ in walk(limit):
        print("break")
        after_a_break(limit)


def f(which, log):
    try:
        which(2)
    except Exception as error:
        log.append((type(error).__name__, list(LOG)))
        LOG.append("handled")
    which(3)


def of(which):
    def inputs():
        LOG.append(f"{which.__name__}:")
        return which, []

    return inputs


calls = [of(which) for which in (fails, handled_outside, after_a_break, in_the_caller, fails)]
inputs = calls[0]
