import sys

import torch


def before(x, timings):
    caller = sys._getframe(1).f_code.co_name
    timings.append(caller)
    return x.sin() + 1


def evaluation(captured, x, timings):
    return captured(x, timings)


call_before = evaluation


def after(x, timings, caller):
    timings.append(caller)
    return x.sin() + 1


def call_after(captured, x, timings):
    return captured(x, timings, "evaluation")


def inputs():
    return torch.ones(3), []
