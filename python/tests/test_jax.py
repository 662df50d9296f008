"""Jitted functions of JAX against code of PyTorch."""

import magneton_ir as mir
import pytest
import torch

jax = pytest.importorskip("jax", reason="jax is not installed")


@jax.jit
def feed_forward(x, w):
    return jax.numpy.maximum(x @ w, 0) * 2


def test_a_jitted_function_is_compared_with_pytorch():
    x, w = torch.randn(4, 16), torch.randn(16, 8)
    result = mir.check(feed_forward, lambda x, w: torch.relu(x @ w) + torch.relu(x @ w), (x, w))
    assert result.equivalent, str(result)
    assert mir.check(feed_forward, lambda x, w: torch.relu(x @ w) * 3, (x, w)).verdict == "different"


def test_arguments_may_be_of_jax_where_both_sides_are():
    x, w = jax.numpy.ones((4, 16)), jax.numpy.ones((16, 8))
    twice = jax.jit(lambda x, w: 2 * jax.nn.relu(x @ w))
    assert mir.check(feed_forward, twice, (x, w)).equivalent


def test_narrow_types_and_keywords():
    @jax.jit
    def scaled(x, *, scale):
        return x * scale

    x = torch.randn(4, dtype=torch.bfloat16)
    assert mir.check(scaled, lambda x, scale: x * scale, (x,), {"scale": torch.ones(4, dtype=torch.bfloat16)}).equivalent


def test_what_jax_does_not_take_is_an_error():
    with pytest.raises(mir.Error, match="JAX does not lower"):
        mir.check(feed_forward, feed_forward, (torch.zeros(3),))
