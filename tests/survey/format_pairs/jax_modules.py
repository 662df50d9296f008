"""Modules in Flax, with the same in PyTorch; `wrong` makes a single mistake."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .jax_programs import Weight, conv, dense, norm
from .torch_models import floats


def kernel(name):
    return {"kernel": Weight(f"{name}.weight", (1, 0))}


class Grouped(nn.Module):
    """A block of a language model: rotated queries, fewer heads of keys, a gated unit."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(24, eps=1e-6), nn.RMSNorm(24, eps=1e-6)
        self.q, self.k, self.v, self.o = nn.Linear(24, 24, bias=False), nn.Linear(24, 12, bias=False), nn.Linear(24, 12, bias=False), nn.Linear(24, 24, bias=False)
        self.gate, self.up, self.down = nn.Linear(24, 40, bias=False), nn.Linear(24, 40, bias=False), nn.Linear(40, 24, bias=False)

    def forward(self, x):
        angle = torch.outer(torch.arange(7).float(), 1.0 / 10000.0 ** (torch.arange(0, 6, 2).float() / 6))
        cos, sin = (torch.cat([t, t], -1) for t in (angle.cos(), angle.sin()))

        def turned(t):
            a, b = t.chunk(2, -1)
            return t * cos + torch.cat([-b, a], -1) * sin

        y = self.norm1(x)
        q, k, v = (f(y).view(2, 7, -1, 6).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = (t.repeat_interleave(2, 1) for t in (turned(k), v))
        y = F.scaled_dot_product_attention(turned(q), k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(2, 7, 24))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Biased(nn.Module):
    """A block of T5: no scale, a bias of buckets."""

    def __init__(self):
        super().__init__()
        self.norm, self.bias = nn.RMSNorm(12, eps=1e-6), nn.Embedding(8, 3)
        self.q, self.k, self.v, self.o = (nn.Linear(12, 12, bias=False) for _ in range(4))

    def forward(self, x):
        d = torch.arange(6)[None] - torch.arange(6)[:, None]
        place = torch.where(d > 0, 4, 0) + d.abs().clamp(max=3)
        y = self.norm(x)
        q, k, v = (f(y).view(2, 6, 3, 4).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = q @ k.mT + self.bias(place).permute(2, 0, 1).unsqueeze(0)
        return x + self.o((s.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Down(nn.Module):
    """One level of a U-Net: down, up and joined."""

    def __init__(self):
        super().__init__()
        self.down, self.middle, self.up = nn.Conv2d(4, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(12, 4, 3, padding=1)

    def forward(self, x):
        x = x.permute(0, 3, 1, 2)
        y = F.silu(self.middle(F.silu(self.down(x))))
        y = F.interpolate(y, scale_factor=2, mode="nearest")
        return self.up(torch.cat([y, x], 1)).permute(0, 2, 3, 1)


class Separable(nn.Module):
    """Channels apart, then joined, then weighed."""

    def __init__(self):
        super().__init__()
        self.apart, self.joined, self.small, self.large = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 12, 1), nn.Linear(12, 3), nn.Linear(3, 12)

    def forward(self, x):
        y = F.hardswish(self.joined(F.relu6(self.apart(x.permute(0, 3, 1, 2)))))
        scale = torch.sigmoid(self.large(F.relu(self.small(y.mean((2, 3))))))
        return (y * scale[:, :, None, None]).permute(0, 2, 3, 1)


class Patches(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.cls, self.place = nn.Conv2d(3, 12, 4, 4), nn.Parameter(torch.randn(1, 1, 12)), nn.Parameter(torch.randn(1, 7, 12))
        self.norm, self.head = nn.LayerNorm(12, eps=1e-6), nn.Linear(12, 5)

    def forward(self, x):
        y = self.patch(x.permute(0, 3, 1, 2)).flatten(2).mT
        y = torch.cat([self.cls.expand(2, -1, -1), y], 1) + self.place
        return self.head(self.norm(y)[:, 0])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(4, 5, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0]


class Pooled(nn.Module):
    """Tokens, a mean over those that count, two layers."""

    def __init__(self):
        super().__init__()
        self.table, self.one, self.norm, self.two = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 8), nn.LayerNorm(8, eps=1e-6), nn.Linear(8, 4)

    def forward(self, i):
        mask = (i != 0).unsqueeze(-1).float()
        y = (self.table(i) * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return F.normalize(self.two(self.norm(F.gelu(self.one(y)))), dim=-1, eps=0.0)


class Layered(nn.Module):
    """Blocks whose weights JAX stacks and scans over."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(8, eps=1e-6) for _ in range(3))
        self.ups, self.downs = nn.ModuleList(nn.Linear(8, 16) for _ in range(3)), nn.ModuleList(nn.Linear(16, 8) for _ in range(3))

    def forward(self, x):
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            x = x + down(F.gelu(up(norm(x)), approximate="tanh"))
        return x


class Cross(nn.Module):
    """Queries from one sequence, keys and values from another one that is padded."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True)

    def forward(self, x, y, mask):
        return self.attention(x, y, y, key_padding_mask=mask == 0, need_weights=False)[0]


def programs():
    import flax.linen as linen
    import jax
    import jax.numpy as jnp
    from flax import nnx

    class FlaxGrouped(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            plain = lambda size, name: linen.Dense(size, use_bias=False, name=name)
            angle = jnp.arange(7)[:, None] / 10000.0 ** (jnp.arange(0, 6, 2) / 6)
            cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]

            def turned(t):
                a, b = jnp.split(t, 2, -1)
                return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

            y = linen.RMSNorm(name="norm1")(x)
            q, k, v = (plain(6 * n, name)(y).reshape(2, 7, n, 6) for n, name in ((4, "q"), (2, "k"), (2, "v")))
            q = turned(q).reshape(2, 7, 2, 2, 6) if not self.wrong else turned(q).reshape(2, 7, 2, 2, 6).swapaxes(2, 3)
            s = jnp.einsum("bqkgd,bskd->bkgqs", q, turned(k)) / math.sqrt(6)
            p = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((7, 7), bool)), s, jnp.finfo(jnp.float32).min))
            x = x + plain(24, "o")(jnp.einsum("bkgqs,bskd->bqkgd", p, v).reshape(2, 7, 24))
            y = linen.RMSNorm(name="norm2")(x)
            return x + plain(24, "down")(linen.silu(plain(40, "gate")(y)) * plain(40, "up")(y))

    class FlaxBiased(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            plain = lambda name: linen.Dense(12, use_bias=False, name=name)
            y = linen.RMSNorm(name="norm")(x)
            q, k, v = (plain(name)(y).reshape(2, 6, 3, 4) for name in "qkv")
            d = jnp.arange(6)[None, :] - jnp.arange(6)[:, None]
            place = (d > 0).astype(jnp.int32) * 4 + jnp.minimum(jnp.abs(d), 3)
            bias = linen.Embed(8, 3, name="bias")(place).transpose(2, 0, 1)[None]
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k) + bias
            y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s if not self.wrong else s / 2.0), v)
            return x + plain("o")(y.reshape(2, 6, 12))

    class FlaxDown(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            y = linen.silu(linen.Conv(8, (3, 3), 2, ((1, 1), (1, 1)), name="down")(x))
            y = linen.silu(linen.Conv(8, (3, 3), name="middle")(y))
            y = jax.image.resize(y, (2, 8, 8, 8), "nearest" if not self.wrong else "linear")
            return linen.Conv(4, (3, 3), name="up")(jnp.concatenate([y, x], -1))

    class FlaxSeparable(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            y = linen.relu6(linen.Conv(8, (3, 3), feature_group_count=8, name="apart")(x))
            y = linen.hard_swish(linen.Conv(12, (1, 1), name="joined")(y))
            scale = linen.Dense(12, name="large")(linen.relu(linen.Dense(3, name="small")(jnp.mean(y, (1, 2)))))
            return y * (linen.sigmoid(scale) if not self.wrong else linen.hard_sigmoid(scale))[:, None, None]

    class FlaxPatches(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            y = linen.Conv(12, (4, 4), 4, "VALID", name="patch")(x).reshape(2, 6, 12)
            cls = self.param("cls", linen.initializers.zeros, (1, 1, 12))
            y = jnp.concatenate([jnp.tile(cls, (2, 1, 1)), y], 1) + self.param("place", linen.initializers.zeros, (1, 7, 12))
            y = linen.LayerNorm(name="norm")(y)
            return linen.Dense(5, name="head")(y[:, 0] if not self.wrong else y.mean(1))

    def apply(cls):
        return lambda params, *operands, wrong=False: cls(wrong).apply(params, *operands)

    def lstm(params, x, wrong=False):
        def step(state, x):
            h, c = state
            gates = x @ params["w"] + params["b"] + h @ params["u"] + params["c"]
            i, f, g, o = jnp.split(gates, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o if not wrong else f) * jnp.tanh(c)
            return (h, c), h
        start = jnp.zeros((3, 5))
        return jnp.moveaxis(jax.lax.scan(step, (start, start), jnp.moveaxis(x, 1, 0))[1], 0, 1)

    def pooled(params, i, wrong=False):
        class Net(nnx.Module):
            def __init__(self, rngs):
                self.table, self.one = nnx.Embed(20, 8, rngs=rngs), nnx.Linear(8, 8, rngs=rngs)
                self.norm, self.two = nnx.LayerNorm(8, rngs=rngs), nnx.Linear(8, 4, rngs=rngs)

            def __call__(self, i):
                mask = (i != 0)[..., None].astype(jnp.float32)
                y = jnp.sum(self.table(i) * mask, 1) / (jnp.maximum(mask.sum(1), 1e-9) if not wrong else 6.0)
                y = self.two(self.norm(nnx.gelu(self.one(y), approximate=False)))
                return y / jnp.linalg.norm(y, axis=-1, keepdims=True)

        net = Net(nnx.Rngs(0))
        for name, values in params.items():
            for key, value in values.items():
                setattr(getattr(net, name), key, nnx.Param(value))
        return net(i)

    def layered(params, x, wrong=False):
        stacked = jax.tree.map(lambda *layers: jnp.stack(layers), *params)

        def block(x, p):
            m = x.mean(-1, keepdims=True)
            y = (x - m) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6) * p["norm"]["scale"] + p["norm"]["bias"]
            y = jax.nn.gelu(y @ p["up"]["kernel"] + p["up"]["bias"], approximate=not wrong)
            return x + (y @ p["down"]["kernel"] + p["down"]["bias"]) * (1 if not wrong else 0.5), None
        return jax.lax.scan(jax.checkpoint(block), x, stacked)[0]

    def cross(params, x, y, mask, wrong=False):
        heads = lambda t: t.reshape(2, -1, 3, 4)
        w, b = jnp.split(params["w"], 3, 1), jnp.split(params["b"], 3)
        q, k, v = (heads(t @ w + b) for t, w, b in zip((x, y, y), w, b))
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(4)
        s = jnp.where(mask[:, None, None] > 0, s, -jnp.inf if not wrong else 0.0)
        y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v).reshape(2, -1, 12)
        return y @ params["out"]["kernel"] + params["out"]["bias"]

    parameters = lambda **p: {"params": p}
    scale = lambda name: {"scale": Weight(f"{name}.weight")}
    names = lambda *names: {n: conv(n) for n in names}
    return {
        "flax-grouped-block": (Grouped, apply(FlaxGrouped), lambda: (floats(2, 7, 24),), parameters(norm1=scale("norm1"), norm2=scale("norm2"), **{n: kernel(n) for n in ("q", "k", "v", "o", "gate", "up", "down")})),
        "flax-relative-block": (Biased, apply(FlaxBiased), lambda: (floats(2, 6, 12),), parameters(norm=scale("norm"), bias={"embedding": Weight("bias.weight")}, **{n: kernel(n) for n in "qkvo"})),
        "flax-down-and-up": (Down, apply(FlaxDown), lambda: (floats(2, 8, 8, 4),), parameters(**names("down", "middle", "up"))),
        "flax-separable": (Separable, apply(FlaxSeparable), lambda: (floats(2, 6, 6, 8),), parameters(**names("apart", "joined"), small=dense("small"), large=dense("large"))),
        "flax-patches": (Patches, apply(FlaxPatches), lambda: (floats(2, 8, 12, 3),), parameters(patch=conv("patch"), cls=Weight("cls"), place=Weight("place"), norm=norm("norm"), head=dense("head"))),
        "lstm-of-module": (Recurrent, lstm, lambda: (floats(3, 6, 4),), {"w": Weight("cell.weight_ih_l0", (1, 0)), "u": Weight("cell.weight_hh_l0", (1, 0)), "b": Weight("cell.bias_ih_l0"), "c": Weight("cell.bias_hh_l0")}),
        "nnx-pooled": (Pooled, pooled, lambda: (torch.tensor([[1, 4, 5, 0, 0, 0], [2, 3, 4, 6, 7, 0]]),), {"table": {"embedding": Weight("table.weight")}, "one": dense("one"), "norm": norm("norm"), "two": dense("two")}),
        "scan-over-blocks": (Layered, layered, lambda: (floats(3, 8),), [{"norm": norm(f"norms.{i}"), "up": dense(f"ups.{i}"), "down": dense(f"downs.{i}")} for i in range(3)]),
        "cross-attention": (Cross, cross, lambda: (floats(2, 5, 12), floats(2, 6, 12), torch.tensor([[1.0] * 6, [1.0] * 4 + [0.0] * 2])), {"w": Weight("attention.in_proj_weight", (1, 0)), "b": Weight("attention.in_proj_bias"), "out": dense("attention.out_proj")}),
    }
