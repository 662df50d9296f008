# switch: CLASSES[config.attention]
# reads: config.attention
# set: argument `config` of __init__
class Layer:
    def __init__(self, config, layer):
        self.norm = Norm(config.size)
        self.attention = CLASSES[config.attention](config, layer)

    def forward(self, x):
        return self.attention(self.norm(x))  # both

class Plain:
    def forward(self, x):
        return plain(x)  # A

class Fast:
    def __call__(self, x):
        return fast(x)  # B
