"""Writes a model as PyTorch exports it, as both exporters to ONNX do, and as optimisers change that; and files with one mistake."""

import random

import numpy as np

# Which two files are compared: both sides of every pair.
PAIRS = {
    "dynamo": ("torch.pt2", "dynamo.onnx"),
    "legacy": ("torch.pt2", "legacy.onnx"),
    "exporters": ("dynamo.onnx", "legacy.onnx"),
    "extended": ("dynamo.onnx", "extended.onnx"),
    "basic": ("legacy.onnx", "basic.onnx"),
    "slim": ("legacy.onnx", "slim.onnx"),
    "sim": ("dynamo.onnx", "sim.onnx"),
    "fused": ("dynamo.onnx", "fused.onnx"),
}


def write(name, case, folder):
    """What was written, and what failed with its reason."""
    import onnx
    import torch

    make, operands, kind = case
    torch.manual_seed(sum(name.encode()))
    model = make().eval()
    with torch.no_grad():
        # Vectors that hold one number are alike; no two weights should be.
        for tensor in (*model.parameters(), *(b for n, b in model.named_buffers() if n.endswith(("running_mean", "running_var")))):
            if tensor.is_floating_point():
                tensor.add_(torch.rand_like(tensor) * 0.2)
    operands = operands()
    expected = model(*operands)
    failed = {}

    def attempt(form, action):
        try:
            action(folder / f"{name}.{form}")
        except Exception as error:
            (folder / f"{name}.{form}").unlink(missing_ok=True)
            failed[form] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160]}"

    attempt("torch.pt2", lambda path: torch.export.save(torch.export.export(model, operands, strict=False), str(path)))
    attempt("dynamo.onnx", lambda path: torch.onnx.export(model, operands, str(path), dynamo=True, external_data=False, verbose=False))
    attempt("legacy.onnx", lambda path: torch.onnx.export(model, operands, str(path), dynamo=False, opset_version=17))
    attempt("extended.onnx", lambda path: session(folder / f"{name}.dynamo.onnx", path, "ORT_ENABLE_EXTENDED"))
    attempt("basic.onnx", lambda path: session(folder / f"{name}.legacy.onnx", path, "ORT_ENABLE_BASIC"))
    attempt("slim.onnx", lambda path: onnx.save(__import__("onnxslim").slim(str(folder / f"{name}.legacy.onnx")), str(path)))
    attempt("sim.onnx", lambda path: onnx.save(__import__("onnxsim").simplify(str(folder / f"{name}.dynamo.onnx"))[0], str(path)))
    if kind:
        attempt("fused.onnx", lambda path: fused(folder / f"{name}.dynamo.onnx", path, kind))
    expected = [t.detach().numpy() for t in (expected if isinstance(expected, tuple) else (expected,))]
    feeds = [t.numpy() for t in operands]
    for path in sorted(folder.glob(f"{name}.*.onnx")):
        try:
            if not same(run(onnx.load(path), feeds), expected):
                raise ValueError("computes something else")
        except Exception as error:
            path.unlink()
            failed[path.name] = str(error)[:160]
            continue
        wrong = mistaken(onnx.load(path), feeds, expected, random.Random(path.name))
        if wrong:
            wrong[0].doc_string = wrong[1]
            onnx.save(wrong[0], path.with_suffix(".wrong.onnx"))
        else:
            failed[path.name] = "no mistake was found that changes the results"
    return failed


def session(source, path, level):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def fused(source, path, kind):
    from onnxruntime.transformers import optimizer

    optimizer.optimize_model(str(source), model_type=kind, num_heads=4, hidden_size=48, opt_level=0).save_model_to_file(str(path))


def run(model, feeds):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    runner = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return runner.run(None, {i.name: feed for i, feed in zip(runner.get_inputs(), feeds)})


def same(a, b):
    return len(a) == len(b) and all(x.shape == y.shape and np.allclose(x, y, rtol=1e-3, atol=1e-4) for x, y in zip(a, b))


def parted(a, b):
    """Whether results differ by more than rounding can explain."""
    if [x.shape for x in a] != [x.shape for x in b]:
        return False
    distances = [np.abs(x.astype(np.float64) - y).max() / (1e-9 + np.abs(y).max()) for x, y in zip(a, b) if x.size]
    return bool(distances) and np.isfinite(distances).all() and max(distances) > 1e-3


# Operators that take the same operands as another one.
LIKE = [("Add", "Sub"), ("Mul", "Div"), ("Relu", "Sigmoid"), ("Tanh", "Sigmoid"), ("Sin", "Cos"), ("ReduceMean", "ReduceMax"), ("MaxPool", "AveragePool"),
        ("GlobalAveragePool", "GlobalMaxPool"), ("Erf", "Tanh"), ("Softmax", "LogSoftmax"), ("Gelu", "Relu"), ("HardSwish", "HardSigmoid")]
ORDERED = {"Sub", "Div", "MatMul", "Pow", "Concat", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "FusedMatMul", "Where"}


def mistaken(model, feeds, expected, chance):
    """The model with one attribute, operand or operator changed so that it computes something else, and what was changed."""
    changes = list(all_changes(model.graph))
    chance.shuffle(changes)
    for node, change in changes[:60]:
        copy = type(model)()
        copy.CopyFrom(model)
        said = change(copy.graph.node[node], chance)
        try:
            if said and parted(run(copy, feeds), expected):
                return copy, said
        except Exception:
            continue
    return None


def all_changes(graph):
    for number, node in enumerate(graph.node):
        for pair in LIKE:
            if node.op_type in pair:
                yield number, lambda node, _, other=pair[1 - pair.index(node.op_type)]: replace_operator(node, other)
        if node.op_type in ORDERED and len(node.input) > 1:
            yield number, swap_operands
        if any(a.type in (1, 2, 7) for a in node.attribute):
            yield number, change_attribute


def replace_operator(node, other):
    said = f"{node.op_type} `{node.name}` became {other}"
    node.op_type = other
    return said


def swap_operands(node, _):
    node.input[-1], node.input[-2] = node.input[-2], node.input[-1]
    return f"the last operands of {node.op_type} `{node.name}` changed places"


def change_attribute(node, chance):
    attribute = chance.choice([a for a in node.attribute if a.type in (1, 2, 7)])
    if attribute.type == 1:
        attribute.f = attribute.f * 100 if attribute.f < 1e-3 else attribute.f * 1.25
    elif attribute.type == 2:
        attribute.i += chance.choice((-1, 1))
    elif len(attribute.ints) > 1:
        i = chance.randrange(len(attribute.ints) - 1)
        attribute.ints[i], attribute.ints[i + 1] = attribute.ints[i + 1], attribute.ints[i]
    else:
        return None
    return f"the attribute `{attribute.name}` of {node.op_type} `{node.name}` was changed"
