"""Models that are exported to ONNX: small ones with random weights, of as many architectures as fit."""

import torch
from torch import nn
from torch.nn import functional as F


def floats(*shape):
    return torch.randn(shape)


def ids(high, *shape):
    return torch.randint(0, high, shape)


class Picked(nn.Module):
    """A model of transformers that gives back the first tensor of its result."""

    def __init__(self, model, **always):
        super().__init__()
        self.model, self.always = model, always

    def forward(self, *args, **kwargs):
        result = self.model(*args, **kwargs, **self.always)
        return result if isinstance(result, torch.Tensor) else result[0]


class Named(nn.Module):
    """Operands go to the model by keyword."""

    def __init__(self, model, names, **always):
        super().__init__()
        self.model, self.names, self.always = model, names, always

    def forward(self, *args):
        return self.model(**dict(zip(self.names, args)), **self.always)[0]


def text_models():
    import transformers as t

    small = dict(vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4)
    plain = dict(use_cache=False, return_dict=False)
    decoder = lambda cls, config: (lambda: Picked(cls(config), **plain), lambda: (ids(97, 2, 11),), "gpt2")
    encoder = lambda cls, config: (lambda: Picked(cls(config), return_dict=False), lambda: (ids(97, 2, 11), torch.ones(2, 11, dtype=torch.long)), "bert")
    eager = dict(attn_implementation="eager")
    grouped = dict(small, num_key_value_heads=2, max_position_embeddings=64)
    return {
        "distilgpt2": decoder(t.GPT2LMHeadModel, t.GPT2Config(vocab_size=97, n_positions=32, n_embd=48, n_layer=2, n_head=4)),
        "distilgpt2-eager": decoder(t.GPT2LMHeadModel, t.GPT2Config(vocab_size=97, n_positions=32, n_embd=48, n_layer=2, n_head=4, **eager)),
        "gpt-neox": decoder(t.GPTNeoXForCausalLM, t.GPTNeoXConfig(**small, max_position_embeddings=32)),
        "opt": decoder(t.OPTForCausalLM, t.OPTConfig(vocab_size=97, hidden_size=48, ffn_dim=80, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32, word_embed_proj_dim=48)),
        "qwen2": decoder(t.Qwen2ForCausalLM, t.Qwen2Config(**grouped)),
        "qwen3-eager": decoder(t.Qwen3ForCausalLM, t.Qwen3Config(**grouped, head_dim=12, **eager)),
        "gemma": decoder(t.GemmaForCausalLM, t.GemmaConfig(**grouped, head_dim=12)),
        "phi": decoder(t.PhiForCausalLM, t.PhiConfig(**small, max_position_embeddings=32)),
        "bloom": decoder(t.BloomForCausalLM, t.BloomConfig(vocab_size=97, hidden_size=48, n_layer=2, n_head=4)),
        "mixtral": decoder(t.MixtralForCausalLM, t.MixtralConfig(**grouped, num_local_experts=4, num_experts_per_tok=2)),
        "distilbert": encoder(t.DistilBertModel, t.DistilBertConfig(vocab_size=97, dim=48, hidden_dim=80, n_layers=2, n_heads=4, max_position_embeddings=32)),
        "roberta": encoder(t.RobertaModel, t.RobertaConfig(**small, max_position_embeddings=32)),
        "albert": encoder(t.AlbertModel, t.AlbertConfig(**small, embedding_size=32, max_position_embeddings=32)),
        "deberta-v2": encoder(t.DebertaV2Model, t.DebertaV2Config(**small, max_position_embeddings=32, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8)),
        "mpnet": encoder(t.MPNetModel, t.MPNetConfig(**small, max_position_embeddings=32)),
        "t5-decoder": (
            lambda: Named(t.T5ForConditionalGeneration(t.T5Config(vocab_size=97, d_model=48, d_kv=12, d_ff=80, num_layers=2, num_heads=4)), ("input_ids", "decoder_input_ids"), **plain),
            lambda: (ids(97, 2, 11), ids(97, 2, 7)), "bart"),
        "bart-decoder": (
            lambda: Named(t.BartForConditionalGeneration(t.BartConfig(vocab_size=97, d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=80, decoder_ffn_dim=80, max_position_embeddings=32)), ("input_ids", "decoder_input_ids"), **plain),
            lambda: (ids(97, 2, 11), ids(97, 2, 7)), "bart"),
        "clip-text": (lambda: Picked(t.CLIPTextModel(t.CLIPTextConfig(**small, max_position_embeddings=16, eos_token_id=2)), return_dict=False), lambda: (ids(97, 2, 11),), "clip"),
    }


