"""Writes `further-operators.pt2`, `further-operators-decomposed.pt2` and the values that PyTorch computes: a program that calls operators
that are read as several nodes: sums of products, loops, losses with margins, what is written at places, resampling.

Needs torch 2.11. The files are checked in; run this only to add operators.
"""

import torch
import torch.nn.functional as F
from make_exports import record
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan


class FurtherOperators(torch.nn.Module):
    def forward(self, x, y, i, im, s, z):
        """x: f32[4, 6], y: f32[4, 6], i: i64[4], im: f32[2, 3, 5, 7], s: f32[3], z: i32[3]"""
        results = []
        out = results.append
        t, sum_of = im[:, :, :3, :3], torch.einsum
        # sums of products
        out(sum_of("ij,ij,kj->ik", x, y, x)), out(sum_of("bchw,bc,hk->bkw", im, im[:, :, 0, 0], x[:, :5].T)), out(sum_of("bcii->bc", t)), out(sum_of("bcii,bi->ci", t, t[:, 0, 0]))
        out(sum_of("ij,kl", x, y)), out(sum_of("cb,ab", x.T, y.T)), out(sum_of("...ij,...kj->...", im, t[:, :, :, :1])), out(sum_of("...ij,ij->...j", im, im[0, 0])), out(sum_of("ij,j->i", x, x[0, :1]))
        out(sum_of("ijk,ij,jk,ik->", t[0], t[0, 0], t[0, 1], t[0, 2])), out(sum_of("i,i->i", x[0], y[0])), out(sum_of("ab,cd->dacb", x, y)), out(sum_of("iij->j", t[0]))
        # loops
        out(scan(lambda h, v: (lambda n: (n, n * 2))(torch.tanh(h * 0.5 + v)), x[0].clone(), y)[0]), out(scan(lambda h, v: (h + v, h * v), x[0].clone(), y)[1]), out(mapped(lambda v, w: (v * w).softmax(-1), x, y[0]))
        # losses with margins
        out(F.triplet_margin_loss(x, y, y.flip(0), margin=0.5, swap=True)), out(F.triplet_margin_loss(x, y, y.flip(0), p=1.0, reduction="none"))
        signs = (i % 2 * 2 - 1).to(x.dtype)
        out(F.cosine_embedding_loss(x, y, signs, margin=0.2)), out(F.cosine_embedding_loss(x, y, signs, reduction="sum")), out(F.multi_margin_loss(x, i)), out(F.multi_margin_loss(x, i, p=2, margin=0.3, weight=y[0].abs(), reduction="sum"))
        out(F.multi_margin_loss(x, i, reduction="none"))
        # written at places
        place, index = 2 - 2 * torch.arange(2), (i[:, None] % 4).expand(4, 6)
        out(x.index_copy(0, place, y[:2])), out(x.index_copy(1, place, y[:, :2]))
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            out(x.scatter_reduce(0, index, y, reduce)), out(x.scatter_reduce(0, index, y, reduce, include_self=False))
        out(x.index_fill(1, place, 0.5)), out(x.index_fill(0, place - 1, s[0]))
        # counted below
        ascending = y.sort(-1).values
        for right in (False, True):
            out(torch.bucketize(x, ascending[0, :4], right=right)), out(torch.searchsorted(ascending, ascending[:, 1:4], right=right, out_int32=True))
            out(torch.bucketize(i, torch.arange(3), right=right)), out(torch.bucketize(x.log(), s.sort().values, right=right))
        # taken apart and put together
        out(torch.take(x, i * 5 - 3)), out(torch.block_diag(x[:2], y[:, :3], im[0, 0])), out(torch.linalg.multi_dot((x, y.T, x, y[0]))), out(torch.cross(x[:, :3], y[:, 3:]))
        for part in x.tensor_split(4, 1) + y.tensor_split((1, 3)):
            out(part.sin())
        out(x.masked_scatter(y > 0, torch.arange(24.0))), out(im.masked_scatter(im[:, :1] < 0.3, im.flip(0) * 2))
        # quantisation that is only pretended
        out(torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7)), out(torch.fake_quantize_per_channel_affine(im, s.abs() + 0.1, z, 1, 0, 15))
        # norms that keep statistics
        mean, variance = s.clone(), s.abs() + 1
        out(F.batch_norm(im, mean, variance, s, s * 2, training=True, momentum=0.3)), out(mean * 1), out(variance * 1)
        # places of resampling
        theta = im[:, 0, :2, :3] * 0.5
        out(F.affine_grid(theta, (2, 1, 4, 5), align_corners=True)), out(F.affine_grid(theta, (2, 1, 4, 6), align_corners=False)), out(F.affine_grid(im[:1, 0, :3, :4], (1, 1, 2, 3, 4), align_corners=False))
        out(F.interpolate(im, scale_factor=1.7, mode="bilinear", align_corners=True)), out(F.interpolate(im, scale_factor=(0.5, 1.5), mode="bicubic", align_corners=True)), out(F.interpolate(im, (11, 13), mode="bicubic"))
        for mode in ("bilinear", "bicubic"):
            out(F.interpolate(im, (3, 4), mode=mode, antialias=True)), out(F.interpolate(im, (9, 2), mode=mode, antialias=True)), out(F.interpolate(im, (2, 3), mode=mode, antialias=True, align_corners=True))
        out(torch.linspace(-1.0, 1.0, 11)), out(torch.linspace(0.3, -7.1, 6))
        return tuple(results)


def inputs():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    return (normal(4, 6), normal(4, 6), torch.tensor([1, 0, 3, 1]), normal(2, 3, 5, 7), normal(3), torch.tensor([2, 7, 0], dtype=torch.int32))


def main():
    record("further-operators", FurtherOperators().eval(), "x y i im s z", inputs(), strict=False)


if __name__ == "__main__":
    main()
