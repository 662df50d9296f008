# switch: TABLE[self.kind]
# reads: self.kind
# set: self.kind = "fast" if flash_is_there() else "plain"
class Attention:
    def __init__(self, config):
        self.kind = "fast" if flash_is_there() else "plain"

    def forward(self, q, k, v):
        attend = plain
        if self.kind != "plain":
            attend = TABLE[self.kind]
        return attend(q, k, v)  # both