def vision_and_audio_models():
    import torchvision.models as tv
    import transformers as t

    small = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4)
    image = lambda size, channels=3: (lambda: (floats(2, channels, size, size),))
    hugging = lambda cls, config, size: (lambda: Picked(cls(config), return_dict=False), image(size), "vit")
    vision = lambda make, size=64: (make, image(size), None)
    return {
        "clip-vision": hugging(t.CLIPVisionModel, t.CLIPVisionConfig(**small, image_size=32, patch_size=8), 32),
        "dinov2": hugging(t.Dinov2Model, t.Dinov2Config(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=28, patch_size=7), 28),
        "swin": hugging(t.SwinModel, t.SwinConfig(image_size=32, patch_size=2, embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=4), 32),
        "convnext": hugging(t.ConvNextModel, t.ConvNextConfig(hidden_sizes=[16, 24], depths=[2, 2], num_stages=2), 32),
        "segformer": hugging(t.SegformerModel, t.SegformerConfig(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 2], hidden_sizes=[16, 32], patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=32), 32),
        "beit": hugging(t.BeitModel, t.BeitConfig(**small, image_size=32, patch_size=8, use_relative_position_bias=True), 32),
        "mobilevit": hugging(t.MobileViTModel, t.MobileViTConfig(image_size=64, hidden_sizes=[24, 32, 40], neck_hidden_sizes=[8, 16, 16, 24, 24, 32, 48]), 64),
        "wav2vec2": (
            lambda: Picked(t.Wav2Vec2Model(t.Wav2Vec2Config(**small, conv_dim=(16, 24), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, vocab_size=32)), return_dict=False),
            lambda: (floats(2, 400),), None),
        "whisper-decoder": (
            lambda: Named(t.WhisperModel(t.WhisperConfig(vocab_size=97, d_model=48, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=80, decoder_ffn_dim=80, num_mel_bins=16, max_source_positions=20, max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)), ("input_features", "decoder_input_ids"), use_cache=False, return_dict=False),
            lambda: (floats(2, 16, 40), ids(97, 2, 7)), "bart"),
        "mobilenet-v2": vision(lambda: tv.MobileNetV2(num_classes=10, width_mult=0.35)),
        "mobilenet-v3": vision(lambda: tv.mobilenet_v3_small(num_classes=10, width_mult=0.5)),
        "efficientnet": vision(lambda: tv.efficientnet_b0(num_classes=10)),
        "shufflenet": vision(lambda: tv.shufflenet_v2_x0_5(num_classes=10)),
        "squeezenet": vision(lambda: tv.squeezenet1_1(num_classes=10)),
        "regnet": vision(lambda: tv.regnet_y_400mf(num_classes=10)),
    }


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.down1, self.down2, self.middle = block(3, 8), block(8, 16), block(16, 24)
        self.up2, self.up1 = nn.ConvTranspose2d(24, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.join2, self.join1, self.last = block(32, 16), block(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        b = self.join2(torch.cat([b, self.up2(c)], 1))
        return self.last(self.join1(torch.cat([a, self.up1(b)], 1)))


class Pyramid(nn.Module):
    """Features of two scales added up, with heads for classes and boxes, as detectors have them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, 4, 1), nn.Conv2d(16, 32, 3, 2, 1)
        self.side, self.top = nn.Conv2d(16, 12, 1), nn.Conv2d(32, 12, 1)
        self.classes, self.boxes = nn.Conv2d(12, 3 * 5, 3, padding=1), nn.Conv2d(12, 3 * 4, 3, padding=1)
        self.register_buffer("anchors", torch.rand(3 * 8 * 8, 4) * 32)

    def forward(self, x):
        a = F.leaky_relu(self.first(x), 0.1)
        b = F.leaky_relu(self.second(a), 0.1)
        p = self.side(a) + F.interpolate(self.top(b), scale_factor=2.0, mode="nearest")
        n = x.shape[0]
        scores = self.classes(p).view(n, 3, 5, 8, 8).permute(0, 3, 4, 1, 2).reshape(n, -1, 5).sigmoid()
        d = self.boxes(p).view(n, 3, 4, 8, 8).permute(0, 3, 4, 1, 2).reshape(n, -1, 4)
        centre = self.anchors[:, :2] + d[..., :2] * self.anchors[:, 2:]
        size = self.anchors[:, 2:] * d[..., 2:].clamp(max=4.0).exp()
        best, places = scores.amax(-1).topk(10, dim=1)
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1).clamp(0, 32)
        return best, boxes.gather(1, places.unsqueeze(-1).expand(-1, -1, 4))


class Yolo(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 16, 6, 4, 2, bias=False), nn.BatchNorm2d(16), nn.SiLU(), nn.Conv2d(16, 3 * 7, 1))
        self.register_buffer("sizes", torch.tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]]))

    def forward(self, x):
        y = self.conv(x)
        n, _, h, w = y.shape
        y = y.view(n, 3, 7, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((columns, rows), -1).float()
        xy = (y[..., :2] * 2 - 0.5 + grid) * 4
        wh = (y[..., 2:4] * 2) ** 2 * self.sizes[:, None, None]
        return torch.cat((xy, wh, y[..., 4:]), -1).flatten(1, 3)


class Experts(nn.Module):
    """The two best of six experts, every expert computed."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(24, 6, bias=False)
        self.up, self.down = nn.Parameter(floats(6, 24, 40)), nn.Parameter(floats(6, 40, 24))

    def forward(self, x):
        flat = x.reshape(-1, 24)
        weight, chosen = self.router(flat).softmax(-1).topk(2, -1)
        weight = weight / weight.sum(-1, keepdim=True)
        every = F.gelu(flat.unsqueeze(0) @ self.up) @ self.down
        gate = torch.zeros(flat.shape[0], 6).scatter(1, chosen, weight)
        return (every * gate.T.unsqueeze(-1)).sum(0).reshape(x.shape)


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.net = kind(12, 20, batch_first=True, **options)
        self.last = nn.Linear(20 * (2 if options.get("bidirectional") else 1), 5)

    def forward(self, x):
        return self.last(self.net(x)[0].mean(1))


class Tagger(nn.Module):
    """Characters by a convolution, words by a bidirectional network."""

    def __init__(self):
        super().__init__()
        self.embedding, self.conv = nn.Embedding(40, 12), nn.Conv1d(12, 16, 3, padding=1)
        self.net, self.out = nn.GRU(16, 10, bidirectional=True, batch_first=True), nn.Linear(20, 7)

    def forward(self, x):
        y = F.max_pool1d(F.relu(self.conv(self.embedding(x).transpose(1, 2))), 2).transpose(1, 2)
        return F.log_softmax(self.out(self.net(y)[0]), -1)


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.body, self.tail = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 12, 3, padding=1)
        self.slope = nn.PReLU(16)

    def forward(self, x):
        y = self.slope(self.head(F.pad(x, (2, 2, 2, 2), mode="reflect")))
        y = F.pixel_shuffle(self.tail(y + self.body(y)), 2)[:, :, 4:-4, 4:-4]
        return torch.tanh(y) + F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class Style(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, 2, 1), nn.InstanceNorm2d(8, affine=True)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3, 2, 1, groups=2), nn.InstanceNorm2d(16)
        self.up, self.last = nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.Conv2d(8, 3, 5, padding=2, padding_mode="replicate")

    def forward(self, x):
        y = F.elu(self.norm1(self.conv1(x)))
        y = F.hardswish(self.norm2(self.conv2(y)))
        return self.last(F.softplus(self.up(y)))


