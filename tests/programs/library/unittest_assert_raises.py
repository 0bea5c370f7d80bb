# graphs: 1
"""What test cases assert, exceptions among it."""

import unittest

import torch


def fails(x):
    local = x + 1
    raise ValueError(f"bad shape {tuple(local.shape)}")


def f(x):
    case = unittest.TestCase()
    with case.assertRaises(ValueError) as caught:
        fails(x)
    with case.assertRaisesRegex(KeyError, "a.*"):
        {}["abc"]
    case.assertRaises(ZeroDivisionError, lambda: 1 // 0)
    case.assertEqual(x.dim(), 1)
    case.assertIn(3, [3, 4])
    return x * 2, str(caught.exception)


def inputs():
    return (torch.randn(2),)
