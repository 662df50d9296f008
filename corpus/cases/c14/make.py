"""Prints the modules of this folder with JAX: `python make.py` in it. They were made with jax 0.10.2 on a CPU."""

import jax
import jax.numpy as jnp
from jax import lax


def write(name, function, *shapes):
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    with open(f"{name}.mlir", "w") as file:
        file.write(jax.jit(function).lower(*arguments).as_text())


def frames_by_convolution(x):
    kernels = jnp.eye(2048, dtype=jnp.float32)[:, None, :]
    y = lax.conv_general_dilated(x[:, None, :], kernels, window_strides=(1024,), padding="VALID")
    return y.transpose(0, 2, 1)


def frames_by_gather(x):
    return x[:, jnp.arange(3)[:, None] * 1024 + jnp.arange(2048)]


def frames_too_close(x):
    return x[:, jnp.arange(3)[:, None] * 512 + jnp.arange(2048)]


write("a", frames_by_convolution, (256, 5000))
write("b", frames_by_gather, (256, 5000))
write("b-hop", frames_too_close, (256, 5000))
