# switch: mode == "split"
# reads: mode
# set: mode = config.mode
def forward(config, x):
    mode = config.mode
    if mode == "whole":
        return whole(x)
    elif mode == "split":
        return split(x)  # A
    else:
        return tiles(x)  # B
