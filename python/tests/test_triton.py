"""Launches of Triton kernels: recorded as operators without a GPU, and run by Triton's interpreter in place of one."""

import threading

import magneton_ir as mir
import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

# What `add(x, mul(y, factor))` is as a kernel, if it covers all elements and both operands lie in rows.
RULES = """
/// Adds a multiple of a tensor.
op triton.scaled_sum(x, y, out; count, factor, BLOCK, kernel, grid, options, strides) =
    add(x, mul(y, factor))
    where shape(x) == shape(y), shape(x) == shape(out), count == numel(x), numel(x) <= BLOCK * product(select(grid, [0])), strides == ""

test triton.scaled_sum {
    x: f32[2, 3], y: f32[2, 3], out: f32[2, 3], count=6, factor=0.5, BLOCK=8, kernel="", grid=[1, 1, 1], options="", strides=""
}
"""


@triton.jit
def scaled_sum(x, y, out, count, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = at < count
    tl.store(out + at, tl.load(x + at, mask=here) + tl.load(y + at, mask=here) * factor, mask=here)


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})], key=["count"])
@triton.heuristics({"EVEN": lambda args: args["count"] % args["BLOCK"] == 0})
@triton.jit
def at_least_zero(x, count, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x + at, tl.maximum(tl.load(x + at), 0.0))
    else:
        tl.store(x + at, tl.maximum(tl.load(x + at, mask=at < count), 0.0), mask=at < count)


@triton.jit
def converted(x, out, count, kind: tl.constexpr, BLOCK: tl.constexpr = 64):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < count).to(kind), mask=at < count)


def fused(x, y, factor=0.5):
    out = torch.empty_like(x)
    scaled_sum[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), factor, BLOCK=256)
    return out


def plain(x, y):
    return x + y * 0.5


# On a GPU, all of this is run by it.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def interpreted(monkeypatch):
    """Triton's interpreter in the place of launches, where there is no GPU."""
    if DEVICE == "cuda":
        return
    from triton.runtime.interpreter import InterpretedFunction

    def run(kernel, *args, grid, warmup, **kwargs):
        InterpretedFunction(kernel.fn).run(*args, grid=grid, warmup=warmup, **kwargs)

    monkeypatch.setattr(triton.runtime.jit.JITFunction, "run", run)


@pytest.fixture
def inputs():
    torch.manual_seed(0)
    return torch.randn(6, 50, device=DEVICE), torch.randn(6, 50, device=DEVICE)


def test_a_launch_is_proven_to_be_its_plain_form(inputs, rules):
    recording = mir.record(fused, *inputs)
    assert recording.assumptions == ()
    result = mir.check(recording, plain, inputs, rules=rules(RULES))
    assert result.equivalent, result
    wrong = mir.check(recording, lambda x, y: x + y * 0.25, inputs, rules=rules(RULES))
    assert wrong.verdict == "different"
    # Without a definition, nothing is known of it.
    assert mir.check(recording, plain, inputs).verdict == "unknown"
    assert mir.check(recording, mir.record(fused, *inputs), inputs).tier == "exact"


def test_what_was_recorded_runs(inputs, interpreted):
    program = mir.record(fused, *inputs).program
    torch.testing.assert_close(program.module()(*inputs), plain(*inputs))


def test_numbers_and_layouts_tell_launches_apart(inputs):
    x, y = inputs

    def turned(x, y):
        return fused(x.t(), y.t())

    def in_rows(x, y):
        return fused(x.t().contiguous(), y.t())

    assert not mir.check(mir.record(fused, x, y), mir.record(fused, x, y, 0.25), (x, y)).equivalent
    # What is loaded is another element than the one that has its place.
    assert not mir.check(mir.record(turned, x, y), mir.record(in_rows, x, y), (x, y)).equivalent
    assert mir.check(mir.record(turned, x, y), mir.record(turned, x, y), (x, y)).equivalent


