"""How a model of transformers is made: its class, what of its configuration is not the default, its inputs."""

from .entry import Entry


def entry(name, model, inputs, dtype="float32", known=False, **config):
    def make():
        import transformers

        kind = getattr(transformers, model)
        settings = kind.config_class(**config)
        settings.return_dict = True
        return kind(settings), (), inputs()

    return Entry(name, "transformers", make, dtype, known)


def decoder(name, model, length=128, dtype="bfloat16", known=False, **config):
    """A language model that reads tokens, without a cache of keys and values."""
    config = {"num_hidden_layers": 2, "use_cache": False, **config}
    return entry(name, model, lambda: {"input_ids": _tokens(1, length)}, dtype, known, **config)


def encoder(name, model, length=128, known=False, **config):
    """Two texts, one of them padded."""
    config = {"num_hidden_layers": 2, **config}
    inputs = lambda: {"input_ids": _tokens(2, length), "attention_mask": _mask(2, length)}
    return entry(name, model, inputs, known=known, **config)


def translator(name, model, known=False, **config):
    """Text to text: an encoder with a padding mask, a decoder."""
    config = {"encoder_layers": 2, "decoder_layers": 2, "use_cache": False, **config}
    inputs = lambda: {"input_ids": _tokens(1, 128), "attention_mask": _mask(1, 128), "decoder_input_ids": _tokens(1, 64)}
    return entry(name, model, inputs, known=known, **config)


def _tokens(*shape):
    from .inputs import tokens

    return tokens(*shape)


def _mask(*shape):
    from .inputs import mask

    return mask(*shape)
