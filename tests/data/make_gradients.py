"""Writes `gradients.pt2`, `gradients-decomposed.pt2` and the values that PyTorch computes: a program that calls the operators that
training graphs have in their backward halves.

Needs torch 2.11. The files are checked in; run this only to add operators.
"""

import torch
from make_exports import record

aten = torch.ops.aten


class Gradients(torch.nn.Module):
    def forward(self, x, g, i, im, w, gi, vol):
        """x: f32[4, 6], g: f32[4, 6], i: i64[4], im: f32[2, 4, 7, 6], w: f32[6, 2, 3, 2], gi: f32[2, 6, 4, 5], vol: f32[2, 4, 5]"""
        results = []
        out = results.append
        h, gh = x.bfloat16(), g.bfloat16()
        # functions of the elements
        for a, b in ((g, x), (gh, h)):
            out(aten.gelu_backward(a, b)), out(aten.gelu_backward(a, b, approximate="tanh")), out(aten.silu_backward(a, b)), out(aten.mish_backward(a, b))
            out(aten.leaky_relu_backward(a, b, 0.1, False)), out(aten.hardtanh_backward(a, b, -0.5, 0.7)), out(aten.hardsigmoid_backward(a, b * 3))
            out(aten.softplus_backward(a, b, 2.0, 1.5)), out(aten.hardshrink_backward(a, b, 0.5)), out(aten.softshrink_backward(a, b, 0.5))
            out(aten.elu_backward(a, 1.3, 1.1, 0.9, False, b)), out(aten.elu_backward(a, 1.3, 1.1, 1.0, True, b))
        logs, buffer = aten.log_sigmoid_forward(x)
        out(logs), out(aten.log_sigmoid_backward(g, x, buffer))
        # losses
        y, one = x.flip(0) * 0.7, g[0, 0]
        for reduction in (0, 1, 2):
            a = g if reduction == 0 else one
            out(aten.mse_loss_backward(a, x, y, reduction)), out(aten.smooth_l1_loss_backward(a, x, y, reduction, 0.5)), out(aten.huber_loss_backward(a, x, y, reduction, 0.5))
            out(aten.binary_cross_entropy_backward(a, x.sigmoid(), y.sigmoid(), None, reduction)), out(aten.binary_cross_entropy_backward(a, x.sigmoid(), y.sigmoid(), g, reduction))
        weight = g[0].abs() + 0.1
        for of in (None, weight):
            for reduction in (1, 2):
                loss, total = aten.nll_loss_forward(x, i, of, reduction, 2)
                out(loss), out(total), out(aten.nll_loss_backward(one, x, i, of, reduction, 2, total))
            out(aten.nll_loss_backward(g[:, 0], x, i, of, 0, 2, one))
        # layers
        y, mean, scale = aten.native_layer_norm(x, [6], weight, g[1], 1e-5)
        for part in aten.native_layer_norm_backward(g, x, [6], mean, scale, weight, g[1], [True, True, True]):
            out(part)
        y, mean, scale = aten.native_layer_norm(vol, [4, 5], None, None, 1e-5)
        out(aten.native_layer_norm_backward(vol.flip(1), vol, [4, 5], mean, scale, None, None, [True, False, False])[0])
        for part in aten.convolution_backward(gi, im, w, [6], [2, 1], [1, 0], [1, 1], False, [0, 0], 2, [True, True, True]):
            out(part)
        for part in aten.convolution_backward(gi[:, :, :3, :2], im, w, [0], [2, 2], [1, 0], [2, 3], False, [0, 0], 2, [True, True, False])[:2]:
            out(part)
        for part in aten.convolution_backward(vol[:, :3, :4], vol, vol[:1, :, :2].repeat(3, 1, 1), [3], [1], [0], [1], False, [0], 1, [False, True, True])[1:]:
            out(part)
        out(aten.avg_pool2d_backward(gi[:, :4, :3, :3], im, [2, 2], [2, 2], [0, 0], False, True, None)), out(aten.avg_pool2d_backward(im[:, :, :4, :3], im, [3, 2], [2, 2], [1, 0], False, True, 5))
        out(aten._adaptive_avg_pool2d_backward(gi[:, :4, :1, :1], im)), out(aten.embedding_dense_backward(g, i, 5, -1, False)), out(aten.embedding_dense_backward(g, i, 5, 3, False))
        out(aten.slice_backward(g, [4, 9], 1, 2, 8, 1)), out(aten.slice_backward(g, [9, 6], 0, -4, 100, 1)), out(aten.select_backward(g, [4, 3, 6], 1, -1)), out(aten.native_dropout_backward(g, x > 0, 1.25))
        return tuple(results)


def inputs():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    places = torch.tensor([3, 0, 2, 3])
    return (normal(4, 6), normal(4, 6), places, normal(2, 4, 7, 6), normal(6, 2, 3, 2), normal(2, 6, 4, 5), normal(2, 4, 5))


def main():
    record("gradients", Gradients().eval(), "x g i im w gi vol", inputs())


if __name__ == "__main__":
    main()
