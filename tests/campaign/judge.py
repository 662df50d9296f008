"""What libtorch says about a pair: whether the two programs are equal, on which inputs not, and by how much."""

import contextlib
import re
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

import inputs as values
from program import cast_up_states, module, paths, source

# Kernels of oneDNN give NaN where PyTorch's own give an infinity, as for `gelu` of one.
torch.backends.mkldnn.set_flags(False)

# What PyTorch computes in an order that depends on strides and tiling, which no tier promises.
UNORDERED = re.compile(
    r" @ |\b(sum|mean|prod|logsumexp|std|var|cumsum|cumprod|softmax|log_softmax|matmul|linear|addmm|mm|bmm|baddbmm|einsum|conv1d|conv2d|avg_pool2d"
    r"|addcmul|addcdiv|lerp|rnn_tanh|logcumsumexp|nansum|norm|instance_norm|layer_norm|rms_norm|group_norm|batch_norm|scaled_dot_product_attention|cross_entropy|scatter_add|index_add|index_put|autocast)\("
)
TO_INTEGER = re.compile(r"\.to\(torch\.(u?int\d+)\)|dtype=torch\.u?int")
# What makes floats, of integers too.
FLOATS = re.compile(r"float|double|half|\d\.\d| / |/ |\*\* -|\b(exp|expm1|log|log1p|sqrt|rsqrt|sigmoid|tanh|softmax|log_softmax|logsumexp|mean|std|var|div)\(")
NARROW_TYPE = re.compile(r"torch\.(float16|float8|bfloat16|u?int(8|16|32))")
TOLERANCE = (("float8", 0.3), ("bfloat16", 0.06), ("float16", 8e-3), ("float32", 2e-4), ("float64", 1e-9))


# Literals beyond this may make values overflow on one side only, of which `real` says nothing.
HUGE = 1e4
NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?")


class Noise(TorchDispatchMode):
    """Disturbs what every operator computes in floats, relatively: what then moves by much says nothing of other roundings."""

    def __init__(self, seed, relative):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        self.relative = relative

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        # A view shares memory with what it is of, and an operator that writes gives back what it wrote to.
        if any(r.alias_info is not None for r in func._schema.returns):
            return result
        return tree_map_only(torch.Tensor, self.disturbed, result)

    def disturbed(self, t):
        if t.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            return t
        by = torch.rand(t.shape, generator=self.generator, dtype=torch.float64) * 2 - 1
        return (t.double() * (1 + by * self.relative)).to(t.dtype)


class OneNaN(TorchDispatchMode):
    """Gives every NaN the same bits, so that a view in another type sees no other ones."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        seen_anew = func is torch.ops.aten.view.dtype
        if not seen_anew and any(r.alias_info is not None for r in func._schema.returns):
            return result
        return tree_map_only(torch.Tensor, one_nan, result)


def one_nan(t):
    if t.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        return t
    return t.masked_fill(torch.isnan(t), float("nan"))


class AllReal(TorchDispatchMode):
    """Puts one number for everything that is no real number, such as a quotient by 0: `real` leaves open what becomes of it, and
    a difference that goes away with this comes from nothing else."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if any(r.alias_info is not None for r in func._schema.returns):
            return result
        return tree_map_only(torch.Tensor, all_real, result)


def all_real(t):
    return t.masked_fill(~torch.isfinite(t), 5.0) if t.dtype.is_floating_point else t


@dataclass
class Outcome:
    """What one run gives: results by path, and what states and inputs hold afterwards."""

    constants: dict
    tensors: dict
    # States and inputs that hold something else now.
    written: set


class Side:
    """One program, ready to be run in its own types and in f64."""

    def __init__(self, program):
        self.program = program
        self.text = source(program)
        self.models = {}

    def run(self, inputs, seed=0, wide=False, states=None, mode=None):
        if wide not in self.models:
            model = module(self.program, wide)
            self.models[wide] = (model, {n: t.clone() for n, t in model.state_dict().items()})
        model, contents = self.models[wide]
        with torch.no_grad():
            for name, tensor in model.state_dict().items():
                tensor.copy_((states or {}).get(name, contents[name]))
        given = {n: v.clone() for n, v in (values.cast_up(inputs) if wide else inputs).items()}
        if isinstance(mode, OneNaN):
            given = {n: one_nan(t) for n, t in given.items()}
        torch.manual_seed(seed)
        # What PyTorch makes of integers is wide too.
        torch.set_default_dtype(torch.float64 if wide else torch.float32)
        try:
            with torch.no_grad(), mode or contextlib.nullcontext():
                result = model(**given)
        finally:
            torch.set_default_dtype(torch.float32)
        constants, tensors = {}, {}
        for path, leaf in paths(result):
            (tensors if isinstance(leaf, torch.Tensor) else constants)[f"output{path}"] = leaf
        memory = {f"state {n}": t for n, t in model.state_dict().items()} | {f"input {n}": t for n, t in given.items()}
        before = {f"state {n}": (states or {}).get(n, t) for n, t in contents.items()} | {f"input {n}": t for n, t in inputs.items()}
        written = {n for n, t in memory.items() if (bits(t) != bits(before[n].to(t.dtype))).any()}
        return Outcome(constants, {n: t.detach().clone() for n, t in (tensors | memory).items()}, written)


