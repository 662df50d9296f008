"""Models of diffusers. Published widths, one or two blocks of a kind."""

from .entry import Entry
from .inputs import floats, longs, mask


def entry(name, model, inputs, **config):
    def make():
        import diffusers

        return getattr(diffusers, model)(**config), (), {**inputs(), "return_dict": False}

    return Entry(f"diffusers-{name}", "diffusers", make)


def bare(name, model, inputs, **config):
    """One that has no `return_dict`."""

    def make():
        import diffusers

        return getattr(diffusers, model)(**config), (), inputs()

    return Entry(f"diffusers-{name}", "diffusers", make)


def entries():
    step = lambda: floats(1)
    latent = lambda size=64, channels=4: floats(1, channels, size, size)
    encoded = {"block_out_channels": (128, 256), "down_block_types": ("DownEncoderBlock2D",) * 2}
    decoded = {**encoded, "up_block_types": ("UpDecoderBlock2D",) * 2}
    picture = lambda: {"sample": floats(1, 3, 64, 64)}
    guided = lambda: {"sample": latent(), "timestep": step(), "encoder_hidden_states": floats(1, 77, 768)}
    yield entry("unet2d-condition", "UNet2DConditionModel", guided, cross_attention_dim=768, layers_per_block=1)
    yield entry("unet2d-condition-xl", "UNet2DConditionModel", lambda: {
        "sample": latent(32), "timestep": step(), "encoder_hidden_states": floats(1, 77, 2048),
        "added_cond_kwargs": {"text_embeds": floats(1, 1280), "time_ids": floats(1, 6)}},
        block_out_channels=(320, 640), down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), layers_per_block=1, cross_attention_dim=2048, attention_head_dim=(5, 10),
        use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816)
    yield entry("unet2d", "UNet2DModel", lambda: {"sample": floats(1, 3, 64, 64), "timestep": step()}, layers_per_block=1)
    yield entry("unet1d", "UNet1DModel", lambda: {"sample": floats(1, 14, 32), "timestep": step()},
                in_channels=14, out_channels=14, time_embedding_type="positional", use_timestep_embedding=True, flip_sin_to_cos=False,
                freq_shift=1, down_block_types=("DownResnetBlock1D",) * 4, up_block_types=("UpResnetBlock1D",) * 3,
                mid_block_type="MidResTemporalBlock1D", out_block_type="OutConv1DBlock", block_out_channels=(32, 64, 128, 256), act_fn="mish")
    yield entry("unet3d-condition", "UNet3DConditionModel", lambda: {
        "sample": floats(1, 4, 4, 16, 16), "timestep": step(), "encoder_hidden_states": floats(1, 77, 1024)},
        block_out_channels=(320, 640), down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"), layers_per_block=1)
    yield entry("unet-motion", "UNetMotionModel", lambda: {
        "sample": floats(1, 4, 4, 16, 16), "timestep": step(), "encoder_hidden_states": floats(4, 77, 768)},
        block_out_channels=(320, 640), down_block_types=("CrossAttnDownBlockMotion", "DownBlockMotion"),
        up_block_types=("UpBlockMotion", "CrossAttnUpBlockMotion"), layers_per_block=1, cross_attention_dim=768)
    yield entry("unet-video", "UNetSpatioTemporalConditionModel", lambda: {
        "sample": floats(1, 4, 8, 16, 16), "timestep": step(), "encoder_hidden_states": floats(1, 1, 1024), "added_time_ids": floats(1, 3)},
        block_out_channels=(320, 640), down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
        up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"), layers_per_block=1, num_attention_heads=(5, 10), num_frames=4)
    yield entry("autoencoder-kl", "AutoencoderKL", picture, **decoded)
    yield entry("autoencoder-asymmetric", "AsymmetricAutoencoderKL", picture, down_block_types=("DownEncoderBlock2D",) * 2,
                down_block_out_channels=(128, 256), up_block_types=("UpDecoderBlock2D",) * 2, up_block_out_channels=(192, 384))
    yield entry("autoencoder-temporal", "AutoencoderKLTemporalDecoder", lambda: {"sample": floats(4, 3, 64, 64), "num_frames": 4}, **encoded)
    yield entry("autoencoder-tiny", "AutoencoderTiny", picture)
    yield entry("autoencoder-dc", "AutoencoderDC", picture, encoder_block_out_channels=(128, 256), decoder_block_out_channels=(128, 256),
                encoder_layers_per_block=(1, 1), decoder_layers_per_block=(1, 1), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)),
                encoder_block_types=("ResBlock", "EfficientViTBlock"), decoder_block_types=("ResBlock", "EfficientViTBlock"))
    yield entry("autoencoder-oobleck", "AutoencoderOobleck", lambda: {"sample": floats(1, 2, 4096)},
                downsampling_ratios=[2, 4, 8], channel_multiples=[1, 2, 4], decoder_input_channels=64)
    yield entry("autoencoder-wan", "AutoencoderKLWan", lambda: {"sample": floats(1, 3, 5, 64, 64)}, dim_mult=[1, 2], num_res_blocks=1, temperal_downsample=[True])
    yield entry("autoencoder-ltx", "AutoencoderKLLTXVideo", lambda: {"sample": floats(1, 3, 9, 64, 64)}, block_out_channels=(128, 256),
                decoder_block_out_channels=(128, 256), layers_per_block=(1, 1, 1), decoder_layers_per_block=(1, 1, 1), spatio_temporal_scaling=(True, False),
                decoder_spatio_temporal_scaling=(True, False), down_block_types=("LTXVideoDownBlock3D",) * 2, decoder_inject_noise=(False,) * 3,
                downsample_type=("conv",) * 2, upsample_residual=(False,) * 2, upsample_factor=(1, 1))
    yield entry("vq", "VQModel", picture, **decoded)
    yield entry("controlnet", "ControlNetModel", lambda: {**guided(), "controlnet_cond": floats(1, 3, 512, 512)}, cross_attention_dim=768, layers_per_block=1)
    yield bare("t2i-adapter", "T2IAdapter", lambda: {"x": floats(1, 3, 256, 256)}, num_res_blocks=1)
    yield entry("dit", "DiTTransformer2DModel", lambda: {"hidden_states": latent(32), "timestep": longs(1), "class_labels": longs(1)}, num_layers=2, out_channels=8)
    yield entry("transformer2d", "Transformer2DModel", lambda: {"hidden_states": floats(1, 320, 32, 32), "encoder_hidden_states": floats(1, 77, 768)},
                in_channels=320, num_attention_heads=8, attention_head_dim=40, cross_attention_dim=768)
    yield entry("transformer-temporal", "TransformerTemporalModel", lambda: {"hidden_states": floats(4, 320, 16, 16), "num_frames": 4},
                in_channels=320, num_attention_heads=8, attention_head_dim=40)
    yield entry("pixart", "PixArtTransformer2DModel", lambda: {
        "hidden_states": latent(64), "encoder_hidden_states": floats(1, 120, 4096), "timestep": longs(1), "encoder_attention_mask": mask(1, 120)},
        num_layers=2, caption_channels=4096, sample_size=64, use_additional_conditions=False)
    yield entry("flux", "FluxTransformer2DModel", lambda: {
        "hidden_states": floats(1, 256, 64), "encoder_hidden_states": floats(1, 128, 4096), "pooled_projections": floats(1, 768),
        "timestep": step(), "img_ids": floats(256, 3), "txt_ids": floats(128, 3), "guidance": step()},
        num_layers=1, num_single_layers=1, guidance_embeds=True)
    yield entry("chroma", "ChromaTransformer2DModel", lambda: {
        "hidden_states": floats(1, 256, 64), "encoder_hidden_states": floats(1, 128, 4096),
        "timestep": step(), "img_ids": floats(256, 3), "txt_ids": floats(128, 3)}, num_layers=1, num_single_layers=1)
    yield entry("sd3", "SD3Transformer2DModel", lambda: {
        "hidden_states": latent(64, 16), "encoder_hidden_states": floats(1, 154, 4096), "pooled_projections": floats(1, 2048), "timestep": step()},
        num_layers=2, qk_norm="rms_norm")
    yield entry("aura-flow", "AuraFlowTransformer2DModel", lambda: {
        "hidden_states": latent(64), "encoder_hidden_states": floats(1, 256, 2048), "timestep": step()}, num_mmdit_layers=1, num_single_dit_layers=1)
    yield entry("cogvideox", "CogVideoXTransformer3DModel", lambda: {
        "hidden_states": floats(1, 5, 16, 32, 48), "encoder_hidden_states": floats(1, 226, 4096), "timestep": longs(1)},
        num_layers=2, sample_width=48, sample_height=32, sample_frames=17)
    yield entry("cogview3", "CogView3PlusTransformer2DModel", lambda: {
        "hidden_states": latent(32, 16), "encoder_hidden_states": floats(1, 224, 4096), "timestep": step(),
        "original_size": floats(1, 2), "target_size": floats(1, 2), "crop_coords": floats(1, 2)}, num_layers=2, sample_size=32)
    yield entry("latte", "LatteTransformer3DModel", lambda: {
        "hidden_states": floats(1, 4, 4, 32, 32), "timestep": longs(1), "encoder_hidden_states": floats(1, 120, 4096)},
        num_layers=2, in_channels=4, out_channels=8, patch_size=2, sample_size=32, attention_head_dim=72, cross_attention_dim=1152, caption_channels=4096,
        video_length=4, activation_fn="gelu-approximate", num_embeds_ada_norm=1000, norm_type="ada_norm_single", norm_elementwise_affine=False, attention_bias=True)
    yield entry("ltx-video", "LTXVideoTransformer3DModel", lambda: {
        "hidden_states": floats(1, 256, 128), "encoder_hidden_states": floats(1, 128, 4096), "timestep": longs(1), "encoder_attention_mask": mask(1, 128),
        "num_frames": 4, "height": 8, "width": 8}, num_layers=2)
    yield entry("lumina2", "Lumina2Transformer2DModel", lambda: {
        "hidden_states": latent(32, 16), "timestep": step(), "encoder_hidden_states": floats(1, 64, 2304), "encoder_attention_mask": mask(1, 64).bool()},
        num_layers=1, num_refiner_layers=1, cap_feat_dim=2304)
    yield entry("mochi", "MochiTransformer3DModel", lambda: {
        "hidden_states": floats(1, 12, 2, 16, 16), "encoder_hidden_states": floats(1, 64, 4096), "timestep": step(),
        "encoder_attention_mask": mask(1, 64).bool()}, num_layers=2)
    yield entry("sana", "SanaTransformer2DModel", lambda: {
        "hidden_states": latent(16, 32), "encoder_hidden_states": floats(1, 128, 2304), "timestep": step()}, num_layers=2)
    yield entry("stable-audio", "StableAudioDiTModel", lambda: {
        "hidden_states": floats(1, 64, 256), "timestep": step(), "encoder_hidden_states": floats(1, 128, 768), "global_hidden_states": floats(1, 1, 1536)},
        num_layers=2)
    yield entry("wan", "WanTransformer3DModel", lambda: {
        "hidden_states": floats(1, 16, 3, 16, 16), "timestep": longs(1), "encoder_hidden_states": floats(1, 128, 4096)}, num_layers=2)
    yield entry("qwen-image", "QwenImageTransformer2DModel", lambda: {
        "hidden_states": floats(1, 256, 64), "encoder_hidden_states": floats(1, 64, 3584), "encoder_hidden_states_mask": mask(1, 64),
        "timestep": step(), "img_shapes": [(1, 16, 16)]}, num_layers=2)
    yield bare("uvit", "UVit2DModel", lambda: {
        "input_ids": longs(1, 16, 16), "encoder_hidden_states": floats(1, 77, 768), "pooled_text_emb": floats(1, 768), "micro_conds": floats(1, 5)},
        num_hidden_layers=2, num_res_blocks=1)
    yield entry("prior", "PriorTransformer", lambda: {
        "hidden_states": floats(1, 768), "timestep": step(), "proj_embedding": floats(1, 768), "encoder_hidden_states": floats(1, 77, 768)}, num_layers=2)
    yield entry("stable-cascade", "StableCascadeUNet", lambda: {
        "sample": latent(16, 16), "timestep_ratio": step(), "clip_text_pooled": floats(1, 1, 1280), "clip_text": floats(1, 77, 1280), "clip_img": floats(1, 1, 768)},
        down_num_layers_per_block=(1, 1), up_num_layers_per_block=(1, 1), clip_text_in_channels=1280, clip_image_in_channels=768, switch_level=(False,))
    yield entry("kandinsky3", "Kandinsky3UNet", lambda: {
        "sample": latent(32), "timestep": step(), "encoder_hidden_states": floats(1, 77, 4096), "encoder_attention_mask": mask(1, 77)})
