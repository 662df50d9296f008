"""One decoding step of a serving-style engine (paged cache that is written in place, custom attention operator, merged weights)
against the plain model with a matrix for each projection: recorded, proven with a rule file, priced."""

import hard
import magneton_ir as mir
import pytest
import torch
from torch import nn


def engine_and_model():
    engine = hard.Model()
    model = hard.Model(lambda **sizes: nn.Identity())
    model.embedding, model.head = engine.embedding, engine.head
    model.layers = nn.ModuleList(hard.SeparateLayer(**hard.SIZES, merged=layer) for layer in engine.layers)
    return engine, model


def test_an_engine_is_proven_to_be_its_model_and_priced(rules):
    engine, model = engine_and_model()
    arguments = hard.inputs()
    result = mir.check(mir.record(engine, *arguments), model, arguments, rules=rules(hard.RULES))
    assert (result.verdict, result.tier) == ("equivalent", "rounding")
    merged = [text for text in result.assumptions if "qkv.weight" in text or "up.weight" in text]
    assert merged, result.assumptions
    # The model is priced as a whole; of the engine, all but the kernels that no profile knows.
    assert result.b.energy_mj.value > 0 and result.b.time_us > 0 and result.b.left_out == ()
    assert result.a.energy_mj.low > 0
    assert {gap.op for gap in result.a.left_out} == {"hard.write_cache", "hard.paged_attention", "hard.silu_and_mul"}
    attention = next(region for region in result.regions if "hard.paged_attention" in region.a_kinds)
    assert attention.repeats == hard.SIZES["layers"] and "hard.py" in attention.cause.a_source


def test_a_weight_that_was_merged_in_another_order_is_noticed(rules):
    engine, model = engine_and_model()
    with torch.no_grad():
        key, value = model.layers[0].k.weight, model.layers[0].v.weight
        key.copy_(value)
    arguments = hard.inputs()
    result = mir.check(mir.record(engine, *arguments), model, arguments, rules=rules(hard.RULES))
    assert not result.equivalent


@pytest.mark.parametrize("name", ["write_cache", "paged_attention"])
def test_definitions_have_tests_of_their_own(rules, name):
    """The command refuses definitions that it cannot try."""
    start = hard.RULES.index(f"test hard.{name}")
    text = hard.RULES[:start] + hard.RULES[hard.RULES.index("}", start) + 1 :]
    with pytest.raises(mir.Error, match=f"(?s)never_exercised.*hard.{name}"):
        mir.check(lambda x: x, lambda x: x, (torch.zeros(3),), rules=rules(text))
