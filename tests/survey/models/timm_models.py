"""Models of timm, with few blocks where their maker takes a number of them."""

from .entry import Entry
from .inputs import image

# Name, size of the image, arguments.
MODELS = [
    ("resnet18", 224, {}),
    ("resnetv2_50", 224, {"layers": (1, 1, 1, 1)}),
    ("seresnext26d_32x4d", 224, {}),
    ("skresnet18", 224, {}),
    ("res2net50_26w_4s", 224, {"layers": [1, 1, 1, 1]}),
    ("convnext_atto", 224, {"depths": (1, 1, 2, 1)}),
    ("inception_next_atto", 224, {"depths": (1, 1, 2, 1)}),
    ("vit_tiny_patch16_224", 224, {"depth": 2}),
    ("eva02_tiny_patch14_224", 224, {"depth": 2}),
    ("beit_base_patch16_224", 224, {"depth": 2}),
    ("cait_xxs24_224", 224, {"depth": 2}),
    ("crossvit_tiny_240", 240, {"depth": ((1, 1, 0), (1, 1, 0))}),
    ("xcit_nano_12_p16_224", 224, {"depth": 2}),
    ("swin_tiny_patch4_window7_224", 224, {"depths": (2, 1, 1, 1)}),
    ("swinv2_tiny_window8_256", 256, {"depths": (2, 1, 1, 1)}),
    ("pit_ti_224", 224, {"depth": [1, 1, 1]}),
    ("tnt_s_patch16_224", 224, {"depth": 2}),
    ("twins_pcpvt_small", 224, {"depths": [1, 1, 1, 1]}),
    ("visformer_tiny", 224, {"depth": (1, 2, 1)}),
    ("volo_d1_224", 224, {}),
    ("mixer_s32_224", 224, {}),
    ("gmlp_ti16_224", 224, {}),
    ("resmlp_12_224", 224, {}),
    ("sequencer2d_s", 224, {"layers": (1, 1, 1, 1)}),
    ("mobilenetv3_small_050", 224, {}),
    ("mobilenetv4_conv_small", 224, {}),
    ("tinynet_e", 106, {}),
    ("ghostnet_050", 224, {}),
    ("lcnet_050", 224, {}),
    ("regnety_002", 224, {}),
    ("rexnet_100", 224, {}),
    ("repvgg_a0", 224, {}),
    ("mobileone_s0", 224, {}),
    ("hgnetv2_b0", 224, {}),
    ("edgenext_xx_small", 256, {}),
    ("fastvit_t8", 256, {}),
    ("levit_128s", 224, {}),
    ("poolformer_s12", 224, {}),
    ("mobilevit_xxs", 256, {}),
    ("coatnet_nano_rw_224", 224, {}),
    ("maxvit_rmlp_pico_rw_256", 256, {}),
    ("nf_regnet_b0", 224, {}),
    ("dm_nfnet_f0", 192, {}),
    ("efficientformer_l1", 224, {}),
    ("efficientvit_b0", 224, {}),
    ("davit_tiny", 224, {"depths": (1, 1, 1, 1)}),
    ("gcvit_xxtiny", 224, {}),
    ("mvitv2_tiny", 224, {}),
    ("nest_tiny", 224, {}),
    ("tiny_vit_5m_224", 224, {}),
    ("botnet26t_256", 256, {}),
    ("halonet26t", 256, {}),
    ("lambda_resnet26t", 256, {}),
    ("hrnet_w18_small", 224, {}),
]


def entries():
    return [entry(*model) for model in MODELS]


def entry(model, size, arguments):
    def make():
        import timm

        return timm.create_model(model, pretrained=False, **arguments), (image(size),), {}

    return Entry(f"timm-{model.replace('_', '-')}", "timm", make)
