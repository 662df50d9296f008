# switch: none
# The look-up gave the same function on both sides; they part inside of it, on two lines that both run.
class Layer:
    def forward(self, x):
        function = TABLE[self.kind]
        return function(x)  # both

def plain(x):
    y = step(x)  # A
    return other(y)  # B
