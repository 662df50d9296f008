"""What servers of models rewrite: attention in parts, caches, experts in order, weights in few bits, choice of tokens."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def heads(*shape):
    return tuple(normal(*shape) for _ in range(3))


def attended(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def attended_causally(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def in_chunks(q, k, v, ahead=0):
    """Chunks of queries, each of which sees the keys up to its own end."""
    out = []
    for first in (0, 3):
        last = first + 3
        keep = torch.ones(3, last, dtype=torch.bool).tril(first + ahead)
        s = q[:, :, first:last] @ k[:, :, :last].mT / math.sqrt(q.shape[-1])
        out.append(torch.where(keep, s, -math.inf).softmax(-1) @ v[:, :, :last])
    return torch.cat(out, 2)


def over_tiles(q, k, v, corrected=True):
    """Online softmax: a running maximum, a running sum, a running product."""
    top = torch.full((*q.shape[:-1], 1), -math.inf)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for first in range(0, 6, 2):
        s = q @ k[:, :, first:first + 2].mT / math.sqrt(q.shape[-1])
        new = torch.maximum(top, s.amax(-1, keepdim=True))
        e, back = torch.exp(s - new), torch.exp(top - new)
        total = total * back + e.sum(-1, keepdim=True)
        out = (out * back if corrected else out) + e @ v[:, :, first:first + 2]
        top = new
    return out / total


def tiles_merged(q, k, v, shifted=True):
    """Two halves of the keys, each with its own maximum, put together at the end."""
    parts = []
    for keys, values in zip(k.chunk(2, 2), v.chunk(2, 2)):
        s = q @ keys.mT * q.shape[-1] ** -0.5
        top = s.amax(-1, keepdim=True)
        e = (s - top).exp()
        parts.append((top, e.sum(-1, keepdim=True), e @ values))
    (m, a, x), (n, b, y) = parts
    top = torch.maximum(m, n) if shifted else m
    p, r = torch.exp(m - top), torch.exp(n - top) if shifted else torch.exp(m - top)
    return (p * x + r * y) / (p * a + r * b)


def prefilled(x, w, u):
    """The last row of a pass over all tokens."""
    q, k, v = (x @ w).chunk(3, -1)
    return (F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], is_causal=True)[:, 0] @ u)[:, -1]


def stepped(x, w, u, skip=0):
    d = x.shape[-1]
    k, v = x[:, :-1] @ w[:, d:2 * d], x[:, :-1] @ w[:, 2 * d:]
    q, key, value = (x[:, -1:] @ w).chunk(3, -1)
    k, v = torch.cat([k, key], 1)[:, skip:], torch.cat([v, value], 1)[:, skip:]
    return torch.einsum("bn,bnd->bd", (torch.einsum("bqd,bnd->bn", q, k) / math.sqrt(d)).softmax(-1), v) @ u


def latent(q, c, up, out):
    """Keys and values unfolded from a latent of three."""
    k, v = (c @ up).view(2, 5, 2, 2, 4).permute(2, 0, 3, 1, 4)
    return (F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)) @ out


def latent_absorbed(q, c, up, out, scale=2):
    to_key, to_value = up.view(3, 2, 2, 4).unbind(1)
    s = torch.einsum("bhqd,chd,bnc->bhqn", q, to_key, c) / scale
    o = torch.einsum("bhqn,bnc->bhqc", s.softmax(-1), c)
    return torch.einsum("bhqc,chd,hde->bqe", o, to_value, out.view(2, 4, 6))


def one_query_scale(q, k, v, tau):
    return F.scaled_dot_product_attention(q * tau.exp()[:, None, None], k, v, scale=1.0)


def one_score_scale(q, k, v, tau, late=True):
    s = torch.matmul(q, k.transpose(2, 3))
    s = s * torch.exp(tau).view(-1, 1, 1)
    s = s if late else s / math.sqrt(8)
    return torch.matmul(F.softmax(s, dim=-1), v)


def cross(q, x, w):
    k, v = (x @ w).view(2, 5, 2, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
    return F.scaled_dot_product_attention(q, k, v)


def cross_in_one(q, x, w, swapped=False):
    """One bmm of all batches and heads, with the weight cut in two."""
    a, b = w.chunk(2, 1)
    a, b = (b, a) if swapped else (a, b)
    split = lambda t: t.unflatten(-1, (2, 4)).transpose(1, 2).flatten(0, 1)
    p = torch.bmm(q.flatten(0, 1), split(x @ a).mT).div(2).softmax(-1)
    return torch.bmm(p, split(x @ b)).unflatten(0, (2, 2))


def masked_fill(s, m):
    return s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(-1)


def relative(table, s):
    i = torch.arange(4)
    y, x = torch.meshgrid(i[:2], i[:2], indexing="ij")
    at = torch.stack([y.flatten(), x.flatten()])
    d = at[:, :, None] - at[:, None] + 1
    return s + table[(d[0] * 3 + d[1]).flatten()].view(4, 4, 3).permute(2, 0, 1)


def relative_by_grid(table, s, back=False):
    """Each row of the bias is a window of two by two of the grid."""
    grid = table.view(3, 3, 3).flip(0, 1) if not back else table.view(3, 3, 3)
    rows = [grid[1 - y:3 - y, 1 - x:3 - x].reshape(4, 3) for y in range(2) for x in range(2)]
    return s + torch.stack(rows).movedim(-1, 0)


def soft_experts(x, gate, w):
    p = (x @ gate).softmax(-1)
    return sum(p[:, e:e + 1] * (x @ w[e]) for e in range(3))


def soft_experts_merged(x, gate, w, dim=-1):
    """Products are linear: the weights are added up first."""
    merged = torch.einsum("te,edf->tdf", torch.softmax(x @ gate, dim), w)
    return torch.einsum("td,tdf->tf", x, merged)


def switched(x, gate, w):
    p, e = (x @ gate).softmax(-1).max(-1)
    return p[:, None] * torch.einsum("td,tdf->tf", x, w[e])


def switched_in_order(x, gate, w, back=True):
    """Tokens in the order of their experts, and back."""
    p, e = (x @ gate).softmax(-1).max(-1)
    order = e.argsort(stable=True)
    y = torch.bmm(x[order].unsqueeze(1), w[e[order]]).squeeze(1)
    y = y[order.argsort()] if back else y
    return y * p.unsqueeze(-1)


def one_step_rotation(x, angle):
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def one_step_rotation_complex(x, angle, sign=1):
    z = torch.view_as_complex(x.unflatten(-1, (2, 4)).mT.contiguous()) * torch.polar(torch.ones_like(angle), sign * angle)
    return torch.view_as_real(z).mT.flatten(-2)


def grouped_weights(x, q, s):
    """Weights of groups of four with one scale each."""
    return x @ (q.to(x.dtype).view(6, 2, 4) * s.unsqueeze(-1)).view(6, 8).mT


def grouped_weights_after(x, q, s, swapped=False):
    parts = torch.einsum("tgk,ogk->tog", x.view(3, 2, 4), q.view(6, 2, 4).float())
    return (parts * (s.flip(-1) if swapped else s)).sum(-1)


def penalised_by_count(x, at, rate):
    """A repetition penalty by counts."""
    return x - rate * torch.zeros_like(x).scatter_add(1, at, torch.ones_like(at, dtype=x.dtype))


def penalised_by_one_hot(x, at, rate, once=False):
    count = F.one_hot(at, x.shape[1]).sum(1)
    return torch.addcmul(x, (count > 0 if once else count).to(x.dtype), rate, value=-1)


def heated(x, rate):
    return torch.softmax(x / rate, -1)


def heated_by_powers(x, rate, last=-1):
    p = x.softmax(last) ** (1 / rate)
    return p / p.sum(-1, keepdim=True)


def beam_scores(scores, x, done):
    x = x.log_softmax(-1)
    return scores[:, None] + torch.where(done[:, None], torch.where(torch.arange(5) == 0, 0.0, -math.inf), x)


def beam_scores_by_fill(scores, x, done, end=0):
    x = (scores[:, None] + x) - torch.logsumexp(x, 1, keepdim=True)
    only = torch.full((5,), -math.inf).index_fill(0, torch.tensor([end]), 0.0)
    return torch.where(done.unsqueeze(1), scores.unsqueeze(1) + only, x)


def chosen_logs(x, t):
    return x.log_softmax(-1).gather(-1, t.unsqueeze(-1)).squeeze(-1).sum(-1)


def chosen_logs_apart(x, t, dim=-1):
    top = x.amax(-1, keepdim=True)
    total = (x - top).exp().sum(dim, keepdim=True).log() + top
    return (torch.take_along_dim(x, t[..., None], -1) - total).sum((1, 2))


def positions(mask):
    return (mask.cumsum(-1) - 1).clamp(min=0) * mask


def positions_by_product(mask, strict=True):
    """What stands before, counted by a triangle."""
    before = torch.tril(torch.ones(6, 6, dtype=torch.long), diagonal=-1 if strict else 0)
    return (before[None] * mask[:, None]).sum(-1) * mask


def latest(x, keep):
    at = keep.sum(-1) - 1
    return x.gather(1, at[:, None, None].expand(-1, 1, 4)).squeeze(1)


def latest_by_step(x, keep, dim=1):
    last = F.one_hot(keep.sum(-1) - 1, 5).to(x.dtype)
    return (last.flip(1) if dim == 0 else last).unsqueeze(1).bmm(x)[:, 0]


def both_guided(x, w, c, u):
    """Two passes."""
    a, b = (torch.tanh(torch.cat([x, t], -1) @ w) for t in (c, u))
    return b + 3 * (a - b)


def both_guided_stacked(x, w, c, u, swapped=False):
    y = torch.tanh(torch.cat([x, x]) @ w[:4] + torch.cat([u, c] if swapped else [c, u]) @ w[4:])
    a, b = y.chunk(2)
    return 3 * a - 2 * b


def rewrites():
    f = normal
    return [
        ("queries-in-chunks", attended_causally, in_chunks, lambda *a: in_chunks(*a, ahead=1), heads(1, 2, 6, 4)),
        ("softmax-over-tiles", attended, over_tiles, lambda *a: over_tiles(*a, corrected=False), heads(1, 2, 6, 4)),
        ("halves-of-keys-merged", attended, tiles_merged, lambda *a: tiles_merged(*a, shifted=False), heads(1, 2, 6, 4)),
        ("step-after-prefill", prefilled, stepped, lambda *a: stepped(*a, skip=1), (f(2, 5, 4), f(4, 12), f(4, 3))),
        ("latent-absorbed", latent, latent_absorbed, lambda *a: latent_absorbed(*a, scale=3), (f(2, 2, 3, 4), f(2, 5, 3), f(3, 16), f(8, 6))),
        ("temperature-after-product", one_query_scale, one_score_scale, lambda *a: one_score_scale(*a, late=False), (*heads(1, 2, 5, 8), f(2))),
        ("heads-in-one-bmm", cross, cross_in_one, lambda *a: cross_in_one(*a, swapped=True), (f(2, 2, 3, 4), f(2, 5, 6), f(6, 16))),
        ("mask-by-least", masked_fill, lambda s, m: torch.where(m, s, torch.finfo(s.dtype).min).softmax(-1), lambda s, m: torch.where(m, s, 0.0).softmax(-1),
         (f(3, 5), torch.ones(5, 5).tril().bool()[2:])),
        ("bias-by-grid", relative, relative_by_grid, lambda *a: relative_by_grid(*a, back=True), (f(9, 3), f(3, 4, 4))),
        ("experts-merged", soft_experts, soft_experts_merged, lambda *a: soft_experts_merged(*a, dim=0), (f(5, 4), f(4, 3), f(3, 4, 6))),
        ("experts-in-order", switched, switched_in_order, lambda *a: switched_in_order(*a, back=False), (f(6, 4), f(4, 3), f(3, 4, 4))),
        ("halves-as-complex", one_step_rotation, one_step_rotation_complex, lambda *a: one_step_rotation_complex(*a, sign=-1), (f(2, 3, 8), f(3, 4))),
        ("group-scales-after", grouped_weights, grouped_weights_after, lambda *a: grouped_weights_after(*a, swapped=True), (f(3, 8), whole(7, 6, 8).to(torch.int8), f(6, 2))),
        ("counts-by-one-hot", penalised_by_count, penalised_by_one_hot, lambda *a: penalised_by_one_hot(*a, once=True), (f(3, 6), torch.tensor([[1, 1, 2], [0, 3, 3], [5, 5, 5]]), f(1)[0])),
        ("temperature-by-powers", heated, heated_by_powers, lambda *a: heated_by_powers(*a, last=0), (f(3, 5), torch.tensor(0.7))),
        ("finished-beams-by-fill", beam_scores, beam_scores_by_fill, lambda *a: beam_scores_by_fill(*a, end=1), (f(3), f(3, 5), torch.tensor([True, False, True]))),
        ("sequence-score-apart", chosen_logs, chosen_logs_apart, lambda *a: chosen_logs_apart(*a, dim=0), (f(2, 4, 5), whole(5, 2, 4))),
        ("positions-by-product", positions, positions_by_product, lambda m: positions_by_product(m, strict=False), (torch.tensor([[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]]),)),
        ("latest-by-product", latest, latest_by_step, lambda *a: latest_by_step(*a, dim=0), (f(2, 5, 4), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]))),
        ("guidance-stacked", both_guided, both_guided_stacked, lambda *a: both_guided_stacked(*a, swapped=True), (f(2, 4), f(6, 3), f(2, 2), f(2, 2))),
    ]
