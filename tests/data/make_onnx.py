"""Writes the small ONNX models of tests/data/onnx. Needs the packages onnx and numpy: python make_onnx.py"""
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
RNG = np.random.default_rng(7)
X = ("x", T.FLOAT, ["batch", 8])
W1, B1, W2 = (RNG.standard_normal(s).astype(np.float32) for s in [(8, 16), (16,), (16, 4)])


def init(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, output, **attributes):
    outputs = [output] if isinstance(output, str) else output
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attributes)


def save(name, nodes, inputs, outputs, initializers=(), opset=17, functions=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=list(initializers))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    model = helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)
    with open(os.path.join(FOLDER, f"{name}.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    return model


def perceptron():
    """A layer, GELU written out, and another layer; as an optimiser leaves it; and with a mistake."""
    inputs, outputs = [value(*X)], [value("y", T.FLOAT, ["batch", 4])]
    weights = [init("w1", W1), init("b1", B1), init("w2", W2)]
    numbers = [init("root", np.float32(np.sqrt(2))), init("one", np.float32(1)), init("half", np.float32(0.5))]
    written = [
        node("MatMul", ["x", "w1"], "p"),
        node("Add", ["p", "b1"], "h"),
        node("Div", ["h", "root"], "d"),
        node("Erf", ["d"], "e"),
        node("Add", ["e", "one"], "f"),
        node("Mul", ["h", "f"], "g"),
        node("Mul", ["g", "half"], "a"),
        node("MatMul", ["a", "w2"], "y"),
    ]
    save("mlp", written, inputs, outputs, weights + numbers)
    turned = [init("w1_t", W1.T.copy()), init("b1", B1), init("w2", W2)]
    fused = [
        node("Gemm", ["x", "w1_t", "b1"], "h", transB=1),
        helper.make_node("Gelu", ["h"], ["a"], domain="com.microsoft", name="gelu"),
        node("MatMul", ["a", "w2"], "y"),
    ]
    save("mlp-optimised", fused, inputs, outputs, turned, domains=["com.microsoft"])
    wrong = [fused[0], helper.make_node("FastGelu", ["h"], ["a"], domain="com.microsoft", name="gelu"), fused[2]]
    save("mlp-wrong", wrong, inputs, outputs, turned, domains=["com.microsoft"])


def numbers():
    """Numbers in the shapes `[1]` and `[1, 1]`, as older exporters write them; beside a scalar such a shape counts."""
    nodes = [
        helper.make_node("Constant", [], ["zero"], value=init("zero", np.zeros(1, np.float32))),
        helper.make_node("Constant", [], ["low"], value=init("low", np.full((1, 1), -np.inf, np.float32))),
        node("Greater", ["x", "zero"], "above"),
        node("Where", ["above", "x", "low"], "y"),
        node("ReduceSum", ["x"], "sum", keepdims=0),
        node("Add", ["sum", "zero"], "total"),
    ]
    save("numbers", nodes, [value(*X)], [value("y", T.FLOAT, ["batch", 8]), value("total", T.FLOAT, [1])])


def functions():
    """A function of the model with an attribute that its body takes over."""
    body = [
        helper.make_node("Constant", [], ["c"]),
        node("Mul", ["a", "c"], "b"),
    ]
    body[0].attribute.add(name="value_float", ref_attr_name="factor", type=onnx.AttributeProto.FLOAT)
    scaled = helper.make_function("own", "Scaled", ["a"], ["b"], body, [helper.make_opsetid("", 17)], ["factor"])
    call = helper.make_node("Scaled", ["x"], ["y"], domain="own", name="call", factor=0.5)
    save("function", [call], [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])], functions=[scaled], domains=["own"])
    loop = helper.make_function(
        "own", "Scaled", ["a"], ["b"], [helper.make_node("Scaled", ["a"], ["b"], domain="own")],
        [helper.make_opsetid("own", 1)], [],
    )
    call = helper.make_node("Scaled", ["x"], ["y"], domain="own", name="call")
    save("calls-itself", [call], [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])], functions=[loop], domains=["own"])


