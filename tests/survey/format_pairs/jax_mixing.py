"""Layers that mix, route and filter in JAX, with the same in PyTorch; `wrong` makes a single mistake."""

import math

import torch
from torch.nn import functional as F

from .torch_models import floats, ids


def sequences():
    import jax
    import jax.numpy as jnp

    def gru(x, w, u, b, c, wrong=False):
        def step(h, x):
            r, z, n = jnp.split(x @ w + b, 3, -1)
            hr, hz, hn = jnp.split(h @ u + c, 3, -1)
            r, z = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
            n = jnp.tanh(n + r * hn)
            h = (1 - z) * n + z * h if not wrong else z * n + (1 - z) * h
            return h, h
        return jax.lax.scan(step, jnp.zeros((3, 5)), x)[1]

    def gru_torch(x, w, u, b, c):
        return torch.gru(x, torch.zeros(1, 3, 5), (w.T, u.T, b, c), True, 1, 0.0, False, False, False)[0]

    def backward(x, w, u, wrong=False):
        def step(h, x):
            h = jax.nn.relu(x @ w + h @ u)
            return h, h
        return jax.lax.scan(step, jnp.zeros((3, 5)), x, reverse=not wrong)[1]

    def backward_torch(x, w, u):
        h, all = torch.zeros(3, 5), []
        for row in reversed(x.unbind(0)):
            h = F.relu(row @ w + h @ u)
            all.append(h)
        return torch.stack(all[::-1])

    def selective(x, delta, a, b, c, wrong=False):
        def step(h, parts):
            x, delta, b, c = parts
            h = jnp.exp(delta[..., None] * a) * h + (delta * x)[..., None] * b[:, None]
            return h, jnp.einsum("bdn,bn->bd", h, c if not wrong else b)
        parts = [t.swapaxes(0, 1) for t in (x, delta, b, c)]
        return jax.lax.scan(step, jnp.zeros((2, 4, 3)), parts)[1].swapaxes(0, 1)

    def selective_torch(x, delta, a, b, c):
        decay = torch.exp(delta.unsqueeze(-1) * a)
        added = delta.unsqueeze(-1) * b.unsqueeze(2) * x.unsqueeze(-1)
        h, all = torch.zeros(2, 4, 3), []
        for t in range(5):
            h = decay[:, t] * h + added[:, t]
            all.append((h @ c[:, t].unsqueeze(-1)).squeeze(-1))
        return torch.stack(all, 1)

    def recurrence(a, x, wrong=False):
        def join(left, right):
            return left[0] * right[0], right[0] * left[1] + right[1] if not wrong else left[0] * left[1] + right[1]
        return jax.lax.associative_scan(join, (a, x))[1]

    def recurrence_torch(a, x):
        h, all = torch.zeros(4), []
        for t in range(6):
            h = a[t] * h + x[t]
            all.append(h)
        return torch.stack(all)

    def power(w, v, wrong=False):
        def body(i, v):
            v = w.T @ (w @ v)
            return v / jnp.linalg.norm(v)
        return jax.lax.fori_loop(0, 3 if not wrong else 2, body, v)

    def power_torch(w, v):
        for _ in range(3):
            v = F.normalize(torch.mv(w.T, torch.mv(w, v)), dim=0, eps=0.0)
        return v

    def chosen(x, w, wrong=False):
        return jax.lax.cond(not wrong, lambda x: jax.nn.relu(x @ w), lambda x: jnp.tanh(x @ w), x)

    def switched(x, flag, wrong=False):
        return jax.lax.cond(flag[0] > 0, lambda x: jnp.sin(x), lambda x: x * (2 if not wrong else 3), x)

    def causal(x, w, b, wrong=False):
        y = jax.lax.conv_general_dilated(x, w, (1,), [(3, 0) if not wrong else (0, 3)], dimension_numbers=("NWC", "WIO", "NWC"), feature_group_count=6)
        return jax.nn.silu(y + b)

    def causal_torch(x, w, b):
        return F.silu(F.conv1d(x.mT, w.permute(2, 1, 0), b, padding=3, groups=6)[..., :8]).mT

    def shifted(x, mu, wrong=False):
        before = jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1] if not wrong else jnp.pad(x, ((0, 0), (0, 1), (0, 0)))[:, 1:]
        return x * mu + before * (1 - mu)

    def retention(q, k, v, wrong=False):
        n = jnp.arange(6)
        d = n[:, None] - n[None]
        decay = jnp.where(d >= 0, (0.9 if not wrong else 0.8) ** jnp.maximum(d, 0).astype(jnp.float32), 0.0)
        return jnp.einsum("bqk,bkd->bqd", jnp.einsum("bqd,bkd->bqk", q, k) * decay, v)

    def retention_torch(q, k, v):
        state, all = torch.zeros(2, 4, 4), []
        for t in range(6):
            state = 0.9 * state + k[:, t].unsqueeze(-1) * v[:, t].unsqueeze(-2)
            all.append((q[:, t].unsqueeze(-2) @ state).squeeze(-2))
        return torch.stack(all, 1)

    return {
        "scan-gru": (gru_torch, gru, lambda: (floats(6, 3, 4), floats(4, 15), floats(5, 15), floats(15), floats(15))),
        "scan-backward": (backward_torch, backward, lambda: (floats(6, 3, 4), floats(4, 5), floats(5, 5))),
        "scan-selective": (selective_torch, selective, lambda: (floats(2, 5, 4), torch.rand(2, 5, 4), -torch.rand(4, 3), floats(2, 5, 3), floats(2, 5, 3))),
        "scan-associative": (recurrence_torch, recurrence, lambda: (torch.rand(6, 4), floats(6, 4))),
        "loop-power-iteration": (power_torch, power, lambda: (floats(5, 4), floats(4))),
        "cond-of-constant": (lambda x, w: F.relu(x @ w), chosen, lambda: (floats(5, 4), floats(4, 3))),
        "cond-of-operand": (lambda x, flag: torch.where(flag[0] > 0, x.sin(), x * 2), switched, lambda: (floats(5, 4), -torch.ones(1))),
        "conv-causal-depthwise": (causal_torch, causal, lambda: (floats(2, 8, 6), floats(4, 1, 6), floats(6))),
        "token-shift": (lambda x, mu: torch.lerp(F.pad(x, (0, 0, 1, -1)), x, mu), shifted, lambda: (floats(2, 6, 4), torch.rand(4))),
        "retention-parallel": (retention_torch, retention, lambda: tuple(floats(2, 6, 4) for _ in range(3))),
    }


