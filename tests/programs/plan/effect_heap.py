# graphs: 1
"""heapq keeps a list argument as a heap of priorities."""

import heapq

import torch


def f(heap, x):
    heapq.heappush(heap, 1)
    lowest = heapq.heappop(heap)
    replaced = heapq.heapreplace(heap, 9)
    heapq.heapify(heap)
    return x * (lowest + replaced), heapq.nsmallest(2, heap)


def inputs():
    heap = [7, 3, 5]
    heapq.heapify(heap)
    return heap, torch.randn(2)
