"""The dispatch mode behind `record`: operators of one run as nodes of a graph.

A node stands for a tensor object. In-place writes and views stay in the graph as the calls that they are: whoever reads the
graph knows from their schemas what they do. So nothing has to be known here of memory, but for tensors that come to be without a
call.
"""

from __future__ import annotations

import contextlib
import linecache
import operator
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakIdKeyDictionary

from ._callables import named_tensors
from ._errors import Error
from ._frames import of_user
from ._memory import memory, overlap
from ._signature import Inputs
from ._triton import Launches, is_launch, launch, recorded

aten = torch.ops.aten

# Marks nodes that are there for an assertion and that the recorded code does not run.
OF_CHECK = "magneton_ir_check"

# Calls that read one number.
READS = (aten.item.default, aten._local_scalar_dense.default, aten.is_nonzero.default)

# Operators that make a tensor out of data of Python.
LIFTS = (aten.lift_fresh.default, aten.lift_fresh_copy.default, aten.lift.default)

# Arguments of normalisations that are written in training, which their schemas do not say.
UNANNOTATED = ("running_mean", "running_var")

# Ways out of PyTorch, on which contents are read or written unseen.
EXITS = {
    torch.Tensor.numpy: "numpy()",
    torch.Tensor.__array__: "a conversion to NumPy",
    torch.Tensor.data_ptr: "data_ptr()",
    torch.Tensor.__dlpack__: "DLPack",
}

