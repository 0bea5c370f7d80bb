# graphs: 0
"""A dict changes while a loop walks over it, across a break: the iterator sees what CPython's sees, and complains when that does."""


def size_restored(table, log):
    for key in table.keys():
        log.append(key)
        table["more"] = 1
        print("break")
        table.pop("more")


def size_changed(table, log):
    for key, value in table.items():
        table["more"] = value
        print("break")
        table[str(key) + "!"] = value


def keys_changed(table, log):
    for value in table.values():
        log.append(value)
        table["more"] = 5
        print("break")
        del table["a"]


def f(which, table, log):
    try:
        which(table, log)
    except RuntimeError as error:
        log.append(str(error))
    return which.__name__


def of(which, *keys):
    def inputs():
        return which, dict.fromkeys(keys, 0), []

    return inputs


calls = [of(size_restored, "a", "b"), of(size_changed, "a"), of(keys_changed, "a")]
inputs = calls[0]
