"""Inputs. What they hold makes no difference: an export records none of it."""

import torch


def tokens(batch=1, length=128):
    return torch.zeros(batch, length, dtype=torch.long)


def mask(batch=1, length=128):
    return torch.ones(batch, length, dtype=torch.long)


def image(size=224, batch=1, channels=3):
    return torch.zeros(batch, channels, size, size, dtype=torch.get_default_dtype())


def floats(*shape):
    return torch.zeros(shape, dtype=torch.get_default_dtype())


def longs(*shape):
    return torch.zeros(shape, dtype=torch.long)


def bools(*shape):
    return torch.zeros(shape, dtype=torch.bool)
