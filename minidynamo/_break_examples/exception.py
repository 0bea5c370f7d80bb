import torch


def before(images):
    if images.dim() != 4:
        raise ValueError("a batch of images is expected")
    return images.mean((2, 3))


def call_before(captured, images):
    try:
        return captured(images)
    except ValueError:
        return captured(images[None])


def after(images):
    if images.dim() == 3:
        images = images[None]
    return images.mean((2, 3))


def inputs():
    return (torch.ones(3, 4, 4),)
