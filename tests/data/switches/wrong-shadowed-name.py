# switch: none
# A function of the same name has the look-up; this one calls its argument.
def other(self, x):
    attend = TABLE[self.kind]
    return attend(x)

def forward(self, attend, x):
    return attend(x)  # both
