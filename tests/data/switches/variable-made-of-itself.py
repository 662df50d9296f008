# switch: FUNCTIONS[config.kind]
# reads: config.kind
# set: config = config.text_config
def forward(x, config):
    config = config.text_config
    function = FUNCTIONS[config.kind]
    return function(x)  # both
