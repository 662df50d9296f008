"""Edits that mostly change what a program means. Whether one does, libtorch decides on adversarial inputs."""

import math
from dataclasses import replace

import torch

from catalogue import is_float, is_number
from generate import FLOAT_SCALARS, INT_SCALARS, ODD_FLOATS, ODD_INTS
from program import FLOAT8, FLOATS, INTS, Ref, Stmt
from variants import at_use, rewritten, substituted, writes_of

EDITS = []


def edit(weight=2):
    def add(make):
        EDITS.append((weight, make))
        return make

    return add


def other_number(c, rng):
    if isinstance(c, bool):
        return not c
    if isinstance(c, int):
        near = [n for n in (c + 1, c - 1, -c, c + 2**32) if -(2**63) <= n < 2**63]
        return rng.choice((*near, float(c), rng.choice(INT_SCALARS), rng.choice(ODD_INTS), c ^ 1))
    near = [math.nextafter(c, math.inf), math.nextafter(c, -math.inf), c * (1 + 2**-23), c * (1 + 2**-11), -c, c + 1.0]
    return rng.choice((*near, rng.choice(FLOAT_SCALARS), rng.choice(ODD_FLOATS), 0.0 if c == 0 and math.copysign(1, c) < 0 else -0.0))


def other_literal(value, rng):
    if isinstance(value, torch.dtype):
        return rng.choice([d for d in (*FLOATS, *INTS, torch.bool, *FLOAT8) if d != value])
    if isinstance(value, (tuple, list)):
        if not value:
            return value
        changed = list(value)
        if len(changed) > 1 and rng.random() < 0.5:
            i, j = rng.sample(range(len(changed)), 2)
            changed[i], changed[j] = changed[j], changed[i]
        else:
            i = rng.randrange(len(changed))
            changed[i] = other_literal(changed[i], rng)
        return type(value)(changed)
    if value is None or isinstance(value, str):
        return {"none": "tanh", "tanh": "none", "floor": "trunc", "trunc": "floor", "mean": "sum", "sum": "none"}.get(value, value)
    return other_number(value, rng)


@edit(10)
def literal(program, metas, rng):
    places = [(i, k) for i, s in enumerate(program.stmts) for k in s.lits]
    if not places:
        return None
    program = program.copy()
    i, k = rng.choice(places)
    value = program.stmts[i].lits[k]
    changed = other_literal(value, rng)
    if type(changed) is type(value) and repr(changed) == repr(value):
        return None
    program.stmts[i] = program.stmts[i].lit(**{k: changed})
    return program


@edit(4)
def operands_swapped(program, metas, rng):
    places = [i for i, s in enumerate(program.stmts) if len(s.args) >= 2]
    if not places:
        return None
    program = program.copy()
    i = rng.choice(places)
    s = program.stmts[i]
    j, k = rng.sample(range(len(s.args)), 2)
    if s.args[j] == s.args[k]:
        return None
    program.stmts[i] = s.arg(j, s.args[k]).arg(k, s.args[j])
    return program


@edit(4)
def other_operand(program, metas, rng):
    known = [i.name for i in program.inputs] + [s.name for s in program.states]
    places = []
    for i, s in enumerate(program.stmts):
        for k, a in enumerate(s.args):
            places += [(i, k, b) for b in known if b != a and (metas[b].dtype, metas[b].shape) == (metas[a].dtype, metas[a].shape)]
        known += s.outs
    if not places:
        return None
    program = program.copy()
    i, k, b = rng.choice(places)
    program.stmts[i] = program.stmts[i].arg(k, b)
    return program


@edit(3)
def dropped(program, metas, rng):
    places = [(i, a) for i, s in enumerate(program.stmts) if len(s.outs) == 1 for a in s.args if (metas[a].dtype, metas[a].shape) == (metas[s.outs[0]].dtype, metas[s.outs[0]].shape)]
    if not places:
        return None
    program = program.copy()
    i, a = rng.choice(places)
    out = program.stmts.pop(i).outs[0]
    program.stmts = [replace(s, args=tuple(a if n == out else n for n in s.args)) for s in program.stmts]
    program.outputs = substituted(program.outputs, out, a)
    return program