def test_a_kernel_with_configurations_takes_the_first(inputs, interpreted):
    def code(x, y):
        z = x * y
        at_least_zero[lambda meta: (triton.cdiv(z.numel(), meta["BLOCK"]),)](z, z.numel())
        return z

    program = mir.record(code, *inputs).program
    (call,) = [node for node in program.graph.nodes if "at_least_zero" in str(node.target)]
    assert call.args[1:4] == (300, 64, False) and call.args[5] == [5, 1, 1] and "num_warps=2" in call.args[6]
    torch.testing.assert_close(program.module()(*inputs), (inputs[0] * inputs[1]).relu())


def test_types_are_arguments(interpreted):
    def code(x):
        half, whole = torch.empty_like(x, dtype=torch.float16), torch.empty_like(x, dtype=torch.int32)
        converted[(1,)](x, half, 50, tl.float16)
        converted[(1,)](x, whole, 50, tl.int32)
        return half, whole

    x = torch.arange(50.0, device=DEVICE)
    recording = mir.record(code, x)
    half, whole = recording.program.module()(x)
    assert torch.equal(half, x.half()) and torch.equal(whole, x.int())
    result = mir.check(recording, lambda x: (torch.empty_like(x, dtype=torch.float16), torch.empty_like(x, dtype=torch.int32)), (x,))
    assert not result.equivalent


def test_a_launch_on_a_part_of_a_tensor_is_assumed_to_keep_to_it(inputs):
    recording = mir.record(lambda x, y: fused(x[:3], y[:3]), *inputs)
    (first, second) = recording.assumptions
    assert first.startswith("the Triton kernel scaled_sum reads and writes x within the tensor that it is given at ")
    assert "test_triton.py" in first and " y within " in second


def test_what_no_graph_can_say_of_a_launch_is_refused(inputs):
    def in_place(x, y):
        scaled_sum[(2,)](x, y, x, x.numel(), 2.0, BLOCK=256)
        return x

    with pytest.raises(mir.Error, match=r"(?s)scaled_sum is given the memory that it writes twice, as x and out at .*test_triton.py"):
        mir.record(in_place, *inputs)
    with pytest.raises(mir.Error, match="factor of the Triton kernel scaled_sum at .* is of the type object"):
        mir.record(lambda x, y: fused(x, y, object()), *inputs)
    with pytest.raises(mir.Error, match="misses the argument factor"):
        mir.record(lambda x, y: scaled_sum[(1,)](x, y, x, 3, BLOCK=4), *inputs)


def test_other_threads_launch_while_one_records(inputs, interpreted):
    done = []

    def code(x, y):
        thread = threading.Thread(target=lambda: done.append(fused(*inputs)))
        thread.start()
        thread.join()
        return fused(x, y)

    graph = mir.record(code, *inputs).program.graph
    assert sum("scaled_sum" in str(node.target) for node in graph.nodes) == 1
    torch.testing.assert_close(done[0], plain(*inputs))


def test_launches_in_what_dynamo_captures(inputs, tmp_path, rules):
    # Dynamo follows launches into Triton where there is no GPU: this is the graph that it makes where there is one.
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table, triton_kernel_wrapper_mutation

    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    out = graph.call_function(torch.empty_like, (x,))
    numbers = {
        "kernel_idx": kernel_side_table.add_kernel(scaled_sum),
        "constant_args_idx": kernel_side_table.add_constant_args({"count": 300, "factor": 0.5, "BLOCK": 256}),
        "grid": [(2, 1, 1)],
        "tma_descriptor_metadata": {},
    }
    graph.call_function(triton_kernel_wrapper_mutation, (), {**numbers, "kwargs": {"x": x, "y": y, "out": out}})
    graph.output((out,))
    mir.backend(tmp_path)(torch.fx.GraphModule(torch.nn.Module(), graph), list(inputs))
    assert not (tmp_path / "not-written.txt").exists(), (tmp_path / "not-written.txt").read_text()
    (region,) = tmp_path.glob("*.pt2")
    assert mir.check(region, lambda x, y: (plain(x, y),), inputs, rules=rules(RULES)).equivalent


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
def test_dynamo_captures_launches(inputs, tmp_path, rules):
    compiled = torch.compile(fused, backend=mir.backend(tmp_path))
    torch.testing.assert_close(compiled(*inputs), plain(*inputs))
    (region,) = tmp_path.glob("*.pt2")
    assert mir.check(region, lambda x, y: (plain(x, y),), inputs, rules=rules(RULES)).equivalent