def routing():
    import jax
    import jax.numpy as jnp

    def gathered(x, gate, w, wrong=False):
        p = jax.nn.softmax(x @ gate, -1)
        expert = jnp.argmax(p, -1)
        return jnp.einsum("td,tdf->tf", x, w[expert]) * (p.max(-1) if not wrong else p.min(-1))[:, None]

    def gathered_torch(x, gate, w):
        top, expert = (x @ gate).softmax(-1).max(-1)
        return torch.bmm(x.unsqueeze(1), w[expert]).squeeze(1) * top.unsqueeze(-1)

    def dispatched(x, gate, w, wrong=False):
        p = jax.nn.softmax(x @ gate, -1)
        hot = jax.nn.one_hot(jnp.argmax(p, -1), 3)
        place = (jnp.cumsum(hot, 0) - 1) * hot
        dispatch = hot[..., None] * jax.nn.one_hot(place.astype(jnp.int32), 4) * (place < (4 if not wrong else 2))[..., None]
        inside = jnp.einsum("tec,td->ecd", dispatch, x)
        return jnp.einsum("tec,ecf,t->tf", dispatch, jnp.einsum("ecd,edf->ecf", inside, w), p.max(-1))

    def dispatched_torch(x, gate, w):
        top, expert = (x @ gate).softmax(-1).max(-1)
        hot = F.one_hot(expert, 3).float()
        kept = hot * (hot.cumsum(0) <= 4)
        return torch.einsum("te,td,edf,t->tf", kept, x, w, top)

    def lookup(i, table, wrong=False):
        return jnp.dot(jax.nn.one_hot(i if not wrong else i + 1, 9), table)

    def filled(t, i, wrong=False):
        return jnp.take(t, i, axis=0, mode="fill", fill_value=0) + (1.0 if wrong else 0.0)

    def largest(x, i, wrong=False):
        return jax.ops.segment_max(x, i, 3) if not wrong else jax.ops.segment_min(x, i, 3)

    def quantised(x, book, wrong=False):
        d = (x**2).sum(-1, keepdims=True) - 2 * x @ book.T + (book**2).sum(-1)
        return book[jnp.argmin(d, -1) if not wrong else jnp.argmax(d, -1)]

    def quantised_torch(x, book):
        d = x.square().sum(-1, keepdim=True) + book.square().sum(-1) - 2 * (x @ book.mT)
        return F.embedding(d.argmin(-1), book)

    def per_example(x, w, b, wrong=False):
        one = lambda x, w, b: jnp.tanh(jnp.dot(w if not wrong else w.T, x) + b)
        return jax.vmap(one)(x, w, b)

    def graph(x, edges, w, wrong=False):
        sent = jax.nn.relu(x @ w)[edges[0]]
        return x + jnp.zeros_like(x).at[edges[1] if not wrong else edges[0]].add(sent)

    def graph_torch(x, edges, w):
        return x.index_add(0, edges[1], F.relu(x.index_select(0, edges[0]) @ w))

    return {
        "experts-by-gather": (gathered_torch, gathered, lambda: (floats(6, 4), floats(4, 3), floats(3, 4, 5))),
        "experts-with-capacity": (dispatched_torch, dispatched, lambda: (floats(12, 4), floats(4, 3), floats(3, 4, 5))),
        "lookup-one-hot": (lambda i, table: F.embedding(i, table), lookup, lambda: (ids(9, 2, 5), floats(9, 4))),
        "lookup-filled": (lambda t, i: t[i], filled, lambda: (floats(9, 4), ids(9, 2, 5))),
        "segment-largest": (lambda x, i: torch.full((3, 4), -math.inf).scatter_reduce(0, i.unsqueeze(-1).expand(9, 4), x, "amax"), largest, lambda: (floats(9, 4), torch.arange(9) % 3)),
        "codebook-nearest": (quantised_torch, quantised, lambda: (floats(2, 5, 4), floats(7, 4))),
        "vmap-per-example": (lambda x, w, b: torch.tanh(torch.baddbmm(b.unsqueeze(-1), w, x.unsqueeze(-1)).squeeze(-1)), per_example, lambda: (floats(5, 4), floats(5, 4, 4), floats(5, 4))),
        "messages-by-edges": (graph_torch, graph, lambda: (floats(5, 4), torch.stack([torch.arange(8) % 5, torch.arange(8) % 3]), floats(4, 4))),
    }


