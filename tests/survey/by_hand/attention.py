"""Attention and mixtures of experts, as people rewrite them."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def heads(*shape):
    """Queries, keys and values."""
    return tuple(normal(*shape) for _ in range(3))


def places(n):
    return torch.arange(n)[:, None] - torch.arange(n)[None]


def windowed(q, k, v):
    d = places(8)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(d >= 0) & (d < 3))


def windowed_by_band(q, k, v, width=3):
    ones = torch.ones(8, 8, dtype=torch.bool)
    band = ones.tril() & ones.triu(1 - width)
    s = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.softmax(s.masked_fill(~band, float("-inf")), -1) @ v


def windowed_by_blocks(q, k, v, back=True):
    """Blocks of four look at themselves and at the block before."""
    b, h, n, d = q.shape
    q, k, v = (t.reshape(b, h, n // 4, 4, d) for t in (q, k, v))
    before = lambda t: F.pad(t, (0, 0, 0, 0, 1, 0))[:, :, :-1]
    k, v = torch.cat([before(k), k], 3), torch.cat([before(v), v], 3)
    row, column = torch.arange(4)[:, None] + 4, torch.arange(8)[None]
    keep = (row >= column) & (row - column < 4)
    first = torch.ones(n // 4, 1, 8, dtype=torch.bool)
    first[0, :, :4] = False
    s = (q @ k.mT / math.sqrt(d)).masked_fill(~(keep & first if back else keep), -math.inf)
    return (s.softmax(-1) @ v).reshape(b, h, n, d)


def windowed_by_four(q, k, v):
    d = places(8)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(d >= 0) & (d < 4))


def prefixed(q, k, v):
    i = torch.arange(6)
    keep = (i[None] < 2) | (i[:, None] >= i[None])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def prefixed_additive(q, k, v, prefix=2):
    bias = torch.full((6, 6), float("-inf")).triu(1)
    bias[:, :prefix] = 0
    return (q @ k.mT / math.sqrt(8) + bias).softmax(-1) @ v


def alibi(q, k, v, slopes):
    bias = -slopes[:, None, None] * places(6).to(q.dtype)
    s = q @ k.mT / math.sqrt(8) + bias
    return s.masked_fill(places(6) < 0, -math.inf).softmax(-1) @ v


def alibi_by_key(q, k, v, slopes, sign=1):
    """A row's own place adds the same number to all of its scores."""
    s = q @ k.mT / math.sqrt(8) + sign * slopes[:, None, None] * torch.arange(6)
    return s.masked_fill(places(6) < 0, -math.inf).softmax(-1) @ v


def documents(q, k, v):
    owner = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=owner[:, None] == owner[None])


def documents_apart(q, k, v, first=3):
    parts = [t.split([first, 7 - first], 2) for t in (q, k, v)]
    return torch.cat([F.scaled_dot_product_attention(*part) for part in zip(*parts)], 2)


def grouped(q, k, v):
    return F.scaled_dot_product_attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1), is_causal=True)


def grouped_by_einsum(q, k, v, interleaved=False):
    b, h, n, d = q.shape
    q = q.view(b, 3, 2, n, d).transpose(1, 2) if interleaved else q.view(b, 2, 3, n, d)
    s = torch.einsum("bgrqd,bgkd->bgrqk", q, k) / math.sqrt(d)
    p = s.masked_fill(places(n) < 0, -math.inf).softmax(-1)
    o = torch.einsum("bgrqk,bgkd->bgrqd", p, v)
    return (o.transpose(1, 2) if interleaved else o).reshape(b, h, n, d)


def capped(q, k, v):
    s = q @ k.mT / math.sqrt(8)
    return (torch.tanh(s / 30) * 30).softmax(-1) @ v


def capped_early(q, k, v, cap=30):
    return (cap * torch.tanh((q / (30 * math.sqrt(8))) @ k.mT)).softmax(-1) @ v


def normed_heads(q, k, v, w, u):
    norm = lambda t, g: F.rms_norm(t, (8,), g, 1e-6)
    return F.scaled_dot_product_attention(norm(q, w), norm(k, u), v)


