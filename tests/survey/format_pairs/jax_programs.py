"""Programs in JAX and Flax with the same program in PyTorch. Each JAX function takes `wrong`, which makes a single mistake.

A program is: PyTorch's form, JAX's form, the operands, and for modules what makes the parameters of JAX of those of PyTorch."""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F

from .torch_models import floats, ids


@dataclasses.dataclass
class Weight:
    """A parameter or buffer of the PyTorch module by its name, with its dimensions in another order."""

    name: str
    dims: tuple = None


def dense(name):
    return {"kernel": Weight(f"{name}.weight", (1, 0)), "bias": Weight(f"{name}.bias")}


def conv(name, rank=2):
    return {"kernel": Weight(f"{name}.weight", (*range(2, rank + 2), 1, 0)), "bias": Weight(f"{name}.bias")}


def norm(name):
    return {"scale": Weight(f"{name}.weight"), "bias": Weight(f"{name}.bias")}


def losses():
    import jax
    import jax.numpy as jnp

    def cross_entropy(x, y, wrong=False):
        hot = jax.nn.one_hot(y, x.shape[-1])
        return -(hot * jax.nn.log_softmax(x, axis=0 if wrong else -1)).sum(-1).mean()

    def picked(x, y, wrong=False):
        logp = jax.nn.log_softmax(x)
        return -jnp.take_along_axis(logp, (y if not wrong else y - 1)[:, None], axis=1).mean()

    def smoothed(x, y, wrong=False):
        rate = 0.2 if wrong else 0.1
        target = jax.nn.one_hot(y, 7) * (1 - rate) + rate / 7
        return (jax.scipy.special.logsumexp(x, axis=-1) - (target * x).sum(-1)).mean()

    def mse_gradient(w, x, y, wrong=False):
        loss = lambda w: (jnp.tanh(x @ w) - y) ** 2
        return jax.grad(lambda w: loss(w).sum() if wrong else loss(w).mean())(w)

    def mse_gradient_torch(w, x, y):
        t = torch.tanh(x @ w)
        return x.T @ (2 * (t - y) / y.numel() * (1 - t * t))

    def entropy_gradient(x, y, wrong=False):
        return jax.grad(lambda x: -jnp.take_along_axis(jax.nn.log_softmax(x, axis=1), y[:, None], axis=1).sum() * (2 if wrong else 1))(x)

    def norm_gradient(x, g, wrong=False):
        def layer_norm(x):
            m = x.mean(-1, keepdims=True)
            return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + (1e-2 if wrong else 1e-5))
        return jax.vjp(layer_norm, x)[1](g)[0]

    def norm_gradient_torch(x, g):
        return torch.ops.aten.native_layer_norm_backward(g, x, [6], x.mean(-1, keepdim=True), (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt(), None, None, [True, False, False])[0]

    def contrastive(a, b, wrong=False):
        a, b = (t / jnp.linalg.norm(t, axis=-1, keepdims=True) for t in (a, b))
        s = a @ b.T * (10.0 if wrong else 20.0)
        d = jnp.arange(s.shape[0])
        return -(jax.nn.log_softmax(s, 1)[d, d].mean() + jax.nn.log_softmax(s, 0)[d, d].mean()) / 2

    def contrastive_torch(a, b):
        s = F.normalize(a, dim=-1, eps=0) @ F.normalize(b, dim=-1, eps=0).T * 20.0
        y = torch.arange(5)
        return (F.cross_entropy(s, y) + F.cross_entropy(s.T, y)) / 2

    def huber(x, y, wrong=False):
        d = jnp.abs(x - y)
        return jnp.where(d < 1.0, 0.5 * d * d, d - (0.4 if wrong else 0.5)).mean()

    def binary(x, y, wrong=False):
        return (jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-jnp.abs(x) * (2 if wrong else 1)))).mean()

    def divergence(x, y, wrong=False):
        p, q = jax.nn.log_softmax(x), jax.nn.log_softmax(y)
        return (jnp.exp(q) * (q - p)).sum(-1).mean() if not wrong else (jnp.exp(p) * (q - p)).sum(-1).mean()

    logits = lambda: (floats(6, 7), ids(7, 6))
    return {
        "cross-entropy-one-hot": (lambda x, y: F.cross_entropy(x, y), cross_entropy, logits),
        "cross-entropy-picked": (lambda x, y: F.cross_entropy(x, y), picked, lambda: (floats(6, 7), ids(6, 6) + 1)),
        "label-smoothing": (lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), smoothed, logits),
        "mse-gradient": (mse_gradient_torch, mse_gradient, lambda: (floats(5, 3), floats(4, 5), floats(4, 3))),
        "cross-entropy-gradient": (lambda x, y: x.softmax(1) - F.one_hot(y, 7), entropy_gradient, logits),
        "layer-norm-gradient": (norm_gradient_torch, norm_gradient, lambda: (floats(4, 6), floats(4, 6))),
        "contrastive": (contrastive_torch, contrastive, lambda: (floats(5, 8), floats(5, 8))),
        "huber": (lambda x, y: F.smooth_l1_loss(x, y), huber, lambda: (floats(4, 6), floats(4, 6))),
        "binary-cross-entropy": (lambda x, y: F.binary_cross_entropy_with_logits(x, y), binary, lambda: (floats(4, 6), torch.rand(4, 6))),
        "divergence": (lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="none").sum(-1).mean(), divergence, lambda: (floats(4, 6), floats(4, 6))),
    }


