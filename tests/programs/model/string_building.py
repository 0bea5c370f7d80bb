# graphs: 1
"""join, format, %, encode, translate and multi-line strings."""

import torch


def f(x):
    words = "the quick  brown".split()
    text = ", ".join(word.title() for word in words)
    more = "{0}-{name:>5}-{1:.2e}".format(1, 2.5, name="n") + "%05.1f|%s" % (3.14159, [1])
    return x + len(text), text, more, "é".encode(), "a-b".partition("-"), "x".center(5, "*"), "abcabc".rfind("b"), "A1".isalnum()


def inputs():
    return (torch.randn(2),)
