"""Code that `torch.export` cannot take is recorded: what it computes, and what the recording rests on."""

import hard
import magneton_ir as mir
import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_map


def copies(tree):
    return tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, tree)


def agrees(function, *args):
    """Records a run; the program gives what the code gives, and leaves the same in its arguments."""
    untouched = copies(args)
    recording = mir.record(function, *args)
    assert all(map(torch.equal, *map(leaves, (args, untouched)))), "the run left its traces"
    ours, theirs = copies(args), copies(args)
    with torch.no_grad():
        expected, given = function(*theirs), recording.program.module()(*ours)
    assert all(map(torch.allclose, *map(leaves, (given, expected)))), "other results"
    assert all(map(torch.allclose, *map(leaves, (ours, theirs)))), "other writes"
    return recording


def leaves(tree):
    return [x for x in torch.utils._pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def operators(recording):
    return [str(node.target) for node in recording.program.graph.nodes if node.op == "call_function"]


def hard_pair(layers):
    model, plain = hard.Model(layers=layers), hard.Model(hard.PlainLayer, layers=layers)
    plain.load_state_dict(model.state_dict())
    return model, plain


def test_the_hard_case_is_proven_equal_to_its_plain_form(rules):
    model, plain = hard_pair(layers=2)
    arguments = hard.inputs()
    recording = agrees(model, *arguments)
    assert recording.assumptions == ()
    file = rules(hard.RULES)
    result = mir.check(recording, plain, arguments, rules=file)
    assert (result.verdict, result.tier) == ("equivalent", "rounding")
    assert result.a.covered_ops == result.a.ops and result.b.covered_ops == result.b.ops
    assert any("hard.paged_attention" in text for text in result.assumptions)


def test_the_hard_case_is_not_proven_without_definitions_or_with_another_model(rules):
    model, plain = hard_pair(layers=1)
    arguments = hard.inputs()
    recording = mir.record(model, *arguments)
    assert mir.check(recording, plain, arguments).verdict == "unknown"
    layer = plain.layers[0]
    layer.forward = lambda x, *rest: hard.PlainLayer.forward(layer, x, *rest) * 2
    assert not mir.check(recording, plain, arguments, rules=rules(hard.RULES)).equivalent


def test_control_flow_on_contents_is_an_assumption_and_an_assertion(rules):
    model = hard.Model(peek=True)
    ids, batch, caches = hard.inputs()
    recording = agrees(model, ids, batch, caches)
    (read,) = recording.assumptions
    assert "Python read 6.0" in read and "hard.py" in read and 'batch["lengths"]' in read
    batch["lengths"] = torch.tensor([1, 1, 1])
    with pytest.raises(RuntimeError, match="recorded for inputs of which Python reads 6.0"):
        recording.program.module()(ids, batch, caches)
    result = mir.check(recording, recording, rules=rules(hard.RULES))
    assert result.equivalent and any("Python read 6.0" in text for text in result.assumptions)


def test_check_records_by_itself_what_cannot_be_exported():
    def peeking(x):
        return x * 2 if float(x.sum()) > 0 else x

    x = torch.ones(4)
    result = mir.check(peeking, lambda x: x + x, (x,))
    assert result.equivalent
    assert any("was recorded, since torch.export does not take it" in text for text in result.assumptions)
    assert any("Python read 4.0" in text for text in result.assumptions)


def test_layers_stay_whole_and_have_lines_and_names():
    block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    recording = agrees(lambda x: block(x), torch.randn(2, 5, 16))
    names = operators(recording)
    assert "aten.linear.default" in names and not any("addmm" in name for name in names)
    attention = mir.record(nn.functional.scaled_dot_product_attention, *[torch.randn(1, 2, 5, 8)] * 3)
    assert operators(attention) == ["aten.scaled_dot_product_attention.default"]
    linear = next(node for node in recording.program.graph.nodes if "linear" in str(node.target) and node.op == "call_function")
    assert "test_record.py" in linear.meta["stack_trace"] and "torch/nn" not in linear.meta["stack_trace"]
    lone = mir.record(nn.Linear(4, 4), torch.randn(2, 4)).program
    assert any("linear.py" in (node.meta.get("stack_trace") or "") for node in lone.graph.nodes)
    assert "block.linear1.weight" in recording.program.state_dict


def test_views_and_writes_are_resolved():
    def code(x, y):
        top, diagonal = x[:2], x.diagonal()
        top.add_(y)
        diagonal.mul_(3)
        x.t()[0].copy_(y[0])
        z = x.clone()
        z[z > 0.5].sum()
        y.detach().neg_()
        return top + 1, z

    def plain(x, y):
        x = torch.cat([x[:2] + y, x[2:]])
        x = torch.where(torch.eye(4, dtype=torch.bool), x * 3, x)
        x = torch.cat([y[0][:, None], x[:, 1:]], 1)
        return x[:2] + 1, x

    x, y = torch.randn(4, 4), torch.randn(2, 4)
    recording = agrees(code, x, y)
    assert any("gave the shape" in text for text in recording.assumptions)


def test_what_is_written_is_proven():
    def code(x, y):
        x[:2].add_(y)
        return x * 2

    def plain(x, y):
        new = torch.cat([x[:2] + y, x[2:]])
        x.copy_(new)
        return new * 2

    x, y = torch.randn(4, 4), torch.randn(2, 4)
    assert mir.check(agrees(code, x, y), plain, (x, y)).equivalent
    # The same result, without the write.
    result = mir.check(agrees(code, x, y), lambda x, y: plain(x.clone(), y), (x, y))
    assert result.verdict == "different" and "new value of `x`" in result.witness.output


def test_lists_that_python_reads():
    def code(x, counts):
        return torch.cat([x[:n] for n in counts.tolist()])

    x, counts = torch.randn(4, 4), torch.tensor([1, 3])
    recording = agrees(code, x, counts)
    assert "Python read a list" in recording.assumptions[0]
    with pytest.raises(RuntimeError, match="recorded for inputs"):
        recording.program.module()(x, torch.tensor([2, 3]))


def test_weights_that_the_run_writes_are_put_back():
    norm = nn.BatchNorm1d(4)
    before = copies(norm.state_dict())
    x = torch.randn(8, 4)
    recording = mir.record(lambda x: norm(x) if float(x[0, 0]) < 100 else x, x)
    assert all(torch.equal(before[name], value) for name, value in norm.state_dict().items())
    result = mir.check(recording, recording)
    assert result.tier == "exact"


def test_fake_and_meta_tensors_do():
    with torch.device("meta"):
        layer = nn.Linear(4, 4)
    program = mir.record(layer, torch.randn(2, 4)).program
    assert program.state_dict["weight"].device.type == "meta"
    with torch._subclasses.fake_tensor.FakeTensorMode():
        layer, x = nn.Linear(4, 4), torch.randn(2, 4)
    assert mir.check(mir.record(layer, x), mir.record(layer, x)).tier == "exact"
    with pytest.raises(mir.Error, match="have none"):
        mir.record(lambda x: x * float(x.sum()), torch.randn(4, device="meta"))


@pytest.mark.parametrize(
    "code, said",
    [
        (lambda x: torch.from_numpy(x.numpy() * int(x[0] > -9)), r"numpy\(\)"),
        (lambda x: torch.rand(3, generator=torch.Generator()) + x, "generator"),
        (lambda x: [x, object()], "object"),
        (lambda x: x @ torch.ones(17), "inconsistent tensor size|size mismatch"),
    ],
)
def test_what_no_graph_can_say_is_refused(code, said):
    with pytest.raises(mir.Error, match=said):
        mir.record(code, torch.randn(3))


def test_exchanged_memory_is_noticed():
    def code(x, y):
        z = x * 1
        z.data = y
        return z + 1

    with pytest.raises(mir.Error, match="exchanged"):
        mir.record(code, torch.randn(3), torch.randn(3))


def test_autograd_functions_and_constants():
    table = torch.arange(6.0)

    def code(x, flag=True):
        return hard.Norm.apply(x, table, 1e-6) + torch.tensor([1.0] * 6) if flag else x

    recording = agrees(code, torch.randn(2, 6))
    assert len(recording.program.constants) == 2 and recording.assumptions == ()


def test_inputs_that_share_memory_may_not_be_written():
    base = torch.zeros(6)

    def code(a, b):
        a.add_(1)
        return b * 2

    with pytest.raises(mir.Error, match="two inputs share, a and b"):
        mir.record(code, base[:4], base[2:])
    with pytest.raises(mir.Error, match="two inputs share"):
        mir.record(lambda a, b: code(a, b) if float(a.sum()) < 9 else a, base[:4], base[2:])
    agrees(code, base[:3], base[3:])


def test_attributes_that_the_run_replaces_are_put_back_and_named():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("position", torch.zeros(1))
            self.seen, self.log = None, []

        def forward(self, x):
            self.position = self.position + 1
            self.seen = x * 2
            self.log.append(x)
            return x + self.position

    module = Counting()
    before = module.position
    recording = mir.record(module, torch.ones(3))
    named = " ".join(recording.assumptions)
    assert "position" in named and "seen" in named and "log" in named
    assert module.position is before and module.seen is None and module.log == []


def test_gradients_of_functions_are_recorded():
    recording = mir.record(torch.func.grad(lambda x: (x * x).sum()), torch.ones(3))
    assert torch.equal(recording.program.module()(torch.full((3,), 2.0)), torch.full((3,), 4.0))
    with pytest.raises(mir.Error, match="does not require grad"):
        mir.record(lambda x: torch.autograd.grad((x * x).sum(), x)[0], torch.ones(3, requires_grad=True))


@torch.library.custom_op("record_test::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@halved.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("record_test::split_into", mutates_args=("low",))
def split_into(x: torch.Tensor, low: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    low.copy_(x - 1)
    return x + 1, x + 2


@split_into.register_fake
def _(x, low):
    return torch.empty_like(x), torch.empty_like(x)


OWN = """
/// Half of it.
op record_test.halved(x) = mul(x, 0.5)

test record_test.halved { x: f32[2, 3] }

/// Two results, and what it writes.
op record_test.split_into(x, low) = { add(x, 1.0), add(x, 2.0), sub(x, 1.0) }

test record_test.split_into { x: f32[2, 3], low: f32[2, 3] }
"""


def test_custom_operators_give_memory_of_their_own(rules):
    def code(x):
        y = x * 3
        half = halved(y)
        y.add_(half)
        half.mul_(2)
        return y, half

    x = torch.randn(4, 4)
    assert mir.check(agrees(code, x), lambda x: (x * 4.5, x * 3), (x,), rules=rules(OWN)).equivalent
    assert not mir.check(agrees(code, x), lambda x: (x * 4.5, x * 1.5), (x,), rules=rules(OWN)).equivalent


def test_custom_operators_may_give_several_results_and_write(rules):
    def code(x, low):
        one, two = split_into(x, low[1])
        return one * two

    def plain(x, low):
        low[1] = x - 1
        return (x + 1) * (x + 2)

    x, low = torch.randn(3), torch.zeros(2, 3)
    assert mir.check(agrees(code, x, low), plain, (x, low), rules=rules(OWN)).equivalent

    def swapped(x, low):
        low[0] = x - 1
        return (x + 1) * (x + 2)

    assert not mir.check(agrees(code, x, low), swapped, (x, low), rules=rules(OWN)).equivalent


class Engine:
    """Holds its state in attributes that are no buffers of a module."""

    def __init__(self, step):
        self.state = {"cache": torch.zeros(4)}
        self.scale = torch.full((4,), 2.0)
        self._step = step

    def step(self, x):
        return self._step(self.state["cache"], self.scale, x)


def adding(cache, scale, x):
    cache.add_(x)
    return cache * scale


def overwriting(cache, scale, x):
    cache.copy_(x)
    return cache * scale


def twice_adding(cache, scale, x):
    cache.copy_(cache + x)
    return cache + cache


@pytest.mark.parametrize("prepared", [lambda step, x: mir.record(step, x), lambda step, x: step])
def test_state_in_attributes_is_no_constant(prepared):
    """The cache holds zeros, with which adding and overwriting are the same, but only once."""
    x = torch.randn(4)
    engine, same, other = Engine(adding), Engine(twice_adding), Engine(overwriting)
    assert mir.check(prepared(engine.step, x), prepared(same.step, x), (x,)).equivalent
    assert not mir.check(prepared(engine.step, x), prepared(other.step, x), (x,)).equivalent
    assert engine.state["cache"].sum() == 0


def test_tensors_of_variables_have_their_names():
    engine = Engine(adding)
    recording = mir.record(engine.step, torch.randn(4))
    assert set(recording.program.constants) == {"state.cache", "scale"}


def test_constants_are_made_anew_in_every_run():
    def code(x):
        count = torch.tensor([1.0, 2.0])
        count.add_(x)
        return count

    program = mir.record(code, torch.zeros(2)).program.module()
    for _ in range(2):
        assert torch.equal(program(torch.ones(2)), torch.tensor([2.0, 3.0]))
