# switch: none
# Which of both look-ups it was is not to be seen.
class Layer:
    def __init__(self, config):
        self.act = ACTIVATIONS[config.act]
        self.norm = NORMS[config.norm]

    def forward(self, x):
        return self.act(self.norm(x))  # both
