# switch: none
# Both lines always run: the one that differs is told by no condition.
def forward(self, x):
    if self.fused:
        x = prepare(x)
    y = first(x)  # A
    return second(y)  # B
