# switch: self.is_fused
# reads: self.is_fused
# set: self.is_fused = config.is_fused
class Base:
    def __init__(self, config):
        self.is_fused = config.is_fused

class Other:
    def __init__(self):
        self.is_fused = False

class Attention(Base):
    def forward(self, x):
        if self.is_fused:
            return fast(x)  # A
        return plain(x)  # B
