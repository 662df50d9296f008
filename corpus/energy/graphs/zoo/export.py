"""Exports of models at ordinary sizes, on the meta device, for `zoo/`: what whole models take is measured on them.

Needs torch 2.11, torchvision 0.26, timm 1.0.31, transformers 5.23 and diffusers 0.42. Usage: zoo.py FOLDER
"""

import os
import sys
import warnings

import torch

OUT = sys.argv[1]
torch.set_grad_enabled(False)
warnings.simplefilter("ignore")


class Wrap(torch.nn.Module):
    """A model with fixed keyword arguments that gives its first result."""

    def __init__(self, model, kw):
        super().__init__()
        self.model, self.kw = model, kw

    def forward(self, *args):
        return self.model(*args, **self.kw)[0]


def save(name, make, dtype):
    path = os.path.join(OUT, name + ".pt2")
    try:
        with torch.device("meta"):
            model, args, kw = make()
        model = model.eval().to(dtype)
        if kw:
            model = Wrap(model, kw).eval()
        args = tuple(a.to(dtype) if a.is_floating_point() else a for a in args)
        torch.export.save(torch.export.export(model, args, strict=False), path)
        print("wrote", path, flush=True)
    except Exception as error:
        print("not exported:", name, repr(error)[:200], flush=True)


def img(n, s=224, c=3):
    return torch.empty(n, c, s, s, device="meta")


ids = lambda b, s: torch.zeros(b, s, dtype=torch.long, device="meta")
BF, F16, F32 = torch.bfloat16, torch.float16, torch.float32


def tv(f, n, s=224, **k):
    def make():
        import torchvision.models as M

        return getattr(M, f)(weights=None, **k), (img(n, s),), {}

    return make


def tm(f, n, s=224):
    def make():
        import timm

        return timm.create_model(f, pretrained=False), (img(n, s),), {}

    return make


def hf(cls, cfg, b, s, **ck):
    def make():
        import transformers as T

        c = getattr(T, cfg)(**ck)
        m = getattr(T, cls)(c)
        kw = {"return_dict": False} | ({} if not hasattr(c, "use_cache") else {"use_cache": False})
        return m, (ids(b, s),), kw

    return make


J = []
J += [
    ("convnext_t_bf16", tv("convnext_tiny", 32), BF),
    ("convnext_t_f32", tv("convnext_tiny", 16), F32),
    ("regnet_f16", tv("regnet_y_1_6gf", 64), F16),
    ("googlenet_f32", tv("googlenet", 32, init_weights=False, aux_logits=False), F32),
    ("vit_b16_f16", tv("vit_b_16", 32), F16),
    ("maxvit_bf16", tv("maxvit_t", 16), BF),
    ("resnext50_bf16", tv("resnext50_32x4d", 32), BF),
    ("wide_resnet_f16", tv("wide_resnet50_2", 16), F16),
    ("mnasnet_f32", tv("mnasnet1_0", 64), F32),
    ("squeezenet_f16", tv("squeezenet1_1", 64), F16),
    ("resnet18_f32", tv("resnet18", 128), F32),
    ("resnet101_bf16", tv("resnet101", 8), BF),
    ("effv2s_f16", tv("efficientnet_v2_s", 32), F16),
    ("inception_f32", tv("inception_v3", 16, 299, init_weights=False, aux_logits=False), F32),
]


def seg():
    import torchvision.models.segmentation as S

    return S.deeplabv3_resnet50(weights=None, weights_backbone=None), (img(4, 320),), {}


