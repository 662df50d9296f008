"""Attention, state spaces and routing that mix tokens, in forms that published models write differently."""

import math

import torch
from torch.nn import functional as F

from .operands import normal


def shifted_windows(q, k, v):
    """Tokens of a grid turned by one, attention within windows of two by two, and only among tokens that were neighbours before."""
    part = lambda t: t.roll((-1, -1), (0, 1)).reshape(2, 2, 2, 2, -1).transpose(1, 2).reshape(4, 4, -1)
    region = torch.tensor([0, 0, 1, 2])
    region = (region[:, None] * 3 + region[None])[..., None]
    ids = region.reshape(2, 2, 2, 2, 1).transpose(1, 2).reshape(4, 4)
    bias = torch.where(ids[:, :, None] == ids[:, None], 0.0, -math.inf)
    s = part(q) @ part(k).mT / math.sqrt(q.shape[-1]) + bias
    out = s.softmax(-1) @ part(v)
    return out.reshape(2, 2, 2, 2, -1).transpose(1, 2).reshape(4, 4, -1).roll((1, 1), (0, 1))


def shifted_windows_whole(q, k, v, shift=1):
    """All tokens at once, under one mask."""
    at = torch.arange(4)
    window, wrapped = ((at - shift) % 4) // 2, (at < shift).long()
    label = window * 2 + wrapped
    label = (label[:, None] * 4 + label[None]).flatten()
    flat = lambda t: t.reshape(1, 16, -1)
    return F.scaled_dot_product_attention(flat(q), flat(k), flat(v), attn_mask=label[:, None] == label[None]).reshape(q.shape)


def cosine_scores(q, k, v, tau):
    s = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * tau.clamp(max=4.6).exp()
    return s.softmax(-1) @ v


def cosine_scores_late(q, k, v, tau, bound=4.6):
    length = lambda t: t.square().sum(-1).sqrt().clamp_min(1e-12)
    s = q @ k.mT / length(q)[..., None] / length(k)[..., None, :]
    return torch.softmax(s * torch.minimum(tau, torch.tensor(bound)).exp(), -1) @ v


def shared_heads(q, k, v):
    k, v = (t.repeat_interleave(3, 1) for t in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def shared_heads_expanded(q, k, v, inner=True):
    b, h, n, d = k.shape
    spread = lambda t: (t[:, :, None] if inner else t[:, None]).expand(b, *((h, 3) if inner else (3, h)), n, d).reshape(b, 3 * h, n, d)
    s = torch.einsum("bhqd,bhkd->bhqk", q, spread(k)) * d**-0.5
    s = s.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), torch.finfo(s.dtype).min)
    return torch.einsum("bhqk,bhkd->bhqd", s.softmax(-1), spread(v))


def one_key_head(q, k, v):
    return F.scaled_dot_product_attention(q, k.expand_as(q), v.expand_as(q))


def one_key_head_folded(q, k, v, scale=8):
    b, h, n, d = q.shape
    s = torch.bmm(q.reshape(b, h * n, d) / math.sqrt(scale), k[:, 0].mT)
    return torch.bmm(s.softmax(-1), v[:, 0]).view(b, h, n, d)


def merged_parts(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def merged_by_logsumexp(q, k, v, cut=3, weigh=True):
    """Each part of the keys by itself; the results are weighed by the sums of their exponentials."""
    def part(k, v):
        s = q @ k.mT / math.sqrt(q.shape[-1])
        return s.softmax(-1) @ v, s.logsumexp(-1, keepdim=True)
    (a, la), (b, lb) = part(k[..., :cut, :], v[..., :cut, :]), part(k[..., cut:, :], v[..., cut:, :])
    share = torch.sigmoid(la - lb) if weigh else 0.5
    return share * a + (1 - share) * b


def rotated_by_permutation(x, w):
    """Neighbouring dimensions turned together."""
    a, b = (x @ w.T).unflatten(-1, (-1, 2)).unbind(-1)
    t = torch.arange(x.shape[0])[:, None] * torch.tensor([1.0, 0.1])
    y = torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)
    return y @ y.mT


