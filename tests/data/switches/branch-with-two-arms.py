# switch: self.fused
# reads: self.fused
# set: self.fused = use_fused(config)
class Attention:
    def __init__(self, config):
        self.fused = use_fused(config)

    def forward(self, q, k, v):
        if self.training:
            q = noise(q)
        if self.fused:
            return fast(q, k, v)  # B
        else:
            return plain(q, k, v)  # A
