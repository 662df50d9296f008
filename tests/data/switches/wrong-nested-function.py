# switch: none
# The inner function's condition has both lines in one arm of it.
def forward(self, x):
    def inner(y):
        if self.fused:
            z = first(y)  # A
            return second(z)  # B
        return y
    return inner(x)