# A tensor that Python reads as a list is compared as a whole; larger ones are refused.
MOST_READ = 1 << 16


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Records what is called while it is active."""

    # Dynamo puts one in the place of a launch of a Triton kernel.
    supports_higher_order_operators = True

    def __init__(self, function: Callable[..., Any], module: torch.nn.Module, fake: FakeTensorMode | None) -> None:
        super().__init__()
        self.graph = torch.fx.Graph()
        self.inputs = Inputs(self.graph, module, named_tensors(function, module))
        #: What Python read.
        self.assumptions: list[str] = []
        self._runs_fake = fake is not None
        self._types = fake or FakeTensorMode(allow_non_fake_inputs=True)
        self._nodes: Any = WeakIdKeyDictionary()
        # Tensors that were there before, by their memory, and its contents before the first write.
        self._outer: dict[int, torch.UntypedStorage] = {}
        self._saved: dict[int, torch.UntypedStorage] = {}
        self._names = {id(child): (path, type(child)) for path, child in module.named_modules()}
        self._path: list[tuple[str, type]] = []
        self._inside = False
        # Memory that is written, and the inputs that lie in each.
        self._written: set[int] = set()
        self._inputs: list[tuple[torch.fx.Node, torch.Tensor, set[int]]] = []
        for tensor in self.inputs.weights():
            self._remember(tensor)

    # What is active during the run.

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Records what is called, and puts the contents of tensors back at the end that were there before."""
        before = torch.nn.modules.module.register_module_forward_pre_hook(self._enter)
        after = torch.nn.modules.module.register_module_forward_hook(self._leave, always_call=True)
        launches = Launches(are_inside=lambda: self._inside, at=self._at, assume=self.assumptions.append)
        try:
            with Exits(self), recorded(launches), self:
                yield
        finally:
            before.remove()
            after.remove()
            for key, saved in self._saved.items():
                self._outer[key].copy_(saved)

    def _enter(self, module: torch.nn.Module, args: Any) -> None:
        self._path.append(self._names.get(id(module), ("", type(module))))

    def _leave(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        if self._path:
            self._path.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):
            if not is_launch(func):
                raise Error(f"{func} cannot be recorded{self._at()}")
            with self:
                return launch(func, kwargs)
        if func.namespace == "prim" or self._inside:
            return func(*args, **kwargs)
        self._inside = True
        try:
            return self._call(func, args, kwargs)
        finally:
            self._inside = False

    def _call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(x, torch.Generator) for x in tree_leaves((args, kwargs))):
            raise Error(f"{func} draws from a generator of its own{self._at()}, which no graph can say")
        if func in READS:
            return self._read(func, args[0])
        node_args, node_kwargs = tree_map(lambda x: self._node(x, func) if isinstance(x, torch.Tensor) else x, (args, kwargs))
        self._save_before(func, args, kwargs)
        out = func(*args, **kwargs)
        if not any(isinstance(x, torch.Tensor) for x in tree_leaves(out)) and func._schema.returns:
            if any(isinstance(x, torch.Tensor) for x in tree_leaves((args, kwargs))):
                self.assumptions.append(f"{func} gave {out!r}{self._at()}, which was taken for all inputs")
            return out
        if not self._runs_fake and depends_on_data(func, args):
            shapes = [list(x.shape) for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
            self.assumptions.append(f"{func} gave the shape {shapes[0]}{self._at()}, which was taken for all inputs")
        # In every run anew: a program that kept the tensor would find what the run before has written.
        called = aten.lift_fresh_copy.default if func in LIFTS else func
        self._define(self._emit(called, node_args, node_kwargs, out), out)
        return out

    # Numbers that Python reads.

    def _read(self, func: Any, tensor: torch.Tensor) -> Any:
        value = func(tensor)
        self.assumptions.append(f"Python read {value!r} from a tensor{self._at()}: the graph holds where it reads the same")
        read, node = self._snapshot(tensor), self._node(tensor, func)
        if func is aten.is_nonzero.default:
            test = aten.ne.Scalar if value else aten.eq.Scalar
            self._check(test, (node, 0), test(read, 0), value)
        elif isinstance(value, float) and value != value:
            self._check(aten.isnan.default, (node,), aten.isnan.default(read), value)
        elif not isinstance(value, complex):
            self._check(aten.eq.Scalar, (node, value), aten.eq.Scalar(read, value), value)
        return value

    def read_list(self, tensor: torch.Tensor) -> Any:
        """What `tolist` gives."""
        if tensor.numel() > MOST_READ:
            raise Error(f"Python reads {tensor.numel()} elements of a tensor{self._at()}; {MOST_READ} are the most")
        values = tensor.tolist()
        self.assumptions.append(f"Python read a list from a tensor{self._at()}: the graph holds where it reads the same")
        node, read = self._node(tensor, aten.equal.default), self._snapshot(tensor)
        copy = contents(tensor)
        held = self.inputs.constant(copy, copy, read)
        self._inside = True
        try:
            same = aten.eq.Tensor(read, read)
            equal = self._emit(aten.eq.Tensor, (node, held), {}, same, of_check=True)
            self._check(aten.all.default, (equal,), aten.all.default(same), values)
        finally:
            self._inside = False
        return values

    def _check(self, test: Any, args: tuple[Any, ...], holds: torch.Tensor, value: object) -> None:
        """An assertion in the program."""
        node = self._emit(test, args, {}, holds, of_check=True)
        text = f"recorded for inputs of which Python reads {str(value)[:80]}{self._at()}"
        self._emit(aten._assert_async.msg, (node, text), {}, None, of_check=True)

    # Nodes.

    def _node(self, tensor: torch.Tensor, user: Any) -> torch.fx.Node:
        """The node that stands for a tensor."""
        known = self._nodes.get(tensor)
        if known is not None and known[1] == memory(tensor):
            found: torch.fx.Node = known[0]
            return found
        if known is not None:
            raise Error(f"{user} reads a tensor whose memory was exchanged (`x.data = y`){self._at()}")
        weight = self.inputs.weight(tensor, self._snapshot)
        if weight is None:
            if not self._is_real(tensor):
                raise Error(f"{user} reads a tensor that has no contents and is no input{self._at()}")
            if not self._runs_fake and user not in LIFTS:
                self.assumptions.append(f"{user} reads a tensor{self._at()} that is no input and that nothing computes: its contents were taken for all inputs")
            self._remember(tensor)
            weight = self.inputs.constant(tensor, contents(tensor), self._snapshot(tensor))
        self._add_input(tensor, weight)
        return weight

    def _emit(self, func: Any, args: Any, kwargs: Any, out: Any, of_check: bool = False) -> torch.fx.Node:
        node = self.graph.call_function(func, args, kwargs)
        if of_check:
            node.meta[OF_CHECK] = True
        node.meta["val"] = tree_map(lambda x: self._snapshot(x) if isinstance(x, torch.Tensor) else x, out)
        node.meta["stack_trace"] = "".join(f'  File "{f}", line {n}, in {name}\n    {code}\n' for f, n, name, code in self._frames())
        node.meta["nn_module_stack"] = {
            f"L__self__{path}": (path, f"{kind.__module__}.{kind.__qualname__}") for path, kind in self._path
        }
        return node

    def _define(self, node: torch.fx.Node, out: Any) -> None:
        """Lets tensors stand for results of a node."""
        if isinstance(out, torch.Tensor):
            self._nodes[out] = (node, memory(out))
        elif isinstance(out, (tuple, list)):
            for slot, part in enumerate(out):
                if isinstance(part, torch.Tensor):
                    item = self._emit(operator.getitem, (node, slot), {}, part)
                    self._nodes[part] = (item, memory(part))

    def _snapshot(self, tensor: torch.Tensor) -> torch.Tensor:
        """The type and layout of a tensor as they are now."""
        with torch.utils._python_dispatch._disable_current_modes():
            if not isinstance(tensor, FakeTensor):
                return self._types.from_tensor(tensor, static_shapes=True)
            with tensor.fake_mode:
                return tensor.detach()

    def bind(self, tensor: torch.Tensor, node: torch.fx.Node) -> None:
        """Lets an input stand for a node."""
        self._remember(tensor)
        node.meta["val"] = self._snapshot(tensor)
        self._add_input(tensor, node)

    def _add_input(self, tensor: torch.Tensor, node: torch.fx.Node) -> None:
        self._nodes[tensor] = (node, memory(tensor))
        # On fake tensors, views of a real one lie in the memory of its fake.
        self._inputs.append((node, tensor, {memory(tensor), memory(node.meta["val"])}))

    def refuse_shared_writes(self) -> None:
        """Refuses runs that write memory in which several inputs lie: a program takes its inputs for separate tensors."""
        for i, (node, tensor, places) in enumerate(self._inputs):
            for other, also, shared in self._inputs[:i]:
                if places & shared & self._written and overlap(tensor, also):
                    raise Error(f"the run writes memory that two inputs share, {other.name} and {node.name}: pass one of them, and take the other from it")

    def result(self, leaf: Any) -> Any:
        """What the graph gives for one of the results."""
        return self._node(leaf, "the result") if isinstance(leaf, torch.Tensor) else leaf

    # Contents of tensors that were there before.

    def _is_real(self, tensor: torch.Tensor) -> bool:
        return not isinstance(tensor, FakeTensor) and tensor.device.type != "meta"

    def _remember(self, tensor: torch.Tensor) -> None:
        if self._is_real(tensor):
            self._outer[memory(tensor)] = tensor.untyped_storage()

    def _save_before(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for position, argument in enumerate(func._schema.arguments):
            annotated = argument.alias_info is not None and argument.alias_info.is_write
            if not annotated and argument.name not in UNANNOTATED:
                continue
            given = args[position] if position < len(args) else kwargs.get(argument.name)
            for tensor in tree_leaves(given):
                if not isinstance(tensor, torch.Tensor):
                    continue
                key = memory(tensor)
                self._written.add(key)
                if not self._runs_fake and key in self._outer and key not in self._saved:
                    self._saved[key] = tensor.untyped_storage().clone()

    # Where the user's code is.

    def _frames(self) -> list[tuple[str, int, str, str]]:
        frames: list[tuple[str, int, str, str]] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name != "_run":
            file = frame.f_code.co_filename
            frames.append((file, frame.f_lineno, frame.f_code.co_name, linecache.getline(file, frame.f_lineno).strip()))
            frame = frame.f_back
        return of_user(frames[::-1], lambda frame: frame[0])

    def _at(self) -> str:
        frames = self._frames()
        return f" at {frames[-1][0]}:{frames[-1][1]} ({frames[-1][3]})" if frames else ""


def contents(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of what a tensor holds now."""
    with torch.utils._python_dispatch._disable_current_modes():
        return tensor.detach().clone()


def depends_on_data(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether the shape of the result depends on what the tensors hold."""
    if torch.Tag.dynamic_output_shape not in func.tags:
        return False
    if func in (aten.index.Tensor,):
        return any(isinstance(x, torch.Tensor) and x.dtype in (torch.bool, torch.uint8) for x in args[1])
    return True


class Exits(TorchFunctionMode):  # type: ignore[misc]
    """Stops code that takes tensors out of PyTorch."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        recorder = self._recorder
        if not recorder._inside and not recorder._runs_fake:
            if func is torch.Tensor.tolist:
                return recorder.read_list(args[0])
            if func in EXITS:
                raise Error(f"a tensor leaves PyTorch by {EXITS[func]}{recorder._at()}, where a recording cannot follow: put the code into a custom operator (torch.library)")
        return func(*args, **(kwargs or {}))
