"""What moves, repeats, picks and writes elements."""

import torch
from torch.nn import functional as F

from .case import case, grid

# Operator, attributes, function, types of the operand.
VIEWS = [
    ("stack", "0", lambda x: torch.stack([x, x + 1, x * 2]), "f32[4, 6]"), ("stack", "1", lambda x: torch.stack([x, x + 1], 1), "f32[4, 6]"),
    ("stack", "-1", lambda x: torch.stack([x, -x], -1), "f32[2, 3, 4]"), ("stack", "flat", lambda x: torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2), "f32[2, 3, 4]"),
    ("hstack", "", lambda x: torch.hstack([x, x + 1]), "f32[4, 6]"), ("vstack", "", lambda x: torch.vstack([x, x + 1]), "f32[6]"), ("dstack", "", lambda x: torch.dstack([x, -x]), "f32[4, 6]"),
    ("column_stack", "", lambda x: torch.column_stack([x, -x]), "f32[4]"), ("chunk", "2", lambda x: x.chunk(2, -1), "f32[4, 6]"), ("chunk", "uneven", lambda x: x.chunk(4, 1), "f32[4, 6]"),
    ("split", "2", lambda x: x.split(2, 0), "f32[4, 6]"), ("split", "sizes", lambda x: x.split([1, 3, 2], 1), "f32[4, 6]"), ("tensor_split", "3", lambda x: x.tensor_split(3, 1), "f32[4, 7]"),
    ("tensor_split", "places", lambda x: x.tensor_split([1, 4], 1), "f32[4, 7]"), ("unbind", "0", lambda x: x.unbind(0), "f32[3, 4]"), ("unbind", "-1", lambda x: x.unbind(-1), "f32[3, 4]"),
    ("hsplit", "2", lambda x: x.hsplit(2), "f32[4, 6]"), ("narrow", "", lambda x: x.narrow(1, 2, 3), "f32[4, 6]"), ("select", "", lambda x: x.select(1, -1), "f32[4, 6]"),
    ("movedim", "", lambda x: x.movedim(0, -1), "f32[2, 3, 4]"), ("movedim", "two", lambda x: x.movedim((0, 2), (1, 0)), "f32[2, 3, 4]"), ("swapaxes", "", lambda x: x.swapaxes(0, 2), "f32[2, 3, 4]"),
    ("transpose", "", lambda x: x.transpose(1, 2), "f32[2, 3, 4]"), ("mT", "", lambda x: x.mT, "f32[2, 3, 4]"), ("flatten", "1", lambda x: x.flatten(1), "f32[2, 3, 4]"),
    ("flatten", "0_1", lambda x: x.flatten(0, 1), "f32[2, 3, 4]"), ("unflatten", "", lambda x: x.unflatten(1, (2, 3)), "f32[4, 6]"), ("reshape", "permuted", lambda x: x.permute(1, 0, 2).reshape(3, 8), "f32[2, 3, 4]"),
    ("expand_as", "", lambda x: x.expand(3, 4, 6), "f32[4, 6]"), ("broadcast_to", "", lambda x: torch.broadcast_to(x, (3, 4, 6)), "f32[4, 1]"), ("repeat", "2_3", lambda x: x.repeat(2, 3), "f32[4, 6]"),
    ("repeat", "more", lambda x: x.repeat(2, 1, 1), "f32[4, 6]"), ("tile", "", lambda x: x.tile(2), "f32[4, 6]"), ("repeat_interleave", "2_0", lambda x: x.repeat_interleave(2, 0), "f32[4, 6]"),
    ("repeat_interleave", "3_1", lambda x: x.repeat_interleave(3, 1), "f32[2, 4, 6]"), ("repeat_interleave", "flat", lambda x: x.repeat_interleave(2), "f32[4, 6]"), ("flip", "1", lambda x: x.flip(1), "f32[4, 6]"),
    ("fliplr", "", lambda x: x.fliplr(), "f32[4, 6]"), ("flipud", "", lambda x: x.flipud(), "f32[4, 6]"), ("rot90", "", lambda x: x.rot90(), "f32[4, 6]"), ("roll", "1_0", lambda x: x.roll(1, 0), "f32[4, 6]"),
    ("roll", "-2_1", lambda x: x.roll(-2, 1), "f32[4, 6]"), ("roll", "both", lambda x: x.roll((-1, 2), (0, 1)), "f32[4, 6]"), ("roll", "windows", lambda x: x.roll((-3, -3), (1, 2)), "f32[1, 7, 7, 4]"),
    ("roll", "flat", lambda x: x.roll(2), "f32[4, 6]"), ("diagonal", "", lambda x: x.diagonal(), "f32[4, 4]"), ("diagonal", "1", lambda x: x.diagonal(1, 1, 2), "f32[2, 4, 5]"), ("diag", "", torch.diag, "f32[4]"),
    ("diag_embed", "", torch.diag_embed, "f32[2, 4]"), ("diag_embed", "1", lambda x: torch.diag_embed(x, 1), "f32[4]"), ("tril", "", torch.tril, "f32[4, 6]"), ("triu", "1", lambda x: x.triu(1), "f32[2, 4, 4]"),
    ("unfold", "", lambda x: x.unfold(1, 3, 2), "f32[4, 9]"), ("unfold", "0", lambda x: x.unfold(0, 2, 1), "f32[4, 6]"), ("im2col", "", lambda x: F.unfold(x, 3, 1, 1, 2), "f32[2, 4, 10, 10]"),
    ("im2col", "patches", lambda x: F.unfold(x, 2, stride=2), "f32[1, 3, 6, 6]"), ("col2im", "", lambda x: F.fold(x, (8, 8), 2, stride=2), "f32[2, 12, 16]"),
    ("col2im", "overlap", lambda x: F.fold(x, (5, 5), 3, padding=1), "f32[1, 18, 25]"), ("pixel_shuffle", "2", lambda x: F.pixel_shuffle(x, 2), "f32[2, 16, 5, 5]"), ("pixel_unshuffle", "2", lambda x: F.pixel_unshuffle(x, 2), "f32[2, 4, 10, 10]"),
    ("channel_shuffle", "4", lambda x: F.channel_shuffle(x, 4), "f32[2, 16, 5, 5]"), ("pad", "constant", lambda x: F.pad(x, (1, 2), value=3.5), "f32[4, 6]"), ("pad", "zeros", lambda x: F.pad(x, (1, 2, 0, 1)), "f32[4, 6]"),
    ("pad", "negative", lambda x: F.pad(x, (-1, 2)), "f32[4, 6]"), ("pad", "reflect_1", lambda x: F.pad(x, (2, 1), "reflect"), "f32[2, 4, 6]"), ("pad", "reflect_2", lambda x: F.pad(x, (2, 2, 1, 1), "reflect"), "f32[2, 4, 6, 7]"),
    ("pad", "replicate_1", lambda x: F.pad(x, (2, 1), "replicate"), "f32[2, 4, 6]"), ("pad", "replicate_2", lambda x: F.pad(x, (2, 2, 0, 1), "replicate"), "f32[2, 4, 6, 7]"), ("pad", "replicate_3", lambda x: F.pad(x, (1,) * 6, "replicate"), "f32[1, 2, 3, 4, 5]"),
    ("pad", "reflect_3", lambda x: F.pad(x, (1,) * 6, "reflect"), "f32[1, 2, 3, 4, 5]"),
    ("pad", "circular", lambda x: F.pad(x, (2, 1), "circular"), "f32[2, 4, 6]"), ("pad", "circular_2", lambda x: F.pad(x, (1, 1, 2, 2), "circular"), "f32[2, 4, 6, 7]"), ("atleast_3d", "", torch.atleast_3d, "f32[4]"),
    ("block_diag", "", lambda x: torch.block_diag(x, x + 1), "f32[2, 3]"), ("cartesian_prod", "", lambda x: torch.cartesian_prod(x, x + 1), "f32[3]"), ("meshgrid", "", lambda x: torch.meshgrid(x, x + 1, indexing="ij"), "f32[3]"),
    ("vander", "", lambda x: torch.vander(x, 3), "f32[4]"), ("view_as_real", "", lambda x: torch.view_as_real(torch.view_as_complex(x) * 2), "f32[3, 4, 2]"), ("one_hot", "", lambda x: F.one_hot(x, 5), "i64[4, 3]"),
    ("arange", "", lambda x: torch.arange(6, device=x.device) + x, "i64[4, 6]"), ("linspace", "", lambda x: torch.linspace(0, 1, 6, device=x.device) + x, "f32[4, 6]"), ("eye", "", lambda x: torch.eye(4, device=x.device) + x, "f32[4, 4]"),
    ("tril_indices", "", lambda x: x[tuple(torch.tril_indices(4, 4, device=x.device))], "f32[4, 4]"), ("index", "ellipsis", lambda x: x[..., None, 1:3], "f32[4, 6]"), ("index", "steps", lambda x: x[::2, 1::2], "f32[4, 6]"),
    ("index", "lists", lambda x: x[[0, 2]], "f32[4, 6]"), ("cast", "f32", lambda x: x.float(), "bf16[4, 6]"), ("type_as", "", lambda x: x.to(torch.bfloat16).type_as(x), "f32[4, 6]"),
]
PICKS = [
    ("index_select", "0", lambda x, i: x.index_select(0, i), "f32[5, 6]", "i64[3]"), ("index_select", "1", lambda x, i: x.index_select(1, i), "f32[5, 6]", "i64[3]"), ("gather", "1", lambda x, i: x.gather(1, i), "f32[5, 6]", "i64[5, 2]"),
    ("take", "", torch.take, "f32[5, 6]", "i64[3]"), ("take_along_dim", "", lambda x, i: torch.take_along_dim(x, i, 1), "f32[5, 6]", "i64[5, 2]"), ("index", "rows", lambda x, i: x[i], "f32[5, 6]", "i64[3]"),
    ("index", "columns", lambda x, i: x[:, i], "f32[5, 6]", "i64[3, 2]"), ("index", "pairs", lambda x, i: x[i, i], "f32[5, 6]", "i64[3]"), ("embedding", "", lambda x, i: F.embedding(i, x), "f32[5, 6]", "i64[3, 2]"),
    ("embedding", "padding", lambda x, i: F.embedding(i, x, padding_idx=0), "f32[5, 6]", "i64[3, 2]"), ("embedding_bag", "mean", lambda x, i: F.embedding_bag(i, x), "f32[5, 6]", "i64[3, 2]"),
    ("embedding_bag", "sum", lambda x, i: F.embedding_bag(i, x, mode="sum"), "f32[5, 6]", "i64[3, 2]"), ("index_add", "0", lambda x, i: x.index_add(0, i, x[:3]), "f32[5, 6]", "i64[3]"),
    ("index_copy", "0", lambda x, i: x.index_copy(0, i, x[:3] + 1), "f32[5, 6]", "i64[3]"), ("index_fill", "1", lambda x, i: x.index_fill(1, i, 2.0), "f32[5, 6]", "i64[3]"), ("index_put", "", lambda x, i: x.index_put((i,), x[:3] * 2), "f32[5, 6]", "i64[3]"),
    ("index_put", "accumulate", lambda x, i: x.index_put((i,), x[:3] * 2, accumulate=True), "f32[5, 6]", "i64[3]"), ("scatter", "1", lambda x, i: x.scatter(1, i, x * 2), "f32[5, 6]", "i64[5, 2]"),
    ("scatter", "number", lambda x, i: x.scatter(1, i, 2.0), "f32[5, 6]", "i64[5, 2]"), ("scatter_add", "1", lambda x, i: x.scatter_add(1, i, x * 2), "f32[5, 6]", "i64[5, 2]"),
    ("scatter_reduce", "amax", lambda x, i: x.scatter_reduce(1, i, x * 2, "amax"), "f32[5, 6]", "i64[5, 2]"), ("scatter_reduce", "mean", lambda x, i: x.scatter_reduce(0, i, x * 2, "mean"), "f32[5, 6]", "i64[5, 2]"),
    ("bucketize", "", lambda x, i: torch.bucketize(x, i.float()), "f32[5, 6]", "i64[3]"), ("searchsorted", "", lambda x, i: torch.searchsorted(i.float(), x), "f32[5, 6]", "i64[3]"),
    ("isin", "", lambda x, i: torch.isin(i, torch.tensor([1, 2, 3], device=i.device)), "f32[5, 6]", "i64[3]"),
    ("select_scatter", "", lambda x, i: x.select_scatter(x[:, 0] + 1, 1, 2), "f32[5, 6]", "i64[3]"), ("slice_scatter", "", lambda x, i: x.slice_scatter(x[:, :2] + 1, 1, 1, 3), "f32[5, 6]", "i64[3]"),
    ("diagonal_scatter", "", lambda x, i: x.diagonal_scatter(x.diagonal() + 1), "f32[5, 6]", "i64[3]"),
]


def cases():
    for operator, attributes, function, operand in VIEWS:
        yield case("arrangement", operator, function, operand, attributes=attributes)
    for operator, attributes, function, *operands in PICKS:
        yield case("arrangement", operator, function, *operands, attributes=attributes)
    yield from grid("arrangement", "write", written, ("f32[4, 6]", "f32[2, 6]"))
    yield from grid("arrangement", "masked_scatter", lambda x, m, y: x.masked_scatter(m, y), ("f32[4, 6]", "bool[4, 6]", "f32[4, 6]"))
    yield from grid("arrangement", "vmap", lambda x, y: torch.vmap(torch.dot)(x, y), ("f32[4, 6]", "f32[4, 6]"))


def written(x, y):
    out = torch.zeros_like(x)
    out[1:3] = y
    out[:, 0] += 1.0
    return out.masked_fill_(x > 0, 2.0)
