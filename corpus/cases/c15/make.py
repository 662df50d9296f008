"""Prints the modules of this folder with JAX: `python make.py` in it. They were made with jax 0.10.2 on a CPU.

The Padé approximants of `jax.scipy.linalg.expm`. Which order a matrix needs follows from its norm: a module is one run, in which it
is a constant.
"""

import jax
import jax.numpy as jnp
from jax import lax

COEFFICIENTS = {
    3: (120.0, 60.0, 12.0, 1.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    9: (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0, 1.0),
    13: (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
         10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
}


def order(n):
    """Numerator and denominator of the approximant of order n, as `jax.scipy.linalg` writes them."""

    def approximant(a):
        b = COEFFICIENTS[n]
        eye = jnp.eye(a.shape[0], dtype=a.dtype)
        powers = [eye, a @ a]
        while len(powers) <= n // 2:
            powers.append(powers[-1] @ powers[1])
        u = a @ sum(b[2 * i + 1] * powers[i] for i in reversed(range(n // 2 + 1)))
        v = sum(b[2 * i] * powers[i] for i in reversed(range(n // 2 + 1)))
        return u, v

    return approximant


ORDERS = [order(n) for n in COEFFICIENTS]


def all_orders(place):
    def expm(a):
        found = [order(a) for order in ORDERS]
        chosen = [jnp.asarray(place) == i for i in range(len(ORDERS))]
        u = jnp.select(chosen, [u for u, _ in found])
        v = jnp.select(chosen, [v for _, v in found])
        return u + v, v - u

    return expm


def one_order(place):
    def expm(a):
        u, v = lax.switch(jnp.asarray(place), ORDERS, a)
        return u + v, v - u

    return expm


def write(name, function, size):
    argument = jax.ShapeDtypeStruct((size, size), jnp.float32)
    with open(f"{name}.mlir", "w") as file:
        file.write(jax.jit(function).lower(argument).as_text())


write("a", all_orders(2), 256)
write("b", one_order(2), 256)
write("b-fifth", one_order(1), 256)