@edit(2)
def write_dropped(program, metas, rng):
    places = [i for i, s in enumerate(program.stmts) if s.writes]
    if not places:
        return None
    program = program.copy()
    i = rng.choice(places)
    s = program.stmts[i]
    if len(s.outs) > 1 or s.op.endswith("norm_training"):
        return None
    target = s.args[0]
    program.stmts.pop(i)
    for out in s.outs:
        program.stmts = [replace(t, args=tuple(target if n == out else n for n in t.args)) for t in program.stmts]
        program.outputs = substituted(program.outputs, out, target)
    return program


@edit(2)
def write_to_a_copy(program, metas, rng):
    places = [i for i, s in enumerate(program.stmts) if s.writes]
    if not places:
        return None
    program = program.copy()
    i = rng.choice(places)
    s = program.stmts[i]
    copy = program.fresh("t")
    program.stmts[i : i + 1] = [Stmt((copy,), "{0}.clone()", (s.args[0],), {}, "clone"), s.arg(0, copy)]
    return program


@edit(2)
def read_before_the_write(program, metas, rng):
    """A write moves past a read of the same memory."""
    places = [i for i in range(len(program.stmts) - 1) if program.stmts[i].writes and not set(program.stmts[i].outs) & set(program.stmts[i + 1].args)]
    if not places:
        return None
    program = program.copy()
    i = rng.choice(places)
    program.stmts[i : i + 2] = program.stmts[i + 1], program.stmts[i]
    return program


SIBLINGS = (
    ("add", "sub", "mul", "maximum", "minimum"), ("amax", "amin", "prod", "sum"), ("exp", "expm1"), ("log", "log1p"), ("floor", "round", "trunc", "ceil"),
    ("argmax", "argmin"), ("gt", "ge", "lt", "le", "eq", "ne"), ("cumsum", "cumprod"), ("sin", "cos", "tanh"), ("relu", "abs", "neg", "square"), ("sqrt", "rsqrt"),
    ("logical_and", "logical_or", "logical_xor"), ("bitwise_and", "bitwise_or", "bitwise_xor"), ("tril", "triu"), ("remainder", "fmod"), ("any", "all"), ("std", "var"),
    ("softmax", "log_softmax"), ("zeros_like", "ones_like"), ("silu", "gelu", "mish", "hardswish"), ("relu", "relu6", "hardtanh"), ("add_", "sub_", "mul_", "copy_"), ("rand_like", "randn_like"), ("max", "min"),
    ("scatter", "scatter_add"), ("<<", ">>"), ("floor_divide", "remainder"), ("clone", "contiguous"),
)


@edit(5)
def sibling(program, metas, rng):
    places = [(i, group) for i, s in enumerate(program.stmts) for group in SIBLINGS if s.op in group]
    if not places:
        return None
    program = program.copy()
    i, group = rng.choice(places)
    s = program.stmts[i]
    other = rng.choice([o for o in group if o != s.op])
    text = s.text.replace(f".{s.op}(", f".{other}(") if s.op not in ("<<", ">>") else s.text.replace(s.op, other)
    program.stmts[i] = replace(s, text=text, op=other)
    return program if text != s.text else None


LOSSY = {
    torch.float64: (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.float8_e4m3fn),
    torch.float32: (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.int32, torch.int64),
    torch.float16: (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.int16, torch.int32),
    torch.bfloat16: (torch.float16, torch.float8_e5m2, torch.int32),
    torch.int64: (torch.int32, torch.float64, torch.float32, torch.int8, torch.bool, torch.uint8),
    torch.int32: (torch.int16, torch.float32, torch.float16, torch.bool),
    torch.int16: (torch.int8, torch.float16, torch.bfloat16, torch.uint8),
    torch.int8: (torch.uint8, torch.bool, torch.float8_e4m3fn),
    torch.uint8: (torch.int8, torch.bool, torch.float8_e5m2),
}


@edit(5)
def lossy_round_trip(program, metas, rng):
    def make(x, m):
        return Stmt((), "{0}.to({lossy}).to({own})", (x,), {"lossy": rng.choice(LOSSY[m.dtype]), "own": m.dtype}, "round_trip")

    return at_use(program, metas, rng, lambda m: m.dtype in LOSSY, True, make)


