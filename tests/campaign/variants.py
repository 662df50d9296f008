"""Variants that are equal to their program by construction, each at a tier: `exact` for every input, or `real`.

A variant takes a program, its types and a source of randomness, and gives another program, or None where it finds no
place. Names that stay the same stand for the same values on both sides."""

import math
from dataclasses import replace

import torch

from catalogue import is_float, is_number
from program import FLOAT8, FLOATS, INTS, Ref, Stmt, computed

VARIANTS = []


def variant(tier="exact", weight=2):
    def add(make):
        VARIANTS.append((weight, tier, make))
        return make

    return add


def writes_of(program, metas):
    """The memory that statements write to."""
    return {metas[a].memory for s in program.stmts if s.writes for a in s.args}


def uses(program, metas, fits):
    """Places where a statement reads a value that fits: statement and operand number. What a write changes is no such place."""
    found = []
    for i, s in enumerate(program.stmts):
        for k, a in enumerate(s.args):
            if not (s.writes and (k == 0 or s.op.endswith("norm_training"))) and fits(metas[a]):
                found.append((i, k))
    return found


def at_use(program, metas, rng, fits, copies, make):
    """Puts a statement before a use and lets the use read its result. `copies`: the result has memory of its own."""
    places = uses(program, metas, fits)
    if copies:
        # The result of the use may be a view of what is copied now, so nothing may write there.
        written = writes_of(program, metas)
        places = [(i, k) for i, k in places if metas[program.stmts[i].args[k]].memory not in written]
    if not places:
        return None
    program = program.copy()
    i, k = rng.choice(places)
    name = program.stmts[i].args[k]
    made = make(name, metas[name])
    if made is None:
        return None
    if isinstance(made, Stmt):
        made = [made]
    out = program.fresh("t")
    made[-1] = replace(made[-1], outs=(out,))
    program.stmts[i] = program.stmts[i].arg(k, out)
    program.stmts[i:i] = made
    return program


def there_and_back(rng, m):
    """A view and its inverse."""
    rank, shape = len(m.shape), tuple(m.shape)
    choices = [
        ("{0}.unsqueeze({d}).squeeze({d})", {"d": rng.randint(0, rank)}),
        ("{0}.view({s})", {"s": shape}),
        ("{0}.view_as({0})", {}),
        ("{0}.expand_as({0})", {}),
        ("{0}[...]", {}),
        ("{0}[None][0]", {}),
        ("{0}.detach()", {}),
    ]
    if rank:
        d, e = rng.randrange(rank), rng.randrange(rank)
        dims = list(range(rank))
        rng.shuffle(dims)
        choices += [
            ("{0}.transpose({d}, {e}).transpose({e}, {d})", {"d": d, "e": e}),
            ("{0}.permute({p}).permute({q})", {"p": tuple(dims), "q": tuple(dims.index(i) for i in range(rank))}),
            ("{0}.movedim({d}, {e}).movedim({e}, {d})", {"d": d, "e": e}),
            ("{0}[0:]", {}),
            ("{0}.narrow({d}, 0, {n})", {"d": d, "n": shape[d]}),
            ("torch.ops.aten.slice.Tensor({0}, {d}, 0, 9223372036854775807)", {"d": d}),
        ]
        if math.prod(shape):
            choices.append(("{0}.unflatten({d}, (-1, 1)).squeeze({e})", {"d": d, "e": d + 1}))
    return Stmt((), *_call(rng.choice(choices)), op="views")


def _call(choice, args=1):
    text, lits = choice
    return text, ("?",) * args, lits


def filled(stmt, *names):
    return replace(stmt, args=names)


@variant(weight=4)
def insert_views(program, metas, rng):
    fits = lambda m: m.dtype not in FLOAT8
    return at_use(program, metas, rng, fits, False, lambda x, m: filled(there_and_back(rng, m), x))


