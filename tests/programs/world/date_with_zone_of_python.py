# graphs: 4
"""A time from outside whose time zone is Python code with a state: asked once for each time that the program asks."""

import datetime

import torch


class Varies(datetime.tzinfo):
    def __init__(self):
        self.offset = datetime.timedelta(minutes=22)

    def utcoffset(self, moment):
        self.offset += datetime.timedelta(minutes=1)
        return self.offset


def f(moment, x):
    y = x + moment.hour
    first = moment.utcoffset()
    second = moment.tzinfo.utcoffset(None)
    return y * 2, first, second, moment.tzinfo.offset, moment == moment.replace(tzinfo=moment.tzinfo)


def inputs():
    return datetime.time(1, 2, 3, tzinfo=Varies()), torch.ones(2)