NEARLY = (
    "{0} + 0", "{0} + 0.0", "torch.abs({0})", "torch.clamp({0}, min=-1e30, max=1e30)", "torch.clamp({0}, max=65504.0)", "({0} + 1) - 1", "({0} * 2) / 2", "({0} / 3) * 3", "torch.exp(torch.log({0}))",
    "torch.nan_to_num({0})", "{0} * {0} / {0}", "torch.sqrt({0} * {0})", "torch.maximum({0}, {0})", "torch.relu({0})", "{0} + {0} * 0", "{0} + ({0} - {0})", "-torch.relu(-{0}) + torch.relu({0})",
    "torch.where({0} > 0, {0}, {0} + 0)", "torch.where({0} == 0, torch.zeros_like({0}), {0})", "torch.where({0} == {0}, {0}, torch.zeros_like({0}))", "1 / (1 / {0})", "torch.pow({0}, 3) / torch.square({0})",
    "torch.log(torch.exp({0}))", "torch.tanh(torch.atanh({0}))", "torch.trunc({0}) + torch.frac({0})", "0 - (0 - {0})", "torch.max({0}, torch.full_like({0}, -3.0e38))", "{0}.sum(0, keepdim=True).expand_as({0})",
    "torch.cumsum({0}, -1)", "torch.sort({0})[0]", "torch.remainder({0}, 1e30)", "torch.softmax({0}, -1)", "torch.sign({0}) * torch.abs({0})", "torch.copysign(torch.abs({0}), {0})", "torch.mean(torch.stack([{0}, {0}]), 0)",
    "torch.amax({0}.unsqueeze(-1), -1)", "torch.sum({0}.unsqueeze(-1), -1)", "torch.prod({0}.unsqueeze(-1), -1)", "torch.cumsum({0}.unsqueeze(-1), -1).squeeze(-1)", "torch.logsumexp({0}.unsqueeze(-1), -1)",
    "{0}.masked_fill({0} == 0, 0.0)", "F.pad({0}, [1, -1])", "F.pad({0}, [-1, 1])", "torch.roll({0}, 1, -1)", "torch.diff(torch.cumsum({0}, -1), dim=-1, prepend=torch.zeros_like({0}[..., :1]))", "F.dropout({0}, 0.0, True)",
    "torch.minimum(torch.maximum({0}, {0}), {0})", "F.hardtanh({0}, -1e38, 1e38)", "torch.addcmul({0}, {0}, torch.zeros_like({0}))", "torch.lerp({0}, {0}, 0.5)", "F.leaky_relu({0}, 1.0)", "F.elu({0}, 0.0) + F.relu(-{0}) * -1",
)
NEARLY_INT = (
    "({0} * 2) // 2", "({0} // 3) * 3", "torch.abs({0})", "({0} << 1) >> 1", "({0} >> 1) << 1", "torch.clamp({0}, -(2**31), 2**31 - 1)", "torch.clamp({0}, min=-100)", "{0} & 255", "{0} % (2**62)", "torch.where({0} + 1 > {0}, {0}, 0)",
    "torch.relu({0})", "torch.maximum({0}, {0})", "torch.sign({0}) * torch.abs({0})", "{0} * (2**62) * 4 + {0}", "{0} + {0} * 0", "({0} * 3) // 3", "torch.square({0}) // (torch.abs({0}) + 1)", "torch.remainder({0}, 128)", "-torch.abs({0})",
    "({0} / 1).to({dtype})", "({0}.double() * 1).to({dtype})", "torch.bitwise_not({0}) + 1", "({0} | 1) - 1", "torch.fmod({0}, 1000)", "torch.cumsum({0}, -1).to({dtype})", "torch.sort({0})[0]", "({0} + 100) - 100 + (({0} + 1) <= {0})",
)


@edit(8)
def nearly_neutral(program, metas, rng):
    def make(x, m):
        return Stmt((), rng.choice(NEARLY if is_float(m) else NEARLY_INT), (x,), {} if is_float(m) else {"dtype": m.dtype}, "nearly")

    return at_use(program, metas, rng, is_number, True, make)


