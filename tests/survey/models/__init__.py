"""The fixed list: every model by its name."""

from . import diffusion, layers, modules, text, timm_models, torchvision_models, vision_and_audio

ENTRIES = {}
for _part in (text, vision_and_audio, timm_models, torchvision_models, diffusion, layers, modules):
    for _entry in _part.entries():
        assert _entry.name not in ENTRIES, _entry.name
        ENTRIES[_entry.name] = _entry
