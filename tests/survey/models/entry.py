"""What one line of the lists is, and which part of the survey it belongs to."""

import dataclasses
import hashlib
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    library: str
    # Makes the module and its inputs, on the default device and in the default element type of the moment.
    make: Callable
    # Name of the element type that the weights have.
    dtype: str = "float32"
    # Models that magneton-ir was developed with before there was a survey: they are no news to it.
    known: bool = False

    @property
    def checksum(self):
        return hashlib.sha256(self.name.encode()).digest()

    @property
    def held_out(self):
        """Nobody chooses: the checksum of the name does. It takes two fifths, because all known models are in the other part."""
        return not self.known and self.checksum[0] % 5 < 2