def signals():
    import jax
    import jax.numpy as jnp

    def fourier_mixing(x, wrong=False):
        y = jnp.fft.fft(jnp.fft.fft(x, axis=-1), axis=-2)
        return y.real if not wrong else y.imag

    def spectral(x, re, im, wrong=False):
        y = jnp.fft.rfft(x, axis=1) * jax.lax.complex(re, im if not wrong else -im)
        return jnp.fft.irfft(y, n=8, axis=1)

    def spectral_torch(x, re, im):
        return torch.fft.irfft(torch.fft.rfft(x, dim=1) * torch.complex(re, im), n=8, dim=1)

    def features(x, b, wrong=False):
        y = (2.0 if not wrong else 1.0) * jnp.pi * x @ b
        return jnp.concatenate([jnp.sin(y), jnp.cos(y)], -1)

    def normalised(x, wrong=False):
        mean, std = jnp.array([0.485, 0.456, 0.406]), jnp.array([0.229, 0.224, 0.225])
        y = (x / 255.0 - mean) / std
        return y.transpose((0, 3, 1, 2) if not wrong else (0, 3, 2, 1))

    def normalised_torch(x):
        mean, std = (torch.tensor(t).view(1, 3, 1, 1) for t in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
        return (x.permute(0, 3, 1, 2) / 255.0 - mean) / std

    def shuffled(x, wrong=False):
        n, h, w, c = x.shape
        y = x.reshape(n, h, w, c // 4, 2, 2)
        return y.transpose((0, 1, 4, 2, 5, 3) if not wrong else (0, 1, 5, 2, 4, 3)).reshape(n, 2 * h, 2 * w, c // 4)

    def blur(x, wrong=False):
        k = jnp.array([0.25, 0.5, 0.25] if not wrong else [0.3, 0.4, 0.3])
        kernel = jnp.tile(jnp.outer(k, k)[:, :, None, None], (1, 1, 1, 3))
        x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3)

    def blur_torch(x):
        k = torch.tensor([0.25, 0.5, 0.25])
        y = F.pad(x.permute(0, 3, 1, 2), (1, 1, 1, 1), mode="reflect")
        y = F.conv2d(y, k.view(1, 1, 3, 1).expand(3, 1, 3, 1), groups=3)
        return F.conv2d(y, k.view(1, 1, 1, 3).expand(3, 1, 1, 3), groups=3).permute(0, 2, 3, 1)

    def half_norm(x, w, wrong=False):
        x = x.astype(jnp.float16)
        y = x.astype(jnp.float32)
        y = y * jax.lax.rsqrt(jnp.mean(jnp.square(y), -1, keepdims=True) + (1e-6 if not wrong else 1e-1))
        return (w.astype(jnp.float16) * y.astype(jnp.float16)).astype(jnp.float32)

    def half_norm_torch(x, w):
        y = x.half().float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (w.half() * y.half()).float()

    def statistics(x, mask, wrong=False):
        n = mask.sum(1, keepdims=True)
        mean = (x * mask[..., None]).sum(1) / n
        var = (((x - mean[:, None]) ** 2) * mask[..., None]).sum(1) / (n if not wrong else n - 1)
        return jnp.concatenate([mean, jnp.sqrt(var + 1e-5)], -1)

    def statistics_torch(x, mask):
        p = (mask / mask.sum(1, keepdim=True)).unsqueeze(-1)
        mean = (x * p).sum(1)
        return torch.cat([mean, (((x - mean.unsqueeze(1)).square() * p).sum(1) + 1e-5).sqrt()], -1)

    def standardised_conv(x, w, wrong=False):
        axes = (0, 1, 2) if not wrong else (1, 2, 3)
        w = (w - w.mean(axes, keepdims=True)) / jnp.sqrt(w.var(axes, keepdims=True) + 1e-5)
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def standardised_conv_torch(x, w):
        w = w.permute(3, 2, 0, 1)
        var, mean = torch.var_mean(w, (1, 2, 3), correction=0, keepdim=True)
        return F.conv2d(x.permute(0, 3, 1, 2), (w - mean) * (var + 1e-5).rsqrt(), padding=1).permute(0, 2, 3, 1)

    def inverse(u, wrong=False):
        return jax.lax.erf_inv(u * 0.9 if not wrong else u * 0.8) * math.sqrt(2)

    def dft(x, wrong=False):
        y = jnp.abs(jnp.fft.rfft(x * jnp.hanning(8) if not wrong else x))
        return jnp.log(y + 1e-3)

    def bits(x, wrong=False):
        y = jax.lax.bitcast_convert_type(x, jnp.int32)
        return ((y & (0x7F800000 if not wrong else 0x7F000000)) >> 23).astype(jnp.float32)

    return {
        "fourier-mixing": (lambda x: torch.fft.fft2(x).real, fourier_mixing, lambda: (floats(2, 6, 8),)),
        "spectral-filter": (spectral_torch, spectral, lambda: (floats(2, 8, 4), floats(5, 4), floats(5, 4))),
        "fourier-features": (lambda x, b: torch.cat([(2 * math.pi * x @ b).sin(), (2 * math.pi * x @ b).cos()], -1), features, lambda: (floats(5, 3), floats(3, 6))),
        "image-normalised": (normalised_torch, normalised, lambda: (torch.rand(2, 6, 6, 3) * 255,)),
        "pixel-shuffle-last": (lambda x: F.pixel_shuffle(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1), shuffled, lambda: (floats(2, 3, 4, 12),)),
        "blur-separable": (blur_torch, blur, lambda: (floats(2, 6, 7, 3),)),
        "rms-norm-half": (half_norm_torch, half_norm, lambda: (floats(4, 8), floats(8))),
        "pooling-of-statistics": (statistics_torch, statistics, lambda: (floats(2, 6, 4), torch.tensor([[1.0] * 6, [1.0] * 4 + [0.0] * 2]))),
        "conv-standardised": (standardised_conv_torch, standardised_conv, lambda: (floats(2, 6, 6, 4), floats(3, 3, 4, 5))),
        "normal-by-inverse": (lambda u: torch.special.erfinv(u * 0.9) * math.sqrt(2), inverse, lambda: (torch.rand(4, 5) * 2 - 1,)),
        "log-spectrum": (lambda x: (torch.fft.rfft(x * torch.hann_window(8, periodic=False)).abs() + 1e-3).log(), dft, lambda: (floats(3, 8),)),
        "exponent-bits": (lambda x: ((x.view(torch.int32) & 0x7F800000) >> 23).float(), bits, lambda: (floats(4, 6),)),
    }


def programs():
    return {**sequences(), **routing(), **signals()}
