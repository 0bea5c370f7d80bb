# graphs: 1
"""Python-side bookkeeping beside tensors: lists of tuples, sorting, dict of lists, strings."""

import torch


def f(x):
    beams = [("", 0, x)]
    for step in range(3):
        grown = []
        for text, score, state in beams:
            for letter, bonus in (("a", 2), ("b", 1)):
                grown.append((text + letter, score + bonus * (step + 1), state * bonus + step))
        beams = sorted(grown, key=lambda beam: (-beam[1], beam[0]))[:2]
    return [text for text, _, _ in beams], [score for _, score, _ in beams], torch.stack([state for *_, state in beams])


def inputs():
    return (torch.randn(2),)
