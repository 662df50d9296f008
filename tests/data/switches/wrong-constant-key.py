# switch: none
# A look-up by a constant gives the same every time.
def forward(self, x):
    function = TABLE["plain"]
    return function(x)  # both
