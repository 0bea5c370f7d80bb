# graphs: 1
"""Arithmetic with dates, from before the call and new ones."""

import datetime

import torch

START = datetime.datetime(2024, 2, 28, 12, tzinfo=datetime.timezone.utc)


def f(x, day):
    end = START + datetime.timedelta(days=2, hours=3)
    weeks = (datetime.date(2024, 12, 31) - day) // datetime.timedelta(weeks=1)
    y = x * weeks
    hours = (end - START).total_seconds() / 3600
    return y + hours, end.isoformat(), day < end.date(), repr(end.tzinfo)


def inputs():
    return torch.randn(2), datetime.date(2024, 1, 1)


def later():
    return torch.randn(2), datetime.date(2024, 1, 1)


calls = [inputs, later]
