#!/usr/bin/env python3
"""Writes the pairs of exports in this folder, each model once with eager and once with fused attention.

Versions: torch 2.11.0, transformers 5.23.0, Python 3.11.

    pip install torch==2.11.0 transformers==5.23.0
    python corpus/exports/export.py              # every pair
    python corpus/exports/export.py bert t5      # some of them
    python corpus/exports/export.py serving      # the last pair: serving.py beside this file has its second side
    python corpus/exports/export.py --list

Models live on the meta device: real widths, few layers, no weights. Source paths are shortened to `site-packages/...`
and members are deflated, so that an archive takes tens of kilobytes and does not depend on where it was made.
"""

import dataclasses
import io
import json
import logging
import os
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import torch
import transformers as tf

import serving

HERE = Path(__file__).resolve().parent
IMPLEMENTATIONS = ("eager", "sdpa")


def tokens(batch, length):
    return torch.zeros(batch, length, dtype=torch.long, device="meta")


def floats(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype, device="meta")


@dataclasses.dataclass
class Pair:
    """One model: `config` makes its configuration, `model` its class, `inputs` its keyword arguments."""

    what: str
    config: Callable[[], tf.PreTrainedConfig]
    model: type
    inputs: Callable[[], dict[str, torch.Tensor]]
    dtype: torch.dtype = torch.float32