def same_constants(a, b):
    return a.keys() == b.keys() and all(type(a[k]) is type(b[k]) and (repr(a[k]) == repr(b[k])) for k in a)


def structure(a, b):
    """Why two outcomes are of other kinds; None if they are not."""
    if not same_constants(a.constants, b.constants):
        return f"constant outputs {a.constants} against {b.constants}"
    if a.tensors.keys() != b.tensors.keys():
        return f"outputs {sorted(a.tensors.keys() ^ b.tensors.keys())} on one side only"
    for n in a.tensors:
        x, y = a.tensors[n], b.tensors[n]
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"{n} is {x.dtype}{list(x.shape)} against {y.dtype}{list(y.shape)}"
    return None


def bits(t):
    """The tensor as integers, one for all NaN."""
    if not t.dtype.is_floating_point:
        return t
    nan = torch.isnan(t.float())
    as_int = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}[t.element_size()]
    return t.contiguous().view(as_int).masked_fill(nan, -7 if t.element_size() > 1 else 127)


def first_difference(x, y, where):
    at = where.nonzero()[0].tolist() if x.dim() else []
    return f"{at}: {x[tuple(at)].item()!r} against {y[tuple(at)].item()!r}"


def parts_in_bits(a, b):
    for n in a.tensors:
        x, y = a.tensors[n], b.tensors[n]
        where = bits(x) != bits(y)
        if where.any():
            return f"{n}{first_difference(x, y, where)}"
    return None


def parts_beyond(a, b, tolerance, finite_only=False, whole=True):
    """A difference that is larger than `tolerance` of the largest value around. `whole`: look at integers and bools too."""
    for n in a.tensors:
        x, y = a.tensors[n], b.tensors[n]
        if not x.dtype.is_floating_point:
            if whole and (x != y).any():
                return f"{n}{first_difference(x, y, x != y)}"
            continue
        p, q = x.double(), y.double()
        both = torch.isfinite(p) & torch.isfinite(q)
        if not finite_only:
            odd = ~both & ~((p == q) | (torch.isnan(p) & torch.isnan(q)))
            if odd.any():
                return f"{n}{first_difference(x, y, odd)}"
        if both.any():
            scale = max(1.0, p[both].abs().max().item(), q[both].abs().max().item())
            far = both & ((p - q).abs() > tolerance * scale)
            if far.any():
                return f"{n}{first_difference(x, y, far)}"
    return None


def elements_part(a, b, relative=1e-6):
    """An element whose values are not the same real number, whatever else is in its tensor."""
    for n in a.tensors:
        x, y = a.tensors[n], b.tensors[n]
        p, q = x.double(), y.double()
        where = (p - q).abs() > relative * torch.maximum(p.abs(), q.abs()) + 1e-10
        if where.any():
            return f"{n}{first_difference(x, y, where)}"
    return None