def control():
    """A loop of three rounds, and shape arithmetic in front of a reshape."""
    body = helper.make_graph(
        [node("Identity", ["go"], "still"), node("Add", ["s", "s"], "t"), node("Identity", ["t"], "row")],
        "body",
        [value("i", T.INT64, []), value("go", T.BOOL, []), value("s", T.FLOAT, [2])],
        [value("still", T.BOOL, []), value("t", T.FLOAT, [2]), value("row", T.FLOAT, [2])],
    )
    nodes = [node("Loop", ["count", "true", "x"], ["last", "rows"], body=body)]
    numbers = [init("count", np.int64(3)), init("true", np.bool_(True))]
    outputs = [value("last", T.FLOAT, [2]), value("rows", T.FLOAT, [3, 2])]
    save("loop", nodes, [value("x", T.FLOAT, [2])], outputs, numbers)
    nodes = [
        node("Shape", ["x"], "shape"),
        node("Gather", ["shape", "zero"], "rows"),
        node("Unsqueeze", ["rows", "axes"], "first"),
        node("Concat", ["first", "rest"], "sizes", axis=0),
        node("Reshape", ["x", "sizes"], "y"),
    ]
    numbers = [init("zero", np.int64(0)), init("axes", np.int64([0])), init("rest", np.int64([2, 4]))]
    save("shapes", nodes, [value(*X)], [value("y", T.FLOAT, ["batch", 2, 4])], numbers)


def outside():
    """A mask and a weight whose values lie in files that are not there."""
    weight, mask = init("w", W1), init("mask", np.zeros((4, 16), np.float32))
    for tensor in [weight, mask]:
        size = len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = T.EXTERNAL
        for key, text in [("location", "missing.data"), ("offset", "0"), ("length", str(size))]:
            tensor.external_data.add(key=key, value=text)
    x, y = [value("x", T.FLOAT, [4, 8])], [value("y", T.FLOAT, [4, 16])]
    product = node("MatMul", ["x", "w"], "p")
    save("weight-outside", [node("MatMul", ["x", "w"], "y")], x, y, [weight])
    save("mask-outside", [product, node("Add", ["p", "mask"], "y")], x, y, [weight, mask])


def folded():
    """A convolution with a batch normalisation; folded into its kernels under their name; and with one factor left out."""
    x, y = [value("x", T.FLOAT, [1, 2, 5, 5])], [value("y", T.FLOAT, [1, 3, 3, 3])]
    rng = np.random.default_rng(8)
    w, (m, g, b) = rng.standard_normal((3, 2, 3, 3)).astype(np.float32), rng.standard_normal((3, 3)).astype(np.float32)
    v = np.float32([0.5, 1.5, 2.5])
    scale = g / np.sqrt(v + np.float32(1e-5))
    nodes = [node("Conv", ["x", "w"], "c"), node("BatchNormalization", ["c", "g", "b", "m", "v"], "y")]
    save("normalised", nodes, x, y, [init(*p) for p in [("w", w), ("g", g), ("b", b), ("m", m), ("v", v)]])
    for name, factor in [("normalised-folded", scale), ("normalised-wrong", g)]:
        weights = [init("w", w * factor[:, None, None, None]), init("w_bias", b - m * scale)]
        save(name, [node("Conv", ["x", "w", "w_bias"], "y")], x, y, weights)


def edges():
    """Images padded by what lies inside of them, and a shape with a root."""
    nodes = [
        node("Constant", [], "sixteen", value=init("sixteen_value", np.float32([16]))),
        node("Constant", [], "half", value=init("half_value", np.float32(0.5))),
        node("Pad", ["x", "pads"], "p", mode="reflect"),
        node("Pow", ["sixteen", "half"], "root"),
        node("Cast", ["root"], "side", to=T.INT64),
        node("Concat", ["side", "rest"], "sizes", axis=0),
        node("Reshape", ["p", "sizes"], "y"),
    ]
    numbers = [init("pads", np.int64([0, 0, 1, 2, 0, 0, 3, 0])), init("rest", np.int64([-1]))]
    save("edges", nodes, [value("x", T.FLOAT, [1, 2, 4, 4])], [value("y", T.FLOAT, [4, 24])], numbers)


