# switch: none
# What is looked up is an operand, not what is called.
def forward(self, x):
    weight = self.weights.get(self.kind)
    return product(x, weight)  # both