def rotated_by_halves(x, w, order=(0, 2, 1, 3)):
    w = w[torch.tensor(order)]
    y = x @ w.T
    t = torch.arange(x.shape[0])[:, None] * torch.tensor([1.0, 0.1])
    t = torch.cat([t, t], -1)
    y = y * t.cos() + torch.cat([-y[..., 2:], y[..., :2]], -1) * t.sin()
    return y @ y.mT


def stretched(x):
    t = torch.outer(torch.arange(6.0) / 4, 100.0 ** -(torch.arange(0, 4, 2) / 4))
    return x * torch.cat([t, t], -1).cos()


def stretched_frequencies(x, factor=0.25):
    f = factor / 100.0 ** (torch.arange(0, 4, 2) / 4)
    t = torch.arange(6.0)[:, None] * f
    return x * t.cos().repeat(1, 2)


def slopes(s):
    rate = torch.tensor([2.0 ** -(8 * (h + 1) / 4) for h in range(4)])
    at = torch.arange(5)
    return (s - rate[:, None, None] * (at[:, None] - at[None]).abs()).softmax(-1)


def slopes_by_powers(s, first=0.25):
    rate = first ** torch.arange(1, 5).view(4, 1, 1)
    back = torch.cat([torch.arange(5).flip(0), torch.arange(1, 5)])
    at = torch.stack([back[4 - i:9 - i] for i in range(5)])
    return torch.softmax(s + at * -rate, -1)


def rolled_cache(cache, new):
    return torch.cat([cache[:, 1:], new], 1).sum(-1), torch.cat([cache[:, 1:], new], 1)


def rolled_cache_in_place(cache, new, at=-1):
    cache = cache.roll(-1, 1)
    cache[:, at] = new[:, 0]
    return torch.einsum("btd->bt", cache), cache


def state_space(x, a, b, c):
    """A diagonal state space, token by token."""
    h, out = torch.zeros_like(a), []
    for t in range(x.shape[0]):
        h = torch.exp(-a) * h + b * x[t]
        out.append((c * h).sum())
    return torch.stack(out)


def state_space_kernel(x, a, b, c, late=0):
    n = x.shape[0]
    at = torch.arange(n)
    kernel = (c * b * torch.exp(-a[None] * (at[:, None] + late))).sum(-1)
    return F.conv1d(F.pad(x, (n - 1, 0))[None, None], kernel.flip(0)[None, None])[0, 0]


def decayed_chunks(q, k, v, g):
    """Linear attention with a decay for each token, in steps."""
    s, out = q.new_zeros(q.shape[-1], v.shape[-1]), []
    for t in range(q.shape[0]):
        s = torch.exp(-g[t]) * s + k[t][:, None] * v[t][None]
        out.append(q[t] @ s)
    return torch.stack(out)


def decayed_chunks_two(q, k, v, g, carried=True):
    """Two chunks: each as a product, and the state that the first one hands on."""
    n = q.shape[0] // 2
    total = [-g[i * n:(i + 1) * n].cumsum(0) for i in (0, 1)]
    keep = torch.ones(n, n).tril()
    parts = []
    for i in (0, 1):
        qs, ks, vs = (t[i * n:(i + 1) * n] for t in (q, k, v))
        parts.append((qs @ ks.T * (total[i][:, None] - total[i][None]).exp() * keep) @ vs)
    state = (k[:n] * (total[0][-1] - total[0]).exp()[:, None]).T @ v[:n]
    late = (q[n:] * (total[1][:, None].exp() if carried else 1)) @ state
    return torch.cat([parts[0], parts[1] + late])


