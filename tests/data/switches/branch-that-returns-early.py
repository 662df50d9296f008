# switch: need_weights and not is_causal
# reads: need_weights
# set: argument `need_weights` of attention
def attention(q, k, v, need_weights=True, is_causal=False):
    if q.dim() != 4:
        raise ValueError("four dimensions")
    if need_weights and not is_causal:
        return plain(q, k, v)  # A
    return fast(q, k, v)  # B
