# switch: none
# Both lines stand in the same arm.
def forward(self, x):
    if self.fused:
        a = first(x)  # A
        return second(a)  # B
    return plain(x)
