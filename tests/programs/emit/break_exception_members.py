# graphs: 2
"""Exceptions with members of their own, made before a break: what they hold besides `args` is kept."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Coded(OSError):
    def __init__(self, number, where):
        super().__init__(number, "went wrong", where)
        self.where = where


def f(x):
    y = x * 2
    late = OSError(5, "late")
    late.filename = "given later"
    stop = StopIteration(x + 1)
    leave = SystemExit(3)
    leave.code = None
    decode = UnicodeDecodeError("utf-8", b"abc", 1, 2, "odd")
    decode.reason = "odder"
    syntax = SyntaxError("bad", ("file.py", 3, 4, "text"))
    syntax.lineno = 7
    made = [
        OSError(2, "no such thing", "there", None, "elsewhere"),
        FileNotFoundError(2, "not there", "path"),
        BlockingIOError(11, "later", 3),
        late,
        Coded(13, "here"),
        ImportError("no", name="module", path="place"),
        KeyError("k"),
        ExceptionGroup("several", [ValueError(1), TypeError(2)]),
        AttributeError("none", name="width", obj=y),
    ]
    plain = OSError()
    plain.args = (2, "set later")
    say("made")
    texts = [str(error) for error in (leave, decode, syntax, plain)]
    return (
        y + stop.value,
        [(type(error), error.args, vars(error)) for error in made],
        [str(error) for error in made],
        [(error.errno, error.strerror, error.filename, error.filename2) for error in made[:5]],
        made[2].characters_written,
        made[5].name,
        made[8].obj is y,
        leave.code,
        syntax.lineno,
        texts,
        type(plain),
    )


def inputs():
    return (torch.randn(2),)
