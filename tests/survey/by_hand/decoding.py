"""What stands around a model that generates: choice of tokens, beams, lengths, steps of samplers."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def penalised(x, seen):
    s = torch.gather(x, 1, seen)
    return x.scatter(1, seen, torch.where(s < 0, s * 1.3, s / 1.3))


def penalised_by_presence(x, seen, rate=1.3):
    there = F.one_hot(seen, x.shape[1]).sum(1) > 0
    return torch.where(there, torch.where(x > 0, x / rate, x * 1.3), x)


def nucleus(x):
    values, order = x.softmax(-1).sort(-1, descending=True)
    drop = values.cumsum(-1) - values > 0.7
    return x.masked_fill(torch.zeros_like(drop).scatter(-1, order, drop), -math.inf)


def nucleus_by_larger(x, share=0.7):
    p = torch.softmax(x, -1)
    larger = p[:, None, :] > p[:, :, None]
    return torch.where((larger * p[:, None, :]).sum(-1) > share, -math.inf, x)


def kept_top(x):
    return x.masked_fill(x < x.topk(3).values[:, -1:], -math.inf).softmax(-1)


def kept_top_sorted(x, k=3):
    least = x.sort(-1, descending=True).values[:, k - 1].unsqueeze(-1)
    e = torch.where(x >= least, torch.exp(x - x.amax(-1, keepdim=True)), 0.0)
    return e / e.sum(-1, keepdim=True)


def least_share(x):
    p = x.softmax(-1)
    return torch.where(p < 0.2 * p.amax(-1, keepdim=True), -math.inf, x)


def least_share_by_logs(x, share=0.2):
    return x.masked_fill(x - x.max(-1, keepdim=True).values < math.log(share), -math.inf)


def beams(scores, x):
    best, at = (scores[:, None] + x.log_softmax(-1)).flatten().topk(3)
    return best, at // 7, at % 7


def beams_in_two(scores, x, width=7):
    best, at = torch.topk((scores.unsqueeze(1) + x - x.logsumexp(1, keepdim=True)).reshape(-1), 3)
    source = torch.div(at, width, rounding_mode="floor")
    return best, source, at - source * width


def last_token(x, lengths):
    return x[torch.arange(x.shape[0]), (lengths - 1) % x.shape[1]]


def last_token_by_mask(x, lengths, back=1):
    at = torch.arange(x.shape[1])[None] == (lengths[:, None] - back) % x.shape[1]
    return torch.where(at[..., None], x, 0.0).sum(1)


def restarted(starts):
    at = torch.arange(8)
    return at - torch.where(starts, at, 0).cummax(0).values


def restarted_by_compare(starts, strict=False):
    at = torch.arange(8)
    before = (at[None] < at[:, None]) if strict else (at[None] <= at[:, None])
    return at - (torch.where(before & starts[None], at[None], 0)).amax(1)


def best_path(score, move, x):
    return (score[:, :, None] + move[None]).max(1).values + x


def best_path_by_column(score, move, x, turned=False):
    move = move.T if turned else move
    return torch.stack([(score + move[:, j]).amax(-1) for j in range(4)], -1) + x


def velocity(x, v, a):
    s = (1 - a * a).sqrt()
    x0, e = a * x - s * v, s * x + a * v
    return 0.9 * x0 + math.sqrt(1 - 0.81) * e


def velocity_by_turn(x, v, a, to=0.9):
    s = torch.sqrt((1 - a) * (1 + a))
    t = math.sqrt(1 - to * to)
    return (to * a + t * s) * x + (t * a - to * s) * v


def preconditioned(x, f, sigma):
    skip = 0.25 / (sigma**2 + 0.25)
    out = sigma * 0.5 / (sigma**2 + 0.25).sqrt()
    d = (x - (skip * x + out * f)) / sigma
    return x + (0.5 * sigma - sigma) * d


def preconditioned_at_once(x, f, sigma, half=0.5):
    total = sigma.square() + 0.25
    return x - (1 - half) * (x * sigma**2 / total - 0.5 * sigma * f * total.rsqrt())


def rescaled(c, u):
    y = u + 5 * (c - u)
    s = y * (c.std((1, 2, 3), keepdim=True) / y.std((1, 2, 3), keepdim=True))
    return 0.7 * s + 0.3 * y


def rescaled_by_factor(c, u, share=0.7):
    y = torch.lerp(u, c, 5.0)
    spread = lambda t: (t.flatten(1) - t.flatten(1).mean(1, keepdim=True)).square().sum(1).sqrt()
    return y * (1 - share + share * spread(c) / spread(y))[:, None, None, None]


def composed(density, colour, step):
    a = 1 - torch.exp(-density * step)
    before = torch.cat([torch.ones(2, 1), (1 - a).cumprod(1)[:, :-1]], 1)
    return ((a * before)[..., None] * colour).sum(1)


def composed_by_sums(density, colour, step, inclusive=False):
    depth = (density * step).cumsum(1)
    before = depth if inclusive else depth - density * step
    return torch.einsum("rs,rsc->rc", torch.exp(-before) - torch.exp(-before - density * step), colour)


def accepted(p, q, u, t):
    ratio = p.gather(1, t[:, None]) / q.gather(1, t[:, None])
    rest = (p - q).clamp(min=0)
    return u < ratio[:, 0].clamp(max=1), rest / rest.sum(1, keepdim=True)


def accepted_by_product(p, q, u, t, sign=1):
    mine = F.one_hot(t, p.shape[1]).bool()
    chosen = lambda a: a.masked_fill(~mine, 0).sum(1)
    rest = F.relu(sign * (p - q))
    return u < torch.minimum(chosen(p) / chosen(q), torch.ones(4)), rest / rest.sum(-1)[:, None]


def banned(x, tokens):
    return x.index_fill(1, tokens, -math.inf)


def banned_by_compare(x, tokens, shift=0):
    hit = (torch.arange(x.shape[1]) == tokens[:, None] + shift).any(0)
    return torch.where(hit[None], torch.full_like(x, -math.inf), x)


def rewrites():
    f = normal
    return [
        ("penalty-by-presence", penalised, penalised_by_presence, lambda *a: penalised_by_presence(*a, rate=1.2), (f(3, 6), whole(6, 3, 4))),
        ("nucleus-by-larger", nucleus, nucleus_by_larger, lambda x: nucleus_by_larger(x, 0.5), (f(3, 6),)),
        ("top-sorted", kept_top, kept_top_sorted, lambda x: kept_top_sorted(x, 4), (f(3, 6),)),
        ("least-share-by-logs", least_share, least_share_by_logs, lambda x: least_share_by_logs(x, 0.4), (f(3, 6),)),
        ("beams-in-two", beams, beams_in_two, lambda *a: beams_in_two(*a, width=6), (f(3), f(3, 7))),
        ("last-token-by-mask", last_token, last_token_by_mask, lambda *a: last_token_by_mask(*a, back=2), (f(3, 5, 4), torch.tensor([5, 2, 3]))),
        ("positions-restarted", restarted, restarted_by_compare, lambda s: restarted_by_compare(s, True), (torch.tensor([1, 0, 0, 1, 0, 1, 0, 0]).bool(),)),
        ("path-by-column", best_path, best_path_by_column, lambda *a: best_path_by_column(*a, turned=True), (f(2, 4), f(4, 4), f(2, 4))),
        ("velocity-by-turn", velocity, velocity_by_turn, lambda *a: velocity_by_turn(*a, to=0.8), (f(2, 5), f(2, 5), torch.rand(2, 1) * 0.8 + 0.1)),
        ("preconditioning-at-once", preconditioned, preconditioned_at_once, lambda *a: preconditioned_at_once(*a, half=0.25), (f(2, 5), f(2, 5), torch.rand(2, 1) + 0.5)),
        ("guidance-by-factor", rescaled, rescaled_by_factor, lambda *a: rescaled_by_factor(*a, share=0.6), (f(2, 3, 4, 4), f(2, 3, 4, 4))),
        ("compositing-by-sums", composed, composed_by_sums, lambda *a: composed_by_sums(*a, inclusive=True), (torch.rand(2, 6), f(2, 6, 3), torch.rand(2, 6))),
        ("draft-by-product", accepted, accepted_by_product, lambda *a: accepted_by_product(*a, sign=-1), (f(4, 5).softmax(-1), f(4, 5).softmax(-1), torch.rand(4), whole(5, 4))),
        ("ban-by-compare", banned, banned_by_compare, lambda *a: banned_by_compare(*a, shift=1), (f(2, 8), torch.tensor([1, 4]))),
    ]
