import torch


def before(x, settings):
    return x * float(settings.get("scale"))


def after(x, scale):
    return x * scale


def call_after(captured, x, settings):
    return captured(x, float(settings.get("scale")))


def inputs():
    import xml.etree.ElementTree

    return torch.ones(3), xml.etree.ElementTree.fromstring("<settings scale='2.0'/>")
