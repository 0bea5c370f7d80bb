import torch


class Stage:
    def __init__(self, scale):
        self.scale = scale


def before(x, stages):
    scales = {str(stage): stage.scale for stage in stages}
    return x * sum(scales.values())


class NamedStage(Stage):
    def __repr__(self):
        return f"Stage({self.scale})"


def after(x, stages):
    scales = {str(stage): stage.scale for stage in stages}
    return x * sum(scales.values())


def call_after(captured, x, stages):
    return captured(x, [NamedStage(stage.scale) for stage in stages])


def inputs():
    return torch.ones(3), [Stage(2.0), Stage(3.0)]