@variant(weight=4)
def insert_copy(program, metas, rng):
    """Data is moved and moved back."""

    def make(x, m):
        rank, shape = len(m.shape), tuple(m.shape)
        choices = [("{0}.clone()", {}), ("{0}.contiguous()", {}), ("torch.stack([{0}])[0]", {}), ("{0}.flatten().reshape({s})", {"s": shape})]
        choices += [("torch.where(torch.ones_like({0}, dtype=torch.bool), {0}, {0})", {}), ("F.dropout({0}, {p}, False)", {"p": 0.3})]
        if rank:
            d = rng.randrange(rank)
            n = shape[d]
            shift, k = rng.randint(-3, 3), rng.randint(0, n)
            choices += [
                ("torch.flip(torch.flip({0}, ({d},)), ({d},))", {"d": d}),
                ("torch.roll(torch.roll({0}, {k}, {d}), {j}, {d})", {"d": d, "k": shift, "j": -shift}),
                ("torch.cat(torch.split({0}, {k}, {d}), {d})", {"d": d, "k": [k, n - k]}),
                ("torch.stack(torch.unbind({0}, {d}), {d})", {"d": d}) if n else ("{0}.clone()", {}),
                ("torch.index_select({0}, {d}, torch.arange({n}))", {"d": d, "n": n}),
                ("torch.roll({0}, {k}, {d})", {"d": d, "k": n}) if n else ("{0}.clone()", {}),
                ("{0}.repeat({s})", {"s": (1,) * rank}),
                ("torch.repeat_interleave({0}, 1, dim={d})", {"d": d}),
                ("torch.cat([{0}, {0}], {d}).narrow({d}, {n}, {n})", {"d": d, "n": n}),
                ("torch.tril({0}, 9)", {}) if rank > 1 else ("{0}.clone()", {}),
            ]
            if m.dtype != torch.bool:
                choices += [("F.pad({0}, {z})", {"z": [0, 0]}), ("F.pad(F.pad({0}, {z}), {w})", {"z": [1, 2], "w": [-1, -2]})]
        return filled(Stmt((), *_call(rng.choice(choices)), op="copy"), x)

    return at_use(program, metas, rng, lambda m: m.dtype not in FLOAT8, True, make)


WIDER = {
    torch.float32: (torch.float64,),
    torch.float16: (torch.float32, torch.float64),
    torch.bfloat16: (torch.float32, torch.float64),
    torch.int32: (torch.int64, torch.float64),
    torch.int16: (torch.int64, torch.int32, torch.float32, torch.float64),
    torch.int8: (torch.int64, torch.int16, torch.float16, torch.bfloat16),
    torch.uint8: (torch.int64, torch.int16, torch.float16, torch.bfloat16),
    torch.bool: (torch.int64, torch.uint8, torch.float32, torch.float16, torch.int8),
    torch.float8_e4m3fn: (torch.float32, torch.float16),
    torch.float8_e5m2: (torch.float32, torch.float16),
}


@variant(weight=4)
def widening_round_trip(program, metas, rng):
    def make(x, m):
        return Stmt((), "{0}.to({wide}).to({own})", (x,), {"wide": rng.choice(WIDER[m.dtype]), "own": m.dtype}, "round_trip")

    return at_use(program, metas, rng, lambda m: m.dtype in WIDER, True, make)


@variant(weight=4)
def neutral(program, metas, rng):
    """An operation that gives back every value, zeros of both signs, NaN and infinities included."""

    def make(x, m):
        if is_float(m):
            texts = ["{0} * 1", "{0} * 1.0", "{0} / 1", "{0} - 0", "{0} - 0.0", "{0} + (-0.0)", "-(-{0})", "torch.clamp({0}, min=float('-inf'))", "torch.pow({0}, 1)"]
        elif m.dtype == torch.bool:
            texts = ["~(~{0})", "{0} & {0}", "{0} | {0}", "{0} ^ False", "{0} == True", "torch.logical_not(torch.logical_not({0}))"]
        else:
            texts = ["{0} + 0", "{0} - 0", "{0} * 1", "-(-{0})", "~(~{0})", "{0} | 0", "{0} ^ 0", "{0} & -1", "{0} << 0", "torch.pow({0}, 1)", "({0} + 5) - 5", "({0} - 3) + 3", "{0} ^ {0} ^ {0}"]
            if m.dtype == torch.uint8:
                texts.remove("{0} & -1")
        return Stmt((), rng.choice(texts), (x,), {}, "neutral")

    return at_use(program, metas, rng, lambda m: is_number(m) or m.dtype == torch.bool, True, make)