def unlike():
    """Operators whose attributes, or whose version, say something else than they seem to."""
    heads = [value(name, T.FLOAT, [1, 2, 4, 8]) for name in "qkv"]
    result = [value("y", T.FLOAT, [1, 2, 4, 8])]
    save("attention-of-scale-0", [node("Attention", ["q", "k", "v"], "y", scale=0.0)], heads, result, opset=23)
    save("attention-of-usual-scale", [node("Attention", ["q", "k", "v"], "y")], heads, result, opset=23)
    x, y = [value("x", T.FLOAT, [4])], [value("y", T.FLOAT, [4])]
    save("clip-without-bounds-6", [node("Clip", ["x"], "y")], x, y, opset=6)
    save("clip-without-bounds-13", [node("Clip", ["x"], "y")], x, y, opset=13)
    save("sign", [node("Sign", ["x"], "y")], x, y)
    results = [value("y", T.FLOAT, [2]), value("places", T.INT64, [2])]
    for name, given in [("top-k-sorted", 1), ("top-k-unsorted", 0)]:
        save(name, [node("TopK", ["x", "k"], ["y", "places"], sorted=given)], x, results, [init("k", np.int64([2]))])


def orders():
    """Weights in another order, as a format wants the gates of a recurrent layer; and put together wrongly."""
    rng = np.random.default_rng(11)
    weights = rng.standard_normal((6, 4)).astype(np.float32)
    x, y = [value("x", T.FLOAT, [5, 4])], [value("y", T.FLOAT, [5, 6])]
    save("gates", [node("Gemm", ["x", "w"], "y", transB=1)], x, y, [init("w", weights)])
    parts = [init("sizes", np.int64([2, 2, 2])), init("turned", np.concatenate([weights[2:4], weights[:2], weights[4:]]))]
    split = [
        node("Gemm", ["x", "turned"], "h", transB=1),
        node("Split", ["h", "sizes"], ["r", "z", "n"], axis=1),
    ]
    for name, order in [("gates-reordered", ["z", "r", "n"]), ("gates-exchanged", ["r", "z", "n"])]:
        save(name, [*split, node("Concat", order, "y", axis=1)], x, y, parts)


def windows():
    """Pooling whose sizes are rounded up, and of a line; places in an image; norms in another precision."""
    x = [value("x", T.FLOAT, [1, 2, 8, 8])]
    rounded = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
    for op in ["MaxPool", "AveragePool"]:
        save(f"{op}-rounded-up", [node(op, ["x"], "y", **rounded)], x, [value("y", T.FLOAT, [1, 2, 5, 5])])
    line = node("MaxPool", ["x"], "y", kernel_shape=[3], dilations=[2])
    save("pool-of-line", [line], [value("x", T.FLOAT, [1, 2, 9])], [value("y", T.FLOAT, [1, 2, 5])])
    images = [value("x", T.FLOAT, [1, 2, 5, 5]), value("g", T.FLOAT, [1, 3, 3, 2])]
    sampled = node("GridSample", ["x", "g"], "y", mode="linear", padding_mode="border")
    save("grid-sample", [sampled], images, [value("y", T.FLOAT, [1, 2, 3, 3])], opset=20)
    x, y = [value("x", T.FLOAT, [3, 4])], [value("y", T.FLOAT, [3, 4])]
    for name, stash in [("norm-in-f32", 1), ("norm-in-f16", 10)]:
        norm = node("LayerNormalization", ["x", "w"], "y", stash_type=stash)
        save(name, [norm], x, y, [init("w", np.float32([1, 2, 3, 4]))])


def broken():
    """What the checker of ONNX refuses."""
    x, y = [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])]
    save("cycle", [node("Add", ["x", "b"], "a"), node("Add", ["a", "a"], "b"), node("Neg", ["b"], "y")], x, y)
    save("twice", [node("Neg", ["x"], "y"), node("Abs", ["x"], "y")], x, y)
    save("other-type", [node("Neg", ["x"], "y")], x, [value("y", T.FLOAT, [3])])
    save("mixed-types", [node("Add", ["x", "i"], "y")], x, y, [init("i", np.int64([1, 2]))])
    save("future", [node("Neg", ["x"], "y")], x, y, opset=99)
    short = init("w", np.float32([1, 2]))
    short.dims[0] = 1 << 40
    save("large", [node("Add", ["x", "w"], "y")], x, y, [short])
    attribute = node("Softmax", ["x"], "y", axis="last")
    save("text-for-number", [attribute], x, y)
    unknown = helper.make_node("Mystery", ["x"], ["h"], domain="own", name="mystery")
    save("unknown", [unknown, node("Neg", ["h"], "y")], x, y, domains=["own"])


for make in [perceptron, numbers, functions, control, outside, folded, edges, unlike, orders, windows, broken]:
    make()
