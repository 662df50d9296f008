# switch: fast if self.fused else plain
# reads: self.fused
# set: self.fused = fused
class Attention:
    def __init__(self, fused):
        self.fused = fused

    def forward(self, q, k, v):
        attend = fast if self.fused else plain
        return attend(q, k, v)  # both
