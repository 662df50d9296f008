"""A program: what both sides of a pair are made of, as data that can be edited, printed as a module and run.

A statement is one line of `forward`. Its text names operands as {0}, {1}, … and literals by name, so that an edit can
exchange either without parsing Python."""

import copy
import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import torch
import torch.nn.functional as F

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NARROW = (torch.float16, torch.bfloat16, *FLOAT8)


class Broken(Exception):
    """A program that PyTorch does not run."""


@dataclass(frozen=True)
class Ref:
    """A value as a leaf of the output structure."""

    name: str


@dataclass(frozen=True)
class Input:
    name: str
    dtype: torch.dtype
    shape: tuple
    # Indices lie in low..high; None for any value of the type.
    bounds: tuple = None


@dataclass(frozen=True)
class State:
    """A buffer or a parameter. Its contents are part of the program."""

    name: str
    dtype: torch.dtype
    shape: tuple
    data: tuple
    parameter: bool = False


@dataclass(frozen=True)
class Stmt:
    outs: tuple
    text: str
    args: tuple = ()
    lits: dict = field(default_factory=dict)
    op: str = ""
    draws: bool = False
    # Writes to the storage of its first operand.
    writes: bool = False

    def lit(self, **changed):
        return replace(self, lits={**self.lits, **changed})

    def arg(self, place, name):
        return replace(self, args=(*self.args[:place], name, *self.args[place + 1 :]))


@dataclass
class Program:
    inputs: list
    states: list
    stmts: list
    outputs: object

    def copy(self):
        return copy.deepcopy(self)

    def fresh(self, stem):
        taken = {o for s in self.stmts for o in s.outs} | {i.name for i in self.inputs} | {s.name for s in self.states}
        n = 0
        while f"{stem}{n}" in taken:
            n += 1
        return f"{stem}{n}"

    def leaves(self):
        return [leaf for _, leaf in paths(self.outputs)]

    def used(self):
        """Names that some statement or output reads."""
        names = {a for s in self.stmts for a in s.args}
        return names | {leaf.name for leaf in self.leaves() if isinstance(leaf, Ref)}