def rewrite(program, metas, rng, rules):
    """Replaces one statement by another that computes the same. `rules` gives the alternatives to a statement."""
    places = [(i, new) for i, s in enumerate(program.stmts) if len(s.outs) == 1 and not s.writes and not s.draws for new in rules(s)]
    if not places:
        return None
    program = program.copy()
    i, new = rng.choice(places)
    old = program.stmts[i]
    program.stmts[i] = rewritten(old, new)
    return program


def rewritten(old, new):
    """The statement `old` as another text or statement; what the catalogue knew of it is no longer so."""
    if isinstance(new, Stmt):
        return replace(new, outs=old.outs, op=old.op if new.text == old.text else "")
    return replace(old, text=new, op="")


SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne", "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor"}


@variant(weight=4)
def commuted(program, metas, rng):
    def rules(s):
        if len(s.args) == 2 and not s.lits:
            if s.op in ("add", "mul"):
                yield f"torch.{s.op}({{1}}, {{0}})"
            if s.op in SWAPPED:
                yield f"torch.{SWAPPED[s.op]}({{1}}, {{0}})"
            if s.op in ("maximum", "minimum") and not is_float(metas[s.args[0]]) and not is_float(metas[s.args[1]]):
                yield f"torch.{s.op}({{1}}, {{0}})"

    return rewrite(program, metas, rng, rules)


