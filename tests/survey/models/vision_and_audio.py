"""Models of images, video, sound, series and of several of them in transformers."""

from .from_transformers import entry
from .inputs import floats, image, longs, mask, tokens


def entries():
    yield from images()
    yield from sounds()
    yield from several()


def pictures(name, model, size=224, known=False, **config):
    return entry(name, model, lambda: {"pixel_values": image(size)}, known=known, **config)


RESNET = {"model_type": "resnet", "depths": [1, 1, 1, 1], "out_features": ["stage1", "stage2", "stage3", "stage4"]}
# What takes the features of the last stage only.
DETR_RESNET = {"model_type": "resnet", "depths": [1, 1, 1, 1], "out_features": ["stage4"]}
BACKBONE = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None, "backbone_config": DETR_RESNET}


def images():
    yield pictures("vit", "ViTForImageClassification", num_hidden_layers=2, known=True)
    yield pictures("dinov2", "Dinov2Model", num_hidden_layers=2, image_size=224, known=True)
    yield pictures("siglip-vision", "SiglipVisionModel", num_hidden_layers=2, known=True)
    yield pictures("deit", "DeiTForImageClassificationWithTeacher", num_hidden_layers=2)
    yield pictures("swin", "SwinForImageClassification", depths=[2, 2])
    yield pictures("swinv2", "Swinv2ForImageClassification", depths=[2, 2], window_size=7)
    yield pictures("beit", "BeitForImageClassification", num_hidden_layers=2, use_relative_position_bias=True)
    yield pictures("convnext", "ConvNextForImageClassification", depths=[1, 1, 2, 1])
    yield pictures("convnextv2", "ConvNextV2ForImageClassification", depths=[1, 1, 2, 1])
    yield pictures("resnet", "ResNetForImageClassification", depths=[1, 2, 1, 1])
    yield pictures("regnet", "RegNetForImageClassification", depths=[1, 1, 2, 1])
    yield pictures("mobilenet-v2", "MobileNetV2ForImageClassification")
    yield pictures("mobilevit", "MobileViTForImageClassification", size=256)
    yield pictures("mobilevitv2", "MobileViTV2ForImageClassification", size=256)
    yield pictures("detr", "DetrForObjectDetection", encoder_layers=2, decoder_layers=2, **BACKBONE)
    yield pictures("conditional-detr", "ConditionalDetrForObjectDetection", encoder_layers=2, decoder_layers=2, **BACKBONE)
    yield pictures("deformable-detr", "DeformableDetrForObjectDetection", encoder_layers=2, decoder_layers=2,
                   **{**BACKBONE, "backbone_config": {**RESNET, "out_features": ["stage2", "stage3", "stage4"]}})
    yield pictures("rt-detr", "RTDetrForObjectDetection", size=320, decoder_layers=2, encoder_layers=1)
    yield pictures("yolos", "YolosForObjectDetection", num_hidden_layers=2, image_size=[224, 224])
    yield pictures("segformer", "SegformerForSemanticSegmentation", depths=[1, 1, 1, 1])
    yield pictures("mask2former", "Mask2FormerForUniversalSegmentation", decoder_layers=3, encoder_layers=2,
                   use_timm_backbone=False, backbone_config={
                       "model_type": "swin", "depths": [1, 1, 1, 1], "num_heads": [3, 6, 12, 24], "window_size": 7,
                       "out_features": ["stage1", "stage2", "stage3", "stage4"]})
    yield pictures("maskformer", "MaskFormerForInstanceSegmentation")
    yield entry("sam", "SamModel", lambda: {"pixel_values": image(1024), "input_points": floats(1, 1, 2, 2)},
                vision_config={"num_hidden_layers": 2, "global_attn_indexes": [1]})
    yield pictures("dinov2-registers", "Dinov2WithRegistersModel", num_hidden_layers=2, image_size=224)
    yield pictures("dinov3", "DINOv3ViTModel", num_hidden_layers=2)
    yield pictures("levit", "LevitForImageClassification", depths=[1, 1, 1])
    yield pictures("poolformer", "PoolFormerForImageClassification", depths=[1, 1, 2, 1])
    yield pictures("cvt", "CvtForImageClassification", depth=[1, 1, 2])
    yield pictures("pvt", "PvtForImageClassification", depths=[1, 1, 1, 1])
    yield pictures("pvt-v2", "PvtV2ForImageClassification", depths=[1, 1, 1, 1])
    yield pictures("efficientnet", "EfficientNetForImageClassification", width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280, image_size=224)
    yield pictures("focalnet", "FocalNetForImageClassification", depths=[1, 1, 2, 1])
    yield pictures("vit-mae", "ViTMAEForPreTraining", num_hidden_layers=2, decoder_num_hidden_layers=2)
    yield pictures("dpt", "DPTForDepthEstimation", size=384, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3])
    yield pictures("glpn", "GLPNForDepthEstimation", depths=[1, 1, 1, 1])
    yield pictures("depth-anything", "DepthAnythingForDepthEstimation", size=224, backbone_config={
        "model_type": "dinov2", "num_hidden_layers": 4, "image_size": 224, "reshape_hidden_states": False,
        "apply_layernorm": True, "hidden_size": 384, "num_attention_heads": 6,
        "out_features": ["stage1", "stage2", "stage3", "stage4"]})
    yield pictures("hiera", "HieraForImageClassification", depths=[1, 1, 1, 1])
    yield pictures("swiftformer", "SwiftFormerForImageClassification")
    yield pictures("upernet", "UperNetForSemanticSegmentation", size=128, use_timm_backbone=False, backbone_config=RESNET)
    yield pictures("swin2sr", "Swin2SRForImageSuperResolution", size=64, depths=[2, 2], num_heads=[6, 6])
    yield entry("videomae", "VideoMAEForVideoClassification", lambda: {"pixel_values": floats(1, 16, 3, 224, 224)}, num_hidden_layers=2)
    yield entry("timesformer", "TimesformerForVideoClassification", lambda: {"pixel_values": floats(1, 8, 3, 224, 224)}, num_hidden_layers=2)
    yield entry("vivit", "VivitForVideoClassification", lambda: {"pixel_values": floats(1, 32, 3, 224, 224)}, num_hidden_layers=2)


