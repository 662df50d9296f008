# switch: layout == "last"
# reads: layout
# set: argument `layout` of norm
def norm(x, layout):
    if layout == "last":
        function = rows
    else:
        function = columns
    return function(x)  # both