def arrays():
    import jax
    import jax.numpy as jnp

    def attention(q, k, v, wrong=False):
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(8)
        mask = jnp.tril(jnp.ones((6, 6), bool), 1 if wrong else 0)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, s, -1e30)), v)

    def attention_torch(q, k, v):
        return F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True).transpose(1, 2)

    def grouped(q, k, v, wrong=False):
        return jax.nn.dot_product_attention(q, k, v, scale=0.5 if wrong else None)

    def grouped_torch(q, k, v):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1)).transpose(1, 2)

    def window(q, k, v, wrong=False):
        return jax.nn.dot_product_attention(q, k, v, is_causal=not wrong, local_window_size=(2, 0) if not wrong else (2, 1))

    def window_torch(q, k, v):
        d = torch.arange(6)[:, None] - torch.arange(6)
        return F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), attn_mask=(d >= 0) & (d <= 2)).transpose(1, 2)

    def linear_attention(q, k, v, wrong=False):
        q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + (0 if wrong else 1)
        return jnp.einsum("bnd,bde->bne", q, jnp.einsum("bnd,bne->bde", k, v)) / jnp.einsum("bnd,bd->bn", q, k.sum(1))[..., None]

    def linear_attention_torch(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        return q @ (k.mT @ v) / (q @ k.sum(1).unsqueeze(-1))

    def rope(x, wrong=False):
        n, d = x.shape[-2:]
        angle = jnp.arange(n)[:, None] * (1000.0 if wrong else 10000.0) ** (-jnp.arange(0, d, 2) / d)
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), b * jnp.cos(angle) + a * jnp.sin(angle)], -1)

    def rope_torch(x):
        n, d = x.shape[-2:]
        angle = torch.outer(torch.arange(n).float(), 1.0 / 10000.0 ** (torch.arange(0, d, 2).float() / d)).repeat(1, 2)
        a, b = x.chunk(2, -1)
        return x * angle.cos() + torch.cat((-b, a), -1) * angle.sin()

    def scan(x, w, u, wrong=False):
        def step(h, x):
            h = jnp.tanh(x @ w + h @ u)
            return h, h if not wrong else x @ w
        return jax.lax.scan(step, jnp.zeros((3, 5)), x.swapaxes(0, 1))[1].swapaxes(0, 1)

    def scan_torch(x, w, u):
        h, all = torch.zeros(3, 5), []
        for t in range(x.shape[1]):
            h = torch.tanh(x[:, t] @ w + h @ u)
            all.append(h)
        return torch.stack(all, 1)

    def lstm(x, w, u, b, wrong=False):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ w + h @ u + b, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * (c if wrong else jnp.tanh(c))
            return (h, c), h
        return jax.lax.scan(step, (jnp.zeros((3, 5)), jnp.zeros((3, 5))), x)[1]

    def lstm_torch(x, w, u, b):
        return torch.lstm(x, (torch.zeros(1, 3, 5), torch.zeros(1, 3, 5)), (w.T, u.T, b, torch.zeros(20)), True, 1, 0.0, False, False, False)[0]

    def moving_average(x, wrong=False):
        def step(m, x):
            m = 0.9 * m + (0.2 if wrong else 0.1) * x
            return m, m
        return jax.lax.scan(step, jnp.zeros(x.shape[1:]), x)[1]

    def moving_average_torch(x):
        m, all = torch.zeros(x.shape[1:]), []
        for row in x.unbind(0):
            m = torch.lerp(m, row, 0.1)
            all.append(m)
        return torch.stack(all)

    def experts(x, gate, up, down, wrong=False):
        p = jax.nn.softmax(x @ gate, -1)
        top, chosen = jax.lax.top_k(p, 1 if wrong else 2)
        combine = (jax.nn.one_hot(chosen, 4) * (top / top.sum(-1, keepdims=True))[..., None]).sum(1)
        h = jax.nn.silu(jnp.einsum("td,edf->tef", x, up))
        return jnp.einsum("tef,efd,te->td", h, down, combine)

    def experts_torch(x, gate, up, down):
        top, chosen = (x @ gate).softmax(-1).topk(2, -1)
        gates = torch.zeros(6, 4).scatter(1, chosen, top / top.sum(-1, keepdim=True))
        y = F.silu(x @ up) @ down
        return (gates.T.unsqueeze(-1) * y).sum(0)

    def average_pool(x, wrong=False):
        add = lambda t: jax.lax.reduce_window(t, 0.0, jax.lax.add, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
        return add(x) / (9.0 if wrong else add(jnp.ones_like(x)))

    def average_pool_torch(x):
        return F.avg_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1, count_include_pad=False).permute(0, 2, 3, 1)

    def max_pool(x, wrong=False):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 3, 1), (1, 2, 2, 1) if not wrong else (1, 2, 3, 1), "VALID")

    def resize(x, wrong=False):
        return jax.image.resize(x, (2, 8, 10, 3), "nearest" if wrong else "bilinear")

    def resize_torch(x):
        return F.interpolate(x.permute(0, 3, 1, 2), size=(8, 10), mode="bilinear").permute(0, 2, 3, 1)

    def group_norm(x, g, b, wrong=False):
        n, h, w, c = x.shape
        y = x.reshape(n, h, w, 3, c // 3) if not wrong else x.reshape(n, h, w, c // 3, 3)
        axes = (1, 2, 4) if not wrong else (1, 2, 3)
        y = (y - y.mean(axes, keepdims=True)) / jnp.sqrt(y.var(axes, keepdims=True) + 1e-5)
        return y.reshape(x.shape) * g + b

    def group_norm_torch(x, g, b):
        return F.group_norm(x.permute(0, 3, 1, 2), 3, g, b).permute(0, 2, 3, 1)

    def depthwise(x, w, wrong=False):
        return jax.lax.conv_general_dilated(x, w, (2, 2), "SAME" if wrong else ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=6)

    def dilated(x, w, wrong=False):
        return jax.lax.conv_general_dilated(x, w, (1,), ((4, 0),), rhs_dilation=(2,) if not wrong else (1,), dimension_numbers=("NWC", "WIO", "NWC"))[:, :10]

    def transposed(x, w, wrong=False):
        return jax.lax.conv_transpose(x, w, (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), transpose_kernel=not wrong)

    def volumes(x, w, wrong=False):
        return jax.lax.conv(x, w if not wrong else w[:, :, ::-1], (1, 1, 1), "VALID")

    def patches(x, w, wrong=False):
        n, h, v, c = x.shape
        y = x.reshape(n, h // 4, 4, v // 4, 4, c).transpose((0, 1, 3, 2, 4, 5) if not wrong else (0, 1, 3, 4, 2, 5)).reshape(n, -1, 16 * c)
        return y @ w

    def patches_torch(x, w):
        return F.conv2d(x.permute(0, 3, 1, 2), w.view(4, 4, 3, -1).permute(3, 2, 0, 1), stride=4).flatten(2).mT

    def clipped_lookup(t, i, wrong=False):
        return jnp.take(t, i, axis=0, mode="clip") * (math.sqrt(8) if not wrong else 8)

    def segments(x, i, wrong=False):
        s = jax.ops.segment_sum(x, i, 4)
        n = jax.ops.segment_sum(jnp.ones(x.shape[0]), i, 4)
        return s / jnp.maximum(n, 0.5 if wrong else 1.0)[:, None] if not wrong else s / (n + 1.0)[:, None]

    def segments_torch(x, i):
        hot = F.one_hot(i, 4).float()
        return hot.T @ x / hot.sum(0).clamp(min=1.0).unsqueeze(-1)

    def bilinear_form(x, w, y, wrong=False):
        return jnp.einsum("bi,oij,bj->bo", x, w, y) if not wrong else jnp.einsum("bi,oji,bj->bo", x, w, y)

    def relative(x, table, wrong=False):
        d = jnp.arange(5)[:, None] - jnp.arange(5)[None]
        return x + table[d + 4 if not wrong else 4 - d].transpose(2, 0, 1)

    def buckets(table, wrong=False):
        d = jnp.arange(9)[None] - jnp.arange(7)[:, None]
        n = jnp.abs(d)
        large = 4 + (jnp.log(jnp.maximum(n, 1) / 4) / math.log(8 if not wrong else 16) * 4).astype(jnp.int32)
        place = (d > 0) * 8 + jnp.where(n < 4, n, jnp.minimum(large, 7))
        return table[place].transpose(2, 0, 1)

    def buckets_torch(table):
        d = torch.arange(9)[None] - torch.arange(7)[:, None]
        n = d.abs()
        large = 4 + (torch.log(n.float() / 4) / math.log(8) * 4).long()
        place = (d > 0).long() * 8 + torch.where(n < 4, n, torch.min(large, torch.full_like(large, 7)))
        return F.embedding(place, table).permute(2, 0, 1)

    def cumulative(x, wrong=False):
        return jnp.cumsum(x, axis=1) / jnp.arange(1, x.shape[1] + 1)[None, :, None] if not wrong else jnp.cumsum(x, axis=2) / jnp.arange(1, x.shape[1] + 1)[None, :, None]

    def cumulative_torch(x):
        return x.cumsum(1) / torch.arange(1, 7).view(1, -1, 1)

    def standardised(x, wrong=False):
        return (x - jnp.mean(x, 0)) / (jnp.std(x, 0, ddof=1 if not wrong else 0) + 1e-6)

    def sorted_mean(x, wrong=False):
        return jnp.sort(x, -1)[:, -3:].mean(-1) if not wrong else jnp.sort(x, -1)[:, :3].mean(-1)

    def cache(c, k, i, wrong=False):
        return jax.lax.dynamic_update_slice(c, k, (0, 2 if not wrong else 3, 0)) * i

    def cache_torch(c, k, i):
        return torch.cat([c[:, :2], k, c[:, 3:]], 1) * i

    def fft(x, wrong=False):
        t = jnp.arange(8)
        turn = 2 * math.pi * jnp.outer(t, t) / 8
        re, im = x @ jnp.cos(turn), x @ jnp.sin(turn)
        return re**2 + im**2 if not wrong else re**2 - im**2

    qkv = lambda heads=2: (lambda: (floats(2, 6, heads, 8), floats(2, 6, 2, 8), floats(2, 6, 2, 8)))
    return {
        "attention-einsum": (attention_torch, attention, qkv()),
        "attention-grouped": (grouped_torch, grouped, qkv(6)),
        "attention-window": (window_torch, window, qkv()),
        "attention-linear": (linear_attention_torch, linear_attention, lambda: (floats(2, 6, 4), floats(2, 6, 4), floats(2, 6, 5))),
        "rope-counted": (rope_torch, rope, lambda: (floats(2, 3, 7, 8),)),
        "scan-rnn": (scan_torch, scan, lambda: (floats(3, 6, 4), floats(4, 5), floats(5, 5))),
        "scan-lstm": (lstm_torch, lstm, lambda: (floats(6, 3, 4), floats(4, 20), floats(5, 20), floats(20))),
        "scan-average": (moving_average_torch, moving_average, lambda: (floats(6, 3, 4),)),
        "experts-one-hot": (experts_torch, experts, lambda: (floats(6, 5), floats(5, 4), floats(4, 5, 7), floats(4, 7, 5))),
        "average-pool-counts": (average_pool_torch, average_pool, lambda: (floats(2, 9, 9, 3),)),
        "max-pool-valid": (lambda x: F.max_pool2d(x.permute(0, 3, 1, 2), (2, 3), (2, 2)).permute(0, 2, 3, 1), max_pool, lambda: (floats(2, 8, 9, 3),)),
        "resize-bilinear": (resize_torch, resize, lambda: (floats(2, 4, 5, 3),)),
        "nearest-by-repeat": (lambda x: F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2, mode="nearest").permute(0, 2, 3, 1), lambda x, wrong=False: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2) if not wrong else jnp.tile(x, (1, 2, 2, 1)), lambda: (floats(2, 4, 5, 3),)),
        "group-norm-last": (group_norm_torch, group_norm, lambda: (floats(2, 4, 5, 6), floats(6), floats(6))),
        "conv-depthwise": (lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), stride=2, padding=1, groups=6).permute(0, 2, 3, 1), depthwise, lambda: (floats(2, 8, 8, 6), floats(3, 3, 1, 6))),
        "conv-causal-dilated": (lambda x, w: F.conv1d(F.pad(x.mT, (4, 0)), w.permute(2, 1, 0), dilation=2).mT, dilated, lambda: (floats(2, 10, 4), floats(3, 4, 6))),
        "conv-transposed": (lambda x, w: F.conv_transpose2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), stride=2).permute(0, 2, 3, 1), transposed, lambda: (floats(2, 5, 4, 3), floats(3, 3, 3, 3))),
        "conv-volumes": (lambda x, w: F.conv3d(x, w), volumes, lambda: (floats(1, 3, 5, 6, 5), floats(4, 3, 2, 3, 2))),
        "patches-by-reshape": (patches_torch, patches, lambda: (floats(2, 8, 12, 3), floats(48, 5))),
        "lookup-clipped": (lambda t, i: F.embedding(i, t) * math.sqrt(8), clipped_lookup, lambda: (floats(9, 8), ids(9, 2, 5))),
        "segment-mean": (segments_torch, segments, lambda: (floats(9, 3), ids(4, 9))),
        "bilinear-form": (lambda x, w, y: F.bilinear(x, y, w), bilinear_form, lambda: (floats(3, 4), floats(5, 4, 4), floats(3, 4))),
        "relative-positions": (lambda x, t: x + torch.stack([t[4 + q - torch.arange(5)] for q in range(5)]).permute(2, 0, 1), relative, lambda: (floats(2, 5, 5), floats(9, 2))),
        "t5-buckets": (buckets_torch, buckets, lambda: (floats(16, 3),)),
        "running-mean": (cumulative_torch, cumulative, lambda: (floats(2, 6, 4),)),
        "standardised": (lambda x: (x - x.mean(0)) / (x.std(0) + 1e-6), standardised, lambda: (floats(6, 4),)),
        "mean-of-largest": (lambda x: x.topk(3, -1).values.mean(-1), sorted_mean, lambda: (floats(4, 8),)),
        "cache-update": (cache_torch, cache, lambda: (floats(2, 6, 4), floats(2, 1, 4), floats(4))),
        "power-spectrum": (lambda x: torch.view_as_real(torch.fft.fft(x)).square().sum(-1), fft, lambda: (floats(3, 8),)),
    }


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(24, eps=1e-6), nn.Linear(24, 72), nn.Linear(24, 24)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(2, 7, 3, 4, 6).permute(2, 0, 3, 1, 4)
        return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 7, 24))


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm, self.conv2, self.out = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Conv2d(8, 12, 3, padding=1, groups=2), nn.Linear(12, 5)

    def forward(self, x):
        y = F.relu(self.norm(self.conv1(x.permute(0, 3, 1, 2))))
        return self.out(F.max_pool2d(self.conv2(y), 2).mean((2, 3)))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(10, eps=1e-6), nn.LayerNorm(10, eps=1e-6)
        self.tokens1, self.tokens2, self.channels1, self.channels2 = nn.Linear(6, 9), nn.Linear(9, 6), nn.Linear(10, 14), nn.Linear(14, 10)

    def forward(self, x):
        x = x + self.tokens2(F.gelu(self.tokens1(self.norm1(x).mT), approximate="tanh")).mT
        return x + self.channels2(F.gelu(self.channels1(self.norm2(x)), approximate="tanh"))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm, self.gate, self.up, self.down = nn.Embedding(30, 16), nn.RMSNorm(16, eps=1e-6), nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)

    def forward(self, x):
        x = self.table(x)
        y = self.norm(x)
        return (x + self.down(F.silu(self.gate(y)) * self.up(y))) @ self.table.weight.T


