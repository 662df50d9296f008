"""Records one run of code that `torch.export` cannot take.

Every operator that the run calls becomes a node of a graph, by the tensors' identity, under the names that PyTorch's own export
uses: composite operators (`linear`, `scaled_dot_product_attention`) stay whole, writes and views stay what they are. The run
happens on fake tensors; where Python needs a number that only real tensors have, once more on real ones, whose contents are put
back afterwards. Numbers and shapes that Python took from tensors make the graph hold only for inputs that give the same
ones: each becomes an assertion in the program and an assumption in reports.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch._export.verifier import TrainingIRVerifier
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.export import ExportedProgram, ExportGraphSignature, ModuleCallEntry, ModuleCallSignature
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

from ._callables import as_module, named, on_meta_if
from ._environment import environment
from ._errors import Error
from ._interpreter import lock
from ._plain import plain
from ._recorder import Recorder
from ._signature import outputs
from ._state import ModuleState

@dataclass(frozen=True)
class Recording:
    """What one run did, as a program of `torch.export`."""

    #: What was recorded.
    name: str
    #: It runs, and can be passed to everything that takes an exported program.
    program: torch.export.ExportedProgram
    #: What Python read from tensors: the graph holds for inputs that give the same.
    assumptions: tuple[str, ...]
    #: Flags and versions of the process.
    environment: Mapping[str, object] = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Writes the graph as a `.pt2` archive for the command `magneton-ir`, with its weights.

        Custom operators that write their arguments are wrapped in `auto_functionalized`, and the assertions on what Python read
        are left out. `torch.export.save(recording.program, path)` keeps both.
        """
        from ._save import save

        save(self.program, Path(path), self.environment)


def record(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Recording:
    """Runs a function or module once and records what it computes.

    Args:
        function: A module, or a function or method of tensors.
        *args: Its arguments: real, fake or meta tensors, in containers too, and anything else. Real tensors that the run writes,
            weights among them, have their contents back afterwards.
        **kwargs: More of them.

    Returns:
        The program. It takes the same arguments as the function. Autograd is off while it is recorded, unless the function
        turns it on.

    Raises:
        Error: The run failed, or did what no graph can say.
    """
    module = as_module(function)
    args, kwargs = on_meta_if(module, args, kwargs)
    state = environment()
    name = named(function)
    with lock:
        try:
            recorder, result = _run(function, module, args, kwargs, fake=True)
        except NEEDS_VALUES as error:
            if not all(_is_real(x) for x in tree_leaves((args, kwargs, dict(module.state_dict()))) if isinstance(x, torch.Tensor)):
                raise Error(f"{name} reads the contents of a tensor, and these tensors have none: {_reason(error)}") from error
            recorder, result = _run(function, module, args, kwargs, fake=False)
        program = _program(recorder, result, args, kwargs)
    return Recording(name, program, tuple(dict.fromkeys(recorder.assumptions)), state)


# What fake tensors raise where real ones are needed: a number is read, or an operator has no kernel for them.
NEEDS_VALUES = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    NotImplementedError,
    UnsupportedOperatorException,
    GuardOnDataDependentSymNode,
)


def _reason(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_real(x: torch.Tensor) -> bool:
    return x.device.type != "meta" and not isinstance(x, FakeTensor)


def _run(function: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], fake: bool) -> tuple[Recorder, Any]:
    mode: Any = contextlib.nullcontext()
    given_args, given_kwargs = args, kwargs
    if fake:
        tensors = [x for x in tree_leaves((args, kwargs, list(module.parameters()))) if isinstance(x, FakeTensor)]
        mode = tensors[0].fake_mode if tensors else FakeTensorMode(allow_non_fake_inputs=True)
        given_args, given_kwargs = _on_tensors(
            lambda x: x if isinstance(x, FakeTensor) else mode.from_tensor(x, static_shapes=True), (args, kwargs)
        )
    recorder = Recorder(function, module, mode if fake else None)
    for node, tensor in recorder.inputs.arguments(module.forward, given_args, given_kwargs):
        recorder.bind(tensor, node)
    state = ModuleState(module)
    try:
        with torch.random.fork_rng(devices=[]), torch._C._AutoDispatchBelowAutograd(), mode, recorder.running():
            result = module(*given_args, **given_kwargs)
    except (Error, *NEEDS_VALUES):
        raise
    except Exception as error:
        raise Error(f"the run failed: {_reason(error)}") from error
    finally:
        replaced = state.restore()
    recorder.assumptions += [f"the run replaced the attribute {name}, which is no part of the graph" for name in replaced]
    recorder.refuse_shared_writes()
    return recorder, result


def _on_tensors(convert: Callable[[torch.Tensor], torch.Tensor], tree: Any) -> Any:
    """The tree with its tensors converted, each once: what was one tensor twice stays one."""
    done: dict[int, torch.Tensor] = {}

    def converted(x: Any) -> Any:
        if isinstance(x, torch.Tensor) and id(x) not in done:
            done[id(x)] = convert(x)
        return done[id(x)] if isinstance(x, torch.Tensor) else x

    return tree_map(converted, tree)


def _program(recorder: Recorder, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportedProgram:
    """The program of what was recorded."""
    leaves, structure = tree_flatten(plain(result))
    nodes = [recorder.result(leaf) for leaf in leaves]
    output = recorder.graph.output(tuple(nodes))
    output.meta["val"] = tuple(node.meta["val"] if isinstance(node, torch.fx.Node) else node for node in nodes)
    specs = recorder.inputs.specs()
    signature = ExportGraphSignature(specs, outputs(leaves, nodes))
    recorder.graph.lint()
    call = ModuleCallSignature(inputs=[], outputs=[], in_spec=tree_flatten((args, kwargs))[1], out_spec=structure)
    return ExportedProgram(
        root=torch.nn.Module(),
        graph=recorder.graph,
        graph_signature=signature,
        state_dict=recorder.inputs.state,
        range_constraints={},
        module_call_graph=[ModuleCallEntry("", call)],
        example_inputs=(args, kwargs),
        constants=recorder.inputs.constants,
        verifiers=[TrainingIRVerifier],
    )
