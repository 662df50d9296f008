"""Operands of programs."""

import torch


def normal(*shape):
    return torch.randn(shape)


def whole(high, *shape):
    return torch.randint(0, high, shape)