def paths(tree, at=""):
    """The leaves of an output structure, each with its path; the order of keys is no part of a dictionary."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from paths(tree[key], f"{at}[{key!r}]")
    elif isinstance(tree, (tuple, list)):
        for i, entry in enumerate(tree):
            yield from paths(entry, f"{at}[{i}]")
    else:
        yield at, tree


def widened(dtype):
    return torch.float64 if dtype in FLOATS or dtype in FLOAT8 else dtype


def text_of(value, wide=False):
    """A literal as Python text."""
    if isinstance(value, torch.dtype):
        return repr(widened(value) if wide else value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(text_of(v, wide) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return repr(value)


def line_of(stmt, states, wide=False):
    names = [f"self.{a}" if a in states else a for a in stmt.args]
    return stmt.text.format(*names, **{k: text_of(v, wide) for k, v in stmt.lits.items()})


def source(program, wide=False):
    """The module as Python text. `wide` computes all floating-point types in f64."""
    states = {s.name for s in program.states}
    lines = ["class Model(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
    for s in program.states:
        dtype = widened(s.dtype) if wide else s.dtype
        data = f"torch.tensor({text_of(list(s.data))}, dtype={dtype}).reshape({text_of(tuple(s.shape))})"
        if s.parameter:
            lines.append(f"        self.{s.name} = torch.nn.Parameter({data}, requires_grad=False)")
        else:
            lines.append(f"        self.register_buffer({s.name!r}, {data})")
    lines.append(f"    def forward({', '.join(['self', *(i.name for i in program.inputs)])}):")
    for s in program.stmts:
        left = ", ".join(s.outs) + " = " if s.outs else ""
        lines.append(f"        {left}{line_of(s, states, wide)}")
    lines.append(f"        return {tree_text(program.outputs, states)}")
    return "\n".join(lines) + "\n"


def tree_text(tree, states):
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k!r}: {tree_text(v, states)}" for k, v in tree.items()) + "}"
    if isinstance(tree, (tuple, list)):
        return "(" + ", ".join(tree_text(v, states) for v in tree) + ("," if len(tree) == 1 else "") + ")"
    if isinstance(tree, Ref):
        return f"self.{tree.name}" if tree.name in states else tree.name
    return text_of(tree)


@torch.library.custom_op("campaign::bump", mutates_args={"x"})
def bump(x: torch.Tensor) -> None:
    x.add_(1)


@torch.library.custom_op("campaign::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x + x


bump.register_fake(lambda x: None)
twice.register_fake(lambda x: torch.empty_like(x))


def no_grad(part):
    with torch.no_grad():
        return part()


def autocast(part):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return part()


def names_in_scope(wide=False):
    return {"torch": torch, "F": F, "no_grad": no_grad, "autocast": (lambda part: part()) if wide else autocast}


def module(program, wide=False):
    scope = names_in_scope(wide)
    exec(compile(source(program, wide), "<program>", "exec"), scope)
    return scope["Model"]().eval()


@dataclass(frozen=True)
class Meta:
    dtype: torch.dtype
    shape: tuple
    # Which memory the tensor lies in.
    memory: int

    @property
    def numel(self):
        return math.prod(self.shape)


def meta(tensor):
    return Meta(tensor.dtype, tuple(tensor.shape), tensor.untyped_storage()._cdata)


class Trace:
    """Runs statements one by one and knows the type and memory of every value."""

    def __init__(self, program, values):
        self.env, self.metas, self.keep = {}, {}, []
        self.states = {s.name for s in program.states}
        self.model = SimpleNamespace()
        self.scope = names_in_scope()
        for i in program.inputs:
            self.bind(i.name, values[i.name])
        for s in program.states:
            self.state(s)

    def state(self, s):
        tensor = torch.tensor(list(s.data), dtype=s.dtype).reshape(s.shape)
        self.states.add(s.name)
        setattr(self.model, s.name, tensor)
        self.bind(s.name, tensor)

    def bind(self, name, tensor):
        self.env[name] = tensor
        self.metas[name] = meta(tensor)

    def step(self, stmt):
        """Runs one statement; gives the tensors that it makes."""
        try:
            result = eval(line_of(stmt, self.states), self.scope | {"self": self.model}, self.env)
        except Exception as error:
            raise Broken(str(error)) from error
        if result is None:
            return []
        made = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(isinstance(t, torch.Tensor) for t in made):
            raise Broken("makes something that is no tensor")
        if any(t.dtype.is_complex or t.layout != torch.strided or t.dim() > 6 for t in made):
            raise Broken("makes a tensor outside of what is tried")
        if sum(t.numel() for t in made) > 1 << 14:
            raise Broken("too large")
        if stmt.outs:
            if len(stmt.outs) != len(made):
                raise Broken("other number of results")
            for name, tensor in zip(stmt.outs, made):
                self.bind(name, tensor)
        self.keep += made
        return made


def computed(program):
    """All values of `program` on inputs of zeros."""
    return run(program, {i.name: torch.zeros(i.shape, dtype=i.dtype) for i in program.inputs}).env


def run(program, values):
    torch.manual_seed(0)
    t = Trace(program, values)
    for stmt in program.stmts:
        t.step(stmt)
    return t


def trace(program, values):
    """The types of all values of `program`; `Broken` if it does not run or returns what it does not compute."""
    t = run(program, values)
    for leaf in program.leaves():
        if isinstance(leaf, Ref) and leaf.name not in t.metas:
            raise Broken("returns what it does not compute")
    return t.metas


def without_dead_code(program):
    """Statements whose results nothing reads are left out; writes and draws stay."""
    program = program.copy()
    while True:
        used = program.used()
        kept = [s for s in program.stmts if s.writes or s.draws or any(o in used for o in s.outs)]
        if len(kept) == len(program.stmts):
            break
        program.stmts = kept
    return program


def drop_unused(pair):
    """Inputs and states that neither side reads are left out on both."""
    used = set().union(*(p.used() for p in pair))
    for p in pair:
        p.inputs = [i for i in p.inputs if i.name in used]
        p.states = [s for s in p.states if s.name in used]
    return pair


def cast_up_states(states):
    return {n: t.double() if t.dtype.is_floating_point else t for n, t in states.items()}