PAIRS: dict[str, Pair] = {
    "bert": Pair(
        "encoder with padding mask, 2 x 128 tokens, f32, 3 layers",
        lambda: tf.BertConfig(num_hidden_layers=3),
        tf.BertForMaskedLM,
        lambda: {"input_ids": tokens(2, 128), "attention_mask": tokens(2, 128)},
    ),
    "distilbert": Pair(
        "encoder, 2 x 128 tokens, f32, 3 layers",
        lambda: tf.DistilBertConfig(n_layers=3),
        tf.DistilBertForSequenceClassification,
        lambda: {"input_ids": tokens(2, 128)},
    ),
    "roberta": Pair(
        "encoder with padding mask, 2 x 128 tokens, f32, 3 layers",
        lambda: tf.RobertaConfig(num_hidden_layers=3, max_position_embeddings=514, pad_token_id=1),
        tf.RobertaForSequenceClassification,
        lambda: {"input_ids": tokens(2, 128), "attention_mask": tokens(2, 128)},
    ),
    "modernbert": Pair(
        "encoder with global and local attention, 1 x 512 tokens, f32, 4 layers",
        lambda: tf.ModernBertConfig(num_hidden_layers=4),
        tf.ModernBertForMaskedLM,
        lambda: {"input_ids": tokens(1, 512), "attention_mask": tokens(1, 512)},
    ),
    "vit": Pair(
        "vision encoder, 2 images of 224 x 224, f32, 3 layers",
        lambda: tf.ViTConfig(num_hidden_layers=3),
        tf.ViTForImageClassification,
        lambda: {"pixel_values": floats(2, 3, 224, 224)},
    ),
    "dinov2": Pair(
        "vision encoder with layer scale, 1 image of 224 x 224, f32, 3 layers",
        lambda: tf.Dinov2Config(num_hidden_layers=3, image_size=224),
        tf.Dinov2Model,
        lambda: {"pixel_values": floats(1, 3, 224, 224)},
    ),
    "siglip-vision": Pair(
        "vision tower with attention pooling, 1 image of 224 x 224, f32, 3 layers",
        lambda: tf.SiglipVisionConfig(num_hidden_layers=3),
        tf.SiglipVisionModel,
        lambda: {"pixel_values": floats(1, 3, 224, 224)},
    ),
    "clip": Pair(
        "text and vision towers, 2 texts, 2 images, f32, 2 layers each",
        lambda: tf.CLIPConfig(text_config={"num_hidden_layers": 2}, vision_config={"num_hidden_layers": 2}),
        tf.CLIPModel,
        lambda: {
            "input_ids": tokens(2, 77),
            "pixel_values": floats(2, 3, 224, 224),
            "attention_mask": tokens(2, 77),
        },
    ),
    "whisper": Pair(
        "audio encoder and text decoder, 3000 frames, 96 tokens, f32, 2 layers each",
        lambda: tf.WhisperConfig(encoder_layers=2, decoder_layers=2, use_cache=False),
        tf.WhisperForConditionalGeneration,
        lambda: {"input_features": floats(1, 80, 3000), "decoder_input_ids": tokens(1, 96)},
    ),
    "wav2vec2": Pair(
        "audio encoder with convolutions, 16000 samples, f32, 3 layers",
        lambda: tf.Wav2Vec2Config(num_hidden_layers=3),
        tf.Wav2Vec2ForCTC,
        lambda: {"input_values": floats(1, 16000)},
    ),
    "hubert": Pair(
        "audio encoder with convolutions, 16000 samples, f32, 3 layers",
        lambda: tf.HubertConfig(num_hidden_layers=3),
        tf.HubertModel,
        lambda: {"input_values": floats(1, 16000)},
    ),
    "bart": Pair(
        "encoder and decoder, 1 x 128 and 1 x 96 tokens, f32, 2 layers each",
        lambda: tf.BartConfig(encoder_layers=2, decoder_layers=2, use_cache=False),
        tf.BartForConditionalGeneration,
        lambda: {
            "input_ids": tokens(1, 128),
            "attention_mask": tokens(1, 128),
            "decoder_input_ids": tokens(1, 96),
        },
    ),
    "llama3-8b-4l": Pair(
        "the published shapes of Llama 3 8B with 4 layers, 1 x 2048 tokens, bf16",
        lambda: tf.LlamaConfig(
            hidden_size=4096,
            intermediate_size=14336,
            num_hidden_layers=4,
            num_attention_heads=32,
            num_key_value_heads=8,
            vocab_size=128256,
            max_position_embeddings=8192,
            rope_theta=500000.0,
            use_cache=False,
        ),
        tf.LlamaForCausalLM,
        lambda: {"input_ids": tokens(1, 2048)},
        torch.bfloat16,
    ),
    "mistral": Pair(
        "decoder with a sliding window, 1 x 1024 tokens, bf16, 2 layers",
        lambda: tf.MistralConfig(num_hidden_layers=2, sliding_window=256, use_cache=False),
        tf.MistralForCausalLM,
        lambda: {"input_ids": tokens(1, 1024)},
        torch.bfloat16,
    ),
    "gemma3": Pair(
        "decoder, local and global layers, norms of queries and keys, 1 x 1024 tokens, bf16, 3 layers",
        lambda: tf.Gemma3TextConfig(
            num_hidden_layers=3,
            sliding_window=256,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            use_cache=False,
        ),
        tf.Gemma3ForCausalLM,
        lambda: {"input_ids": tokens(1, 1024)},
        torch.bfloat16,
    ),
    "phi3": Pair(
        "decoder, merged query-key-value and gate-up weights, 1 x 512 tokens, bf16, 3 layers",
        lambda: tf.Phi3Config(num_hidden_layers=3, use_cache=False),
        tf.Phi3ForCausalLM,
        lambda: {"input_ids": tokens(1, 512)},
        torch.bfloat16,
    ),
    "qwen3": Pair(
        "decoder, norms of queries and keys, 1 x 512 tokens with padding mask, bf16, 3 layers",
        lambda: tf.Qwen3Config(num_hidden_layers=3, use_cache=False),
        tf.Qwen3ForCausalLM,
        lambda: {"input_ids": tokens(1, 512), "attention_mask": tokens(1, 512)},
        torch.bfloat16,
    ),
    "gpt-neox": Pair(
        "decoder, parallel residual, rotary in a part of each head, 1 x 512 tokens, f16, 3 layers",
        lambda: tf.GPTNeoXConfig(num_hidden_layers=3, hidden_size=2048, num_attention_heads=16,
                                 intermediate_size=8192, use_cache=False),
        tf.GPTNeoXForCausalLM,
        lambda: {"input_ids": tokens(1, 512)},
        torch.float16,
    ),
    "opt": Pair(
        "decoder, learned positions from the padding mask, 2 x 256 tokens, f32, 3 layers",
        lambda: tf.OPTConfig(num_hidden_layers=3, use_cache=False),
        tf.OPTForCausalLM,
        lambda: {"input_ids": tokens(2, 256), "attention_mask": tokens(2, 256)},
    ),
    "falcon": Pair(
        "decoder, one key and value head, parallel residual, 1 x 512 tokens, bf16, 3 layers",
        lambda: tf.FalconConfig(num_hidden_layers=3, use_cache=False),
        tf.FalconForCausalLM,
        lambda: {"input_ids": tokens(1, 512)},
        torch.bfloat16,
    ),
    "olmoe": Pair(
        "mixture of experts, 8 of 64, 1 x 256 tokens, bf16, 2 layers",
        lambda: tf.OlmoeConfig(num_hidden_layers=2, use_cache=False),
        tf.OlmoeForCausalLM,
        lambda: {"input_ids": tokens(1, 256)},
        torch.bfloat16,
    ),
    "mixtral": Pair(
        "mixture of experts, 2 of 8, 1 x 256 tokens, bf16, 2 layers",
        lambda: tf.MixtralConfig(num_hidden_layers=2, use_cache=False),
        tf.MixtralForCausalLM,
        lambda: {"input_ids": tokens(1, 256)},
        torch.bfloat16,
    ),
}