class Block(nn.Module):
    """Norm of groups, as diffusion models have it, with a time that is added."""

    def __init__(self):
        super().__init__()
        self.norm1, self.conv1, self.time, self.norm2, self.conv2 = nn.GroupNorm(4, 8, eps=1e-6), nn.Conv2d(8, 12, 3, padding=1), nn.Linear(5, 12), nn.GroupNorm(4, 12, eps=1e-6), nn.Conv2d(12, 12, 3, padding=1)
        self.skip = nn.Conv2d(8, 12, 1)

    def forward(self, x, t):
        x = x.permute(0, 3, 1, 2)
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return (self.skip(x) + self.conv2(F.silu(self.norm2(y)))).permute(0, 2, 3, 1)


class Stack(nn.Module):
    """Layers that JAX stacks and scans over."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return x


def modules():
    import flax.linen as linen
    import jax
    import jax.numpy as jnp
    from flax import nnx

    class FlaxAttention(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            y = linen.LayerNorm(name="norm")(x)
            q, k, v = jnp.moveaxis(linen.Dense(72, name="qkv")(y).reshape(2, 7, 3, 4, 6), 2, 0)
            y = linen.dot_product_attention(q, k if not self.wrong else v, v)
            return x + linen.Dense(24, name="out")(y.reshape(2, 7, 24))

    class FlaxConvNet(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            y = linen.Conv(8, (3, 3), 2, 1, name="conv1")(x)
            y = linen.relu(linen.BatchNorm(use_running_average=True, epsilon=1e-5 if not self.wrong else 1e-1, name="norm")(y))
            y = linen.max_pool(linen.Conv(12, (3, 3), padding=1, feature_group_count=2, name="conv2")(y), (2, 2), (2, 2))
            return linen.Dense(5, name="out")(y.mean((1, 2)))

    class FlaxMixer(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            y = linen.LayerNorm(name="norm1")(x).swapaxes(1, 2)
            x = x + linen.Dense(6, name="tokens2")(linen.gelu(linen.Dense(9, name="tokens1")(y))).swapaxes(1, 2)
            y = linen.LayerNorm(name="norm2")(x)
            return (x if not self.wrong else y) + linen.Dense(10, name="channels2")(linen.gelu(linen.Dense(14, name="channels1")(y)))

    class FlaxGated(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x):
            table = linen.Embed(30, 16, name="table")
            x = table(x)
            y = linen.RMSNorm(name="norm")(x)
            act = linen.silu if not self.wrong else linen.sigmoid
            return table.attend(x + linen.Dense(16, name="down")(act(linen.Dense(24, name="gate")(y)) * linen.Dense(24, name="up")(y)))

    class FlaxBlock(linen.Module):
        wrong: bool

        @linen.compact
        def __call__(self, x, t):
            y = linen.Conv(12, (3, 3), name="conv1")(linen.silu(linen.GroupNorm(4, name="norm1")(x)))
            y = y + linen.Dense(12, name="time")(linen.silu(t))[:, None, None]
            y = linen.GroupNorm(4 if not self.wrong else 3, name="norm2")(y)
            return linen.Conv(12, (1, 1), name="skip")(x) + linen.Conv(12, (3, 3), name="conv2")(linen.silu(y))

    def linen_apply(cls):
        return lambda params, *operands, wrong=False: cls(wrong).apply(params, *operands)

    def nnx_apply(params, x, wrong=False):
        class Net(nnx.Module):
            def __init__(self, rngs):
                self.one, self.two = nnx.Linear(6, 10, rngs=rngs), nnx.Linear(10, 4, rngs=rngs)
                self.norm = nnx.LayerNorm(10, epsilon=1e-5, rngs=rngs)

            def __call__(self, x):
                y = self.norm(self.one(x))
                return self.two(nnx.leaky_relu(y, 0.2 if wrong else 0.01))

        net = Net(nnx.Rngs(0))
        for name in ("one", "two", "norm"):
            for key, value in params[name].items():
                setattr(getattr(net, name), key, nnx.Param(value))
        return net(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.norm, self.two = nn.Linear(6, 10), nn.LayerNorm(10), nn.Linear(10, 4)

        def forward(self, x):
            return self.two(F.leaky_relu(self.norm(self.one(x))))

    def stack_apply(params, x, wrong=False):
        stacked = jax.tree.map(lambda *layers: jnp.stack(layers), *params)
        step = lambda x, p: ((x if not wrong else 2 * x) + jax.nn.relu(x @ p["kernel"] + p["bias"]), None)
        return jax.lax.scan(step, x, stacked)[0]

    parameters = lambda **p: {"params": p}
    return {
        "flax-attention": (Attention, linen_apply(FlaxAttention), lambda: (floats(2, 7, 24),), parameters(norm=norm("norm"), qkv=dense("qkv"), out=dense("out"))),
        "flax-conv-net": (ConvNet, linen_apply(FlaxConvNet), lambda: (floats(2, 12, 12, 3),), {**parameters(conv1=conv("conv1"), norm=norm("norm"), conv2=conv("conv2"), out=dense("out")), "batch_stats": {"norm": {"mean": Weight("norm.running_mean"), "var": Weight("norm.running_var")}}}),
        "flax-mixer": (Mixer, linen_apply(FlaxMixer), lambda: (floats(2, 6, 10),), parameters(norm1=norm("norm1"), norm2=norm("norm2"), **{n: dense(n) for n in ("tokens1", "tokens2", "channels1", "channels2")})),
        "flax-gated": (Gated, linen_apply(FlaxGated), lambda: (ids(30, 2, 7),), parameters(table={"embedding": Weight("table.weight")}, norm={"scale": Weight("norm.weight")}, **{n: dense(n) for n in ("gate", "up", "down")})),
        "flax-diffusion-block": (Block, linen_apply(FlaxBlock), lambda: (floats(2, 6, 6, 8), floats(2, 5)), parameters(norm1=norm("norm1"), norm2=norm("norm2"), time=dense("time"), **{n: conv(n) for n in ("conv1", "conv2", "skip")})),
        "nnx-perceptron": (Net, nnx_apply, lambda: (floats(5, 6),), {"one": dense("one"), "two": dense("two"), "norm": norm("norm")}),
        "scan-over-layers": (Stack, stack_apply, lambda: (floats(3, 8),), [dense(f"layers.{i}") for i in range(3)]),
    }


def programs():
    return {**losses(), **arrays(), **modules()}
