"""What custom operators write, made explicit.

A file says of an operator what it is called and given, not what it writes. PyTorch's own operators are known; a custom one that
writes its arguments becomes a call of `auto_functionalized`, which works on copies and gives their new contents, and a `copy_`
of each into its place. The program still runs, and computes the same.
"""

from __future__ import annotations

import copy
from operator import getitem
from typing import TYPE_CHECKING, Any

import torch

from ._errors import Error
from ._recorder import OF_CHECK

if TYPE_CHECKING:
    from torch.export import ExportedProgram

# Their schemas are known to the command.
KNOWN = ("aten", "prims", "prim", "higher_order", "quantized", "_quantized")


def is_custom(target: object) -> bool:
    """Whether it is an operator from outside of PyTorch."""
    return isinstance(target, torch._ops.OpOverload) and target.namespace not in KNOWN


def written(target: object) -> list[str]:
    """The arguments that an operator writes."""
    if not isinstance(target, torch._ops.OpOverload):
        return []
    return [a.name for a in target._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def gives_tensors_of_its_own(target: Any) -> bool:
    """Whether an operator gives tensors, and no view of an argument: PyTorch demands that schemas say so."""
    returns = target._schema.returns
    return bool(returns) and all(r.alias_info is None and isinstance(r.type, torch.TensorType) for r in returns)


def for_command(program: ExportedProgram) -> ExportedProgram:
    """The program, or a copy of it in which no custom operator writes an argument, and without the assertions of recordings.

    A file does not say either that a result of a custom operator lies in memory of its own. Where the program writes anything,
    this counts, so that operators that write nothing become calls of `auto_functionalized` too.
    """
    targets = [node.target for node in program.graph.nodes]
    is_written = any(written(target) for target in targets)
    changes = any(is_custom(target) for target in targets) and is_written
    if not changes and not any(OF_CHECK in node.meta for node in program.graph.nodes):
        return program
    changed = copy.copy(program)
    changed._graph_module = _copied(program)
    graph = changed._graph_module.graph
    for node in reversed(graph.nodes):
        if OF_CHECK in node.meta:
            # The command would price the assertions of recordings. Reports list them as assumptions.
            graph.erase_node(node)
        elif is_custom(node.target) and (names := written(node.target)):
            _replace(graph, node, names)
        elif is_written and is_custom(node.target) and gives_tensors_of_its_own(node.target):
            _replace(graph, node, [])
    graph.lint()
    changed._graph_module.recompile()
    return changed


def _copied(program: ExportedProgram) -> torch.fx.GraphModule:
    graph = torch.fx.Graph()
    output = graph.graph_copy(program.graph, val_map={}, return_output_node=True)
    result, old = output
    graph.output(result).meta.update(old.meta)
    return torch.fx.GraphModule(program.graph_module, graph)


def _replace(graph: torch.fx.Graph, node: torch.fx.Node, names: list[str]) -> None:
    schema = node.target._schema
    if any(r.alias_info is not None for r in schema.returns):
        raise Error(f"{schema.name} gives a tensor that shares memory with an argument: let it give a copy, or nothing")
    given = dict(zip((a.name for a in schema.arguments), node.args)) | dict(node.kwargs)
    # The order of the schema, since rules name the operands by position.
    kwargs: dict[str, Any] = {}
    for argument in schema.arguments:
        if argument.name in given:
            kwargs[argument.name] = given[argument.name]
        elif argument.has_default_value():
            kwargs[argument.name] = argument.default_value
    overwritten = [kwargs.get(name) for name in names]
    if any(not isinstance(value, torch.fx.Node) and value is not None for value in overwritten):
        raise Error(f"{schema.name} writes a list of tensors, which is not supported")
    results = len(schema.returns)
    values = node.meta.get("val")
    own = () if results == 0 else (values,) if results == 1 else tuple(values or ())
    slots = (None,) if results == 0 else own
    origin = {key: value for key, value in node.meta.items() if key in ("stack_trace", "nn_module_stack", "torch_fn")}
    with graph.inserting_before(node):
        call = graph.call_function(torch.ops.higher_order.auto_functionalized, (node.target,), kwargs)
        call.meta = {**origin, "val": (*slots, *(t if t is None else t.meta["val"] for t in overwritten))}

        def part(slot: int) -> torch.fx.Node:
            item = graph.call_function(getitem, (call, slot))
            item.meta = {**origin, "val": call.meta["val"][slot]}
            return item

        if results == 1:
            node.replace_all_uses_with(part(0))
        for slot in range(results if results > 1 else 0):
            for user in [u for u in node.users if u.args[1:] == (slot,)]:
                user.replace_all_uses_with(part(slot))
                graph.erase_node(user)
        for number, target in enumerate(overwritten):
            if target is None:
                continue
            contents = part(len(slots) + number)
            write = graph.call_function(torch.ops.aten.copy_.default, (target, contents))
            write.meta = {**origin, "val": target.meta["val"]}
    graph.erase_node(node)

