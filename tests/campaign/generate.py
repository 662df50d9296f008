"""Random typed programs. PyTorch runs each statement as it is made, so that types, shapes and memory are its own."""

import math
import random
from dataclasses import replace

import torch

import inputs as values
from catalogue import CATALOGUE, Skip, any_type, is_float
from program import FLOAT8, FLOATS, INTS, Broken, Input, Program, Ref, State, Stmt, Trace, without_dead_code

WEIGHTS = [w for w, _ in CATALOGUE]
MAKERS = [m for _, m in CATALOGUE]

FLOAT_SCALARS = (1.0, 2.0, 0.5, -1.0, 3.0, 0.1, 1 / 3, -2.5, 10.0, 2, 3, -1, 1)
ODD_FLOATS = (0.0, -0.0, 0, float("inf"), float("-inf"), float("nan"), 1e30, -1e30, 65504.0, 65520.0, 448.0, 2.0**24 + 1, 1e-3, 1e-45, 2**53 + 1, 1e-8)
INT_SCALARS = (1, 2, 3, -1, -2, 5, 7, 10)
ODD_INTS = (0, 2**7 - 1, 2**7, 2**8 - 1, 2**15, 2**24 + 1, 2**31 - 1, -(2**31), 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63))
SIZES = (0, *(1,) * 6, *(2,) * 8, *(3,) * 9, *(4,) * 4, 5, 5)
MOST_INPUTS = 6


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.program = Program([], [], [], None)
        self.trace = Trace(self.program, {})
        self.count = 0
        # Values that a write may change without touching an input.
        self.own = set()

    # What catalogue entries ask for.

    def meta(self, name):
        return self.trace.metas[name]

    def flip(self):
        return self.rng.random() < 0.5

    def size(self):
        return self.rng.choice(SIZES)

    def shape(self):
        rank = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
        return tuple(min(self.size(), 3 if rank > 2 else 5) for _ in range(rank))

    def number_type(self):
        return self.rng.choice((torch.float32, torch.float32, torch.float32, *FLOATS, torch.int64, torch.int64, *INTS))

    def pick(self, fits):
        """A value that fits, later ones rather than earlier ones; sometimes a new input."""
        names = [n for n, m in self.trace.metas.items() if fits(m)]
        if names and self.rng.random() < 0.9:
            return self.rng.choice(names[-4:] if self.flip() else names)
        for _ in range(20):
            dtype = self.rng.choice((torch.float32, torch.float32, *FLOATS, torch.int64, *INTS, torch.bool))
            shape = self.shape()
            probe = torch.empty(shape, dtype=dtype, device="meta")
            if fits(probe):
                return self.leaf(dtype, shape)
        raise Skip

    def like(self, dtype, shape):
        """A value of that type."""
        shape = tuple(shape)
        names = [n for n, m in self.trace.metas.items() if m.dtype == dtype and m.shape == shape]
        return self.rng.choice(names) if names and self.rng.random() < 0.75 else self.leaf(dtype, shape)

    def partner(self, name):
        m = self.meta(name)
        return self.like(m.dtype, self.shorter(m.shape))

    def shorter(self, shape):
        """A shape that broadcasts to `shape`."""
        if self.rng.random() < 0.7:
            return shape
        shape = [1 if self.rng.random() < 0.3 else d for d in shape]
        return tuple(shape[self.rng.randint(0, len(shape)) :])

    def other_shape(self, shape):
        """A shape of as many elements."""
        factors = [d for d in shape]
        self.rng.shuffle(factors)
        while len(factors) > 1 and self.flip():
            factors = [factors[0] * factors[1], *factors[2:]]
        if self.flip():
            factors.insert(self.rng.randint(0, len(factors)), 1)
        if self.flip() and 4 in factors:
            at = factors.index(4)
            factors[at : at + 1] = [2, 2]
        return tuple(factors)

    def dim(self, name):
        rank = len(self.meta(name).shape)
        if not rank:
            raise Skip
        return self.rng.randrange(rank)

    def dims(self, name):
        rank = len(self.meta(name).shape)
        if not rank:
            raise Skip
        return tuple(sorted(self.rng.sample(range(rank), self.rng.randint(1, rank))))

    def scalar(self, name):
        return self.scalar_of(self.meta(name).dtype)

    def scalar_of(self, dtype):
        common, odd = (FLOAT_SCALARS, ODD_FLOATS) if dtype.is_floating_point else (INT_SCALARS, ODD_INTS)
        return self.rng.choice(common if self.rng.random() < 0.65 else odd)

    def finite(self, name):
        while (c := self.scalar(name)) != c:
            pass
        return c

    def divisor(self, name):
        return self.rng.choice((2, 3, -3, 7, 1, 2**24 + 1, 10)) if not is_float(self.meta(name)) else self.rng.choice((2.0, 0.5, -3.0, 1.0, 0.1, 7))

    def index(self, limit, shape, negative=False):
        """Indices below `limit`: an input that is bounded, or a constant."""
        shape = tuple(shape)
        if not limit:
            raise Skip
        low = -limit if negative and self.flip() else 0
        if self.flip():
            return self.new_input(torch.int64, shape, (low, limit - 1))
        return self.literal([self.rng.randint(low, limit - 1) for _ in range(math.prod(shape))], torch.int64, shape)

    def constant(self, dtype, shape):
        return self.literal([self.flip() if dtype == torch.bool else self.element(dtype) for _ in range(math.prod(shape))], dtype, tuple(shape))

    def element(self, dtype):
        while (c := self.scalar_of(dtype)) and not dtype.is_floating_point and not torch.iinfo(dtype).min <= c <= torch.iinfo(dtype).max:
            pass
        return c

    def literal(self, data, dtype, shape):
        stmt = Stmt((self.name(),), "torch.tensor({data}, dtype={dtype}).reshape({shape})", (), {"data": data, "dtype": dtype, "shape": shape}, "constant")
        self.add(stmt)
        return stmt.outs[0]

    def buffer(self, dtype, shape):
        found = [s.name for s in self.program.states if not s.parameter and s.dtype == dtype and s.shape == tuple(shape)]
        return self.rng.choice(found) if found and self.flip() else self.state(dtype, tuple(shape), False)

    def target(self):
        """A tensor that may be written to: a buffer, an input, or a value that has memory of its own."""
        kind = self.rng.random()
        if kind < 0.35:
            found = [s.name for s in self.program.states if not s.parameter]
            if found and self.rng.random() < 0.7:
                return self.rng.choice(found)
            return self.state(self.number_type(), self.shape(), False)
        made = [o for s in self.program.stmts for o in s.outs if o in self.trace.metas and any_type(self.meta(o)) and s.op != "constant"]
        if not made:
            raise Skip
        if kind < 0.7:
            base = self.rng.choice(made)
            stmt = Stmt((self.name(),), "{0}.clone()", (base,), {}, "clone")
            self.add(stmt)
            return stmt.outs[0]
        return self.rng.choice(made)

    def make(self, text, *args, op, draws=False, writes=False, **lits):
        if "{fn}" in text:
            text = text.replace("{fn}", op).replace("{{", "{").replace("}}", "}")
        return Stmt((), text, args, lits, op, draws, writes)

    # How the program grows.

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def new_input(self, dtype, shape, bounds=None):
        if len(self.program.inputs) >= MOST_INPUTS:
            raise Skip
        spec = Input(f"x{len(self.program.inputs)}", dtype, tuple(shape), bounds)
        self.program.inputs.append(spec)
        self.trace.bind(spec.name, values.tensor(self.rng, spec, "ordinary"))
        return spec.name

    def state(self, dtype, shape, parameter):
        if len(self.program.states) >= MOST_INPUTS:
            raise Skip
        kind = self.rng.choice(("ordinary", "ordinary", "ties"))
        spec = Input("", dtype, tuple(shape))
        data = tuple(values.tensor(self.rng, spec, kind).flatten().tolist())
        state = State(f"{'p' if parameter else 'b'}{len(self.program.states)}", dtype, tuple(shape), data, parameter)
        self.program.states.append(state)
        self.trace.state(state)
        return state.name

    def leaf(self, dtype, shape):
        kind = self.rng.random()
        if kind < 0.7:
            return self.new_input(dtype, shape)
        if kind < 0.82 and math.prod(shape) <= 12 and dtype not in FLOAT8:
            return self.constant(dtype, shape)
        return self.state(dtype, tuple(shape), parameter=kind < 0.9 and dtype.is_floating_point)

    def add(self, stmt):
        self.trace.step(stmt)
        self.program.stmts.append(stmt)

    def grow(self):
        """One more statement; whether one was found."""
        kept = len(self.program.stmts)
        maker = self.rng.choices(MAKERS, WEIGHTS)[0]
        try:
            stmt = maker(self)
            stmt = self.named(stmt)
            self.program.stmts.append(stmt)
            return True
        except (Skip, Broken):
            return len(self.program.stmts) > kept

    def named(self, stmt):
        # How many tensors come out is known once it has run.
        made = self.trace.step(stmt)
        names = tuple(self.name() for _ in made)
        if not names and not stmt.writes:
            raise Broken("makes nothing")
        for name, tensor in zip(names, made):
            self.trace.bind(name, tensor)
        text = stmt.text
        if len(made) == 1 and stmt.op in ("split", "chunk", "unbind"):
            text += "[0]"
        return replace(stmt, outs=names, text=text)

    def outputs(self):
        """Some of the values, those that nothing reads among them, in a structure with constants here and there."""
        used = self.program.used()
        made = [o for s in self.program.stmts for o in s.outs]
        last = [n for n in made if n not in used]
        self.rng.shuffle(last)
        chosen = last[:4]
        if made and self.rng.random() < 0.3:
            chosen.append(self.rng.choice(made))
        leaves = [Ref(n) for n in chosen]
        if self.rng.random() < 0.15:
            leaves.insert(self.rng.randint(0, len(leaves)), self.rng.choice((1, 2.5, None, "text", True, -0.0, 2**53 + 1)))
        if not chosen:
            raise Skip
        kind = self.rng.random()
        if kind < 0.25:
            return {k: leaf for k, leaf in zip("abcdefg", leaves)}
        if kind < 0.35 and len(leaves) > 1:
            return (leaves[0], {"rest": tuple(leaves[1:])})
        return tuple(leaves)


def generate(seed):
    """A random program; None where nothing came of the seed."""
    g = Generator(seed)
    torch.manual_seed(0)
    for _ in range(g.rng.randint(1, 3)):
        g.leaf(g.number_type(), g.shape())
    for _ in range(g.rng.choice((1, 2, 3, 3, 4, 5, 6, 8, 10, 13))):
        for _ in range(6):
            if g.grow():
                break
    try:
        g.program.outputs = g.outputs()
    except Skip:
        return None
    program = without_dead_code(g.program)
    used = program.used()
    program.inputs = [i for i in program.inputs if i.name in used]
    program.states = [s for s in program.states if s.name in used]
    return program if program.inputs or program.states else None
