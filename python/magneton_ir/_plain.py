"""Results that hold tensors in objects of classes that PyTorch knows nothing of, such as caches."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils._pytree import tree_map

from ._callables import with_forward

# What a program may return as it is.
VALUES = (torch.Tensor, int, float, bool, str, type(None))

# Objects in objects in objects: deeper ones are left out.
MOST_DEEP = 8


def plain(result: Any) -> Any:
    """The result with a dict in the place of every object that holds tensors in its attributes: the tensors by their names."""
    return tree_map(lambda leaf: leaf if isinstance(leaf, VALUES) else _held(leaf, 0, leaf), result)


def _held(value: Any, depth: int, otherwise: Any = None) -> Any:
    """The tensors that a value holds, in lists and dicts; `otherwise` if it holds none."""
    if isinstance(value, torch.Tensor):
        return value
    if depth > MOST_DEEP or isinstance(value, (type, torch.nn.Module)):
        return otherwise
    if isinstance(value, (list, tuple)):
        parts = [held for item in value if (held := _held(item, depth + 1)) is not None]
        return parts or otherwise
    attributes = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    found = {str(name): held for name, item in attributes.items() if (held := _held(item, depth + 1)) is not None}
    return found or otherwise


def with_plain_results(module: torch.nn.Module) -> torch.nn.Module:
    """The module, giving plain results."""
    forward = module.forward

    @functools.wraps(forward)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return plain(forward(*args, **kwargs))

    return with_forward(module, wrapped)
