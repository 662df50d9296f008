"""Inputs on which the two sides of a pair are run: ordinary ones, and those on which programs that look equal part."""

import math
import random

import torch


KINDS = ("ordinary", "ties", "special", "extreme", "zeros", "large", "mixed")

SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0)
EXTREME_FLOATS = (3.4e38, -3.4e38, 65504.0, 65520.0, 448.0, 480.0, 57344.0, 1e30, -1e30, 1e-40, 6e-8, 16777216.0, 16777217.0, 2.0**53, 1.5, -0.0)
EXTREME_INTS = (0, 1, -1, 2**7, 2**8 - 1, 2**15 - 1, 2**24, 2**24 + 1, 2**31 - 1, -(2**31), 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), 3, -7)


def number(rng, dtype, kind):
    if dtype == torch.bool:
        return rng.random() < 0.5 if kind != "zeros" else False
    if dtype.is_floating_point:
        if kind == "ordinary":
            return rng.gauss(0, 1)
        if kind == "ties":
            return rng.choice((-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5))
        if kind == "special":
            return rng.choice(SPECIAL) if rng.random() < 0.6 else rng.gauss(0, 2)
        if kind == "extreme":
            return rng.choice(EXTREME_FLOATS)
        if kind == "zeros":
            return rng.choice((0.0, -0.0))
        return rng.choice((-1, 1)) * 10 ** rng.uniform(1, 4.7)
    if kind in ("extreme", "special"):
        return wrapped(rng.choice(EXTREME_INTS), dtype)
    if kind == "zeros":
        return 0
    if kind == "ties":
        return wrapped(rng.randint(-2, 2), dtype)
    if kind == "large":
        return wrapped(rng.getrandbits(64), dtype)
    return wrapped(rng.randint(-9, 9), dtype)


def wrapped(value, dtype):
    info = torch.iinfo(dtype)
    span = info.max - info.min + 1
    return (value - info.min) % span + info.min


def tensor(rng, spec, kind):
    """A tensor of the type of `spec`, an input."""
    count = math.prod(spec.shape)
    if spec.bounds:
        numbers = [rng.randint(*spec.bounds) for _ in range(count)]
    else:
        if kind == "mixed":
            kind = rng.choice(KINDS[:-1])
        numbers = [number(rng, spec.dtype, kind) for _ in range(count)]
    wide = torch.float64 if spec.dtype.is_floating_point else spec.dtype
    return torch.tensor(numbers, dtype=wide).to(spec.dtype).reshape(spec.shape)


def draw(program, kind, seed):
    rng = random.Random(f"{seed} {kind}")
    return {i.name: tensor(rng, i, kind) for i in program.inputs}


def cast_up(values):
    return {n: v.double() if v.dtype.is_floating_point else v for n, v in values.items()}