def weighed_past(k, v, w, u):
    """Keys weigh the values before them, with a bonus for the present one."""
    out = []
    for t in range(k.shape[0]):
        past = [torch.exp(k[i] - (t - 1 - i) * w) for i in range(t)]
        now = torch.exp(k[t] + u)
        out.append((sum(p * v[i] for i, p in enumerate(past)) + now * v[t]) / (sum(past) + now))
    return torch.stack(out)


def weighed_past_carried(k, v, w, u, early=False):
    a, b, out = torch.zeros_like(w), torch.zeros_like(w), []
    for t in range(k.shape[0]):
        now = (k[t] + u).exp()
        out.append((a + now * v[t]) / (b + now))
        rate, e = (-w).exp(), k[t].exp()
        a, b = (rate * (a + e * v[t]), rate * (b + e)) if early else (rate * a + e * v[t], rate * b + e)
    return torch.stack(out)


def gate_power(x, r, rate):
    return torch.exp(-8 * F.softplus(rate) * torch.sigmoid(r)) * x


def gate_power_by_logs(x, r, rate, factor=8.0):
    return torch.exp(factor * torch.sigmoid(r) * F.logsigmoid(-rate)) * x


def token_mixed(x, w, u):
    y = x + F.gelu(x.mT @ w.T).mT
    return y + F.gelu(y @ u.T)


def token_mixed_by_einsum(x, w, u, both=True):
    y = x + F.gelu(torch.einsum("btd,st->bsd", x, w))
    return (y if both else x) + F.gelu(torch.einsum("bsd,ed->bse", y, u))


def balance(x):
    p = x.softmax(-1)
    share = F.one_hot(p.argmax(-1), 4).float().mean(0)
    return 4 * (share * p.mean(0)).sum()


def balance_by_count(x, experts=4):
    p = torch.softmax(x, -1)
    chosen = p.max(-1).indices
    count = torch.stack([(chosen == e).sum() for e in range(4)])
    return experts * torch.dot(count / x.shape[0], p.sum(0) / x.shape[0])


def soft_slots(x, phi, w):
    s = x @ phi
    inside = torch.einsum("ts,td->sd", s.softmax(0), x)
    return s.softmax(1) @ torch.einsum("sd,sde->se", inside, w)


def soft_slots_by_bmm(x, phi, w, dim=0):
    s = torch.matmul(x, phi)
    inside = F.softmax(s, dim).T @ x
    return F.softmax(s, 1) @ torch.bmm(inside[:, None], w)[:, 0]


def dispatched(x, gate, w):
    """Each token goes to one expert, each expert takes at most two."""
    p = (x @ gate).softmax(-1)
    best, chosen = p.max(-1)
    taken = F.one_hot(chosen, 3)
    place = (taken.cumsum(0) * taken - 1).max(-1).values
    kept = (place < 2).float()
    slots = torch.einsum("te,tc->tec", taken.float(), F.one_hot(place.clamp(max=1), 2).float()) * kept[:, None, None]
    inside = torch.einsum("tec,td->ecd", slots, x)
    return torch.einsum("tec,ecd->td", slots * best[:, None, None], inside @ w)


def dispatched_by_mask(x, gate, w, capacity=2):
    p = torch.softmax(x @ gate, -1)
    best, chosen = p.max(-1)
    out = torch.zeros_like(x)
    for e in range(3):
        mine = (chosen == e).float()
        kept = mine * (mine.cumsum(0) <= capacity)
        out = out + (kept * best)[:, None] * (x @ w[e])
    return out


def bucketed(table):
    """Buckets of distances, half of them exact, the others by logarithm."""
    at = torch.arange(8)
    d = (at[:, None] - at[None]).clamp(min=0)
    far = 4 + (torch.log(d.clamp(min=1).float() / 4) / math.log(16 / 4) * 4).long()
    return table[torch.where(d < 4, d, far.clamp(max=7))]


