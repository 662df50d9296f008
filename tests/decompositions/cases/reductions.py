"""Sums, statistics, norms and what runs along a dim."""

import torch
from torch.nn import functional as F

from .case import case, grid

SHAPES = ["f32[4, 6]", "bf16[2, 3, 5]"]
# Operator, attributes, function.
REDUCTIONS = [
    ("sum", "", lambda x: x.sum()), ("sum", "1", lambda x: x.sum(1)), ("sum", "keep", lambda x: x.sum(-1, keepdim=True)), ("sum", "0_1", lambda x: x.sum((1, 0))),
    ("mean", "", lambda x: x.mean()), ("mean", "1", lambda x: x.mean(1)), ("mean", "keep", lambda x: x.mean((0, 1), keepdim=True)), ("prod", "", lambda x: x.prod()),
    ("prod", "1", lambda x: x.prod(1)), ("amax", "1", lambda x: x.amax(1)), ("aminmax", "1", lambda x: tuple(x.aminmax(dim=1))), ("max", "", lambda x: x.max()),
    ("max", "1", lambda x: tuple(x.max(1))), ("min", "keep", lambda x: tuple(x.min(-1, keepdim=True))), ("argmax", "", lambda x: x.argmax()), ("argmin", "1", lambda x: x.argmin(1)),
    ("all", "", lambda x: (x > 0).all()), ("all", "1", lambda x: (x > 0).all(1)), ("any", "", lambda x: (x > 0).any()), ("any", "1", lambda x: (x > 0).any(1, keepdim=True)),
    ("count_nonzero", "", lambda x: x.count_nonzero()), ("count_nonzero", "1", lambda x: x.count_nonzero(1)), ("var", "", lambda x: x.var()), ("var", "1", lambda x: x.var(1)),
    ("var", "population", lambda x: x.var(-1, correction=0, keepdim=True)), ("std", "", lambda x: x.std()), ("std", "1", lambda x: x.std(1)),
    ("std", "population", lambda x: x.std(1, correction=0)), ("var_mean", "1", lambda x: torch.var_mean(x, 1)), ("std_mean", "1", lambda x: torch.std_mean(x, 1, correction=0)),
    ("logsumexp", "1", lambda x: x.logsumexp(1)), ("logsumexp", "keep", lambda x: x.logsumexp(-1, keepdim=True)), ("norm", "", lambda x: x.norm()), ("norm", "1", lambda x: x.norm(dim=1)),
    ("norm", "p1", lambda x: x.norm(p=1, dim=1)), ("norm", "p3", lambda x: x.norm(p=3, dim=-1, keepdim=True)), ("norm", "inf", lambda x: x.norm(p=float("inf"), dim=1)),
    ("vector_norm", "", lambda x: torch.linalg.vector_norm(x, dim=1)), ("vector_norm", "0", lambda x: torch.linalg.vector_norm(x, 0, dim=1)),
    ("matrix_norm", "", lambda x: torch.linalg.matrix_norm(x)), ("matrix_norm", "1", lambda x: torch.linalg.matrix_norm(x, 1)), ("normalize", "", lambda x: F.normalize(x, dim=1)),
    ("normalize", "p1", lambda x: F.normalize(x, p=1.0, dim=-1)), ("softmax", "", lambda x: F.softmax(x, -1)), ("softmax", "0", lambda x: F.softmax(x, 0)),
    ("softmax", "f32", lambda x: F.softmax(x, -1, dtype=torch.float32)), ("log_softmax", "", lambda x: F.log_softmax(x, 1)), ("softmin", "", lambda x: F.softmin(x, 1)),
    ("cumsum", "1", lambda x: x.cumsum(1)), ("cumprod", "1", lambda x: x.cumprod(1)), ("cummax", "1", lambda x: tuple(x.cummax(1))), ("logcumsumexp", "1", lambda x: x.logcumsumexp(1)),
    ("diff", "", lambda x: x.diff()), ("diff", "0", lambda x: x.diff(n=2, dim=0) if x.shape[0] > 2 else x.diff(dim=0)), ("median", "1", lambda x: tuple(x.median(1))),
    ("nansum", "1", lambda x: x.nansum(1)), ("nanmean", "1", lambda x: x.nanmean(1)), ("trapezoid", "", lambda x: torch.trapezoid(x, dim=-1)), ("renorm", "", lambda x: x.renorm(2, 0, 1.0)),
    ("msort", "", lambda x: x.msort()), ("topk", "2", lambda x: tuple(x.topk(2))), ("kthvalue", "2", lambda x: tuple(x.kthvalue(2))), ("gumbel_softmax", "hardless", lambda x: F.softmax(x / 0.5, -1)),
    ("sum", "f32", lambda x: x.sum(1, dtype=torch.float32)), ("mean", "f32", lambda x: x.mean(-1, dtype=torch.float32)),
]


def cases():
    for operator, attributes, function in REDUCTIONS:
        shapes = SHAPES[:1] if operator in ("matrix_norm",) else SHAPES
        yield from grid("reductions", operator, function, *shapes, attributes=attributes)
    yield case("reductions", "sum", lambda x: x.sum(), "i64[4, 6]")
    yield case("reductions", "sum", lambda x: x.sum(1), "bool[4, 6]", attributes="1")
    yield case("reductions", "cumsum", lambda x: x.cumsum(0), "bool[4, 6]", attributes="0")
    yield case("reductions", "cosine_similarity", lambda x, y: F.cosine_similarity(x, y, dim=-1), "f32[4, 6]", "f32[4, 6]")
    yield case("reductions", "cosine_similarity", lambda x, y: F.cosine_similarity(x[:, None], y[None], dim=-1), "f32[4, 6]", "f32[3, 6]", attributes="pairs")
    yield case("reductions", "pairwise_distance", F.pairwise_distance, "f32[4, 6]", "f32[4, 6]")
    yield case("reductions", "pairwise_distance", lambda x, y: F.pairwise_distance(x, y, p=1.0, keepdim=True), "f32[4, 6]", "f32[4, 6]", attributes="p1")
    yield case("reductions", "trace", torch.trace, "f32[4, 4]")
    yield case("reductions", "cov", torch.cov, "f32[4, 6]")
    yield case("reductions", "corrcoef", torch.corrcoef, "f32[4, 6]")
    yield case("reductions", "cross", torch.linalg.cross, "f32[4, 3]", "f32[4, 3]")
    yield case("reductions", "bincount_by_one_hot", lambda i: F.one_hot(i, 5).sum(0), "i64[7]")
