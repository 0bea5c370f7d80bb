import numpy
import torch


def before(x, points, values):
    return torch.from_numpy(numpy.interp(x.numpy(), points, values))


def after(x, points, values):
    points, values = x.new_tensor(points), x.new_tensor(values)
    right = torch.searchsorted(points, x).clamp(1, len(points) - 1)
    weight = (x - points[right - 1]) / (points[right] - points[right - 1])
    return torch.lerp(values[right - 1], values[right], weight)


def inputs():
    return torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64), [0.0, 1.0, 5.0], [0.0, 2.0, 4.0]
