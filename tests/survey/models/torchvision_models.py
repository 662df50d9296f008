"""Models of torchvision, and those of its operators that are no models' own."""

from .entry import Entry
from .inputs import floats, image

# Name, size of the image.
PICTURES = [
    ("alexnet", 224), ("convnext_tiny", 224), ("deeplabv3_mobilenet_v3_large", 224), ("densenet121", 224), ("efficientnet_b0", 224),
    ("fcn_resnet50", 224), ("googlenet", 224), ("inception_v3", 299), ("lraspp_mobilenet_v3_large", 224), ("maxvit_t", 224),
    ("mnasnet0_5", 224), ("mobilenet_v2", 224), ("mobilenet_v3_small", 224), ("regnet_y_400mf", 224), ("resnet18", 224),
    ("resnext50_32x4d", 224), ("shufflenet_v2_x0_5", 224), ("squeezenet1_0", 224), ("swin_t", 224), ("swin_v2_t", 256),
    ("vgg11_bn", 224), ("vit_b_16", 224), ("wide_resnet50_2", 224),
]
# Name, frames, size of the image.
VIDEOS = [("mvit_v2_s", 16, 224), ("s3d", 16, 224), ("r2plus1d_18", 8, 112), ("r3d_18", 8, 112), ("mc3_18", 8, 112), ("swin3d_t", 8, 112)]
# Without them, two of the models refine their weights by a loop of a second and more in Python.
QUICK = {"googlenet": {"init_weights": False}, "inception_v3": {"init_weights": False}}


def entries():
    for name, size in PICTURES:
        yield Entry(f"torchvision-{name.replace('_', '-')}", "torchvision", picture(name, size))
    for name, frames, size in VIDEOS:
        yield Entry(f"torchvision-{name.replace('_', '-')}", "torchvision", video(name, frames, size))
    yield Entry("torchvision-raft-small", "torchvision", raft)
    yield Entry("torchvision-deform-conv2d", "torchvision", deformed)
    yield Entry("torchvision-roi-align", "torchvision", aligned)
    yield Entry("torchvision-fpn", "torchvision", pyramid)


def model(name):
    import torchvision

    weights = {"weights_backbone": None} if name.startswith(("deeplab", "fcn", "lraspp")) else {}
    return torchvision.models.get_model(name, weights=None, **weights, **QUICK.get(name, {}))


def picture(name, size):
    return lambda: (model(name), (image(size),), {})


def video(name, frames, size):
    return lambda: (model(name), (floats(1, 3, frames, size, size),), {})


def raft():
    return model("raft_small"), (image(128), image(128)), {"num_flow_updates": 2}


def deformed():
    from torchvision.ops import DeformConv2d

    return DeformConv2d(16, 32, 3, padding=1), (floats(1, 16, 24, 24), floats(1, 18, 24, 24), floats(1, 9, 24, 24)), {}


def aligned():
    from torchvision.ops import RoIAlign

    return RoIAlign(7, 0.25, 2), (floats(1, 64, 32, 32), floats(10, 5)), {}


def pyramid():
    from torchvision.ops import FeaturePyramidNetwork

    network = FeaturePyramidNetwork([64, 128, 256], 256)
    return network, ({"a": floats(1, 64, 56, 56), "b": floats(1, 128, 28, 28), "c": floats(1, 256, 14, 14)},), {}
