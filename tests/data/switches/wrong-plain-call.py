# switch: none
# The settings differ, and the call goes to one function whatever they say.
class Layer:
    def __init__(self, config):
        self.config = config

    def forward(self, x):
        dropout = 0.0 if not self.training else self.config.rate
        return attention(x, dropout, kind=TABLE[self.config.kind])  # both
