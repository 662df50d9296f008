"""Programs that people rewrite by hand, by subject. Each is a name, the program as written, an equal one, one with a single mistake, and
operands."""

from . import algebra, attention, blocks, decoding, images, layers, losses, mixing, scores, sequences, serving, training


def rewrites():
    return [case for part in (attention, sequences, losses, layers, algebra, mixing, training, decoding, blocks, serving, images, scores) for case in part.rewrites()]
