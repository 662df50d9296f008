# switch: TABLE.get_interface(self.config.attention, eager)
# reads: self.config.attention
# set: self.config = config
class Attention:
    def __init__(self, config):
        self.config = config

    def forward(self, q, k, v):
        attention = TABLE.get_interface(self.config.attention, eager)
        rate = 0.0 if not self.training else self.rate
        return attention(self, q, k, v)  # both
