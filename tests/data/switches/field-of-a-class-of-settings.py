# switch: ACTIVATIONS[self.config.activation]
# reads: self.config.activation
# set: activation: str = "gelu"
class Settings:
    width: int = 8
    activation: str = "gelu"

class Layer:
    def __init__(self, config: Settings):
        self.config = config

    def forward(self, x):
        activation = ACTIVATIONS[self.config.activation]
        return activation(x)  # both
