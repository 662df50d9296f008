"""Workloads of all kinds as exported programs or files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ._errors import Error

if TYPE_CHECKING:
    import torch

    from ._record import Recording

    #: What can be checked: a module, a function or method of tensors, a jitted JAX function, a program, or a file.
    Workload = Union["torch.nn.Module", Callable[..., Any], "torch.export.ExportedProgram", Recording, str, os.PathLike[str]]


@dataclass
class Prepared:
    """One side, ready to be written and read."""

    #: What reports call it.
    label: str
    #: A file that is there already.
    path: Path | None = None
    program: torch.export.ExportedProgram | None = None
    #: The text of a StableHLO module.
    text: str | None = None
    assumptions: tuple[str, ...] = ()
    environment: Mapping[str, object] = field(default_factory=dict)


def prepare(
    workload: Workload,
    label: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
) -> Prepared:
    """Exports a workload unless it is exported already.

    Raises:
        Error: It cannot be exported, nor recorded.
    """
    kwargs = dict(kwargs or {})
    if isinstance(workload, (str, os.PathLike)):
        from ._environment import of_file

        path = Path(workload).absolute()
        return Prepared(label, path=path, environment=of_file(path))
    if is_jax(workload):
        return Prepared(label, text=lowered(workload, args, kwargs))
    import torch

    from ._environment import environment
    from ._record import Recording

    if isinstance(workload, Recording):
        return Prepared(workload.name, program=workload.program, assumptions=workload.assumptions, environment=workload.environment)
    if isinstance(workload, torch.export.ExportedProgram):
        program, assumptions = at_sizes(workload, args, kwargs)
        return Prepared(label, program=program, assumptions=assumptions, environment=environment())
    if not isinstance(args, Sequence) or isinstance(args, (str, torch.Tensor)):
        raise Error(f"args is a tuple of the arguments, such as args=(x,); got a {type(args).__name__}")
    return exported(workload, tuple(args), kwargs, dynamic_shapes)


def exported(workload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> Prepared:
    """A module or function by `torch.export`, or recorded where that does not take it."""
    from ._callables import as_module, named, on_meta_if
    from ._environment import environment
    from ._record import record

    module, name = as_module(workload), named(workload)
    args, kwargs = on_meta_if(module, args, kwargs)
    try:
        program = _export(module, args, kwargs, dynamic_shapes)
    except Exception as refused:
        if dynamic_shapes is not None:
            raise Error(f"torch.export does not take {name}: {_short(refused)}") from refused
        try:
            recording = record(workload, *args, **kwargs)
        except Error as error:
            raise Error(f"torch.export does not take {name}: {_short(refused)}\nnor can it be recorded: {error}") from refused
        note = f"{name} was recorded, since torch.export does not take it ({_short(refused)})"
        return Prepared(name, program=recording.program, assumptions=(note, *recording.assumptions), environment=recording.environment)
    program, assumptions = at_sizes(program, args, kwargs)
    return Prepared(name, program=program, assumptions=assumptions, environment=environment())


def _export(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> torch.export.ExportedProgram:
    """By `torch.export`; once more with plain results if it fails, which it does where it does not know their classes."""
    import torch

    from ._frames import full_stacks
    from ._plain import with_plain_results

    with full_stacks():
        try:
            return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        except Exception as refused:
            if "not a known type" not in str(refused):
                raise
            return torch.export.export(with_plain_results(module), args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def at_sizes(
    program: torch.export.ExportedProgram, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[torch.export.ExportedProgram, tuple[str, ...]]:
    """A program whose sizes are open, at the sizes of the arguments, or else of those that it was exported with."""
    import torch

    from ._interpreter import lock

    if not program.range_constraints:
        return program, ()
    if not args and not kwargs:
        given = program.example_inputs
        if given is None:
            raise Error("the program has open sizes: pass args of the sizes that it is to be checked at")
        args, kwargs = given
    try:
        with lock:
            fixed = torch.export.export(program.module(), tuple(args), dict(kwargs), strict=False)
    except Exception as refused:
        raise Error(f"the program does not take these arguments: {refused}") from refused
    shapes = [list(x.shape) for x in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    return fixed, (f"sizes are open in the program; it was checked for inputs of the shapes {shapes}",)


def is_jax(workload: object) -> bool:
    """Whether it is a jitted JAX function, told without importing JAX."""
    return type(workload).__module__.startswith(("jax", "pjit")) and hasattr(workload, "lower")


def lowered(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The StableHLO of a jitted JAX function. Tensors of PyTorch stand for arrays of their shape and type."""
    import jax  # type: ignore[import-not-found,unused-ignore]

    def described(x: Any) -> Any:
        if type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "shape") and hasattr(x, "dtype"):
            return jax.ShapeDtypeStruct(tuple(x.shape), jax.numpy.dtype(str(x.dtype).removeprefix("torch.")))
        return x

    args, kwargs = jax.tree_util.tree_map(described, (tuple(args), dict(kwargs)))
    try:
        text: str = function.lower(*args, **kwargs).as_text(debug_info=True)
    except TypeError as error:
        if "debug_info" not in str(error):
            raise Error(f"JAX does not lower the function: {error}") from error
        text = function.lower(*args, **kwargs).as_text()
    return text