def bucketed_by_distance(table, exact=4):
    d = torch.arange(8)
    far = (exact + (d.clamp(min=1).float() / exact).log() / math.log(16 / exact) * (8 - exact)).long().clamp(max=7)
    values = table[torch.where(d < exact, d, far)]
    at = torch.arange(8)
    return values[(at[:, None] - at[None]).relu()]


def rewrites():
    f = normal
    grid, heads = (f(4, 4, 8), f(4, 4, 8), f(4, 4, 8)), (f(1, 2, 6, 8), f(1, 2, 6, 8), f(1, 2, 6, 8))
    return [
        ("shifted-windows-whole", shifted_windows, shifted_windows_whole, lambda *a: shifted_windows_whole(*a, shift=2), grid),
        ("cosine-scores-late", cosine_scores, cosine_scores_late, lambda *a: cosine_scores_late(*a, bound=0.5), (*heads, f(2, 1, 1).abs() + 1)),
        ("heads-expanded", shared_heads, shared_heads_expanded, lambda *a: shared_heads_expanded(*a, inner=False), (f(1, 6, 5, 8), f(1, 2, 5, 8), f(1, 2, 5, 8))),
        ("one-key-head", one_key_head, one_key_head_folded, lambda *a: one_key_head_folded(*a, scale=4), (f(2, 3, 5, 8), f(2, 1, 5, 8), f(2, 1, 5, 8))),
        ("parts-by-logsumexp", merged_parts, merged_by_logsumexp, lambda *a: merged_by_logsumexp(*a, weigh=False), heads),
        ("rope-permuted", rotated_by_permutation, rotated_by_halves, lambda *a: rotated_by_halves(*a, order=(0, 1, 2, 3)), (f(5, 6), f(4, 6))),
        ("rope-stretched", stretched, stretched_frequencies, lambda x: stretched_frequencies(x, 0.5), (f(2, 6, 4),)),
        ("alibi-slopes", slopes, slopes_by_powers, lambda s: slopes_by_powers(s, 0.5), (f(4, 5, 5),)),
        ("cache-rolled", rolled_cache, rolled_cache_in_place, lambda *a: rolled_cache_in_place(*a, at=0), (f(2, 4, 3), f(2, 1, 3))),
        ("state-space-kernel", state_space, state_space_kernel, lambda *a: state_space_kernel(*a, late=1), (f(6), f(3).abs(), f(3), f(3))),
        ("decay-in-chunks", decayed_chunks, decayed_chunks_two, lambda *a: decayed_chunks_two(*a, carried=False), (f(6, 3), f(6, 3), f(6, 4), torch.rand(6) + 0.5)),
        ("past-carried", weighed_past, weighed_past_carried, lambda *a: weighed_past_carried(*a, early=True), (f(5, 3), f(5, 3), f(3).abs(), f(3))),
        ("gate-by-logs", gate_power, gate_power_by_logs, lambda *a: gate_power_by_logs(*a, factor=4.0), (f(3, 4), f(3, 4), f(4))),
        ("tokens-mixed-by-einsum", token_mixed, token_mixed_by_einsum, lambda *a: token_mixed_by_einsum(*a, both=False), (f(2, 5, 4), f(5, 5), f(4, 4))),
        ("balance-by-count", balance, balance_by_count, lambda x: balance_by_count(x, 3), (f(6, 4),)),
        ("slots-by-bmm", soft_slots, soft_slots_by_bmm, lambda *a: soft_slots_by_bmm(*a, dim=1), (f(5, 4), f(4, 3), f(3, 4, 6))),
        ("dispatch-by-mask", dispatched, dispatched_by_mask, lambda *a: dispatched_by_mask(*a, capacity=1), (f(6, 4), f(4, 3), f(3, 4, 4))),
        ("buckets-by-distance", bucketed, bucketed_by_distance, lambda t: bucketed_by_distance(t, 3), (f(8, 2),)),
    ]
