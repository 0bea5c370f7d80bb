import torch


def before(x, day):
    return {day.strftime("%x"): x * 2}


def after(x, day):
    return {day.isoformat(): x * 2}


not_compared = "a date is written otherwise"


def inputs():
    import datetime

    return torch.ones(3), datetime.date(2026, 1, 31)
