# graphs: 2
# graphs_312: 1
# whole: no
"""ElementTree's iterparse gives instances of a class of its own, whose __next__ belongs to a generator."""

import io
from xml.etree import ElementTree

import torch


def f(x):
    tags = [element.tag for _, element in ElementTree.iterparse(io.StringIO("<a><b/><c>1</c></a>"))]
    return x + len(tags), tags


def inputs():
    return (torch.ones(2),)