@variant(weight=6)
def same_by_another_name(program, metas, rng):
    def rules(s):
        m = metas[s.args[0]] if s.args else None
        out = metas[s.outs[0]]
        if s.op == "where" and len(s.args) == 3:
            yield "torch.where(torch.logical_not({0}), {2}, {1})"
        if s.op == "square":
            yield "{0} * {0}"
            yield "torch.pow({0}, 2)"
        if s.op == "pow" and s.lits["c"] == 2:
            yield "{0} * {0}"
        if s.op == "ne":
            yield "torch.logical_not(torch.eq({0}, {1}))" if len(s.args) == 2 else "torch.logical_not(torch.eq({0}, {c}))"
        if s.op == "sub" and len(s.args) == 2 and not s.lits and out.dtype != torch.bool:
            yield "torch.add({0}, -{1})" if m.dtype == out.dtype == metas[s.args[1]].dtype else s
            yield "torch.rsub({1}, {0})"
        if s.op == "sub" and len(s.args) == 1 and s.lits["c"] == s.lits["c"] and s.lits["c"] != -(2**63):
            yield replace(s, text="torch.add({0}, {c})").lit(c=-s.lits["c"])
        if s.op == "rsub" and is_number(m):
            yield "{c} - {0}"
        if s.op == "neg":
            yield "{0} * -1"
        if s.op == "reciprocal" and is_float(m):
            yield "1 / {0}"
        if s.op == "add" and len(s.args) == 2 and not s.lits and s.args[0] == s.args[1] and is_number(m):
            yield "{0} * 2"
        if s.op == "select" and s.lits["i"] >= 0:
            yield replace(s, text="torch.narrow({0}, {dim}, {i}, 1).squeeze({dim})")
            yield replace(s, text="torch.unbind({0}, {dim})[{i}]")
        if s.op == "unsqueeze":
            yield replace(s, text="{0}.reshape({shape})", lits={"shape": tuple(out.shape)})
        if s.op == "permute" and len(m.shape) == 2 and s.lits["dims"] == (1, 0):
            yield "{0}.t()"
        if s.op == "stack":
            yield "torch.cat([{0}.unsqueeze({dim}), {1}.unsqueeze({dim})], {dim})"
        if s.op == "cast" and m.dtype != torch.bool and s.lits["dtype"] == torch.bool:
            yield replace(s, text="torch.ne({0}, 0)", lits={}) if m.dtype not in FLOAT8 else s
        if s.op in ("zeros_like", "ones_like", "full_like"):
            c = {"zeros_like": 0, "ones_like": 1}.get(s.op, s.lits.get("c"))
            yield replace(s, text="torch.full({shape}, {c}, dtype={dtype})", args=(), lits={"shape": tuple(out.shape), "c": c, "dtype": out.dtype})
        if s.op == "full" and out.numel <= 12 and fits_type(s.lits["c"], out.dtype):
            yield replace(s, text="torch.tensor({data}, dtype={dtype}).reshape({shape})", lits={"data": [s.lits["c"]] * out.numel, "dtype": out.dtype, "shape": s.lits["shape"]})
        if s.op == "clamp" and m.dtype in INTS and s.lits["low"] is not None and s.lits["high"] is None:
            yield "torch.clamp_min({0}, {low})"
        if s.op == "index_select":
            d = s.lits["dim"]
            yield "{0}[" + ":, " * d + "{1}]"
        if s.op == "argsort" and s.lits["stable"]:
            yield "torch.sort({0}, dim={dim}, descending={descending}, stable=True)[1]"
        if s.op == "masked_fill" and metas[s.args[1]].shape == m.shape and is_float(m):
            yield "torch.where({1}, torch.full_like({0}, {c}), {0})"
        if s.op in ("add", "mul", "sub") and len(s.args) == 1 and m.dtype in (torch.float32, torch.float64, torch.int64) and fits_type(s.lits["c"], m.dtype):
            yield replace(s, text=f"torch.{s.op}({{0}}, torch.tensor({{c}}, dtype={{dtype}}))").lit(dtype=m.dtype)
        if s.op in ("any", "all") and m.dtype == torch.bool and s.lits and not isinstance(s.lits["dim"], tuple):
            other = "all" if s.op == "any" else "any"
            yield f"torch.logical_not(torch.{other}(torch.logical_not({{0}}), dim={{dim}}, keepdim={{keepdim}}))"
        if s.op == "flip":
            yield "torch.flip({0}, {dims}[::-1])"
        if s.op == "embedding":
            yield "{0}[{1}]"
        if s.op == "expand":
            yield "{0}.broadcast_to({shape})"
        if s.op == "arange" and s.lits["dtype"] == torch.int64 and out.numel <= 12 and all(isinstance(s.lits[k], int) for k in ("start", "end", "step")):
            yield replace(s, text="torch.tensor({data}, dtype={dtype})", lits={"data": list(range(s.lits["start"], s.lits["end"], s.lits["step"])), "dtype": torch.int64})
        if s.op == "constant" and s.lits["dtype"] in INTS and out.numel > 1:
            yield replace(s, text="torch.flip(torch.tensor({data}, dtype={dtype}), (0,)).reshape({shape})").lit(data=s.lits["data"][::-1])

    return rewrite(program, metas, rng, rules)


def fits_type(c, dtype):
    if dtype.is_floating_point:
        return isinstance(c, float) or abs(c) < 2**11
    if dtype == torch.bool:
        return isinstance(c, bool)
    return isinstance(c, int) and torch.iinfo(dtype).min <= c <= torch.iinfo(dtype).max


@variant(weight=3)
def integer_algebra(program, metas, rng):
    """Integers wrap, so that sums and products may be rearranged."""
    made = {s.outs[0]: s for s in program.stmts if len(s.outs) == 1 and not s.writes}
    written = writes_of(program, metas)

    def rules(s):
        if not all(metas[a].dtype in INTS and metas[a].memory not in written for a in s.args):
            return
        if len({metas[a].dtype for a in (*s.args, *s.outs)}) != 1 or len(s.args) != 2 or s.lits:
            return
        for place in (0, 1):
            inner = made.get(s.args[place])
            if inner is None or inner.lits or len(inner.args) != 2 or any(metas[a].dtype != metas[s.outs[0]].dtype or metas[a].memory in written for a in inner.args):
                continue
            other = s.args[1 - place]
            if s.op in ("add", "mul") and inner.op == s.op:
                yield Stmt((), f"torch.{s.op}({{0}}, torch.{s.op}({{1}}, {{2}}))", (inner.args[0], inner.args[1], other), {}, "associated")
            if s.op == "mul" and inner.op in ("add", "sub"):
                yield Stmt((), f"torch.{inner.op}({{0}} * {{2}}, {{1}} * {{2}})", (inner.args[0], inner.args[1], other), {}, "distributed")
        if s.op == "sub":
            yield "-torch.sub({1}, {0})"
            yield "{0} + ~{1} + 1"
        if s.op == "mul":
            yield "-({0} * -{1})"
        if s.op == "add":
            yield "{0} - (-{1})"

    return rewrite(program, metas, rng, rules)


