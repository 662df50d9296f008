"""Activations and other functions of the elements."""

import torch
from torch.nn import functional as F

from .case import grid

# Operator, attributes, function.
FUNCTIONS = [
    ("celu", "", F.celu), ("celu", "0.5", lambda x: F.celu(x, alpha=0.5)), ("elu", "", F.elu), ("elu", "0.7", lambda x: F.elu(x, alpha=0.7)),
    ("selu", "", F.selu), ("gelu", "", F.gelu), ("gelu", "tanh", lambda x: F.gelu(x, approximate="tanh")), ("glu", "", F.glu),
    ("glu", "0", lambda x: F.glu(x, dim=0)), ("hardshrink", "", F.hardshrink), ("hardshrink", "0.2", lambda x: F.hardshrink(x, 0.2)),
    ("hardsigmoid", "", F.hardsigmoid), ("hardswish", "", F.hardswish), ("hardtanh", "", F.hardtanh), ("hardtanh", "-2_3", lambda x: F.hardtanh(x, -2.0, 3.0)),
    ("leaky_relu", "", F.leaky_relu), ("leaky_relu", "0.2", lambda x: F.leaky_relu(x, 0.2)), ("logsigmoid", "", F.logsigmoid), ("mish", "", F.mish),
    ("relu", "", F.relu), ("relu6", "", F.relu6), ("silu", "", F.silu), ("sigmoid", "", torch.sigmoid), ("softplus", "", F.softplus),
    ("softplus", "2_10", lambda x: F.softplus(x, 2.0, 10.0)), ("softshrink", "", F.softshrink), ("softshrink", "0.3", lambda x: F.softshrink(x, 0.3)),
    ("softsign", "", F.softsign), ("tanh", "", torch.tanh), ("tanhshrink", "", F.tanhshrink), ("threshold", "", lambda x: F.threshold(x, 0.1, 20.0)),
    ("rrelu", "", F.rrelu), ("abs", "", torch.abs), ("square", "", torch.square), ("rsqrt", "", torch.rsqrt), ("reciprocal", "", torch.reciprocal),
    ("exp2", "", torch.exp2), ("expm1", "", torch.expm1), ("log1p", "", torch.log1p), ("log2", "", torch.log2), ("log10", "", torch.log10),
    ("frac", "", torch.frac), ("sgn", "", torch.sgn), ("sign", "", torch.sign), ("trunc", "", torch.trunc), ("logit", "", torch.logit),
    ("logit", "0.01", lambda x: torch.logit(x, 0.01)), ("sinc", "", torch.sinc), ("deg2rad", "", torch.deg2rad), ("rad2deg", "", torch.rad2deg),
    ("nan_to_num", "", torch.nan_to_num), ("nan_to_num", "0_1_-1", lambda x: torch.nan_to_num(x, 0.0, 1.0, -1.0)), ("clamp", "min", lambda x: x.clamp(min=0.1)),
    ("clamp", "both", lambda x: x.clamp(-1.0, 2.0)), ("pow", "2", lambda x: x**2), ("pow", "3", lambda x: x**3), ("pow", "0.5", lambda x: x**0.5),
    ("pow", "-1", lambda x: x**-1.0), ("pow", "scalar", lambda x: 2.0**x), ("rsub", "1", lambda x: 1.0 - x), ("rdiv", "1", lambda x: 1.0 / x),
    ("add", "alpha", lambda x: torch.add(x, 1.0, alpha=3)), ("floor_divide", "2", lambda x: x // 2.0), ("remainder", "0.3", lambda x: x % 0.3),
    ("erfc", "", torch.special.erfc), ("entr", "", torch.special.entr), ("log_ndtr", "", torch.special.log_ndtr), ("xlog1py", "", lambda x: torch.special.xlog1py(x, x)),
    ("asinh", "", torch.asinh), ("atanh", "", torch.atanh), ("tan", "", torch.tan), ("positive", "", torch.positive), ("isfinite", "", torch.isfinite),
    ("isinf", "", torch.isinf), ("isposinf", "", torch.isposinf), ("heaviside", "", lambda x: torch.heaviside(x, x)), ("round", "2", lambda x: x.round(decimals=2)),
    ("zeros_like", "", lambda x: torch.zeros_like(x) + x), ("full_like", "", lambda x: torch.full_like(x, 2.5) * x), ("new_ones", "", lambda x: x.new_ones(4, 32) + 1),
    ("alpha_dropout", "", lambda x: F.alpha_dropout(x, 0.3, training=False)), ("feature_dropout", "", lambda x: F.dropout1d(x, 0.3, training=False)),
]
# Functions of two operands, and of three.
OF_TWO = [
    ("add", "alpha", lambda x, y: torch.add(x, y, alpha=0.5)), ("sub", "alpha", lambda x, y: torch.sub(x, y, alpha=2)), ("true_divide", "", torch.true_divide),
    ("floor_divide", "", torch.floor_divide), ("div", "trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc")), ("remainder", "", torch.remainder),
    ("fmod", "", torch.fmod), ("maximum", "", torch.maximum), ("fmax", "", torch.fmax), ("fmin", "", torch.fmin), ("hypot", "", torch.hypot),
    ("logaddexp", "", torch.logaddexp), ("logaddexp2", "", torch.logaddexp2), ("xlogy", "", torch.xlogy), ("copysign", "", torch.copysign),
    ("atan2", "", torch.atan2), ("rsub", "", lambda x, y: torch.rsub(x, y)), ("heaviside", "", torch.heaviside), ("ldexp", "", lambda x, y: torch.ldexp(x, y)),
    ("float_power", "", lambda x, y: torch.float_power(x.exp(), y)), ("isclose", "", torch.isclose), ("prelu", "shared", lambda x, y: F.prelu(x, y[0, :1])),
    ("squared_difference", "", lambda x, y: (x - y) ** 2), ("dist", "", torch.dist),
]
OF_THREE = [
    ("lerp", "", torch.lerp), ("addcmul", "", lambda x, y, z: torch.addcmul(x, y, z, value=0.5)), ("addcdiv", "", lambda x, y, z: torch.addcdiv(x, y, z, value=2)),
    ("clamp", "tensors", lambda x, y, z: torch.clamp(x, y, z)), ("where", "", lambda x, y, z: torch.where(x > 0, y, z)),
    ("masked_fill", "", lambda x, y, z: y.masked_fill(x > 0, -1.0) + z),
]


def cases():
    for operator, attributes, function in FUNCTIONS:
        choices = ["f32[4, 32]", "bf16[2, 3, 16]"] if operator != "new_ones" else ["f32[4, 32]"]
        yield from grid("elementwise", operator, function, *choices, attributes=attributes)
    for operator, attributes, function in OF_TWO:
        choices = [("f32[4, 8]", "f32[4, 8]"), ("bf16[2, 4, 8]", "bf16[4, 8]")]
        yield from grid("elementwise", operator, function, *choices, attributes=attributes)
    for operator, attributes, function in OF_THREE:
        choices = [("f32[4, 8]", "f32[4, 8]", "f32[4, 8]"), ("bf16[2, 4, 8]", "bf16[4, 8]", "bf16[4, 1]")]
        yield from grid("elementwise", operator, function, *choices, attributes=attributes)
