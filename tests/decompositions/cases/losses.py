"""Losses."""

import torch
from torch.nn import functional as F

from .case import grid

PAIRS = [("f32[4, 5]", "f32[4, 5]")]
# Operator, attributes, function of scores and targets.
OF_FLOATS = [
    ("l1_loss", "", F.l1_loss), ("mse_loss", "", F.mse_loss), ("mse_loss", "none", lambda x, y: F.mse_loss(x, y, reduction="none")), ("huber_loss", "", F.huber_loss), ("huber_loss", "0.5", lambda x, y: F.huber_loss(x, y, delta=0.5)),
    ("smooth_l1_loss", "", F.smooth_l1_loss), ("smooth_l1_loss", "0.5", lambda x, y: F.smooth_l1_loss(x, y, beta=0.5)), ("soft_margin_loss", "", F.soft_margin_loss), ("binary_cross_entropy", "", F.binary_cross_entropy),
    ("binary_cross_entropy", "sum", lambda x, y: F.binary_cross_entropy(x, y, reduction="sum")), ("binary_cross_entropy_with_logits", "", F.binary_cross_entropy_with_logits), ("kl_div", "", lambda x, y: F.kl_div(x, y, reduction="batchmean")),
    ("kl_div", "log", lambda x, y: F.kl_div(x, y, reduction="sum", log_target=True)), ("poisson_nll_loss", "", F.poisson_nll_loss), ("poisson_nll_loss", "full", lambda x, y: F.poisson_nll_loss(x, y, full=True)),
    ("gaussian_nll_loss", "", lambda x, y: F.gaussian_nll_loss(x, y, y * y)), ("hinge_embedding_loss", "", F.hinge_embedding_loss), ("multilabel_soft_margin_loss", "", F.multilabel_soft_margin_loss),
    ("triplet_margin_loss", "", lambda x, y: F.triplet_margin_loss(x, y, x + y)), ("cosine_embedding_loss", "", lambda x, y: F.cosine_embedding_loss(x, y, y[:, 0], margin=0.2)), ("margin_ranking_loss", "", lambda x, y: F.margin_ranking_loss(x, y, y, 0.2)),
    ("cross_entropy", "probabilities", F.cross_entropy), ("l1_loss", "sum", lambda x, y: F.l1_loss(x, y, reduction="sum")),
]
OF_CLASSES = [
    ("cross_entropy", "", F.cross_entropy), ("cross_entropy", "sum", lambda x, y: F.cross_entropy(x, y, reduction="sum")), ("cross_entropy", "none", lambda x, y: F.cross_entropy(x, y, reduction="none")),
    ("cross_entropy", "ignore_3", lambda x, y: F.cross_entropy(x, y, ignore_index=3)), ("cross_entropy", "smooth", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1)),
    ("nll_loss", "", F.nll_loss), ("nll_loss", "sum", lambda x, y: F.nll_loss(x, y, reduction="sum")), ("nll_loss", "none", lambda x, y: F.nll_loss(x, y, reduction="none")),
]


def cases():
    for operator, attributes, function in OF_FLOATS:
        yield from grid("losses", operator, function, *PAIRS, attributes=attributes)
    for operator, attributes, function in OF_CLASSES:
        yield from grid("losses", operator, function, ("f32[8, 5]", "i64[8]"), ("f32[2, 5, 3, 4]", "i64[2, 3, 4]"), attributes=attributes)
    yield from grid("losses", "cross_entropy", lambda x, y, w: F.cross_entropy(x, y, w), ("f32[8, 5]", "i64[8]", "f32[5]"), attributes="weights")
    yield from grid("losses", "nll_loss", lambda x, y, w: F.nll_loss(x, y, w), ("f32[8, 5]", "i64[8]", "f32[5]"), attributes="weights")
    yield from grid("losses", "multi_margin_loss", F.multi_margin_loss, ("f32[4, 8]", "i64[4]"))
    yield from grid("losses", "multilabel_margin_loss", F.multilabel_margin_loss, ("f32[4, 8]", "i64[4, 8]"))
    yield from grid("losses", "cross_entropy", lambda x, y: F.cross_entropy(x.float().view(-1, x.shape[-1]), y.view(-1)), ("bf16[2, 3, 5]", "i64[2, 3]"), attributes="f32")
