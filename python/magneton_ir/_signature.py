"""The inputs of a recorded graph: weights, constants, arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument
from torch.utils._pytree import keystr, tree_flatten_with_path

from ._errors import Error

# Values of arguments that are part of a program.
PLAIN = (int, float, bool, str, type(None))


class Inputs:
    """Placeholders, in the order weights, constants, arguments; weights only if they are used."""

    def __init__(self, graph: torch.fx.Graph, module: torch.nn.Module, named: Iterable[tuple[str, torch.Tensor]]) -> None:
        self._graph = graph
        # What the variables that hold a tensor are called. The tensors live, so that no other one gets such a number.
        self._variables = {id(tensor): (name, tensor) for name, tensor in named}
        self._weights: dict[int, tuple[str, torch.Tensor, InputKind, bool]] = {}
        for name, tensor in module.named_parameters():
            self._weights.setdefault(id(tensor), (name, tensor, InputKind.PARAMETER, True))
        persistent = set(module.state_dict(keep_vars=True))
        for name, tensor in module.named_buffers():
            self._weights.setdefault(id(tensor), (name, tensor, InputKind.BUFFER, name in persistent))
        #: Values by name.
        self.state: dict[str, torch.Tensor] = {}
        self.constants: dict[str, torch.Tensor] = {}
        self._specs: dict[torch.fx.Node, InputSpec] = {}
        # Inputs of later kinds stand behind these, which go away at the end.
        self._ends = [graph.placeholder(f"end_of_{kind}") for kind in ("weights", "constants", "arguments")]

    def weights(self) -> Iterator[torch.Tensor]:
        return (tensor for _, tensor, _, _ in self._weights.values())

    def weight(self, tensor: torch.Tensor, typed: Callable[[torch.Tensor], torch.Tensor]) -> torch.fx.Node | None:
        """The input for a parameter or buffer of the module."""
        found = self._weights.get(id(tensor))
        if found is None:
            return None
        name, _, kind, persistent = found
        prefix = "p" if kind is InputKind.PARAMETER else "b"
        node = self._placeholder(f"{prefix}_{identifier(name)}", 0)
        node.meta["val"] = typed(tensor)
        (self.state if persistent else self.constants)[name] = tensor
        self._specs[node] = InputSpec(kind, TensorArgument(node.name), name, persistent if kind is InputKind.BUFFER else None)
        return node

    def constant(self, tensor: torch.Tensor, contents: torch.Tensor, typed: torch.Tensor) -> torch.fx.Node:
        """An input for a tensor that is part of the program."""
        name, _ = self._variables.get(id(tensor), (f"lifted_tensor_{len(self.constants)}", None))
        while name in self.constants or name in self.state:
            name += "_"
        node = self._placeholder(f"c_{identifier(name)}", 1)
        node.meta["val"] = typed
        self.constants[name] = contents
        self._specs[node] = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name)
        return node

    def arguments(self, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[torch.fx.Node, torch.Tensor]]:
        """The inputs for what the function is given: each with its tensor."""
        leaves, _ = tree_flatten_with_path((args, kwargs))
        names = parameter_names(forward, args)
        for path, leaf in leaves:
            of_args, first, *rest = path
            start = names[first.idx] if of_args.idx == 0 else str(first.key)
            node = self._placeholder(identifier(start + keystr(tuple(rest))), 2)
            if isinstance(leaf, torch.Tensor):
                self._specs[node] = InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None)
                yield node, leaf
            elif isinstance(leaf, PLAIN):
                node.meta["val"] = leaf
                self._specs[node] = InputSpec(InputKind.USER_INPUT, ConstantArgument(node.name, leaf), None)
            else:
                raise Error(f"the argument {start}{keystr(tuple(rest))} is a {type(leaf).__name__}: pass tensors and numbers, in lists, tuples and dicts")

    def _placeholder(self, name: str, kind: int) -> torch.fx.Node:
        with self._graph.inserting_before(self._ends[kind]):
            return self._graph.placeholder(name)

    def specs(self) -> list[InputSpec]:
        """What stands for what, once nothing more is added."""
        for end in self._ends:
            self._graph.erase_node(end)
        return [self._specs[node] for node in self._graph.nodes if node.op == "placeholder"]


def outputs(leaves: list[Any], nodes: list[Any]) -> list[OutputSpec]:
    """What the results stand for."""
    specs = []
    for leaf, node in zip(leaves, nodes):
        if isinstance(node, torch.fx.Node):
            specs.append(OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None))
        elif isinstance(leaf, PLAIN):
            specs.append(OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", leaf), None))
        else:
            raise Error(f"the result holds a {type(leaf).__name__}: return tensors and numbers, in lists, tuples and dicts")
    return specs


def parameter_names(forward: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """What the function calls the arguments that are given by position."""
    names: list[str] = []
    for parameter in inspect.signature(forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{i}" for i in range(len(args) - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return names


def identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_") or "input"