class Judge:
    def __init__(self, a, b, draws):
        self.sides = (Side(a), Side(b))
        self.text = self.sides[0].text + self.sides[1].text
        self.draws = draws
        self.unordered = bool(UNORDERED.search(self.text))
        types = self.text + " ".join(str(i.dtype) for i in a.inputs)
        self.floats = bool(FLOATS.search(types))
        self.narrow = bool(NARROW_TYPE.search(types))
        self.to_integer = bool(TO_INTEGER.search(self.text))
        # An infinite constant is no real number. Of scores that are all -inf, attention makes 0 and its formula NaN.
        self.huge = any(float(n) > HUGE for n in NUMBER.findall(self.text)) or "float('inf')" in self.text
        self.tolerance = next((t for name, t in TOLERANCE if name in types), 2e-4)

    def both(self, inputs, seed=0, wide=False, states=None, mode=None):
        """The two outcomes; None where PyTorch refuses one of them on these inputs."""
        try:
            outcomes = tuple(s.run(inputs, seed, wide, states, mode) for s in self.sides)
        except Exception:
            return None
        # What neither side writes is no result.
        written = outcomes[0].written | outcomes[1].written
        for outcome in outcomes:
            outcome.tensors = {n: t for n, t in outcome.tensors.items() if n.startswith("output") or n in written}
        return outcomes

    def cases(self, kinds=values.KINDS, rounds=2):
        for n in range(rounds):
            for kind in kinds:
                yield kind, n, values.draw(self.sides[0].program, kind, n)

    def kinds(self):
        # A float that no integer type holds becomes an integer that C++ leaves open.
        if self.to_integer and self.floats:
            return ("ordinary", "ties", "zeros")
        return values.KINDS

    def difference(self):
        """Some input on which the bits of the outcomes part."""
        for kind, n, given in self.cases(self.kinds(), 3):
            outcomes = self.both(given, n)
            if outcomes is None:
                continue
            found = structure(*outcomes) or parts_in_bits(*outcomes)
            if found:
                return f"{kind} {n}: {found}"
        return None

    def other_structure(self):
        outcomes = self.both(values.draw(self.sides[0].program, "ordinary", 0))
        return outcomes and structure(*outcomes)

    def against_exact(self, one_nan=False):
        """`one_nan`: whether the verdict holds if all NaN have the same bits."""
        for kind, n, given in self.cases(self.kinds(), 3):
            outcomes = self.both(given, n, mode=OneNaN() if one_nan else None)
            if outcomes is None:
                continue
            found = structure(*outcomes)
            if found is None:
                found = parts_in_bits(*outcomes)
                if found and self.unordered and self.floats:
                    found = self.beyond_order(outcomes, given, n, kind)
            if found:
                return f"{kind} {n}: {found}"
        return None

    def beyond_order(self, outcomes, given, seed, kind):
        """A difference that the order of operations does not explain."""
        if kind in ("extreme", "large", "mixed") or not parts_beyond(*outcomes, self.tolerance):
            return None
        wide = self.both(given, seed, wide=True)
        return wide and parts_beyond(*wide, 1e-7)

    def unstable(self, given, seed, wide, tolerance):
        """Whether an outcome moves when its steps are rounded otherwise: near ties, and where large numbers cancel."""
        # A few roundings of f64, or of the narrowest type.
        noise = 8 * torch.finfo(torch.float64).eps if wide else self.tolerance / 8
        for side in self.sides:
            try:
                plain = side.run(given, seed, wide)
                moved = [side.run(given, seed, wide, mode=Noise(n, noise)) for n in range(4)]
            except Exception:
                return True
            if any(parts_beyond(plain, m, tolerance / 4) for m in moved):
                return True
        return False

    def is_beyond_reals(self, given, seed, finite_only):
        """Whether a difference comes from what is no real number."""
        outcomes = self.both(given, seed, wide=True, mode=AllReal())
        return outcomes is not None and not parts_beyond(*outcomes, 1e-6, finite_only=finite_only)

    def against_real(self, ranges):
        """`ranges`: whether values that leave the range of a narrower type count."""
        for kind, n, given in self.cases(("ordinary", "ties"), 3):
            outcomes = self.both(given, n)
            if outcomes is None:
                continue
            found = structure(*outcomes)
            if found is None and parts_beyond(*outcomes, self.tolerance, finite_only=kind == "ties"):
                if not self.floats:
                    found = parts_in_bits(*outcomes)
                else:
                    wide = self.both(given, n, wide=True)
                    finite_only = kind == "ties" or self.huge
                    found = wide and parts_beyond(*wide, 1e-6, finite_only=finite_only, whole=kind != "ties")
                    if found and (self.unstable(given, n, True, 1e-6) or self.is_beyond_reals(given, n, finite_only)):
                        found = None
            if found:
                return f"{kind} {n}: {found}"
        if not self.floats:
            return self.against_exact()
        if ranges and self.narrow:
            for kind, n, given in self.cases(("large",), 3):
                outcomes = self.both(given, n)
                wide = self.both(given, n, wide=True)
                if outcomes is None or wide is None or parts_beyond(*wide, 1e-6):
                    continue
                found = parts_beyond(*outcomes, self.tolerance * 10, whole=False)
                if found and not self.unstable(given, n, False, self.tolerance * 10):
                    return f"range, {kind} {n}: {found}"
        return None

    def draws_matter(self):
        """Where two runs of one program part that draw other numbers."""
        for kind, n, given in self.cases(("ordinary",), 3):
            try:
                outcomes = [self.sides[0].run(given, seed) for seed in (2 * n, 2 * n + 1)]
            except Exception:
                continue
            found = parts_beyond(*outcomes, self.tolerance)
            if found:
                return f"{kind} {n}: {found}"
        return None

    def witness(self, given, states):
        """Whether the outcomes part on these inputs by more than rounding, in f64 or in the types themselves."""
        for wide in (True, False):
            outcomes = self.both(given, 0, wide, cast_up_states(states) if wide else states)
            if outcomes is None:
                if wide:
                    # What reads the bits of a type cannot be run in another one.
                    return "not run in f64"
                continue
            found = structure(*outcomes) or parts_beyond(*outcomes, 1e-9 if wide else self.tolerance)
            if not found and wide:
                found = elements_part(*outcomes)
            if not found and not wide:
                found = parts_in_bits(*outcomes) if not self.unordered else None
            if not found and not wide:
                # Small next to the others in its tensor, but not what the other side has.
                found = elements_part(*outcomes, relative=0.5)
                if found and self.unstable(given, 0, False, self.tolerance):
                    found = None
            if found:
                return found
        return None
