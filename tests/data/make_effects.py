"""Writes the pairs under `effects`: two programs each, which draw, write, run in a mode or hold constants. `NAME.b-same.pt2`
computes what `NAME.a.pt2` does, `NAME.b-other.pt2` does not. Names that end in `decomposed` went through `run_decompositions()`.

Needs torch 2.11. The files are checked in; run this only to add pairs: `make_effects.py [NAME…]`.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from make_exports import repack
from torch import nn

HERE = pathlib.Path(__file__).parent / "effects"
X = torch.arange(16.0).reshape(4, 4) / 7


class Program(nn.Module):
    def __init__(self, run, setup):
        super().__init__()
        self.run = run
        setup(self)

    def forward(self, *inputs):
        return self.run(self, *inputs)


def nothing(_):
    pass


def buffers(self):
    self.register_buffer("b", torch.zeros(4, 4))
    self.register_buffer("c", torch.zeros(4, 4))


def recurrent(kind, dropout):
    def setup(self):
        self.rnn = kind(4, 4, 2, dropout=dropout)

    return setup


def batch_norm(momentum):
    def setup(self):
        self.norm = nn.BatchNorm1d(4, momentum=momentum)

    return setup


def constant(value):
    def setup(self):
        self.k = value

    return setup


def passing(value):
    def setup(self):
        self.register_buffer("k", value, persistent=False)

    return setup


def twice(draw):
    """Two draws are never equal; one is equal to itself."""
    return lambda _, x: draw(x) - draw(x), lambda _, x: (lambda y: y - y)(draw(x))


def changed(change, result=lambda y, z: y):
    """A fresh tensor that is changed in place."""

    def run(_, x):
        y = x * 2
        z = change(y)
        return result(y, z)

    return run


def seen(view):
    """A view of a tensor that is changed after the view was taken."""

    def run(_, x):
        y = x * 2
        z = view(y)
        y.add_(1)
        return z

    return run


def while_loop(step):
    from torch._higher_order_ops.while_loop import while_loop as loop

    return lambda x: loop(lambda i, y: i < 3, lambda i, y: (i + 1, step(y)), (torch.tensor(0), x))[1]


def scan(step):
    from torch._higher_order_ops.scan import scan as hop

    return lambda x: hop(lambda c, v: (c + v, step(c + v)), x[0].clone(), x)[1]


def running_sums(step):
    """What `scan` computes, step by step."""

    def run(_, x):
        total, rows = x[0].clone(), []
        for row in x:
            rows.append(step(total, row))
            total = total + row
        return torch.stack(rows)

    return run


def mapped(run):
    from torch._higher_order_ops.map import map as hop

    return lambda _, x: hop(run, x)


def kept_by_hand(correction):
    """What a batch norm of momentum 0.1 keeps."""

    def run(self, x):
        norm = self.norm
        with torch.no_grad():
            norm.num_batches_tracked.add_(1)
            norm.running_mean.copy_(0.9 * norm.running_mean + 0.1 * x.mean(0))
            norm.running_var.copy_(0.9 * norm.running_var + 0.1 * x.var(0, correction=correction))
        return F.batch_norm(x, None, None, norm.weight, norm.bias, training=True)

    return run


def checkpoint(run):
    from torch.utils.checkpoint import checkpoint as hop

    return lambda x: hop(run, x, use_reentrant=False)


def branches(yes, no):
    return lambda x: torch.cond(x.sum() > 0, yes, no, (x,))


def cast(run, dtype=torch.bfloat16, enabled=True, device="cpu"):
    def inside(_, x):
        with torch.autocast(device, dtype=dtype, enabled=enabled):
            return run(x)

    return inside


def nested_modes(_, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            z = x @ x
        return z + y.float()


def without_gradients(run):
    def inside(_, x):
        with torch.no_grad():
            y = run(x)
        return y + 1

    return inside


def written_without_gradients(_, x):
    with torch.no_grad():
        x.add_(1)
    return x * 1


def then(write, result=lambda _, x: x * 2):
    def run(self, x):
        write(self, x)
        return result(self, x)

    return run


LARGE = torch.arange(70000.0)
ROWS = torch.arange(32.0).reshape(8, 4)
BOTH, TRAINING, DECOMPOSED = (False, True), (False,), (True,)


def dropped(x):
    return F.dropout(x, 0.5, True)


def written_dropout(drop):
    """Dropout that is switched off gives back its input: what is written to the one is written to the other."""

    def run(_, x):
        y = x + 1
        drop(y).mul_(3)
        return y

    return run


def checked(_, x):
    largest = x.to(torch.int64).max().item()
    torch._check(largest <= 100)
    return x + 1


def at_mask(x, mask, value):
    y = x.clone()
    y[mask] = value
    return y


def pairs():
    """Name, A, B, whether they are the same, how they are exported, what else the modules hold."""
    off = written_dropout(lambda y: F.dropout(y, 0.5, False))
    yield "write-to-dropout", off, lambda s, x: (x + 1) * 3, "same", [False], nothing
    nothing_dropped = written_dropout(lambda y: F.dropout(y, 0.0, True))
    yield "write-to-dropout-of-nothing", nothing_dropped, lambda s, x: (x + 1) * 3, "same", [False], nothing
    yield "write-to-dropout-of-copy", off, lambda s, x: x + 1, "other", [False], nothing
    yield "number-for-check", checked, lambda s, x: x + 1, "same", [False, True], nothing
    # One number where a mask holds.
    masked = lambda _, x: (y := x.clone()).masked_fill_(x > 1, 0.5)
    yield "write-where-mask", (lambda _, x: at_mask(x, x > 1, 0.5)), masked, "same", [False, True], nothing
    rows = lambda _, x: torch.where((x[:, 0] > 1)[:, None], 0.5, x)
    yield "write-where-mask-of-rows", (lambda _, x: at_mask(x, x[:, 0] > 1, 0.5)), rows, "same", [False, True], nothing
    columns = lambda _, x: torch.where((x[:, 0] > 1)[None], 0.5, x)
    yield "write-where-mask-of-columns", (lambda _, x: at_mask(x, x[:, 0] > 1, 0.5)), columns, "other", [False, True], nothing
    # A single limit that is NaN is none, but for the functions of one limit.
    nan = float("nan")
    yield "limit-nan", (lambda _, x: x.clamp(min=nan) + 1), (lambda _, x: x + 1), "same", [False, True], nothing
    yield "limit-nan-of-one", (lambda _, x: x.clamp_min(nan) + 1), (lambda _, x: x + 1), "other", [False], nothing
    yield "limits-nan-in-turn", (lambda _, x: x.clamp(min=nan).clamp(max=1.0)), (lambda _, x: x.clamp(nan, 1.0)), "other", [False], nothing
    # Draws.
    for name, kind in [("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)]:
        run = (lambda s, x: s.rnn(x)[0] - s.rnn(x)[0], lambda s, x: (lambda y: y - y)(s.rnn(x)[0]))
        yield f"draw-{name}", *run, "other", TRAINING, recurrent(kind, 0.5)
        yield f"no-draw-{name}", *run, "same", TRAINING, recurrent(kind, 0.0)
    draws = {
        "dropout": dropped,
        "rrelu": lambda x: F.rrelu(x, training=True),
        "alpha-dropout": lambda x: F.alpha_dropout(x, 0.5, True),
        "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.3),
        "in-place": lambda x: torch.zeros(4, 4).exponential_(),
        "bernoulli": lambda x: torch.empty_like(x).bernoulli_(0.5),
        "multinomial": lambda x: torch.multinomial(x.sigmoid(), 2),
        "binomial": lambda x: torch.binomial(x.round(), x.sigmoid()),
        "gamma": lambda x: torch._standard_gamma(x + 1),
        "memory-as-found": lambda x: torch.empty(4, 4),
        "cond": branches(dropped, lambda x: x + 1),
        "cond-in-cond": branches(branches(torch.rand_like, lambda x: x + 2), lambda x: x + 1),
        "while-loop": while_loop(lambda y: y + torch.rand_like(y)),
        "scan": scan(lambda v: v + torch.rand_like(v)),
        "checkpoint": checkpoint(dropped),
        "autocast": lambda x: cast(lambda x: dropped(x @ x))(None, x),
    }
    for name, draw in draws.items():
        yield f"draw-{name}", *twice(draw), "other", TRAINING if name != "cond" else BOTH, nothing
    yield "no-draw-while-loop", *twice(while_loop(lambda y: y + 1)), "same", TRAINING, nothing
    yield "no-draw-dropout", lambda _, x: F.dropout(x, 0.0, True) + x, lambda _, x: x + F.dropout(x, 0.5, False), "same", BOTH, nothing
    # Nested graphs.
    plus = [lambda x, n=n: x + n for n in range(4)]
    yield "cond-branches", lambda _, x: branches(plus[1], plus[2])(x), lambda _, x: branches(plus[2], plus[1])(x), "other", TRAINING, nothing
    yield "cond-constants", lambda _, x: branches(plus[1], plus[2])(x), lambda _, x: branches(plus[1], plus[3])(x), "other", TRAINING, nothing
    yield "cond-names", lambda _, x: branches(plus[1], plus[2])(x), lambda _, value: branches(lambda other: other + 1, lambda third: third + 2)(value), "same", BOTH, nothing
    half = [lambda x, d=d: x.to(d).float() for d in (torch.float16, torch.bfloat16)]
    yield "cond-types", lambda _, x: branches(half[0], plus[1])(x), lambda _, x: branches(half[1], plus[1])(x), "other", TRAINING, nothing
    # Loops of a fixed number of steps.
    looped = lambda _, x: scan(torch.tanh)(x)
    yield "scan-step-by-step", looped, running_sums(lambda total, row: torch.tanh(total + row)), "same", BOTH, nothing
    yield "scan-a-step-behind", looped, running_sums(lambda total, row: torch.tanh(total)), "other", BOTH, nothing
    yield "map-at-once", mapped(lambda row: row.softmax(-1)), lambda _, x: x.softmax(-1), "same", BOTH, nothing
    yield "map-along-another-dim", mapped(lambda row: row.softmax(-1)), lambda _, x: x.softmax(0), "other", BOTH, nothing
    # Writes.
    yield "batch-norm-by-hand", lambda s, x: s.norm(x), kept_by_hand(1), "same", BOTH, batch_norm(0.1)
    yield "batch-norm-by-hand-of-whole", lambda s, x: s.norm(x), kept_by_hand(0), "other", BOTH, batch_norm(0.1)
    yield "batch-norm-momentum", lambda s, x: s.norm(x), lambda s, x: s.norm(x), "other", BOTH, batch_norm(0.1), batch_norm(0.5)
    yield "batch-norm-read-after", lambda s, x: (s.norm(x), s.norm.running_mean + 0), lambda s, x: (lambda m: (s.norm(x), m))(s.norm.running_mean + 0), "other", TRAINING, batch_norm(0.1)
    instance = [lambda s, x, m=m: F.instance_norm(x[None], s.b[0], s.c[0], momentum=m) for m in (0.1, 0.5)]
    yield "instance-norm-momentum", *instance, "other", TRAINING, buffers
    yield "buffer-written", then(lambda s, x: s.b.add_(1)), then(lambda s, x: s.c.add_(1)), "other", TRAINING, buffers
    yield "buffer-row-written", then(lambda s, x: s.b[0].copy_(x[0])), then(lambda s, x: s.b[1].copy_(x[0])), "other", BOTH, buffers
    yield "list-written", then(lambda s, x: torch._foreach_add_([s.b], 1.0)), then(lambda s, x: torch._foreach_add_([s.b], 2.0)), "other", TRAINING, buffers
    yield "input-written", then(lambda s, x: x.add_(1)), then(lambda s, x: x.add_(2), lambda s, x: (x - 1) * 2), "other", TRAINING, nothing
    yield "input-written-without-gradients", written_without_gradients, then(lambda s, x: x.add_(2), lambda s, x: x - 1), "other", TRAINING, nothing
    yield "view-written", changed(lambda y: y[0].fill_(3)), changed(lambda y: y[1].fill_(3)), "other", TRAINING, nothing
    yield "row-written", changed(lambda y: y[0].fill_(3)), lambda _, x: torch.cat([torch.full((1, 4), 3.0), (x * 2)[1:]]), "same", TRAINING, nothing
    yield "column-written", changed(lambda y: y[:, 1].mul_(2)), lambda _, x: torch.cat([(x * 2)[:, :1], (x * 2)[:, 1:2] * 2, (x * 2)[:, 2:]], 1), "same", TRAINING, nothing
    yield "part-written", changed(lambda y: y.split(2)[1].zero_()), lambda _, x: torch.cat([(x * 2)[:2], torch.zeros(2, 4)]), "same", BOTH, nothing
    yield "steps-written", changed(lambda y: y[::2].zero_()), changed(lambda y: y[1::2].zero_()), "other", TRAINING, nothing
    yield "transposed-written", changed(lambda y: y.t()[0].zero_()), changed(lambda y: y[0].zero_()), "other", TRAINING, nothing
    yield "written-twice", changed(lambda y: (y[0].add_(1), y[0].add_(1))), changed(lambda y: y[0].add_(2)), "same", TRAINING, nothing
    yield "view-sees-write", seen(lambda y: y.view(-1)), lambda _, x: (x * 2 + 1).view(-1), "same", TRAINING, nothing
    yield "view-is-not-stale", seen(lambda y: y.view(-1)), lambda _, x: (x * 2).view(-1), "other", TRAINING, nothing
    yield "reshape-that-is-a-view", seen(lambda y: y.reshape(-1)), lambda _, x: (x * 2 + 1).reshape(-1), "same", TRAINING, nothing
    yield "reshape-that-copies", seen(lambda y: y.t().reshape(-1)), lambda _, x: (x * 2).t().reshape(-1), "same", TRAINING, nothing
    yield "contiguous-that-is-a-view", seen(lambda y: y.contiguous()), lambda _, x: x * 2, "other", TRAINING, nothing
    yield "contiguous-that-copies", seen(lambda y: y.t().contiguous()), lambda _, x: (x * 2).t().contiguous(), "same", TRAINING, nothing
    yield "conversion-that-is-a-view", seen(lambda y: y.to(torch.float32)), lambda _, x: x * 2, "other", TRAINING, nothing
    yield "conversion-that-copies", seen(lambda y: y.to(torch.float32, copy=True)), lambda _, x: x * 2, "same", TRAINING, nothing
    yield "type-that-is-a-view", seen(lambda y: y.type_as(y + 1)), lambda _, x: x * 2 + 1, "same", TRAINING, nothing
    yield "written-through-einsum", changed(lambda y: torch.einsum("ab->ba", y)[0].zero_()), changed(lambda y: y[:, 0].zero_()), "same", TRAINING, nothing
    yield "einsum-that-copies", changed(lambda y: torch.einsum("ab->a", y).zero_()), lambda _, x: x * 2, "same", TRAINING, nothing
    yield "norm-with-a-shift-alone", lambda _, x: F.layer_norm(x, (4,), None, x[0]), lambda _, x: F.layer_norm(x, (4,)) + x[0], "same", BOTH, nothing
    yield "groups-with-a-shift-alone", lambda _, x: F.group_norm(x, 2, None, x[0]), lambda _, x: F.group_norm(x, 2), "other", TRAINING, nothing
    yield "expanded-view", seen(lambda y: y[:1].expand(4, 4)), lambda _, x: (x * 2)[:1].expand(4, 4), "other", TRAINING, nothing
    yield "transposed-in-place", changed(lambda y: y.t_(), lambda y, z: y * 1), lambda _, x: (x * 2).t() * 1, "same", TRAINING, nothing
    yield "written-by-out", changed(lambda y: torch.max(y, y + 1, out=y)), lambda _, x: x * 2, "other", TRAINING, nothing
    strided = torch.as_strided
    yield "strided-of-a-view", lambda _, x: strided(x.t(), (4, 4), (4, 1)), lambda _, x: strided(x.t().contiguous(), (4, 4), (4, 1)), "other", TRAINING, nothing
    yield "strided-from-an-offset", lambda _, x: strided(x[1:3], (2,), (1,), 0), lambda _, x: strided(x[1:3].clone(), (2,), (1,), 0), "other", TRAINING, nothing
    # Memory that is read by strides is not followed: a write to it, or below it, is refused.
    yield "strided-written", changed(lambda y: strided(y, (4,), (1,), 4).mul_(3)), None, "refused", TRAINING, nothing
    yield "written-below-strided", seen(lambda y: strided(y, (4,), (1,), 4)), None, "refused", TRAINING, nothing
    # What is stored depends on the order in which the kernel reads and writes. Where torch sees that, it refuses as well.
    yield "written-beside-what-is-read", changed(lambda y: y[:, :2].mul_(y[:, 2:])), lambda _, x: torch.cat([(x * 2)[:, :2] * (x * 2)[:, 2:], (x * 2)[:, 2:]], 1), "same", TRAINING, nothing
    yield "written-between-what-is-read", changed(lambda y: y[:, ::2].add_(y[:, 1::2])), lambda _, x: torch.stack([(x * 2)[:, ::2] + (x * 2)[:, 1::2], (x * 2)[:, 1::2]], 2).reshape(4, 4), "same", TRAINING, nothing
    yield "written-by-itself", changed(lambda y: y[:, :2].add_(y[:, :2])), changed(lambda y: y[:, :2].mul_(2)), "same", TRAINING, nothing
    yield "written-where-it-is-read-turned", changed(lambda y: y[:3, :3].copy_(y[:3, :3].t())), None, "refused", TRAINING, nothing
    yield "written-where-it-is-read-shifted", changed(lambda y: y[1:, 0:4:2].add_(y[:-1, 0:4:2])), None, "refused", TRAINING, nothing
    yield "optional-operands", lambda _, x: torch.clamp(x, min=x[0]), lambda _, x: torch.clamp(x, max=x[0]), "other", TRAINING, nothing
    # Modes.
    product = cast(lambda x: (x @ x).float())
    yield "autocast-type", product, cast(lambda x: (x @ x).float(), torch.float16), "other", TRAINING, nothing
    yield "autocast-off", product, cast(lambda x: (x @ x).float(), enabled=False), "other", TRAINING, nothing
    yield "autocast-written-out", product, lambda _, x: (x.bfloat16() @ x.bfloat16()).float(), "same", BOTH, nothing
    yield "autocast-of-another-device", cast(lambda x: x @ x, device="cuda"), lambda _, x: x @ x, "same", TRAINING, nothing
    yield "autocast-nested", nested_modes, lambda _, x: x @ x + (x.bfloat16() @ x.bfloat16()).float(), "same", TRAINING, nothing
    yield "autocast-inside", cast(lambda x: torch.einsum("ij,jk->ik", x, x).float()), lambda _, x: torch.einsum("ij,jk->ik", x, x), "other", TRAINING, nothing
    yield "autocast-widens", cast(lambda x: F.mse_loss(x @ x, x.bfloat16())), lambda _, x: F.mse_loss(x.bfloat16() @ x.bfloat16(), x.bfloat16()).float(), "other", TRAINING, nothing
    yield "no-gradients", without_gradients(lambda x: x * 3), lambda _, x: x * 3 + 1, "same", BOTH, nothing
    # What `out=` names holds the result afterwards, wherever it lies.
    yield "out-is-a-buffer", out_buffer(torch.add), out_buffer(lambda x, y, out: out.copy_(x + y)), "same", TRAINING, buffers
    yield "out-is-another-buffer", out_buffer(torch.add), out_buffer(torch.sub), "other", TRAINING, buffers
    yield "out-is-a-part", out_part(torch.mul), out_part(lambda x, y, out: out.copy_(x * y)), "same", TRAINING, nothing
    yield "out-is-another-part", out_part(torch.mul), lambda _, x: torch.cat([torch.zeros(2, 4), x[:2] * x[2:]]), "other", TRAINING, nothing
    yield "out-is-wider", lambda _, x: torch.add(x, 1e-9, out=torch.zeros(4, 4, dtype=torch.float64)), lambda _, x: (x.double() + 1e-9), "other", TRAINING, nothing
    # A buffer keeps its type and shape, whatever is copied into it.
    row = then(lambda s, x: s.b.copy_(x.double()[0]))
    yield "copied-from-a-row", row, then(lambda s, x: s.b.copy_(x[:1].expand(4, 4))), "same", BOTH, buffers
    # Constants: the same, however they lie in the file. Others are in `tests/library/binding.rs`.
    add = lambda s, x: x + s.k
    yield "constant-turned", add, add, "same", TRAINING, constant(ROWS[:4].t().contiguous()), constant(ROWS[:4].t())
    yield "constant-from-an-offset", add, add, "same", TRAINING, constant(ROWS[4:].clone()), constant(ROWS[4:])
    yield "constant-expanded", add, add, "same", TRAINING, constant(ROWS[:4, 1:2].expand(4, 4).contiguous()), constant(ROWS[:4, 1:2].expand(4, 4))
    # A constant that is written is state. It holds zeros, with which adding and overwriting are the same, but only once.
    zeros = constant(torch.zeros(4, 4))
    added = lambda s, x: s.k.add_(x) * 2
    yield "constant-written", added, lambda s, x: s.k.copy_(s.k + x) + s.k, "same", TRAINING, zeros
    yield "constant-overwritten", added, lambda s, x: s.k.copy_(x) * 2, "other", TRAINING, zeros


def out_buffer(write):
    def run(self, x):
        write(x, x + 1, out=self.b)
        return self.b * 2

    return run


def out_part(write):
    def run(_, x):
        z = torch.zeros(4, 4)
        write(x[:2], x[2:], out=z[:2])
        return z + 1

    return run


def strip(module):
    for graph in [m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]:
        for node in graph.graph.nodes:
            for key in ("stack_trace", "nn_module_stack", "torch_fn", "from_node", "source_fn_stack"):
                node.meta.pop(key, None)


def save(path, run, setup, decomposed):
    torch.manual_seed(0)
    module = Program(run, setup).train()
    for parameter in module.parameters():
        parameter.data.fill_(0.5)
    program = torch.export.export(module, (X.clone(),))
    if decomposed:
        program = program.run_decompositions()
    strip(program.graph_module)
    torch.export.save(program, path)
    repack(path)


def main():
    HERE.mkdir(exist_ok=True)
    for name, a, b, relation, modes, setup, *other in pairs():
        for decomposed in modes:
            full = name + "-decomposed" * decomposed
            if sys.argv[1:] and full not in sys.argv[1:]:
                continue
            if relation == "refused":
                save(HERE / f"{full}.refused.pt2", a, setup, decomposed)
                continue
            save(HERE / f"{full}.a.pt2", a, setup, decomposed)
            save(HERE / f"{full}.b-{relation}.pt2", b, (other or [setup])[0], decomposed)


if __name__ == "__main__":
    main()