@edit(6)
def nearly_the_same(program, metas, rng):
    """A rewrite that holds for most values."""
    made = {s.outs[0]: s for s in program.stmts if len(s.outs) == 1 and not s.writes and not s.draws}
    written = writes_of(program, metas)

    def rules(s):
        m = metas[s.args[0]] if s.args else None
        if s.op in ("add", "mul") and len(s.args) == 2 and not s.lits:
            inner = made.get(s.args[0])
            if inner and inner.op == s.op and len(inner.args) == 2 and not inner.lits and not any(metas[a].memory in written for a in inner.args):
                yield Stmt((), f"torch.{s.op}({{0}}, torch.{s.op}({{1}}, {{2}}))", (*inner.args, s.args[1]), {}, "associated")
        if s.op in ("maximum", "minimum") and len(s.args) == 2:
            yield f"torch.{s.op}({{1}}, {{0}})"
            yield "torch.where({0} > {1}, {0}, {1})" if s.op == "maximum" else "torch.where({0} < {1}, {0}, {1})"
        if s.op == "relu":
            yield "torch.clamp({0}, min=0)"
            yield "torch.where({0} > 0, {0}, 0)"
            yield "torch.maximum({0}, torch.zeros_like({0}))"
        if s.op == "pow" and s.lits["c"] in (0.5, -0.5, -1.0, 0.0, 3, 3.0):
            yield {0.5: "torch.sqrt({0})", -0.5: "torch.rsqrt({0})", -1.0: "torch.reciprocal({0})", 0.0: "torch.ones_like({0})", 3.0: "{0} * {0} * {0}"}[float(s.lits["c"])]
        if s.op in ("lt", "le", "gt", "ge"):
            other = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[s.op]
            yield f"torch.logical_not(torch.{other}({{0}}, {'{1}' if len(s.args) == 2 else '{c}'}))"
        if s.op == "eq" and len(s.args) == 2:
            yield "({0} - {1}) == 0"
            yield "torch.logical_and({0} >= {1}, {0} <= {1})"
        if s.op in ("sort", "argsort"):
            yield replace(s, text=s.text.replace("{0}", "-{0}")).lit(descending=not s.lits["descending"])
            yield s.lit(stable=not s.lits["stable"])
        if s.op == "argmax":
            yield "torch.argmin(-{0}, dim={dim}, keepdim={keepdim})"
            yield "torch.max({0}, dim={dim}, keepdim={keepdim})[1]"
            yield "torch.sort({0}, dim={dim}, descending=True, stable=False)[1].select({dim}, 0)" + (".unsqueeze({dim})" if s.lits["keepdim"] else "")
        if s.op == "div" and len(s.args) == 1 and isinstance(s.lits["c"], float) and s.lits["c"]:
            yield replace(s, text="torch.mul({0}, {c})").lit(c=1 / s.lits["c"])
        if s.op == "mul" and len(s.args) == 1 and s.lits["c"] == 0:
            yield "torch.zeros_like({0})"
        if s.op == "softmax":
            yield "torch.softmax({0} - 1, dim={dim})"
            yield "torch.exp({0}) / torch.exp({0}).sum({dim}, keepdim=True)"
        if s.op == "masked_fill" and isinstance(s.lits["c"], float) and math.isinf(s.lits["c"]):
            yield s.lit(c=math.copysign({torch.float16: 65504.0}.get(m.dtype, 3.4028234663852886e38), s.lits["c"]))
        if s.op == "clamp" and None not in (s.lits["low"], s.lits["high"]):
            yield "torch.clamp(torch.clamp({0}, max={high}), min={low})"
        if s.op == "remainder" and len(s.args) == 1:
            yield "{0} - torch.floor_divide({0}, {c}) * {c}"
            yield "torch.fmod({0}, {c})"
        if s.op == "floor_divide" and len(s.args) == 1:
            yield "torch.div({0}, {c}, rounding_mode='trunc')"
            yield "torch.floor(torch.div({0}, {c}))"
        if s.op == "cumsum" and s.lits.get("dtype") is None:
            yield "torch.flip(torch.cumsum(torch.flip({0}, ({dim},)), {dim}), ({dim},))"
        if s.op in ("argmax", "argmin") and not s.lits["keepdim"]:
            yield f"torch.flip({{0}}, ({{dim}},)).{s.op}({{dim}})"
        if s.op == "scatter":
            yield "torch.scatter({0}, {dim}, torch.flip({1}, ({dim},)), torch.flip({2}, ({dim},)))"
        if s.op == "index_put":
            yield "torch.index_put({0}, (torch.flip({1}, (0,)),), torch.flip({2}, (0,)), accumulate={accumulate})"
        if s.op == "mean":
            yield s.text.replace("torch.mean", "torch.sum")
        if s.op == "prod" and s.lits:
            yield "torch.exp(torch.sum(torch.log({0}), dim={dim}, keepdim={keepdim}))"
        if s.op == "amax":
            yield "-torch.amin(-{0}" + (", dim={dim}, keepdim={keepdim})" if s.lits else ")")
        if s.op == "abs":
            yield "torch.maximum({0}, -{0})"
            yield "torch.sqrt(torch.square({0}))" if is_float(m) else "torch.where({0} < 0, -{0}, {0})"
        if s.op == "neg":
            yield "0 - {0}"
        if s.op == "logsumexp":
            yield "torch.log(torch.sum(torch.exp({0}), dim={dim}, keepdim={keepdim}))"
        if s.op == "sdpa" and "causal" in s.lits:
            yield replace(s, text="F.scaled_dot_product_attention({0}, {1}, {2})", lits={})
        if s.op == "gelu":
            yield "{0} * 0.5 * (1 + torch.erf({0} / 1.4142135623730951))"
        if s.op == "cast" and is_float(m) and s.lits["dtype"] in FLOATS:
            yield replace(s, text="{0}.to({half}).to({dtype})").lit(half=torch.float16)
        if s.op == "var":
            yield s.lit(n=3) if "n" in s.lits else "torch.square(torch.std({0}))" if not s.lits else "torch.square(torch.std({0}, dim={dim}, keepdim={keepdim}))"
        if s.op == "diff":
            yield "-({0} - torch.roll({0}, -1, {dim})).narrow({dim}, 0, " + str(max(m.shape[s.lits["dim"]] - 1, 0)) + ")"
        if s.op == "any" and s.lits:
            yield "torch.amax({0} != 0, dim={dim}, keepdim={keepdim})"
        if s.op == "layer_norm":
            yield s.lit(eps=s.lits["eps"] * 2)

    places = [(i, new) for i, s in enumerate(program.stmts) if not s.writes and not s.draws for new in rules(s)]
    if not places:
        return None
    program = program.copy()
    i, new = rng.choice(places)
    program.stmts[i] = rewritten(program.stmts[i], new)
    return program


