"""Models of Hugging Face, small and without a network."""

import magneton_ir as mir
import pytest
import torch

transformers = pytest.importorskip("transformers", reason="transformers is not installed")


def gpt2(attention):
    config = transformers.GPT2Config(
        n_layer=2, n_head=4, n_embd=64, vocab_size=128, n_positions=32, bos_token_id=0, eos_token_id=1, use_cache=False,
        attn_implementation=attention,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).eval()


def llama(attention):
    config = transformers.LlamaConfig(
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=64, intermediate_size=96, vocab_size=128,
        bos_token_id=0, eos_token_id=1, use_cache=False, attn_implementation=attention,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("make", [gpt2, llama])
def test_two_attentions_are_equivalent_and_the_flag_is_named(make):
    a, b = make("eager"), make("sdpa")
    b.load_state_dict(a.state_dict())
    result = mir.assert_equivalent(a, b, (torch.randint(0, 128, (1, 16)),))
    assert result.a.covered_ops == result.a.ops
    assert any(region.cause.flag and "attn_implementation" in region.cause.flag for region in result.regions)


def test_caches_that_a_model_returns_are_compared():
    """As models come, they return a cache, of a class that PyTorch does not know."""
    a, b = llama("eager"), llama("sdpa")
    b.load_state_dict(a.state_dict())
    a.config.use_cache = b.config.use_cache = True
    ids = torch.randint(0, 128, (1, 16))
    assert mir.check(a, b, (ids,)).equivalent
    scaled = lambda ids: (out := b(ids), [layer.keys.mul_(2) for layer in out.past_key_values.layers])[0]  # noqa: E731
    result = mir.check(a, scaled, (ids,))
    assert not result.equivalent
    recording = mir.record(a, ids)
    assert len(recording.program.graph_signature.user_outputs) == 5
    assert mir.check(recording, b, (ids,)).equivalent


def test_keyword_arguments_and_meta_tensors():
    with torch.device("meta"):
        a, b = gpt2("eager"), gpt2("sdpa")
    mask = torch.ones(1, 16, dtype=torch.long)
    result = mir.check(a, b, kwargs={"input_ids": torch.zeros(1, 16, dtype=torch.long), "attention_mask": mask})
    assert result.verdict == "equivalent"


def test_a_wrong_epsilon_is_found_with_its_line():
    a, b = llama("sdpa"), llama("sdpa")
    b.load_state_dict(a.state_dict())
    b.model.norm.variance_epsilon = 1e-3
    with pytest.raises(AssertionError, match=r"modeling_llama\.py:\d+"):
        mir.assert_equivalent(a, b, (torch.randint(0, 128, (1, 16)),))


def test_a_recorded_model_is_the_exported_one():
    model = gpt2("eager")
    ids = torch.randint(0, 128, (1, 16))
    recording = mir.record(lambda ids: model(ids).logits, ids)
    with torch.no_grad():
        assert torch.allclose(recording.program.module()(ids), model(ids).logits, atol=1e-5)
    assert mir.check(recording, lambda ids: model(ids).logits, (ids,)).equivalent
