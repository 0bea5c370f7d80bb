# graphs: 1
"""Numbers as the locale writes them, and text by codecs that CPython has built in."""

import torch


def f(x, value, count):
    texts = [f"{value:n}", format(count, "n"), "{:n}".format(count), "{0:{1}}".format(value, ".3n")]  # noqa: UP032
    coded = ["\xe9".encode("latin-1"), b"caf\xc3\xa9".decode(), str(b"ab\xff", "ascii", "replace"), "a".encode("utf-16-le")]
    return x + len(texts[0]), texts, coded


def inputs():
    return torch.randn(2), 1234567.5, 1234567