@edit(2)
def another_draw(program, metas, rng):
    draws = [i for i, s in enumerate(program.stmts) if s.draws]
    if not draws:
        return None
    program = program.copy()
    i = rng.choice(draws)
    s = program.stmts[i]
    if rng.random() < 0.5:
        # The first draw is thrown away.
        program.stmts.insert(i, replace(s, outs=(program.fresh("t"),)))
    else:
        users = [j for j in range(i + 1, len(program.stmts)) if s.outs[0] in program.stmts[j].args]
        out = program.fresh("t")
        if users:
            j = rng.choice(users)
            program.stmts[j] = program.stmts[j].arg(program.stmts[j].args.index(s.outs[0]), out)
        else:
            program.outputs = substituted(program.outputs, s.outs[0], out)
        program.stmts.insert(i + 1, replace(s, outs=(out,)))
    return program


@edit(3)
def outputs(program, metas, rng):
    program = program.copy()
    tree = program.outputs
    kind = rng.randrange(4)
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    if kind < 2 and len(keys) > 1:
        a, b = rng.sample(keys, 2)
        entries = dict(tree) if isinstance(tree, dict) else dict(enumerate(tree))
        entries[a], entries[b] = entries[b], entries[a]
        program.outputs = entries if isinstance(tree, dict) else tuple(entries[k] for k in keys)
    elif kind == 2 and isinstance(tree, dict):
        program.outputs = {("z" if k == keys[0] else k): v for k, v in tree.items()}
    elif kind == 2:
        program.outputs = dict(zip("abcdefgh", tree)) if rng.random() < 0.5 else (*tree, rng.choice((1, None, 2.5)))
    else:
        constants = [k for k in keys if not isinstance(tree[k], (Ref, dict, tuple))]
        if not constants:
            return None
        k = rng.choice(constants)
        changed = rng.choice((2, 2.0, True, None, "other", 0.0))
        program.outputs = {**tree, k: changed} if isinstance(tree, dict) else tuple(changed if i == k else v for i, v in enumerate(tree))
    return program


@edit(2)
def contents(program, metas, rng):
    """A buffer or parameter holds something else."""
    states = [i for i, s in enumerate(program.states) if s.data]
    if not states:
        return None
    program = program.copy()
    i = rng.choice(states)
    s = program.states[i]
    k = rng.randrange(len(s.data))
    old = s.data[k]
    new = (not old) if s.dtype == torch.bool else (old + 1.0 if s.dtype.is_floating_point else old ^ 1)
    program.states[i] = replace(s, data=(*s.data[:k], new, *s.data[k + 1 :]))
    return program