def normed_scores(q, k, v, w, u, keys=True):
    """The roots of the norms stand behind the product."""
    root = lambda t: (t.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
    s = (q * (w * u)) @ k.mT * root(q)
    s = s * root(k).mT if keys else s
    return (s / math.sqrt(8)).softmax(-1) @ v


def sink(q, k, v, sinks):
    s = q @ k.mT / math.sqrt(8)
    s = torch.cat([s, sinks.view(1, -1, 1, 1).expand(2, -1, 5, 1)], -1)
    return s.softmax(-1)[..., :-1] @ v


def sink_by_sum(q, k, v, sinks, sign=1):
    s = q @ k.mT / math.sqrt(8)
    sinks = sinks.view(1, -1, 1, 1)
    top = torch.maximum(s.amax(-1, keepdim=True), sinks)
    e = (s - top).exp()
    return e @ v / (e.sum(-1, keepdim=True) + (sign * sinks - top).exp())


def cached(q, k, v, old_k, old_v):
    k = torch.cat([old_k[:, :, :3], k], 2)
    v = torch.cat([old_v[:, :, :3], v], 2)
    return F.scaled_dot_product_attention(q, k, v)


def cached_in_place(q, k, v, old_k, old_v, at=3):
    place = torch.tensor([at])
    k, v = old_k.index_copy(2, place, k), old_v.index_copy(2, place, v)
    keep = torch.arange(8) <= 3
    s = (q @ k.mT) / math.sqrt(8)
    return s.masked_fill(~keep, -math.inf).softmax(-1) @ v


def linear_causal(q, k, v):
    s = (q @ k.mT).tril()
    return s @ v


def linear_by_states(q, k, v, late=False):
    states = (k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(1)
    if late:
        states = F.pad(states, (0, 0, 0, 0, 1, 0))[:, :-1]
    return torch.einsum("btd,btde->bte", q, states)


def projected(x, w):
    b, n, d = x.shape
    return (x @ w.T).view(b, n, 2, 4).transpose(1, 2)


def projected_by_einsum(x, w, swapped=False):
    return torch.einsum("bnd,dkh->bhnk" if swapped else "bnd,dhk->bhnk", x, w.T.reshape(6, 4, 2) if swapped else w.T.reshape(6, 2, 4))


def retained(q, k, v):
    d = places(5)
    decay = torch.where(d >= 0, 0.9 ** d.clamp(min=0), 0.0)
    return (q @ k.mT * decay) @ v


def retained_in_steps(q, k, v, rate=0.9):
    state, out = torch.zeros(2, 4, 4), []
    for t in range(5):
        state = rate * state + k[:, t, :, None] * v[:, t, None, :]
        out.append((q[:, t, None] @ state)[:, 0])
    return torch.stack(out, 1)


def pooled(x, query, w):
    """One learned query; its product with the keys' weight needs no tokens."""
    return ((x @ w) @ query / 2).softmax(1).unsqueeze(1) @ x


def pooled_absorbed(x, query, w, scale=2):
    return torch.einsum("bn,bnd->bd", (x @ (w @ query) / scale).softmax(1), x).unsqueeze(1)


def relative(q, k, v, table):
    d = (places(5).T + 4)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=table[d].permute(2, 0, 1).unsqueeze(0))


def relative_by_strips(q, k, v, table, back=False):
    """Each row of the bias is a strip of the table."""
    rows = [table[4 - i:9 - i] for i in range(5)]
    bias = torch.stack(rows[::-1] if back else rows)
    return (q @ k.mT / math.sqrt(8) + bias.movedim(-1, 0)).softmax(-1) @ v


def talking(s, mix, v):
    return torch.einsum("hg,bgqk->bhqk", mix, s).softmax(-1) @ v


def talking_by_convolution(s, mix, v, turned=False):
    return F.conv2d(s, (mix.T if turned else mix)[:, :, None, None]).softmax(-1) @ v


def differential(q, k, v, rate):
    (a, b), (c, d) = q.chunk(2, -1), k.chunk(2, -1)
    p = (a @ c.mT / 2).softmax(-1) - rate * (b @ d.mT / 2).softmax(-1)
    return p @ v


def differential_apart(q, k, v, rate, sign=-1):
    (a, b), (c, d) = q.chunk(2, -1), k.chunk(2, -1)
    return F.scaled_dot_product_attention(a, c, v) + sign * rate * F.scaled_dot_product_attention(b, d, v)


def kept(lengths):
    """Every row keeps a key: what comes of none is 0 in fused attention and NaN elsewhere."""
    return (torch.arange(5) < lengths.clamp(min=1)[:, None])[:, None, None, :]


def padded(q, k, v, lengths):
    keep = kept(lengths)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def padded_by_product(q, k, v, lengths, power=1):
    """What is hidden weighs nothing: exponentials times the mask."""
    s = q @ k.mT / math.sqrt(8)
    e = (s - s.amax(-1, keepdim=True)).exp() * kept(lengths).to(q.dtype)
    return (e / e.sum(-1, keepdim=True) ** power) @ v


def routed(x, gate, w, u):
    p = (x @ gate).softmax(-1)
    top, chosen = p.topk(2, -1)
    top = top / top.sum(-1, keepdim=True)
    y = torch.zeros_like(x)
    for e in range(4):
        share = (top * (chosen == e)).sum(-1, keepdim=True)
        y = y + share * (F.silu(x @ w[e]) @ u[e])
    return y


def routed_by_logits(x, gate, w, u, normed=True):
    """Softmax of the chosen logits is the renormalised share."""
    logits = x @ gate
    top, chosen = logits.topk(2, -1)
    share = torch.zeros_like(logits).scatter(-1, chosen, top.softmax(-1) if normed else logits.softmax(-1).gather(-1, chosen))
    h = F.silu(torch.einsum("td,edf->tef", x, w))
    return torch.einsum("te,tef,efd->td", share, h, u)


def shared_expert(x, w, u, s, gate):
    return F.silu(x @ w) @ u + torch.sigmoid(x @ gate) * (F.silu(x @ s[0]) @ s[1].T)


def shared_expert_packed(x, w, u, s, gate, outside=False):
    h = F.silu(x @ torch.cat([w, s[0]], 1))
    a, b = h.split([6, 6], -1)
    g = torch.sigmoid(x @ gate)
    return g * (a @ u + b @ s[1].T) if outside else torch.cat([a, g * b], -1) @ torch.cat([u, s[1].T], 0)


def hard_routed(x, w, chosen):
    return torch.bmm(x.unsqueeze(1), w[chosen]).squeeze(1)


def hard_routed_dense(x, w, chosen, shift=0):
    hot = F.one_hot((chosen + shift) % 3, 3).to(x.dtype)
    return torch.einsum("te,td,edf->tf", hot, x, w)


def rewrites():
    return [
        ("window-by-band", windowed, windowed_by_band, lambda *a: windowed_by_band(*a, width=4), heads(1, 2, 8, 8)),
        ("window-by-blocks", windowed_by_four, windowed_by_blocks, lambda *a: windowed_by_blocks(*a, back=False), heads(1, 2, 8, 8)),
        ("prefix-additive", prefixed, prefixed_additive, lambda *a: prefixed_additive(*a, prefix=3), heads(1, 2, 6, 8)),
        ("alibi-by-key", alibi, alibi_by_key, lambda *a: alibi_by_key(*a, sign=-1), (*heads(1, 2, 6, 8), normal(2).abs())),
        ("documents-apart", documents, documents_apart, lambda *a: documents_apart(*a, first=4), heads(1, 2, 7, 8)),
        ("grouped-by-einsum", grouped, grouped_by_einsum, lambda *a: grouped_by_einsum(*a, interleaved=True), (normal(1, 6, 5, 8), normal(1, 2, 5, 8), normal(1, 2, 5, 8))),
        ("capped-early", capped, capped_early, lambda *a: capped_early(*a, cap=20), heads(1, 2, 5, 8)),
        ("normed-scores", normed_heads, normed_scores, lambda *a: normed_scores(*a, keys=False), (*heads(1, 2, 5, 8), normal(8), normal(8))),
        ("sink-by-sum", sink, sink_by_sum, lambda *a: sink_by_sum(*a, sign=-1), (*heads(2, 3, 5, 8), normal(3))),
        ("cache-in-place", cached, cached_in_place, lambda *a: cached_in_place(*a, at=2), (*heads(1, 2, 1, 8), normal(1, 2, 8, 8), normal(1, 2, 8, 8))),
        ("linear-by-states", linear_causal, linear_by_states, lambda *a: linear_by_states(*a, late=True), heads(2, 5, 4)),
        ("heads-by-einsum", projected, projected_by_einsum, lambda *a: projected_by_einsum(*a, swapped=True), (normal(2, 3, 6), normal(8, 6))),
        ("retention-in-steps", retained, retained_in_steps, lambda *a: retained_in_steps(*a, rate=0.8), heads(2, 5, 4)),
        ("pooling-absorbed", pooled, pooled_absorbed, lambda *a: pooled_absorbed(*a, scale=4), (normal(2, 5, 6), normal(4), normal(6, 4))),
        ("relative-by-strips", relative, relative_by_strips, lambda *a: relative_by_strips(*a, back=True), (*heads(1, 2, 5, 8), normal(9, 2))),
        ("talking-by-convolution", talking, talking_by_convolution, lambda *a: talking_by_convolution(*a, turned=True), (normal(1, 3, 4, 4), normal(3, 3), normal(1, 3, 4, 5))),
        ("differential-apart", differential, differential_apart, lambda *a: differential_apart(*a, sign=1), (*heads(1, 2, 5, 8), normal(1))),
        ("padding-by-product", padded, padded_by_product, lambda *a: padded_by_product(*a, power=2), (*heads(2, 2, 5, 8), torch.tensor([5, 3]))),
        ("routing-by-logits", routed, routed_by_logits, lambda *a: routed_by_logits(*a, normed=False), (normal(5, 6), normal(6, 4), normal(4, 6, 7), normal(4, 7, 6))),
        ("shared-expert-packed", shared_expert, shared_expert_packed, lambda *a: shared_expert_packed(*a, outside=True),
         (normal(5, 4), normal(4, 6), normal(6, 4), normal(2, 4, 6), normal(4, 1))),
        ("hard-routing-dense", hard_routed, hard_routed_dense, lambda *a: hard_routed_dense(*a, shift=1), (normal(5, 4), normal(3, 4, 6), whole(3, 5))),
    ]
