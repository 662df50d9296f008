"""Functions and methods as modules, so that their weights keep the names that the user knows."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ._errors import Error


def as_module(function: Callable[..., Any]) -> torch.nn.Module:
    """A module that computes `function` and holds the modules that the function uses.

    The weights of the module that a method belongs to keep their names; those of other modules are behind the name of the
    variable that holds the module.
    """
    if isinstance(function, torch.nn.Module):
        return function
    if not callable(function):
        raise Error(f"cannot check a {type(function).__name__}: pass a module, a function, an ExportedProgram or a path")
    owner = getattr(function, "__self__", None)
    if not isinstance(owner, torch.nn.Module):
        owner = torch.nn.Module()
        owner.training = False
        for name, used in used_modules(function):
            owner.add_module(name, used)
    return with_forward(owner, function if _has_signature(function) else lambda *args, **kwargs: function(*args, **kwargs))


def with_forward(module: torch.nn.Module, forward: Callable[..., Any]) -> torch.nn.Module:
    """A module with the weights of another one. They are in the same dictionaries, so that whoever exchanges one exchanges it in both."""
    twin = copy.copy(module)
    twin.__dict__["forward"] = forward
    return twin


def _has_signature(function: Callable[..., Any]) -> bool:
    """Functions that are written in C may not say what they take."""
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return True


def used_modules(function: Callable[..., Any]) -> Iterator[tuple[str, torch.nn.Module]]:
    """The modules that a function reaches by its variables, each once."""
    seen: set[int] = set()
    for name, value in _variables(function):
        if isinstance(value, torch.nn.Module) and id(value) not in seen:
            seen.add(id(value))
            yield name.replace(".", "_"), value


def _variables(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(function, functools.partial):
        for number, value in enumerate(function.args):
            yield f"arg{number}", value
        yield from function.keywords.items()
        yield from _variables(function.func)
        return
    if inspect.ismethod(function):
        yield from _attributes(function.__self__)
        function = function.__func__
    if not inspect.isfunction(function):
        yield from _attributes(function)
        return
    variables = inspect.getclosurevars(function)
    yield from variables.nonlocals.items()
    yield from variables.globals.items()
    # A function may call others that hold the module.
    for value in variables.nonlocals.values():
        if inspect.isfunction(value) and value is not function:
            yield from inspect.getclosurevars(value).nonlocals.items()


def _attributes(value: object) -> Iterator[tuple[str, Any]]:
    yield from list(getattr(value, "__dict__", {}).items())


# Tensors in containers in containers: deeper ones have no names.
MOST_DEEP = 4


def named_tensors(function: Callable[..., Any], module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a function reaches by its variables and attributes, but for the weights of `module`."""
    for path, child in module.named_modules():
        for name, value in vars(child).items():
            if name not in ("_parameters", "_buffers", "_modules", "forward"):
                yield from _tensors(f"{path}.{name}".lstrip("."), value, 0)
    if not isinstance(function, torch.nn.Module):
        for name, value in _variables(function):
            yield from _tensors(name, value, 0)


def _tensors(name: str, value: Any, depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth < MOST_DEEP and not isinstance(value, (torch.nn.Module, type)):
        parts = enumerate(value) if isinstance(value, (list, tuple)) else value.items() if isinstance(value, dict) else _attributes(value)
        for key, part in parts:
            yield from _tensors(f"{name}.{key}", part, depth + 1)


def named(workload: Any) -> str:
    """What a person calls a workload."""
    name = getattr(workload, "__qualname__", None) or type(workload).__name__
    return str(name).rsplit(".", 1)[-1].strip("<>")


def on_meta_if(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments without their contents where the module's weights have none."""
    weights = [*module.parameters(), *module.buffers()]
    if not weights or any(weight.device.type != "meta" for weight in weights):
        return args, kwargs
    move = lambda x: x.to("meta") if isinstance(x, torch.Tensor) else x  # noqa: E731
    moved: tuple[tuple[Any, ...], dict[str, Any]] = torch.utils._pytree.tree_map(move, (args, kwargs))
    return moved
