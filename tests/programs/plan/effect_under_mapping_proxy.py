# graphs: 1
"""A mappingproxy from outside shows what the trace writes into its dict."""

import types

import torch


def f(x, table, shown):
    y = x * shown["a"] + shown.get("missing", 1)
    table["b"] = 5
    made = types.MappingProxyType({"own": y})
    return y + shown["b"], list(shown), len(shown), "c" in shown, dict(shown), shown | {"d": 1}, made, shown


def inputs():
    table = {"a": 2, "z": 3}
    return torch.randn(2), table, types.MappingProxyType(table)