def sounds():
    wave = lambda: {"input_values": floats(1, 16000)}
    yield entry("whisper", "WhisperForConditionalGeneration", lambda: {"input_features": floats(1, 80, 3000), "decoder_input_ids": tokens(1, 64)},
                encoder_layers=2, decoder_layers=2, use_cache=False, known=True)
    yield entry("wav2vec2", "Wav2Vec2ForCTC", wave, num_hidden_layers=2, known=True)
    yield entry("hubert", "HubertModel", wave, num_hidden_layers=2, known=True)
    yield entry("wavlm", "WavLMModel", wave, num_hidden_layers=2)
    yield entry("sew", "SEWModel", wave, num_hidden_layers=2)
    yield entry("sew-d", "SEWDModel", wave, num_hidden_layers=2)
    yield entry("unispeech-sat", "UniSpeechSatModel", wave, num_hidden_layers=2)
    yield entry("wav2vec2-conformer", "Wav2Vec2ConformerModel", wave, num_hidden_layers=2)
    yield entry("wav2vec2-bert", "Wav2Vec2BertModel", lambda: {"input_features": floats(1, 128, 160)}, num_hidden_layers=2)
    yield entry("data2vec-audio", "Data2VecAudioModel", wave, num_hidden_layers=2)
    yield entry("speech-to-text", "Speech2TextForConditionalGeneration",
                lambda: {"input_features": floats(1, 256, 80), "decoder_input_ids": tokens(1, 32)}, encoder_layers=2, decoder_layers=2, use_cache=False)
    yield entry("moonshine", "MoonshineForConditionalGeneration", lambda: {"input_values": floats(1, 16000), "decoder_input_ids": tokens(1, 32)},
                encoder_num_hidden_layers=2, decoder_num_hidden_layers=2, use_cache=False)
    yield entry("encodec", "EncodecModel", lambda: {"input_values": floats(1, 1, 3200)})
    yield entry("dac", "DacModel", lambda: {"input_values": floats(1, 1, 5120)})
    yield entry("mimi", "MimiModel", lambda: {"input_values": floats(1, 1, 9600)}, num_hidden_layers=2, use_cache=False)
    yield entry("ast", "ASTForAudioClassification", lambda: {"input_values": floats(1, 1024, 128)}, num_hidden_layers=2)
    yield entry("univnet", "UnivNetModel", lambda: {"input_features": floats(1, 16, 100), "noise_sequence": floats(1, 16, 64)})
    yield entry("patchtst", "PatchTSTForPrediction", lambda: {"past_values": floats(2, 512, 7)}, num_input_channels=7, context_length=512,
                patch_length=16, patch_stride=16, prediction_length=96, num_hidden_layers=2)
    yield entry("patchtsmixer", "PatchTSMixerForPrediction", lambda: {"past_values": floats(2, 512, 7)}, num_input_channels=7,
                context_length=512, patch_length=16, patch_stride=16, prediction_length=96, num_layers=2)


