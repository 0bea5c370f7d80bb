# graphs: 1
"""A cache object with lists that grow by concatenation, updated in a loop."""

import torch


class Cache:
    def __init__(self):
        self.keys, self.values = [], []

    def update(self, key, value, layer):
        if len(self.keys) <= layer:
            self.keys.append(key)
            self.values.append(value)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], key], dim=1)
            self.values[layer] = torch.cat([self.values[layer], value], dim=1)
        return self.keys[layer], self.values[layer]


def f(x):
    cache = Cache()
    outputs = []
    for _ in range(2):
        for layer in range(2):
            key, value = cache.update(x * (layer + 1), x + layer, layer)
            outputs.append((key * value).sum(1))
    return torch.stack(outputs), cache


def inputs():
    return (torch.randn(2, 3),)