@variant(weight=5)
def folded(program, metas, rng):
    """What depends on no input is a literal with the values that libtorch computes."""
    written = writes_of(program, metas)
    known, places = set(), []
    for i, s in enumerate(program.stmts):
        if s.writes or s.draws or not set(s.args) <= known or any(metas[n].memory in written for n in (*s.args, *s.outs)):
            continue
        known |= set(s.outs)
        # PyTorch counts a range beyond 2^53 in one way when it runs and in another when it exports.
        counts_apart = s.op == "arange" and any(abs(v) > 2**52 for v in s.lits.values() if isinstance(v, (int, float)))
        # On a processor PyTorch rounds a number that is added to a narrow type before the sum, on a GPU after it.
        rounds_apart = s.op in ("add", "sub") and s.lits and metas[s.outs[0]].dtype in (torch.float16, torch.bfloat16)
        if s.op != "constant" and not counts_apart and not rounds_apart and len(s.outs) == 1 and metas[s.outs[0]].numel <= 64 and metas[s.outs[0]].dtype not in FLOAT8:
            places.append(i)
    if not places:
        return None
    i = rng.choice(places)
    out = program.stmts[i].outs[0]
    value = computed(program)[out]
    program = program.copy()
    lits = {"data": value.flatten().tolist(), "dtype": value.dtype, "shape": tuple(value.shape)}
    program.stmts[i] = Stmt((out,), "torch.tensor({data}, dtype={dtype}).reshape({shape})", (), lits, "constant")
    return program