class Squeeze(nn.Module):
    """Squeeze and excitation, global response normalisation, adaptive pools."""

    def __init__(self):
        super().__init__()
        self.depth, self.one, self.two = nn.Conv2d(12, 12, 5, padding=2, groups=12), nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1)
        self.gamma, self.beta = nn.Parameter(floats(12, 1, 1)), nn.Parameter(floats(12, 1, 1))
        self.out = nn.Linear(12 * 4, 9)

    def forward(self, x):
        y = F.hardtanh(self.depth(x), -2.0, 2.0)
        y = y * F.hardsigmoid(self.two(F.relu6(self.one(F.adaptive_avg_pool2d(y, 1)))))
        g = torch.linalg.vector_norm(y, dim=(2, 3), keepdim=True)
        y = y + self.gamma * (y * (g / (g.mean(1, keepdim=True) + 1e-6))) + self.beta
        return self.out(F.adaptive_avg_pool2d(y, 2).flatten(1))


class Rotary(nn.Module):
    """Attention with turned pairs, a sliding window and groups of query heads."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(48, 48), nn.Linear(48, 24), nn.Linear(48, 24), nn.Linear(48, 48, bias=False)
        angle = torch.outer(torch.arange(16.0), 100.0 ** -(torch.arange(0, 12, 2) / 12))
        self.register_buffer("cos", angle.cos().repeat_interleave(2, -1))
        self.register_buffer("sin", angle.sin().repeat_interleave(2, -1))

    def turn(self, x):
        n = x.shape[-2]
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return x * self.cos[:n] + turned * self.sin[:n]

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, -1, 12).transpose(1, 2) for w in (self.q, self.k, self.v))
        k, v = (t.repeat_interleave(2, 1) for t in (self.turn(k), v))
        d = torch.arange(n)[:, None] - torch.arange(n)[None]
        y = F.scaled_dot_product_attention(self.turn(q), k, v, attn_mask=(d >= 0) & (d < 4))
        return self.o(y.transpose(1, 2).reshape(b, n, 48))


class Perceiver(nn.Module):
    """Latents that look at the input, by nn.MultiheadAttention."""

    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(floats(5, 32))
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True, kdim=20, vdim=20)
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 2 * 48), nn.Linear(48, 32)

    def forward(self, x):
        z = self.latents.expand(x.shape[0], -1, -1)
        z = self.norm(z + self.attention(z, x, x, need_weights=False)[0])
        a, b = self.up(z).chunk(2, -1)
        return z + self.down(F.silu(a) * b)


def handwritten_models():
    image = lambda size, channels=3: (lambda: (floats(2, channels, size, size),))
    encoder = lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 48, batch_first=True, norm_first=True, activation="gelu"), 2, enable_nested_tensor=False)
    decoder = lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(32, 4, 48, batch_first=True), 2)
    return {
        "unet": (UNet, image(32), None),
        "pyramid-heads": (Pyramid, image(32), None),
        "yolo-head": (Yolo, image(32), None),
        "experts": (Experts, lambda: (floats(2, 5, 24),), None),
        "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2), lambda: (floats(3, 6, 12),), None),
        "lstm-both-ways": (lambda: Recurrent(nn.LSTM, bidirectional=True), lambda: (floats(3, 6, 12),), None),
        "gru": (lambda: Recurrent(nn.GRU), lambda: (floats(3, 6, 12),), None),
        "gru-tagger": (Tagger, lambda: (ids(40, 3, 10),), None),
        "super-resolution": (SuperResolution, image(10), None),
        "style": (Style, image(24), None),
        "squeeze-and-excite": (Squeeze, image(14, 12), None),
        "rotary-window": (Rotary, lambda: (floats(2, 9, 48),), None),
        "perceiver": (Perceiver, lambda: (floats(2, 9, 20),), None),
        "encoder-layers": (encoder, lambda: (floats(2, 9, 32),), None),
        "decoder-layers": (decoder, lambda: (floats(2, 9, 32), floats(2, 7, 32)), None),
    }


def models():
    """Name: what makes the model, what makes its operands, how onnxruntime's optimiser for transformers calls its kind."""
    return {**text_models(), **vision_and_audio_models(), **handwritten_models()}
