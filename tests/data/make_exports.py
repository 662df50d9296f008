"""Writes the exports beside this file: one program that calls many ATen operators, as exported and decomposed,
with the values that PyTorch computes.

Needs torch 2.11. The files are checked in; run this only to add operators.
"""

import json
import math
import pathlib
import zipfile

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent


class Operators(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8, 6))
        self.bias = torch.nn.Parameter(torch.ones(8))
        self.register_buffer("running", torch.zeros(6))
        self.norm = torch.nn.BatchNorm2d(4)
        self.conv = torch.nn.Conv2d(4, 8, 3, padding=1, stride=2, groups=2)
        self.line = torch.nn.Conv1d(4, 8, 3, padding="valid")
        self.group = torch.nn.GroupNorm(2, 4)
        self.layer = torch.nn.LayerNorm(6)

    def forward(self, x, h, i, m, z, im, q):
        """x: f32[4, 6], h: bf16[4, 6], i: i64[4, 6], m: bool[4, 6], z: f32[], im: f32[2, 4, 4, 4], q: f32[2, 4, 3, 4]"""
        w = self.weight
        table = torch.tensor([1.0, 2.5, -3.0, 0.5, 4.0, 0.25])
        results = []
        out = results.append
        # promotion
        out(x + 2), out(i + 2.5), out(i + 2), out(h + 0.1), out(h + x), out(h * z), out(i / 2), out(i / i), out(x - i)
        out(torch.add(x, x, alpha=2)), out(torch.sub(i, i, alpha=3)), out(torch.add(h, x, alpha=0.5)), out(1 - x), out(torch.rsub(i, 3))
        out(m + i), out(m * m), out(m | m), out(m & m), out(m ^ m), out(~m), out(i & 3), out(m + True), out(x * m), out(m.to(torch.uint8) + i.to(torch.int8))
        out(x > 0), out(i >= 1.5), out(h == x), out(i != i), out(m < 1), out(x <= z)
        out(torch.maximum(x, h)), out(torch.minimum(i, i)), out(torch.max(x, x)), out(i**2), out(i**0.5), out(x**-1.5), out(h.pow(3))
        out(torch.where(m, x, 0.0)), out(torch.where(m, 1, h)), out(torch.where(m, i, x)), out(torch.where(m, 1.0, 2.0)), out(torch.where(m, z, h))
        out(torch.logical_and(m, i)), out(torch.logical_or(x, i)), out(torch.logical_not(i)), out(torch.logical_xor(m, m))
        out(torch.exp(i)), out(torch.sqrt(h)), out(torch.rsqrt(x)), out(torch.sigmoid(i)), out(torch.log1p(x)), out(torch.expm1(x)), out(torch.erf(x))
        out(torch.neg(i)), out(torch.abs(x)), out(torch.floor(x)), out(torch.reciprocal(i)), out(torch.square(x)), out(torch.sin(m)), out(torch.cos(x))
        out(F.gelu(x)), out(F.gelu(h, approximate="tanh")), out(F.silu(x)), out(F.relu(i)), out(F.relu6(x)), out(F.hardtanh(x, -2.0, 2.0)), out(torch.tanh(x))
        out(torch.clamp(x, 0, 1)), out(torch.clamp(i, min=0.5)), out(torch.clamp(x, max=3)), out(x.clamp_min(0)), out(i.clamp_max(2))
        out(x.to(torch.float16)), out(i.float()), out(x.type_as(h)), out(x.to(i)), out(x.bool()), out(h.to(torch.float32, copy=True)), out(x.double())
        out(F.dropout(x, 0.5, training=False))
        # views
        out(x.view(-1)), out(x.reshape(3, -1)), out(x.t()), out(x.T), out(x.mT), out(q.permute(0, 2, 1, 3)), out(q.transpose(1, 2).reshape(2, 3, 16)), out(q.swapaxes(-1, -2))
        out(z.expand(3, 4)), out(x[None].expand(3, -1, -1)), out(x[:1].expand_as(x)), out(x.broadcast_to(2, 4, 6)), out(x[1]), out(x[:, -1]), out(x[1:100:2]), out(x[-3:-1, 2:])
        out(x.narrow(1, 1, 3)), out(x.unsqueeze(-1)), out(x.unsqueeze(0).squeeze(0)), out(x[None, :, None].squeeze()), out(x.squeeze()), out(x[None, :, :, None].squeeze((0, 3)))
        out(torch.split(x, 4, dim=1)[1]), out(torch.split(x, [1, 2, 3], dim=-1)[2]), out(x.chunk(4, dim=1)[2]), out(x.unbind(1)[3]), out(torch.cat([x, x], -1)), out(torch.cat([h, x]))
        out(torch.stack([x, x], -1)), out(torch.stack([h, x])), out(x.repeat(2, 3)), out(x.repeat(2, 1, 1)), out(q.flatten(1, 2)), out(x.unflatten(1, (2, 3))), out(x.detach()), out(x.contiguous())
        out(q.transpose(1, 2).contiguous()), out(x.clone()), out(q.transpose(1, 2).clone()), out(q.transpose(1, 2).clone(memory_format=torch.contiguous_format)), out(im.view_as(im)), out(z.view(1))
        out(torch.hstack([x, x])), out(x.ravel()), out(torch.movedim(q, 1, 2))
        # matrix products
        out(F.linear(x, w)), out(F.linear(x, w, self.bias)), out(x @ w.T), out(torch.mm(x, w.t())), out(torch.bmm(q[0], q[0].mT)), out(q @ q.mT), out(q @ q[0, 0, 0]), out(x[0] @ x[1]), out(torch.mv(x, x[0]))
        out(torch.addmm(self.bias, x, w.t())), out(torch.addmm(self.bias, x, w.t(), beta=0.5, alpha=2)), out(torch.baddbmm(q[0], q[0], q[0, :, :, :].new_ones(4, 4, 4))), out(torch.einsum("bhqd,bhkd->bhqk", q, q))
        # norms, attention
        out(self.layer(x)), out(F.layer_norm(x, (6,))), out(F.rms_norm(x, (6,), self.weight[0], 1e-6)), out(F.rms_norm(x, (6,))), out(self.group(im)), out(self.norm(im))
        out(torch.softmax(x, -1)), out(F.softmax(h, 1, dtype=torch.float32)), out(F.log_softmax(x, 0)), out(F.softmax(x, -1, dtype=torch.float32))
        out(F.scaled_dot_product_attention(q, q, q)), out(F.scaled_dot_product_attention(q, q, q, is_causal=True)), out(F.scaled_dot_product_attention(q, q, q, scale=0.5))
        out(F.scaled_dot_product_attention(q, q[:, :2], q[:, :2], enable_gqa=True)), out(F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(3, 3, dtype=torch.bool).tril()))
        # reductions
        out(x.sum()), out(x.sum(-1)), out(i.sum((0, 1), keepdim=True)), out(m.sum(0)), out(i.sum(0, dtype=torch.int32)), out(h.sum(1, dtype=torch.float32)), out(x.mean()), out(x.mean(1, keepdim=True)), out(i.mean(0, dtype=torch.float32))
        out(x.amax(-1)), out(x.amin((0, 1))), out(x.max()), out(x.max(1).values), out(x.min(1)[0]), out(x.prod()), out(x.prod(1)), out(x.any()), out(m.all(1)), out(m.any(1, keepdim=True)), out(x.argmax()), out(x.argmax(1)), out(x.argmin(0, keepdim=True))
        out(x.cumsum(1)), out(m.cumsum(1)), out(i.to(torch.int32).cumsum(0)), out(x.cumprod(0)), out(x.var(1)), out(x.var(1, unbiased=False, keepdim=True)), out(x.var()), out(torch.logsumexp(x, 1)), out(x.std(1))
        out(F.cross_entropy(x, i[:, 0])), out(F.cross_entropy(x, i[:, 0], reduction="sum")), out(F.cross_entropy(x, i[:, 0], label_smoothing=0.1)), out(x.max(1).indices)
        # indexing
        out(F.embedding(i, w)), out(torch.gather(x, 1, i)), out(torch.index_select(x, 1, i[0, :2])), out(x[i[0, :3]]), out(x[:, i[0]]), out(q[i[0, :2] % 2, :, i[0, :2]]), out(q[:, i[0, :1], i[0] % 3])
        out(x.topk(2).values), out(x.topk(2, 0, largest=False).indices), out(x.sort(1).values), out(x.sort(dim=0, descending=True, stable=True)[1]), out(x.argsort(1)), out(F.one_hot(i, 8)), out(x.tril()), out(x.triu(1))
        out(x.flip(0, 1)), out(x.roll(1, 0)), out(x.roll((1, 2), (0, 1))), out(torch.repeat_interleave(x, 2, dim=1)), out(F.pad(x, (1, 2))), out(F.pad(x, (1, 2, 0, 1), value=3.0)), out(torch.diff(x)), out(torch.diff(x, prepend=x[:, :1]))
        out(x.masked_fill(m, 0)), out(h.masked_fill(m, float("-inf"))), out(x.masked_fill(m, z)), out(x.masked_fill(m[:1], -1e9))
        # writing by position, counting
        p = i[:, :4] % 4
        out(torch.zeros(4, 6).scatter(1, p, x)), out(x.scatter(0, p, 2.0)), out(x.scatter_add(1, i, x)), out(x.index_add(0, i[:, 0], x)), out(torch.histc(x, 5, -1, 2))
        order = x[0].argsort()
        out(x.index_put((i[:3, 0], i[:3, 1]), z, accumulate=True)), out(x.index_put((order[:2],), x[:1])), out(torch.empty_like(order).index_put_((order,), torch.arange(6)))
        # rounded quotients, products by name, experts, weight norm
        out(i // 2), out(x // 0.7), out(torch.div(i, -3, rounding_mode="trunc")), out(torch.div(x, h, rounding_mode="floor")), out(i % 3), out(x % -0.7), out((-i) % 4)
        out(torch.einsum("bhqd,bhkd->bkhq", q, q)), out(torch.einsum("ij,kj->ki", x, x)), out(torch.einsum("i,j->ij", x[0], x[1])), out(torch.einsum("bhqd,hd->bqh", q, q[0, :, 0]))
        out(torch._grouped_mm(q.reshape(12, 8).bfloat16(), im.reshape(2, 8, 8).bfloat16(), torch.tensor([5, 12], dtype=torch.int32))), out(torch._weight_norm(q, q[:1, :1, :1], 3)), out(torch.var_mean(x, 1)[0] + torch.var_mean(x, 1)[1])
        out(i.cumsum(0, dtype=torch.int32)), out(x.std())
        # convolution, pooling
        out(self.conv(im)), out(self.line(q[:, :, 0, :])), out(F.max_pool2d(im, 2)), out(F.max_pool2d(im, 3, 2, 1, ceil_mode=True)), out(F.avg_pool2d(im, 2)), out(F.avg_pool2d(im, 3, padding=1, count_include_pad=False)), out(F.adaptive_avg_pool2d(im, 1))
        # creation
        out(torch.arange(5)), out(torch.arange(1, 7, 2)), out(torch.arange(0.0, 1.0, 0.25)), out(torch.arange(4, dtype=torch.float32)), out(torch.zeros(2, 3)), out(torch.ones_like(i)), out(torch.full((2,), 3)), out(torch.full((2,), float("-inf")))
        out(x.new_zeros(3)), out(torch.full_like(h, 2)), out(x.new_full((2, 2), 7)), out(torch.scalar_tensor(2.5)), out(table + x), out(torch.tensor([1, 2])[:, None] + i[0, :1])
        # in place, on fresh tensors
        a = x * 2
        a += 1
        a.mul_(x).relu_()
        b = torch.zeros(4, 6)
        b.copy_(h)
        c = x + 1
        c.masked_fill_(m, 0.0).div_(2)
        d = i + 0
        d.fill_(3)
        d.zero_()
        e = m & m
        e |= m
        out(a), out(b), out(c), out(d), out(e)
        return tuple(results)


def inputs():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    def whole(*shape):
        return torch.randint(0, 4, shape, generator=generator)

    x = normal(4, 6)
    mask = whole(4, 6) > 1
    return (x, normal(4, 6).bfloat16(), whole(4, 6), mask, normal(), normal(2, 4, 4, 4), normal(2, 4, 3, 4))


class Small(torch.nn.Module):
    """One statement each, for errors and special cases."""

    def __init__(self, run):
        super().__init__()
        self.run = run
        self.register_buffer("state", torch.zeros(4))

    def forward(self, x):
        return self.run(self, x)


def in_place_on_view(_, x):
    y = x * 2
    y[0].fill_(3)
    return y


def in_place_seen_through_view(_, x):
    y = x * 2
    z = y.view(-1)
    y.add_(1)
    return z


def in_place_on_input(_, x):
    return x.add_(1)


def in_place_on_buffer(self, x):
    self.state.add_(1)
    return x + self.state


def random(_, x):
    return torch.rand_like(x) + torch.rand_like(x), F.dropout(x, 0.5, training=True)


def no_grad(_, x):
    with torch.no_grad():
        y = x * 2
    return y + 1


def autocast(_, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
    return y


def complex_numbers(_, x):
    return torch.view_as_real(torch.complex(x, x))


def repack(path):
    """Deflates the members; torch stores them."""
    with zipfile.ZipFile(path) as source:
        members = [(i.filename, source.read(i)) for i in source.infolist() if "sample_inputs" not in i.filename]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for name, data in members:
            target.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def save(name, program):
    # Paths of this machine are of no interest.
    for node in program.graph.nodes:
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = node.meta["stack_trace"].replace(str(HERE) + "/", "").replace(
                str(pathlib.Path(torch.__file__).parent.parent), "site-packages"
            )
    path = HERE / f"{name}.pt2"
    torch.export.save(program, path)
    repack(path)
    print(name, len(program.graph.nodes), path.stat().st_size)


def numbers(tensor):
    """Elements as text that JSON knows; NaN and infinities as words."""
    def number(v):
        return v if math.isfinite(v) else str(v)

    return [number(float(f"{v:.7g}")) for v in tensor.detach().double().flatten().tolist()]


def record(name, model, names, inputs, **settings):
    """Writes the program of a model, its decomposition, and what it gives for these inputs and its parameters. `names` are the inputs'."""
    program = torch.export.export(model, inputs, **settings)
    given = dict(model.state_dict()) | dict(zip(names.split(), inputs))
    values = {
        "inputs": {name: numbers(tensor) for name, tensor in given.items()},
        "outputs": [numbers(tensor) for tensor in model(*inputs)],
    }
    (HERE / f"{name}.json").write_text(json.dumps(values, separators=(",", ":")))
    save(name, program)
    save(f"{name}-decomposed", program.run_decompositions())


def main():
    torch.manual_seed(0)
    model = Operators().eval()
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.copy_(torch.rand(tensor.shape) + 0.5)
    record("operators", model, "x h i m z im q", inputs())
    x = torch.ones(4, 4)
    for run in [
        in_place_on_view,
        in_place_seen_through_view,
        in_place_on_input,
        in_place_on_buffer,
        random,
        no_grad,
        autocast,
        complex_numbers,
    ]:
        save(run.__name__.replace("_", "-"), torch.export.export(Small(run), (x,)))
    batch = {"x": {0: torch.export.Dim("batch")}}
    save("dynamic", torch.export.export(Small(lambda _, x: x * 2), (x,), dynamic_shapes=batch))


if __name__ == "__main__":
    main()