@variant("real", weight=5)
def over_the_reals(program, metas, rng):
    def rules(s):
        m = metas[s.args[0]] if s.args else None
        out = metas[s.outs[0]]
        if s.op == "addmm" and not s.lits:
            yield "{0} + {1} @ {2}"
            yield "torch.mm({1}, {2}) + {0}"
        if s.op == "addmm" and s.lits and s.lits["beta"] != 0 and s.lits["alpha"] != 0:
            yield "{0} * {beta} + ({1} @ {2}) * {alpha}"
        if s.op == "baddbmm" and s.lits["beta"]:
            yield "{0} * {beta} + torch.bmm({1}, {2}) * {alpha}"
        if s.op == "linear":
            yield "{0} @ {1}.t()" + (" + {2}" if len(s.args) == 3 else "")
        if s.op == "bmm":
            yield "{0} @ {1}"
            yield "torch.einsum('bij,bjk->bik', {0}, {1})"
        if s.op == "matmul" and len(m.shape) == 2 and len(metas[s.args[1]].shape) == 2:
            yield "({1}.t() @ {0}.t()).t()"
        if s.op == "softmax":
            yield "torch.exp(torch.log_softmax({0}, dim={dim}))"
        if s.op == "log_softmax":
            yield "{0} - torch.logsumexp({0}, dim={dim}, keepdim=True)"
        if s.op == "mean" and s.lits and out.numel:
            yield "torch.sum({0}, dim={dim}, keepdim={keepdim}) / " + str(m.numel // out.numel) if m.numel else s
        if s.op == "sum" and s.lits and isinstance(s.lits.get("dim"), tuple) and len(s.lits["dim"]) == 2 and s.lits["keepdim"]:
            first, second = s.lits["dim"]
            yield replace(s, text="{0}.sum({first}, keepdim=True).sum({second}, keepdim=True)", lits={"first": first, "second": second})
        if s.op == "sum" and not s.lits:
            yield "{0}.flatten().sum(0)"
        if s.op == "sigmoid":
            yield "1 / (1 + torch.exp(-{0}))"
        if s.op == "silu":
            yield "{0} * torch.sigmoid({0})"
        if s.op == "rsqrt":
            yield "1 / torch.sqrt({0})"
        if s.op == "rms_norm" and len(s.args) == 1:
            yield "{0} * torch.rsqrt(({0} * {0}).mean(-1, keepdim=True) + {eps})"
        if s.op == "layer_norm" and len(s.args) == 3:
            yield "F.layer_norm({0}, {shape}, eps={eps}) * {1} + {2}"
        if s.op == "sdpa" and len(s.args) == 3 and not s.lits:
            yield "torch.softmax({0} @ {1}.transpose(-1, -2) / " + repr(math.sqrt(m.shape[-1])) + ", dim=-1) @ {2}"
        if s.op == "div" and len(s.args) == 2 and is_float(m):
            yield "{0} * (1 / {1})"
        if s.op == "mul" and len(s.args) == 2 and is_float(m) and is_float(metas[s.args[1]]) and out.dtype == m.dtype:
            yield "-({0} * -{1})"
        if s.op == "einsum" and s.lits["eq"] == "ij,kj->ik":
            yield "{0} @ {1}.t()"
        if s.op == "conv1d" and len(s.args) == 3:
            yield "F.conv1d({0}, {1}, stride={stride}, padding={padding}, dilation={dilation}) + {2}.unsqueeze(1)"
        if s.op == "diff" and s.lits["n"] == 1 and m.shape[s.lits["dim"]] > 0:
            n = m.shape[s.lits["dim"]]
            yield "{0}.narrow({dim}, 1, " + str(n - 1) + ") - {0}.narrow({dim}, 0, " + str(n - 1) + ")"

    return rewrite(program, metas, rng, rules)


@variant()
def dead_code(program, metas, rng):
    names = [n for n, m in metas.items() if is_number(m)]
    if not program.stmts or not names:
        return None
    program = program.copy()
    at = rng.randint(0, len(program.stmts))
    known = {i.name for i in program.inputs} | {s.name for s in program.states} | {o for s in program.stmts[:at] for o in s.outs}
    names = [n for n in names if n in known]
    if not names:
        return None
    text = rng.choice(("{0} + 1", "torch.exp({0}.float())", "{0}.clone()", "{0}.sum()", "{0} * float('nan')"))
    program.stmts.insert(at, Stmt((program.fresh("t"),), text, (rng.choice(names),), {}, "dead"))
    return program


@variant(weight=3)
def reordered(program, metas, rng):
    """Neighbours that do not depend on one another change places."""
    program = program.copy()
    moved = False
    for _ in range(3 * len(program.stmts)):
        if len(program.stmts) < 2:
            break
        i = rng.randrange(len(program.stmts) - 1)
        if independent(program.stmts[i], program.stmts[i + 1], metas):
            program.stmts[i : i + 2] = program.stmts[i + 1], program.stmts[i]
            moved = True
    return program if moved else None


def independent(first, second, metas):
    if set(first.outs) & set(second.args) or (first.draws and second.draws):
        return False
    memory = lambda s: {metas[n].memory for n in (*s.args, *s.outs)}
    return not ((first.writes or second.writes) and memory(first) & memory(second))


@variant()
def computed_twice(program, metas, rng):
    """A use reads a second copy of what it read."""
    written = writes_of(program, metas)
    copyable = [s for s in program.stmts if len(s.outs) == 1 and not s.draws and not s.writes and not any(metas[n].memory in written for n in (*s.args, *s.outs))]
    copyable = [s for s in copyable if any(s.outs[0] in t.args for t in program.stmts)]
    if not copyable:
        return None
    program = program.copy()
    chosen = rng.choice(copyable)
    users = [i for i, t in enumerate(program.stmts) if chosen.outs[0] in t.args]
    i = rng.choice(users)
    out = program.fresh("t")
    user = program.stmts[i]
    program.stmts[i] = user.arg(user.args.index(chosen.outs[0]), out)
    program.stmts.insert(i, replace(chosen, outs=(out,)))
    return program


@variant(weight=3)
def in_place(program, metas, rng):
    """A functional operator becomes an in-place one on a copy."""
    places = []
    for i, s in enumerate(program.stmts):
        if len(s.outs) != 1 or s.writes or s.draws or not s.args:
            continue
        m, out = metas[s.args[0]], metas[s.outs[0]]
        if (m.dtype, m.shape) != (out.dtype, out.shape):
            continue
        if s.op in ("add", "sub", "mul") and not s.lits:
            places.append((i, f"{{0}}.{s.op}_({{1}})"))
        if s.op in ("add", "sub", "mul") and len(s.args) == 1:
            places.append((i, f"{{0}}.{s.op}_({{c}})"))
        if s.op in ("neg", "abs", "exp", "relu", "tanh", "sigmoid", "sqrt", "floor") and not s.lits:
            places.append((i, f"{{0}}.{s.op}_()"))
        if s.op == "masked_fill":
            places.append((i, "{0}.masked_fill_({1}, {c})"))
        if s.op == "clamp":
            places.append((i, "{0}.clamp_(min={low}, max={high})"))
    if not places:
        return None
    program = program.copy()
    i, text = rng.choice(places)
    s = program.stmts[i]
    copy = program.fresh("t")
    program.stmts[i : i + 1] = [Stmt((copy,), "{0}.clone()", (s.args[0],), {}, "clone"), replace(s, text=text, args=(copy, *s.args[1:]), writes=True)]
    return program


@variant(weight=3)
def write_otherwise(program, metas, rng):
    """A write is said in another way: computed first and then copied, or twice, the first time in vain."""
    places = [i for i, s in enumerate(program.stmts) if s.writes and s.op in ("add_", "mul_", "sub_", "copy_", "fill_", "zero_")]
    if not places:
        return None
    program = program.copy()
    i = rng.choice(places)
    s = program.stmts[i]
    others = "{1}" if len(s.args) == 2 else "{c}"
    if s.op in ("add_", "mul_", "sub_"):
        new = program.fresh("t")
        result = Stmt((new,), f"torch.{s.op[:-1]}({{0}}, {others})", s.args, s.lits, s.op[:-1])
        program.stmts[i : i + 1] = [result, replace(s, text="{0}.copy_({1})", args=(s.args[0], new), lits={}, op="copy_")]
    elif s.op == "copy_" and len(s.args) == 2 and metas[s.args[0]].memory == metas[s.args[1]].memory:
        return None
    else:
        program.stmts.insert(i, Stmt((), "{0}.mul_(1)" if metas[s.args[0]].dtype != torch.bool else "{0}.logical_not_()", (s.args[0],), {}, "vain", writes=True))
    return program


@variant()
def other_order_of_keys(program, metas, rng):
    if not isinstance(program.outputs, dict) or len(program.outputs) < 2:
        return None
    program = program.copy()
    keys = list(program.outputs)
    rng.shuffle(keys)
    program.outputs = {k: program.outputs[k] for k in keys}
    return program


@variant()
def returned_copy(program, metas, rng):
    """An output is a copy of what it was."""
    made = {o for s in program.stmts for o in s.outs}
    names = [l.name for l in program.leaves() if isinstance(l, Ref) and l.name in made]
    if not names:
        return None
    program = program.copy()
    name = rng.choice(names)
    out = program.fresh("t")
    program.stmts.append(Stmt((out,), rng.choice(("{0}.clone()", "{0} * 1", "{0}.view({shape})")) if metas[name].dtype in FLOATS else "{0}.clone()", (name,), {"shape": tuple(metas[name].shape)}, "copy"))
    program.outputs = substituted(program.outputs, name, out)
    return program


def substituted(tree, old, new):
    if isinstance(tree, dict):
        return {k: substituted(v, old, new) for k, v in tree.items()}
    if isinstance(tree, tuple):
        return tuple(substituted(v, old, new) for v in tree)
    return Ref(new) if tree == Ref(old) else tree
