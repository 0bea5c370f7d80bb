# graphs: 1
"""A subclass of dict whose items are attributes too."""

import torch


class Config(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


def f(config, x):
    config.width = config.width * 2
    config.output = x * config.width
    return hasattr(config, "absent"), config["output"] + 1


def inputs():
    return Config(width=2), torch.randn(2)
