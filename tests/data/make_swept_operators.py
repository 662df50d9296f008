"""Writes `swept-operators.pt2`, `swept-operators-decomposed.pt2` and the values that PyTorch computes: a program that calls what the
sweep over PyTorch's own samples (`tests/survey/samples.py`) found missing or wrong.

Needs torch 2.11. The files are checked in; run this only to add operators.
"""

import torch
import torch.nn.functional as F
from make_exports import record

LARGE = 2**60


class SweptOperators(torch.nn.Module):
    def forward(self, x, y, i, im, e, z):
        """x: f32[4, 6], y: f32[4, 6], i: i64[4], im: f32[2, 3, 5, 7], e: f32[12] with edge values, z: f32[12] of both signs of 0"""
        results = []
        out = results.append
        whole = (x * 10).long()
        # signs and choices
        out(e.signbit()), out(z.signbit()), out(whole.signbit()), out(torch.copysign(x, y)), out(torch.copysign(e, -2.0)), out(1 / torch.copysign(z * 0, y.flatten()[:12]))
        out(torch.heaviside(e, z + 0.5)), out(torch.heaviside(whole, whole * 0 + 7)), out(torch.fmax(e, z)), out(torch.fmin(e, z)), out(torch.fmax(whole, whole * 0))
        out(torch.hypot(x, y)), out(torch.hypot(e, z)), out(torch.ldexp(x, i[:, None])), out(torch.lcm(whole, whole.flip(0))), out(e.angle()), out(whole.angle())
        out(e.isreal()), out(whole.isfinite()), out(whole.isinf()), out(torch.logical_xor(e, z)), out(torch.logical_xor(whole, i[:, None])), out(x.conj_physical())
        out(x.round(decimals=1)), out((x * 1000).round(decimals=-2)), out(x.absolute()), out(x.negative()), out(torch.special.expit(x)), out(torch.special.ndtr(x))
        out(torch.clamp(x > 0, min=y > 0)), out(torch.clamp(x > 0, max=y > 0)), out(F.hardtanh(whole, -2, 2)), out(F.relu6(whole)), out(whole.nan_to_num()), out(whole.nansum())
        # a zero that is left has the sign of the quotient
        out(1 / torch.floor_divide(torch.where(z < 9, z, z) - 0.25, torch.where(z < 9, -torch.inf, z))), out(torch.logaddexp(e, z)), out(torch.logaddexp(e, e))
        # large integers that are one float
        out(torch.isclose(i + LARGE, i * 0 + LARGE, rtol=0.0, atol=0.5)), out(torch.isclose(whole, whole + 1, rtol=0.3))
        # sums of products
        out(torch.addr(x, y[:, 0], y[0], beta=0.5, alpha=2)), out(torch.addr(x, y[:, 0], y[0], beta=0)), out(torch.addr(x > 0, y[:, 0] > 0, y[0] > 0)), out(torch.addmv(x[0, :4], y, x[0], beta=2, alpha=3))
        out(torch.addbmm(x[:, :5], im[:, :2].reshape(-1, 4, 7)[:2], im[:, 0].mT[:2], beta=0.5)), out(torch.vdot(x[0], y[0])), out(torch.inner(x[0, 0], y)), out(torch.kron(x > 0, y > 0))
        for power in (1, 2, 3, 5, 8):
            out(torch.linalg.matrix_power(x[:, :4] / 3, power))
        out(torch.linalg.vander(x[0], N=4)), out(F.cosine_similarity(x[:1], y, dim=0)), out(torch.cosine_similarity(im, x[0, :1], dim=1, eps=0.5))
        out(torch.linalg.cross(x[:, :3], y[:1, :3])), out(torch.dist(x, y)), out(torch.dist(x, y, 1)), out(F.pdist(x)), out(F.pdist(x, 3))
        # lookups
        out(x.kthvalue(2).values), out(x.kthvalue(2, 0, True).values), out(x.kthvalue(3)[1]), out(torch.take_along_dim(x, i[:, None] % 4, 1)), out(torch.take_along_dim(x, i)), out(x.gather(1, i[:, None]))
        out(torch.repeat_interleave(x, i + 1, 0, output_size=9)), out(torch.repeat_interleave(i + 1, output_size=9)), out(torch.diagonal_scatter(x, y[0, :4], 1)), out(torch.diagonal_scatter(im, im[:, :, 0, :4], -1, 2, 3))
        out(torch.linalg.diagonal(im, offset=1)), out(torch.diagonal_copy(x)), out(torch.cartesian_prod(x[0], y[1], x[2])), out(x.put(i, y[0, :4])), out(x.index_add(0, i[:2], y[:2], alpha=2)), out(x.index_select(0, i[0]))
        # at equal distances
        for window in (torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window):
            out(window(8)), out(window(7, periodic=False))
        out(torch.linspace(3, 17, 6, dtype=torch.int64)), out(torch.linspace(x[0, 0], y[0, 0], 7)), out(torch.linspace(x[0, 0], 3.0, 4)), out(torch.logspace(-1, 2, 5)), out(torch.logspace(0, 3, 4, base=2))
        out(torch.mvlgamma(x.abs() + 3, 3)), out(x.median()), out(whole.median())
        for slope in torch.gradient(im, spacing=0.5, dim=(2, 3)) + torch.gradient(x):
            out(slope.sin())
        out(torch.trapezoid(x, y.cumsum(1))), out(torch.trapezoid(x, y[0].cumsum(0))), out(torch.cumulative_trapezoid(x, dx=0.5)), out(torch.cumulative_trapezoid(x, y[0].cumsum(0)))
        out(torch.diff(x, n=2, append=y)), out(torch.diff(whole, n=3)), out(torch.diff(x > 0)), out(torch.diff(whole, prepend=whole, append=whole, dim=0))
        # put together
        out(torch.vstack((x[0], y))), out(torch.dstack((x, y))), out(torch.dstack((x[0], y[0]))), out(torch.hstack((x[0, 0], y[0, 0]))), out(torch.diagflat(x[:2, :2], 1)), out(torch.diag_embed(x, -1, 0, 2)), out(torch.diag_embed(x > 0))
        out((x[:, None] * y).sum_to_size(4, 1, 6)), out(torch.unsafe_chunk(x, 3, 1)[1]), out(x.mH), out(x.H)
        # images without a batch
        w = im[:, :, :2, :3]
        out(F.conv2d(im[0], w)), out(F.conv1d(im[0, 0], im[0, :, :, :2].transpose(0, 1)[:, :5].reshape(3, 5, 2))), out(F.conv_transpose2d(im[0], w.transpose(0, 1))), out(F.max_pool2d(im[0], 2)), out(F.avg_pool2d(im[0], 3, 2, 1))
        out(F.avg_pool2d(im, 2, divisor_override=3)), out(F.max_pool1d(x, 2)), out(F.avg_pool1d(x, 3)), out(F.adaptive_avg_pool2d(im[0], (2, 3))), out(F.adaptive_max_pool1d(x, 2)), out(F.adaptive_avg_pool1d(im[0, 0], 3))
        for part in torch.native_layer_norm(im, (5, 7), None, None, 1e-3):
            out(part * 2)
        out(torch.softmax(whole, 1, dtype=torch.float32)), out(torch._safe_softmax(torch.where(x.cumsum(0) > 9, -torch.inf, x).masked_fill(i[:, None] == 3, -torch.inf), 1))
        # transforms of real numbers along several dimensions
        for spectrum in (torch.fft.fft2(im), torch.fft.fftn(x, s=(3, 8)), torch.fft.ifft2(im, norm="ortho")):
            out(torch.view_as_real(spectrum))
        out(torch.fft.irfft(x))
        return tuple(results)


def inputs():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    inf, nan = torch.inf, torch.nan
    edges = torch.tensor([0.0, -0.0, 1.5, -2.5, inf, -inf, nan, 0.5, -0.5, 88.0, -inf, inf])
    zeros = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.0, inf, 1.0, -0.0, nan, 0.0, -inf, inf])
    return (normal(4, 6), normal(4, 6), torch.tensor([1, 0, 3, 1]), normal(2, 3, 5, 7), edges, zeros)


def main():
    record("swept-operators", SweptOperators().eval(), "x y i im e z", inputs(), strict=False)


if __name__ == "__main__":
    main()
