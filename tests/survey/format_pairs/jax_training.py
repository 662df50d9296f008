"""Steps of training, losses and decoding in JAX, with the same in PyTorch; `wrong` makes a single mistake."""

import math

import torch
from torch.nn import functional as F

from .torch_models import floats, ids


def training():
    import jax
    import jax.numpy as jnp

    def adamw(p, g, m, v, wrong=False):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * jnp.square(g)
        m_hat, v_hat = m / (1 - 0.9**4), v / (1 - 0.999**4)
        update = m_hat / (jnp.sqrt(v_hat) + 1e-8) + (0.01 * p if not wrong else 0.01)
        return p - 1e-1 * update

    def adamw_torch(p, g, m, v):
        p = p * (1 - 1e-1 * 0.01)
        m, v = torch.lerp(m, g, 0.1), torch.addcmul(v * 0.999, g, g, value=0.001)
        return torch.addcdiv(p, m, (v.sqrt() / math.sqrt(1 - 0.999**4)).add(1e-8), value=-1e-1 / (1 - 0.9**4))

    def clipped(a, b, wrong=False):
        gradients = {"a": a, "b": b}
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(gradients)))
        factor = jnp.minimum(1.0, 1.0 / norm) if not wrong else jnp.maximum(1.0, 1.0 / norm)
        return jnp.concatenate([g.ravel() for g in jax.tree.leaves(jax.tree.map(lambda g: g * factor, gradients))])

    def clipped_torch(a, b):
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in (a, b)]))
        factor = torch.clamp(1.0 / norm, max=1.0)
        return torch.cat([(a * factor).flatten(), (b * factor).flatten()])

    def perceptron_gradient(w1, w2, x, y, wrong=False):
        def loss(w1):
            h = jax.nn.relu(x @ w1)
            return jnp.mean((h @ w2 - y) ** 2)
        return jax.grad(loss)(w1 if not wrong else -w1)

    def perceptron_gradient_torch(w1, w2, x, y):
        h = x @ w1
        g = 2.0 * (h.relu() @ w2 - y) / y.numel()
        return x.T @ ((g @ w2.T) * (h > 0))

    def attention_gradient(q, k, v, g, wrong=False):
        def attend(q):
            return jax.nn.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])) @ v
        gradient, = jax.vjp(attend, q)[1](g)
        return gradient if not wrong else gradient * math.sqrt(q.shape[-1])

    def attention_gradient_torch(q, k, v, g):
        scale = q.shape[-1] ** -0.5
        p = (q @ k.mT * scale).softmax(-1)
        dp = g @ v.mT
        return (p * (dp - (p * dp).sum(-1, keepdim=True))) @ k * scale

    def gelu_gradient(x, g, wrong=False):
        return jax.vjp(lambda x: jax.nn.gelu(x, approximate=wrong), x)[1](g)[0]

    def silu_gradient(x, g, wrong=False):
        return jax.vjp(jax.nn.silu if not wrong else jax.nn.sigmoid, x)[1](g)[0]

    def pool_gradient(x, g, wrong=False):
        pool = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max if not wrong else jax.lax.min, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        if wrong:
            pool = lambda x: -jax.lax.reduce_window(-x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return jax.vjp(pool, x)[1](g)[0]

    def pool_gradient_torch(x, g):
        _, place = F.max_pool2d(x, 2, return_indices=True)
        return torch.zeros(2, 3, 24).scatter(2, place.flatten(2), g.flatten(2)).view(x.shape)

    def embedding_gradient(table, i, g, wrong=False):
        return jax.grad(lambda t: (t[i] * (g if not wrong else g[:, ::-1])).sum())(table)

    def ema(shadow, p, wrong=False):
        return jax.tree.map(lambda s, p: s - (1 - 0.99) * (s - p) if not wrong else s + (1 - 0.99) * (s - p), shadow, p)

    def focal(x, y, wrong=False):
        p = jax.nn.sigmoid(x)
        ce = -(y * jax.nn.log_sigmoid(x) + (1 - y) * jax.nn.log_sigmoid(-x))
        return (ce * (1 - (p * y + (1 - p) * (1 - y))) ** (2 if not wrong else 1)).mean()

    def focal_torch(x, y):
        p = x.sigmoid()
        ce = F.binary_cross_entropy_with_logits(x, y, reduction="none")
        return (ce * (1 - (p * y + (1 - p) * (1 - y))).square()).mean()

    def triplet(a, p, n, wrong=False):
        distance = lambda x, y: jnp.linalg.norm(x - y + 1e-6, axis=-1)
        return jnp.maximum(distance(a, p) - distance(a, n) + (1.0 if not wrong else 0.5), 0.0).mean()

    def cosine(x, y, wrong=False):
        norm = lambda t: jnp.maximum(jnp.sqrt(jnp.sum(t * t, -1)), 1e-8)
        return jnp.sum(x * y, -1) / (norm(x) * norm(y if not wrong else x))

    def poisson(x, y, wrong=False):
        return (jnp.exp(x) - y * x + jax.lax.lgamma(y + (1.0 if not wrong else 2.0))).mean()

    def guarded(x, wrong=False):
        safe = jnp.where(x > 0, x, 1.0)
        return jnp.where(x > 0 if not wrong else x < 1, jnp.log(safe), 0.0)

    def accuracy(x, y, wrong=False):
        return (jnp.argmax(x, -1 if not wrong else 0)[:5] == y[:5]).astype(jnp.float32).mean()

    def quantile(x, y, wrong=False):
        d = y - x
        return jnp.maximum(0.3 * d, (0.3 - 1) * d if not wrong else 0.7 * d).mean()

    weights = lambda: (floats(4, 3), floats(4, 3), floats(4, 3), torch.rand(4, 3))
    return {
        "adamw-step": (adamw_torch, adamw, weights),
        "clip-by-global-norm": (clipped_torch, clipped, lambda: (floats(4, 3), floats(5))),
        "perceptron-gradient": (perceptron_gradient_torch, perceptron_gradient, lambda: (floats(4, 6), floats(6, 3), floats(5, 4), floats(5, 3))),
        "attention-gradient": (attention_gradient_torch, attention_gradient, lambda: tuple(floats(2, 5, 4) for _ in range(4))),
        "gelu-gradient": (lambda x, g: torch.ops.aten.gelu_backward(g, x), gelu_gradient, lambda: (floats(4, 6), floats(4, 6))),
        "silu-gradient": (lambda x, g: torch.ops.aten.silu_backward(g, x), silu_gradient, lambda: (floats(4, 6), floats(4, 6))),
        "max-pool-gradient": (pool_gradient_torch, pool_gradient, lambda: (floats(2, 3, 4, 6), floats(2, 3, 2, 3))),
        "embedding-gradient": (lambda table, i, g: torch.zeros_like(table).index_add(0, i, g), embedding_gradient, lambda: (floats(7, 4), ids(7, 6), floats(6, 4))),
        "moving-weights": (lambda s, p: torch.lerp(s, p, 0.01), ema, lambda: (floats(4, 3), floats(4, 3))),
        "focal-loss": (focal_torch, focal, lambda: (floats(4, 6), torch.rand(4, 6).round())),
        "triplet-margin": (lambda a, p, n: F.triplet_margin_loss(a, p, n), triplet, lambda: (floats(4, 6), floats(4, 6), floats(4, 6))),
        "cosine-pairs": (lambda x, y: F.cosine_similarity(x, y), cosine, lambda: (floats(4, 6), floats(4, 6))),
        "poisson-likelihood": (lambda x, y: (x.exp() - y * x + torch.lgamma(y + 1)).mean(), poisson, lambda: (floats(4, 6), torch.rand(4, 6) * 5)),
        "guarded-logarithm": (lambda x: torch.where(x > 0, x, torch.ones(())).log(), guarded, lambda: (floats(4, 6),)),
        "top-1-accuracy": (lambda x, y: (x.argmax(-1)[:5] == y[:5]).float().mean(), accuracy, lambda: (floats(6, 6) + 3 * F.one_hot(torch.arange(6) // 2, 6), torch.arange(6) // 2)),
        "pinball-loss": (lambda x, y: torch.where(y > x, 0.3 * (y - x), 0.7 * (x - y)).mean(), quantile, lambda: (floats(4, 6), floats(4, 6))),
    }


def decoding():
    import jax
    import jax.numpy as jnp

    def step(q, k, v, keys, values, at, wrong=False):
        keys = jax.lax.dynamic_update_slice(keys, k, (0, at, 0))
        values = jax.lax.dynamic_update_slice(values, v, (0, at, 0))
        s = jnp.einsum("bqd,bkd->bqk", q, keys) / math.sqrt(8)
        seen = jnp.arange(6) <= at if not wrong else jnp.arange(6) < at
        return jax.nn.softmax(jnp.where(seen, s, jnp.finfo(s.dtype).min), -1) @ values

    def step_torch(q, k, v, keys, values, at):
        keys, values = keys.index_copy(1, at[None], k), values.index_copy(1, at[None], v)
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=torch.arange(6)[None] <= at)

    def top_k(x, wrong=False):
        least = jax.lax.top_k(x, 3 if not wrong else 2)[0][..., -1:]
        return jax.nn.softmax(jnp.where(x < least, -jnp.inf, x), -1)

    def top_p(x, wrong=False):
        order = jnp.argsort(-x, axis=-1)
        p = jax.nn.softmax(jnp.take_along_axis(x, order, -1), -1)
        before = jnp.cumsum(p, -1) - (p if not wrong else 0)
        keep = jnp.take_along_axis(before < 0.7, jnp.argsort(order, -1), -1)
        return jnp.where(keep, x, -1e9)

    def top_p_torch(x):
        ordered, order = x.sort(-1, descending=True)
        p = ordered.softmax(-1)
        drop = p.cumsum(-1) - p >= 0.7
        return x.masked_fill(torch.zeros_like(drop).scatter(-1, order, drop), -1e9)

    def positions(ids, table, wrong=False):
        mask = (ids != 1).astype(jnp.int32)
        place = jnp.cumsum(mask, axis=1 if not wrong else 0) * mask + 1
        return table[place]

    def positions_torch(ids, table):
        mask = ids.ne(1).int()
        return F.embedding((torch.cumsum(mask, 1).type_as(mask) * mask).long() + 1, table)

    def alibi(q, k, v, wrong=False):
        slopes = 2.0 ** (-8.0 * jnp.arange(1, 5) / 4)
        distance = jnp.arange(6)[None, :] - jnp.arange(6)[:, None]
        s = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 8**-0.5 + slopes[:, None, None] * (distance if not wrong else -distance)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.where(distance <= 0, s, -jnp.inf)), v)

    def alibi_torch(q, k, v):
        slopes = torch.tensor([2 ** (-2.0 * i) for i in range(1, 5)])
        distance = torch.arange(6)[None, :] - torch.arange(6)[:, None]
        bias = (slopes.view(-1, 1, 1) * distance).masked_fill(distance > 0, -math.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    def complex_rope(x, wrong=False):
        n, d = x.shape[-2:]
        angle = jnp.outer(jnp.arange(n), 1.0 / 10000.0 ** (jnp.arange(0, d, 2) / d))
        z = jax.lax.complex(x[..., ::2], x[..., 1::2]) * jax.lax.complex(jnp.cos(angle), jnp.sin(angle) if not wrong else -jnp.sin(angle))
        return jnp.stack([z.real, z.imag], -1).reshape(x.shape)

    def complex_rope_torch(x):
        n, d = x.shape[-2:]
        angle = torch.outer(torch.arange(n).float(), 1.0 / 10000.0 ** (torch.arange(0, d, 2).float() / d))
        turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angle), angle)
        return torch.view_as_real(turned).flatten(-2)

    def penalty(x, seen, wrong=False):
        hot = jax.nn.one_hot(seen, x.shape[-1]).sum(1) > 0
        return jnp.where(hot, jnp.where(x > 0, x / 1.3, x * 1.3 if not wrong else x / 1.3), x)

    def penalty_torch(x, seen):
        score = x.gather(1, seen)
        return x.scatter(1, seen, torch.where(score < 0, score * 1.3, score / 1.3))

    cached = lambda: (*(floats(2, 1, 8) for _ in range(3)), *(floats(2, 6, 8) for _ in range(2)), torch.tensor(3))
    return {
        "decode-with-cache": (step_torch, step, cached),
        "filter-top-k": (lambda x: x.masked_fill(x < x.topk(3).values[..., -1, None], -math.inf).softmax(-1), top_k, lambda: (floats(4, 9),)),
        "filter-top-p": (top_p_torch, top_p, lambda: (floats(4, 9),)),
        "positions-of-mask": (positions_torch, positions, lambda: (ids(4, 3, 6), floats(9, 4))),
        "attention-alibi": (alibi_torch, alibi, lambda: tuple(floats(2, 4, 6, 8) for _ in range(3))),
        "rope-complex": (complex_rope_torch, complex_rope, lambda: (floats(2, 3, 7, 8),)),
        "penalty-of-repetition": (penalty_torch, penalty, lambda: (floats(3, 8), ids(8, 3, 5))),
    }


def programs():
    return {**training(), **decoding()}
