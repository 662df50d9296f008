"""Writes `more-operators.pt2`, `more-operators-decomposed.pt2` and the values that PyTorch computes: a program that calls the
less common ATen operators, most of them once for each form of their arguments.

Needs torch 2.11. The files are checked in; run this only to add operators.
"""

import torch
import torch.nn.functional as F

from make_exports import record


class MoreOperators(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.transposed = torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.line = torch.nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1, bias=False)
        self.solid = torch.nn.Conv3d(2, 3, (2, 1, 2), padding=(1, 0, 1))
        self.same = torch.nn.Conv2d(4, 2, 2, padding="same")
        self.lstm, self.gru, self.rnn = torch.nn.LSTMCell(6, 3), torch.nn.GRUCell(6, 3), torch.nn.RNNCell(6, 3, nonlinearity="relu")
        self.instance = torch.nn.InstanceNorm2d(4, affine=True)

    def forward(self, x, h, i, m, im, vol):
        """x: f32[4, 6], h: bf16[4, 6], i: i64[4, 6], m: bool[4, 6], im: f32[2, 4, 4, 4], vol: f32[1, 2, 4, 4, 4]"""
        results = []
        out = results.append
        u = torch.tanh(x)
        # functions
        out(x.ceil()), out(i.ceil()), out(torch.trunc(x * 3)), out(x.sign()), out(i.sgn()), out(torch.isnan(x)), out(torch.isnan(i)), out(torch.isinf(x / 0))
        out(torch.tan(x)), out(torch.asin(u)), out(torch.arccos(u)), out(torch.atan(i)), out(torch.sinh(x)), out(torch.cosh(h)), out(torch.asinh(x)), out(torch.acosh(x.abs() + 1)), out(torch.atanh(u))
        out(torch.exp2(x)), out(torch.log2(x.abs())), out(torch.log10(i + 1)), out(torch.erfc(x)), out(torch.atan2(x, i + 1)), out(torch.fmod(x, 0.7)), out(torch.fmod(i - 2, 3)), out(torch.fmod(x, h + 4))
        out(2**x), out(2.5**i), out(torch.pow(x.abs(), x)), out(torch.pow(i, i)), out(0.5**h), out(torch.gcd(i * 6, i + 3))
        out(i & 3), out(i | i.to(torch.int32)), out(i ^ 5), out(~i), out(i << 2), out(torch.bitwise_right_shift(i * 9, 1)), out(m & i), out(torch.bitwise_or(3, i))
        out(torch.clamp(x, u, u.abs())), out(torch.clamp(i, min=x)), out(x.clamp_max(u)), out(torch.addcmul(x, u, i)), out(torch.addcmul(i, i, i, value=3)), out(torch.addcdiv(x, u, x.abs() + 1, value=0.5))
        # activations
        out(F.softplus(x)), out(F.softplus(h, 2.0, 1.0)), out(F.elu(x, 0.5)), out(F.selu(x)), out(F.celu(x, 2.0)), out(F.leaky_relu(x, 0.2)), out(F.rrelu(x)), out(F.glu(x, 1)), out(F.glu(im, 1))
        out(F.hardsigmoid(x * 4)), out(F.hardswish(x * 4)), out(F.mish(x)), out(F.logsigmoid(x)), out(F.softsign(x)), out(F.tanhshrink(x))
        # memory, views
        order = x[0].argsort()
        out(torch.empty(6, dtype=torch.int64).index_put((order,), i[0])), out(torch.eye(3)), out(torch.eye(3, 5, dtype=torch.int64)), out(torch.linspace(0.0, 1.0, 7)), out(torch.linspace(-2, 5, 1))
        out(x.tile(2)), out(x.tile(2, 1, 3)), out(x.as_strided((4, 6), (6, 1))), out(x.as_strided((2, 12), (12, 1))), out(x.diagonal()), out(im.diagonal(-1, 3, 1)), out(x.unfold(1, 3, 2)), out(im.unfold(2, 2, 1))
        out(x.slice_scatter(u[:, :3], 1, 0, 6, 2)), out(x.slice_scatter(u[:2], 0, 1, 3)), out(torch.broadcast_tensors(x, x[:1])[1]), out(torch.meshgrid(i[0], i[:, 0], indexing="ij")[1]), out(torch.meshgrid(x[0], x[:, 0], indexing="xy")[0])
        out(torch.outer(x[0], i[:, 0])), out(torch.repeat_interleave(i, 2)), out(x.repeat_interleave(2, 0, output_size=8)), out(F.pixel_shuffle(im, 2)), out(F.pixel_unshuffle(im, 2)), out(F.channel_shuffle(im, 2))
        out(F.dropout(x + 1, 0.3, False, inplace=True)), out(torch.einsum("bchw->bwch", im)), out(torch.einsum("...qd,...kd->...qk", im, im)), out(torch.sum(torch.topk(x, 3, sorted=False)[0], -1))
        # places in images
        grid = im[:, :2].permute(0, 2, 3, 1) * 0.8
        out(F.grid_sample(im, grid, align_corners=False)), out(F.grid_sample(im, grid, "nearest", "border", True)), out(F.grid_sample(im, grid[:, :2], "bicubic", "reflection", False))
        # lengths
        out(torch.linalg.vector_norm(x, dim=1)), out(torch.linalg.vector_norm(x, 3, keepdim=True)), out(torch.linalg.vector_norm(x, float("inf"), dim=(0, 1))), out(torch.linalg.vector_norm(h, 1, 0, dtype=torch.float32))
        out(torch.linalg.norm(x)), out(torch.linalg.norm(x, 2, 1)), out(torch.linalg.norm(im, "fro", (1, 2))), out(x.norm()), out(x.norm(1, 0)), out(F.normalize(x)), out(F.pairwise_distance(x, u)), out(F.pairwise_distance(x, u, 1.0, keepdim=True))
        # losses
        out(F.mse_loss(x, u)), out(F.mse_loss(x, u, reduction="none")), out(F.l1_loss(x, u, reduction="sum")), out(F.smooth_l1_loss(x, u, beta=0.5)), out(F.huber_loss(x, u, delta=0.5)), out(F.kl_div(x, u.abs())), out(F.kl_div(x, u, log_target=True, reduction="batchmean"))
        out(F.binary_cross_entropy(torch.sigmoid(x), u.abs())), out(F.binary_cross_entropy_with_logits(x, u.abs())), out(F.binary_cross_entropy_with_logits(x, u.abs(), u.abs() + 1, pos_weight=u[0].abs()))
        out(F.margin_ranking_loss(x, u, x.sign(), 0.1)), out(F.hinge_embedding_loss(x, x.sign())), out(F.soft_margin_loss(x, u.sign())), out(F.poisson_nll_loss(x, u.abs())), out(F.poisson_nll_loss(x.abs(), u.abs(), log_input=False))
        out(F.nll_loss(x, i[:, 0])), out(F.nll_loss(x, i[:, 0], ignore_index=2, reduction="sum")), out(F.nll_loss(im, i[:2, :4, None].expand(2, 4, 4), reduction="none")), out(F.nll_loss(x[0], i[0, 0]))
        # recurrent cells, running reductions, distances
        state = u[:, :3]
        out(self.lstm(x, (state, state * 2))[0]), out(self.lstm(x)[1]), out(self.gru(x, state)), out(self.rnn(x, state))
        out(x.cummax(1)[0]), out(i.cummin(0)[1]), out(x.logcumsumexp(1)), out(x.median(1)[0]), out(torch.cdist(x, u)), out(torch.cdist(im, im, 1.0))
        out(F.embedding_bag(i.flatten() % 4, x, i[:, 0].cumsum(0) - i[0, 0])), out(F.embedding_bag(i % 4, x, mode="sum"))
        # convolutions, norms
        out(self.transposed(im)), out(self.line(im[:, :, 0])), out(self.solid(vol)), out(self.same(im)), out(F.conv_transpose3d(vol, vol[0, :, None, :2, :2, :2], stride=2)), out(self.instance(im)), out(F.instance_norm(im)), out(F.batch_norm(im, None, None, training=True))
        # pooling, resampling
        out(F.avg_pool2d(im, 3, 2, 1, ceil_mode=True)), out(F.avg_pool2d(im, 3, 2, 1, ceil_mode=True, count_include_pad=False)), out(F.avg_pool2d(im, 9, 9, ceil_mode=True)), out(F.avg_pool1d(im[0], 3, 2, 1)), out(F.avg_pool3d(vol, 2, ceil_mode=True))
        out(F.max_pool1d(im[0], 2, 1)), out(F.max_pool3d(vol, 3, 2, 1)), out(F.adaptive_avg_pool1d(im[0], 3)), out(F.adaptive_avg_pool1d(im[0], 1)), out(F.adaptive_avg_pool2d(im, (3, 5))), out(F.adaptive_avg_pool3d(vol, 1)), out(F.adaptive_avg_pool3d(vol, 3))
        out(F.adaptive_max_pool1d(im[0], 3)), out(F.adaptive_max_pool2d(im, 3)), out(F.adaptive_max_pool3d(vol, 3))
        out(F.interpolate(im, scale_factor=2)), out(F.interpolate(im, (3, 7))), out(F.interpolate(im, (3, 7), mode="nearest-exact")), out(F.interpolate(im[0], 7)), out(F.interpolate(vol, 5)), out(F.interpolate(im, scale_factor=1.7))
        out(F.interpolate(im, (3, 7), mode="bilinear")), out(F.interpolate(im, scale_factor=2, mode="bilinear", align_corners=True)), out(F.interpolate(im[0], 7, mode="linear")), out(F.interpolate(vol, 6, mode="trilinear")), out(F.interpolate(im, (5, 9), mode="bicubic")), out(F.interpolate(im, (5, 9), mode="bicubic", align_corners=True))
        out(F.pad(im, (1, 2, 3, 0), "reflect")), out(F.pad(im[0], (1, 2), "replicate")), out(F.pad(im, (4, 0, 1, 2), "circular")), out(F.pad(vol, (1, 1, 2, 0, 0, 3), "reflect")), out(F.unfold(im, 2, 2, 1, 2)), out(F.fold(F.unfold(im, 2), (4, 4), 2))
        return tuple(results)


def inputs():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    def whole(*shape):
        return torch.randint(0, 4, shape, generator=generator)

    return (normal(4, 6), normal(4, 6).bfloat16(), whole(4, 6), whole(4, 6) > 1, normal(2, 4, 4, 4), normal(1, 2, 4, 4, 4))


def main():
    torch.manual_seed(0)
    record("more-operators", MoreOperators().eval(), "x h i m im vol", inputs())


if __name__ == "__main__":
    main()
