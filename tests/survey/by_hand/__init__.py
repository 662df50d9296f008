"""Programs that people rewrite by hand, by subject. Each is a name, the program as written, an equal one, one with a single mistake, and
operands."""

from . import algebra, attention, layers, losses, sequences


def rewrites():
    return [case for part in (attention, sequences, losses, layers, algebra) for case in part.rewrites()]
