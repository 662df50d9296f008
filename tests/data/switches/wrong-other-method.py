# switch: none
# The attribute is set from a table in another class of the same file.
class Other:
    def __init__(self, config):
        self.attend = TABLE[config.kind]

class Layer:
    def __init__(self):
        self.attend = plain

    def forward(self, x):
        return self.attend(x)  # both