def several():
    texts = lambda: {"input_ids": tokens(2, 77), "pixel_values": image(224, 2), "attention_mask": mask(2, 77)}
    layers = {"text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}}
    yield entry("clip", "CLIPModel", texts, known=True, **layers)
    yield entry("clipseg", "CLIPSegForImageSegmentation", lambda: {"input_ids": tokens(1, 77), "pixel_values": image(224)},
                text_config={"num_hidden_layers": 2}, vision_config={"num_hidden_layers": 2}, extract_layers=[0, 1])
    yield entry("siglip", "SiglipModel", lambda: {"input_ids": tokens(1, 64), "pixel_values": image(224)}, **layers)
    yield entry("altclip", "AltCLIPModel", texts, text_config={"num_hidden_layers": 2}, vision_config={"num_hidden_layers": 2})
    yield entry("blip", "BlipForConditionalGeneration", lambda: {"input_ids": tokens(1, 32), "pixel_values": image(224)},
                text_config={"num_hidden_layers": 2, "use_cache": False}, vision_config={"num_hidden_layers": 2, "image_size": 224})
    yield entry("git", "GitForCausalLM", lambda: {"input_ids": tokens(1, 32), "pixel_values": image(224)}, num_hidden_layers=2, use_cache=False,
                vision_config={"num_hidden_layers": 2})
    yield entry("vilt", "ViltModel", lambda: {"input_ids": tokens(1, 40), "pixel_values": image(384)}, num_hidden_layers=2)
    yield entry("visual-bert", "VisualBertModel", lambda: {"input_ids": tokens(1, 32), "visual_embeds": floats(1, 10, 512)}, num_hidden_layers=2)
    yield entry("lxmert", "LxmertModel", lambda: {"input_ids": tokens(1, 20), "visual_feats": floats(1, 36, 2048), "visual_pos": floats(1, 36, 4)},
                l_layers=2, x_layers=1, r_layers=1)
    yield entry("owlvit", "OwlViTForObjectDetection", lambda: {"input_ids": tokens(2, 16), "pixel_values": image(768), "attention_mask": mask(2, 16)}, **layers)
    yield entry("layoutlmv3", "LayoutLMv3Model", lambda: {"input_ids": tokens(), "bbox": longs(1, 128, 4), "pixel_values": image(224)}, num_hidden_layers=2)
    yield entry("clap", "ClapModel", lambda: {"input_ids": tokens(1, 32), "input_features": floats(1, 1, 1001, 64)},
                text_config={"num_hidden_layers": 2}, audio_config={"depths": [1, 1, 1, 1]})
    yield entry("align", "AlignModel", lambda: {"input_ids": tokens(1, 64), "pixel_values": image(289)},
                text_config={"num_hidden_layers": 2}, vision_config={"depth_coefficient": 1.0})
    yield entry("superpoint", "SuperPointForKeypointDetection", lambda: {"pixel_values": image(224)})
