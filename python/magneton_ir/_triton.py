"""Launches of Triton kernels, as operators.

PyTorch does not see a launch. While code is recorded, each becomes a call of an operator `triton::NAME` that is made for the
kernel: its arguments are those of the launch, what the kernel's intermediate code stores to is written, and running it launches
the kernel. Under fake tensors nothing is launched: a kernel would take the address of one for memory, after which the GPU answers
no call of the process any more.
"""

from __future__ import annotations

import contextlib
import inspect
import keyword
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ._errors import Error
from ._memory import memory, overlap

NAMESPACE = "triton"

# Arguments of every operator, behind those of the kernel: a hash of its code, its grid, options of its compiler, and the strides
# of what does not lie in rows. A parameter of one of these names is called after its position.
ABOUT = {"kernel": "str", "grid": "int[]", "options": "str", "strides": "str"}

# Types of plain arguments in schemas, the narrower ones first.
PLAIN = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"))


@dataclass(frozen=True)
class Launches:
    """Who is told of launches."""

    #: Whether a launch is part of an operator that is recorded as a whole.
    are_inside: Callable[[], bool]
    #: Where the user's code is.
    at: Callable[[], str]
    #: Takes what is true of a launch only if the kernel keeps to it.
    assume: Callable[[str], None]


@contextlib.contextmanager
def recorded(launches: Launches) -> Iterator[None]:
    """Turns launches into calls of operators."""
    if "triton.runtime.jit" not in sys.modules:
        yield
        return
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    run_kernel, tune = JITFunction.run, Autotuner.run
    recording = threading.get_ident()

    def is_recorded() -> bool:
        return threading.get_ident() == recording and not launches.are_inside()

    def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("warmup") or not is_recorded():
            return run_kernel(kernel, *args, **kwargs)
        kwargs.pop("warmup", None)
        return call(kernel, args, kwargs.pop("grid"), kwargs, launches)

    def run_untuned(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_recorded():
            return tune(tuner, *args, **kwargs)
        # To try all of them would take launches. They differ in speed only.
        tuner.nargs = dict(zip(tuner.arg_names, args))
        config = tuner.prune_configs(kwargs)[0]
        if config.pre_hook is not None:
            config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
        return tuner.fn.run(*args, **kwargs, **config.all_kwargs())

    JITFunction.run, Autotuner.run = run, run_untuned
    try:
        yield
    finally:
        JITFunction.run, Autotuner.run = run_kernel, tune


def is_launch(function: Any) -> bool:
    """Whether it is what Dynamo puts in the place of a launch."""
    return isinstance(function, torch._ops.HigherOrderOperator) and function.name() == "triton_kernel_wrapper_mutation"


def launch(function: Any, kwargs: Mapping[str, Any]) -> Any:
    """Launches the kernel that is meant by what Dynamo puts in the place of a launch."""
    return function.py_kernels[torch._C.DispatchKey.CompositeExplicitAutograd](**kwargs)


def call(kernel: Any, args: tuple[Any, ...], grid: Any, given: Mapping[str, Any], launches: Launches) -> None:
    """Calls the operator for a launch."""
    name, at = kernel.fn.__name__, launches.at()
    bound = bind(kernel, args, given)
    options = {key: value for key, value in given.items() if key not in bound}
    sizes = [int(size) for size in (grid(bound) if callable(grid) else grid)]
    values, hidden = {}, {}
    for parameter, value in bound.items():
        values[parameter] = value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
        if not isinstance(value, (torch.Tensor, *(kind for kind, _ in PLAIN))):
            values[parameter], hidden[parameter] = described(value, f"{parameter} of the Triton kernel {name}{at}"), value
    tensors = {parameter: value for parameter, value in values.items() if isinstance(value, torch.Tensor)}
    written = mutated(kernel, {**values, **hidden}, tensors)
    for parameter in written:
        for other, tensor in tensors.items():
            if other != parameter and memory(tensor) == memory(tensors[parameter]) and overlap(tensor, tensors[parameter]):
                raise Error(f"the Triton kernel {name} is given the memory that it writes twice, as {other} and {parameter}{at}: no graph can say what it reads there")
    for parameter, tensor in tensors.items():
        if tensor.numel() * tensor.element_size() < tensor.untyped_storage().nbytes():
            launches.assume(f"the Triton kernel {name} reads and writes {parameter} within the tensor that it is given{at}, which is part of a larger one")
    rows = (f"{parameter}: {list(tensor.stride())}" for parameter, tensor in tensors.items() if not tensor.is_contiguous())
    operator = operator_of(kernel, values, hidden, written, options)
    operator(*values.values(), kernel.cache_key, sizes + [1] * (3 - len(sizes)), text_of(options), ", ".join(rows))


def bind(kernel: Any, args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names of the kernel's parameters."""
    bound = dict(zip(kernel.arg_names, args)) | {key: value for key, value in given.items() if key in kernel.arg_names}
    for parameter in inspect.signature(kernel.fn).parameters.values():
        if parameter.name not in bound:
            if parameter.default is inspect.Parameter.empty:
                raise TypeError(f"the Triton kernel {kernel.fn.__name__} misses the argument {parameter.name}")
            bound[parameter.name] = parameter.default
    return {parameter: bound[parameter] for parameter in kernel.arg_names}


def described(value: Any, what: str) -> str:
    """The text that stands for an argument of another kind: a type, nothing, a function, or numbers."""
    if hasattr(value, "cache_key"):
        return str(value.cache_key)
    if isinstance(value, (tuple, list)) and all(isinstance(x, (bool, int, float, str)) for x in value):
        return repr(tuple(value))
    if value is None or type(value).__name__ == "dtype":
        return str(value)
    raise Error(f"{what} is of the type {type(value).__name__}, which is not supported")


def text_of(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(options.items()))


def mutated(kernel: Any, arguments: dict[str, Any], tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """The tensors that the kernel may write, found by PyTorch in its intermediate code; all of them where that fails."""
    from torch._higher_order_ops.triton_kernel_wrap import identify_mutated_tensors

    takes_descriptors = len(inspect.signature(identify_mutated_tensors).parameters) > 2
    with torch.utils._python_dispatch._disable_current_modes(), some_driver():
        found = set(identify_mutated_tensors(kernel, arguments, *([{}] if takes_descriptors else [])))
    return [parameter for parameter in tensors if parameter in found]


@contextlib.contextmanager
def some_driver() -> Iterator[None]:
    """Lets kernels be compiled to intermediate code where there is no GPU."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    try:
        driver.active.get_current_target()
    except RuntimeError:
        pass
    else:
        yield
        return

    class NoGpu:
        def get_current_target(self) -> Any:
            return GPUTarget("cuda", 80, 32)

    driver.set_active(NoGpu())
    try:
        yield
    finally:
        driver._active = None


# Operators that were made, by all that they were made of; and what keeps them registered.
_operators: dict[tuple[Any, ...], Any] = {}
_libraries: list[torch.library.Library] = []


def operator_of(kernel: Any, values: Mapping[str, Any], hidden: Mapping[str, Any], written: list[str], options: Mapping[str, Any]) -> Any:
    """The operator for launches of a kernel with arguments of the given kinds."""
    name = kernel.fn.__name__
    types = []
    for position, (parameter, value) in enumerate(values.items()):
        mark = f"({chr(ord('a') + written.index(parameter))}!)" if parameter in written else ""
        kind = f"Tensor{mark}" if isinstance(value, torch.Tensor) else next(text for plain, text in PLAIN if isinstance(value, plain))
        types.append(f"{kind} {f'arg{position}' if parameter in ABOUT or keyword.iskeyword(parameter) else parameter}")
    schema = ", ".join(types + [f"{kind} {argument}" for argument, kind in ABOUT.items()])
    key = (kernel, schema, tuple((parameter, values[parameter]) for parameter in hidden), text_of(options))
    if key in _operators:
        return _operators[key]
    # The command does not tell variants of one name apart: their arguments do.
    variant = f"v{sum(other[0].fn.__name__ == name for other in _operators)}"

    def run(*arguments: Any) -> None:
        sizes = arguments[len(values) + list(ABOUT).index("grid")]
        kernel.run(*(hidden.get(p, given) for p, given in zip(values, arguments)), grid=tuple(sizes), warmup=False, **options)

    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    library.define(f"{name}.{variant}({schema}) -> ()")
    library.impl(f"{name}.{variant}", run, "CompositeExplicitAutograd")
    library.impl(f"{name}.{variant}", lambda *_: None, "Meta")
    _libraries.append(library)
    _operators[key] = getattr(getattr(getattr(torch.ops, NAMESPACE), name), variant)
    return _operators[key]