SERVING = Pair(
    "decoder, 1 x 512 tokens, bf16, 2 layers: plain, and as serving libraries write it",
    lambda: tf.LlamaConfig(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=2, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=128256, rms_norm_eps=1e-5, use_cache=False,
    ),
    tf.LlamaForCausalLM,
    lambda: {"input_ids": tokens(1, 512)},
    torch.bfloat16,
)


def program(pair: Pair, make: Callable[[tf.PreTrainedConfig], torch.nn.Module]) -> torch.export.ExportedProgram:
    """The model that `make` builds from `pair`'s configuration as an exported program."""
    config = pair.config()
    config.return_dict = True
    with torch.device("meta"):
        torch.manual_seed(0)
        default = torch.get_default_dtype()
        torch.set_default_dtype(pair.dtype)
        try:
            model = make(config).eval()
        finally:
            torch.set_default_dtype(default)
    inputs = pair.inputs()
    with torch.no_grad():
        return torch.export.export(model, (), inputs, strict=False)


def sides(name: str) -> dict[str, torch.export.ExportedProgram]:
    """Both programs of a pair by the ends of their file names."""
    if name == "serving":
        plain = lambda config: tf.LlamaForCausalLM._from_config(config, attn_implementation="eager")
        return {"plain": program(SERVING, plain), "merged": program(SERVING, serving.Llama)}
    pair = PAIRS[name]
    return {
        implementation: program(pair, lambda c: pair.model._from_config(c, attn_implementation=implementation))
        for implementation in IMPLEMENTATIONS
    }


def packed(archive: bytes) -> bytes:
    """`archive` with its members deflated, source paths shortened and timestamps dropped."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith(".json"):
                for folder in sorted(filter(None, sys.path), key=len, reverse=True):
                    data = data.replace(f"{folder}/".encode(), b"site-packages/")
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, data, compresslevel=9)
    return out.getvalue()


def main(names: list[str], folder: Path) -> None:
    for name in names or [*PAIRS, "serving"]:
        for side, exported in sides(name).items():
            buffer = io.BytesIO()
            torch.export.save(exported, buffer)
            file = folder / f"{name}-{side}.pt2"
            file.write_bytes(packed(buffer.getvalue()))
            print(f"{file.name}: {file.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    if "--list" in sys.argv:
        for name, pair in [*PAIRS.items(), ("serving", SERVING)]:
            print(f"| `{name}` | {pair.what} |")
    else:
        main(sys.argv[1:], Path(os.environ.get("OUT", HERE)))
