# graphs: 1
"""Fourier transforms and complex results."""

import torch


def f(x):
    spectrum = torch.fft.rfft(x)
    back = torch.fft.irfft(spectrum, n=x.shape[-1])
    return spectrum.abs(), spectrum.real + spectrum.imag, back, torch.polar(x.abs(), x), spectrum.conj()


def inputs():
    return (torch.randn(2, 8),)