J += [("deeplab_f16", seg, F16)]
J += [
    ("mixer_bf16", tm("mixer_b16_224", 32), BF),
    ("coatnet_f16", tm("coatnet_0_rw_224", 16), F16),
    ("hrnet_f32", tm("hrnet_w18", 16), F32),
    ("nfnet_f16", tm("dm_nfnet_f0", 16, 192), F16),
    ("deit_s_f32", tm("deit_small_patch16_224", 64), F32),
    ("levit_f16", tm("levit_256", 64), F16),
    ("pvt_bf16", tm("pvt_v2_b1", 32), BF),
    ("swinv2_f16", tm("swinv2_tiny_window8_256", 16, 256), F16),
    ("ghostnet_f32", tm("ghostnet_100", 64), F32),
    ("repvgg_f16", tm("repvgg_a2", 32), F16),
    ("poolformer_bf16", tm("poolformer_s12", 32), BF),
]
L = dict(num_hidden_layers=2)
J += [
    ("gemma2_bf16", hf("Gemma2ForCausalLM", "Gemma2Config", 1, 2048, **L), BF),
    ("phi3_f16", hf("Phi3ForCausalLM", "Phi3Config", 2, 1024, pad_token_id=0, **L), F16),
    ("mistral_dec_bf16", hf("MistralForCausalLM", "MistralConfig", 16, 1, **L), BF),
    ("olmo2_bf16", hf("Olmo2ForCausalLM", "Olmo2Config", 4, 512, **L), BF),
    ("bert_f16", hf("BertModel", "BertConfig", 32, 256, num_hidden_layers=3), F16),
    ("deberta_f16", hf("DebertaV2Model", "DebertaV2Config", 8, 256, num_hidden_layers=2), F16),
    ("roberta_f32", hf("RobertaModel", "RobertaConfig", 16, 384, num_hidden_layers=3), F32),
    ("distil_f32", hf("DistilBertModel", "DistilBertConfig", 64, 128, n_layers=3), F32),
    ("opt_f16", hf("OPTModel", "OPTConfig", 4, 1024, num_hidden_layers=2), F16),
    ("gptneox_bf16", hf("GPTNeoXModel", "GPTNeoXConfig", 2, 2048, num_hidden_layers=2), BF),
    ("falcon_bf16", hf("FalconModel", "FalconConfig", 2, 1024, num_hidden_layers=2), BF),
    (
        "albert_f32",
        hf("AlbertModel", "AlbertConfig", 16, 256, num_hidden_layers=2, hidden_size=768, intermediate_size=3072, num_attention_heads=12),
        F32,
    ),
    ("mamba_bf16", hf("MambaModel", "MambaConfig", 4, 64, num_hidden_layers=1), BF),
    ("cohere_bf16", hf("CohereModel", "CohereConfig", 1, 1024, num_hidden_layers=1), BF),
    ("stablelm_bf16", hf("StableLmModel", "StableLmConfig", 2, 1024, num_hidden_layers=2), BF),
    ("qwen3_bf16", hf("Qwen3ForCausalLM", "Qwen3Config", 32, 4, num_hidden_layers=2), BF),
    ("electra_bf16", hf("ElectraModel", "ElectraConfig", 64, 512, num_hidden_layers=3), BF),
    ("xlnet_f32", hf("XLNetModel", "XLNetConfig", 8, 256, n_layer=2), F32),
]


def t5():
    import transformers as T

    return T.T5EncoderModel(T.T5Config(num_layers=3)), (ids(16, 512),), {"return_dict": False}


def clipv():
    import transformers as T

    return T.CLIPVisionModel(T.CLIPVisionConfig(num_hidden_layers=3)), (img(64),), {"return_dict": False}


def w2v():
    import transformers as T

    return T.Wav2Vec2Model(T.Wav2Vec2Config(num_hidden_layers=2)), (torch.empty(4, 64000, device="meta"),), {"return_dict": False}


def segf():
    import transformers as T

    return T.SegformerModel(T.SegformerConfig()), (img(16, 256),), {"return_dict": False}


J += [("t5_f32", t5, F32), ("clip_f16", clipv, F16), ("w2v_f32", w2v, F32), ("segformer_f16", segf, F16)]


def unet():
    from diffusers import UNet2DConditionModel as U

    u = U(
        sample_size=32,
        block_out_channels=(320, 640),
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=768,
    )
    return (
        u,
        (
            torch.empty(4, 4, 32, 32, device="meta"),
            torch.zeros((), device="meta", dtype=torch.long),
            torch.empty(4, 77, 768, device="meta"),
        ),
        {"return_dict": False},
    )


def vae():
    from diffusers import AutoencoderKL as A

    v = A(
        block_out_channels=(128, 256),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
    ).decoder
    return v, (torch.empty(1, 4, 64, 64, device="meta"),), {}


J += [("unet_f16", unet, F16), ("vae_f16", vae, F16)]


def enc():
    return (
        torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True),
        (torch.empty(16, 512, 1024, device="meta"),),
        {},
    )


J += [("encoder_f32", enc, F32), ("encoder_bf16", enc, BF)]
for j in J:
    save(*j)
