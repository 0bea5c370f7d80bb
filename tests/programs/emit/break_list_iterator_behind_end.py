# graphs: 0
"""A list becomes shorter than a loop over it has come, and longer again behind a break: the loop goes on where it stood."""


def popping(items, log):
    for k, item in enumerate(items):
        items.pop(0)
        print("break")
        items.append(item)
        log.append(k)
        if k == 3:
            return


def cleared(items, log):
    for item in items:
        kept = list(items)
        items.clear()
        print("break")
        items.extend(kept)
        log.append(item)


def made(items, log):
    own = [1, 2, 3]
    for item in own:
        own.clear()
        print("break")
        own.extend([4, 5])
        log.append(item)
        if len(log) == 4:
            break


def f(which, items, log):
    which(items, log)
    return log


def of(which, *items):
    return lambda: (which, list(items), [])


calls = [of(popping, 1), of(popping, 1, 2), of(cleared, 1, 2, 3), of(made), of(popping, 1, 2, 3)]
inputs = calls[0]
