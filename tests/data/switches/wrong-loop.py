# switch: none
# A loop is no choice between its body and what follows.
def forward(self, x):
    for layer in self.layers:
        x = layer(x)  # A
    return norm(x)  # B
