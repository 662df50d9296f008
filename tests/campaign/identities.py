"""Pairs of expressions that are equal for many values, for some of them for all. libtorch says which.

Each line holds forms of one thing over {0} and {1}, tensors of one type and shape; every two of them make a pair."""

IDENTITIES = """
{0} ;; {0} + 0 ;; {0} + 0.0 ;; {0} - 0.0 ;; {0} * 1 ;; {0} / 1 ;; 0 + {0} ;; {0} + (-0.0) ;; -(-{0}) ;; 0 - (0 - {0}) ;; {0} - {0} * 0 ;; {0} + {0} * 0
{0} * 0 ;; {0} - {0} ;; torch.zeros_like({0}) ;; {0} * -0.0 ;; -({0} * 0) ;; {0}.mul(0.0).abs()
{0} / {0} ;; torch.ones_like({0}) ;; {0} ** 0 ;; {0} * 0 + 1 ;; ({0} == {0}).to({d})
torch.relu({0}) ;; torch.clamp({0}, min=0) ;; torch.maximum({0}, torch.zeros_like({0})) ;; torch.maximum(torch.zeros_like({0}), {0}) ;; torch.where({0} > 0, {0}, 0) ;; torch.where({0} < 0, 0, {0}) ;; ({0} + {0}.abs()) / 2 ;; {0} * ({0} > 0) ;; -torch.clamp(-{0}, max=0)
torch.abs({0}) ;; torch.maximum({0}, -{0}) ;; torch.sqrt({0} * {0}) ;; torch.where({0} < 0, -{0}, {0}) ;; {0} * torch.sign({0}) ;; torch.relu({0}) + torch.relu(-{0}) ;; torch.abs(-{0})
{0} ;; {0}.unsqueeze(-1).sum(-1) ;; {0}.unsqueeze(-1).mean(-1) ;; {0}.unsqueeze(-1).prod(-1) ;; {0}.unsqueeze(-1).amax(-1) ;; {0}.unsqueeze(-1).cumsum(-1).squeeze(-1) ;; {0}.unsqueeze(-1).logsumexp(-1) ;; {0}.unsqueeze(-1).cumprod(-1).squeeze(-1) ;; torch.stack([{0}, {0}]).mean(0) ;; torch.stack([{0}, {0}]).amax(0)
torch.softmax({0}.unsqueeze(-1), -1) ;; torch.ones_like({0}).unsqueeze(-1) ;; torch.exp(torch.log_softmax({0}.unsqueeze(-1), -1)) ;; {0}.unsqueeze(-1) * 0 + 1
torch.softmax({0}, -1) ;; torch.softmax({0} - 1, -1) ;; torch.softmax({0} - {0}.amax(-1, keepdim=True), -1) ;; torch.exp({0}) / torch.exp({0}).sum(-1, keepdim=True) ;; torch.softmax({0} + 0.0, -1) ;; torch.softmax({0}.float(), -1).to({d})
torch.sqrt({0}) ;; {0} ** 0.5 ;; 1 / torch.rsqrt({0}) ;; {0} * torch.rsqrt({0}) ;; torch.exp(torch.log({0}) / 2)
torch.rsqrt({0}) ;; {0} ** -0.5 ;; 1 / torch.sqrt({0}) ;; torch.reciprocal(torch.sqrt({0})) ;; torch.sqrt(1 / {0})
1 / {0} ;; {0} ** -1 ;; torch.reciprocal({0}) ;; {0} / ({0} * {0})
{0} * {0} ;; {0} ** 2 ;; torch.square({0}) ;; torch.abs({0}) ** 2 ;; (-{0}) * (-{0}) ;; {0} ** 3 / {0}
{0} * {0} * {0} ;; {0} ** 3 ;; {0} * torch.square({0}) ;; {0} ** 2.0 * {0}
{0} + {0} ;; {0} * 2 ;; 2 * {0} ;; {0} - (-{0}) ;; {0} / 0.5 ;; torch.stack([{0}, {0}]).sum(0) ;; torch.add({0}, {0}, alpha=1) ;; torch.sub({0}, {0}, alpha=-1)
{0} == {0} ;; torch.ones_like({0}, dtype=torch.bool) ;; ~({0} != {0}) ;; {0} <= {0} ;; {0} >= {0} ;; ~torch.isnan({0})
{0} < {1} ;; {1} > {0} ;; ~({0} >= {1}) ;; ({0} - {1}) < 0 ;; {0} + 1 < {1} + 1 ;; -{0} > -{1} ;; ({0} <= {1}) & ({0} != {1}) ;; {0} * 2 < {1} * 2 ;; {0}.double() < {1}.double() ;; {0}.float() < {1}.float()
{0} == {1} ;; {1} == {0} ;; ({0} - {1}) == 0 ;; ({0} <= {1}) & ({0} >= {1}) ;; -{0} == -{1} ;; {0} + 1 == {1} + 1 ;; {0} * 3 == {1} * 3 ;; {0}.double() == {1}.double() ;; {0}.half() == {1}.half()
torch.maximum({0}, {1}) ;; torch.maximum({1}, {0}) ;; torch.where({0} > {1}, {0}, {1}) ;; torch.where({0} < {1}, {1}, {0}) ;; -torch.minimum(-{0}, -{1}) ;; torch.amax(torch.stack([{0}, {1}]), 0) ;; {0} + torch.relu({1} - {0}) ;; torch.fmax({0}, {1}) ;; torch.max({0}, {1})
torch.minimum({0}, {1}) + torch.maximum({0}, {1}) ;; {0} + {1} ;; {1} + {0} ;; torch.stack([{0}, {1}]).sum(0)
{0} - {1} ;; {0} + (-{1}) ;; -({1} - {0}) ;; torch.rsub({1}, {0}) ;; torch.add({0}, {1}, alpha=-1) ;; {0} - {1} * 1
({0} + {1}) - {1} ;; {0} ;; {0} + ({1} - {1}) ;; ({0} - {1}) + {1}
({0} * {1}) / {1} ;; {0} ;; {0} * ({1} / {1}) ;; ({0} / {1}) * {1}
{0} * ({1} + {0}) ;; {0} * {1} + {0} * {0} ;; ({0} + {1}) * {0}
{0} * 4 * 4611686018427387904 ;; torch.zeros_like({0}) ;; {0} * 4611686018427387904 * 4 ;; {0} * 0
{0} / {1} ;; {0} * (1 / {1}) ;; 1 / ({1} / {0}) ;; -{0} / -{1} ;; ({0} * 2) / ({1} * 2)
{0} / 3 ;; {0} * (1 / 3) ;; {0} * 0.3333333333333333 ;; {0} / 3.0 ;; ({0} * 2) / 6
{0} / 4 ;; {0} * 0.25 ;; {0} / 2 / 2 ;; torch.div({0}, 4)
torch.floor({0}) ;; torch.floor(torch.floor({0})) ;; -torch.ceil(-{0}) ;; torch.div({0}, 1, rounding_mode='floor') ;; {0} - torch.remainder({0}, 1) ;; torch.round(torch.floor({0})) ;; torch.floor({0}.float()).to({d}) ;; {0} // 1
torch.trunc({0}) ;; torch.sign({0}) * torch.floor(torch.abs({0})) ;; torch.div({0}, 1, rounding_mode='trunc') ;; {0}.to(torch.int64).to({d}) ;; {0} - torch.fmod({0}, 1)
torch.round({0}) ;; torch.floor({0} + 0.5) ;; -torch.round(-{0}) ;; torch.round({0}, decimals=0)
torch.exp({0}) * torch.exp({1}) ;; torch.exp({0} + {1})
torch.log({0} * {1}) ;; torch.log({0}) + torch.log({1})
torch.exp(torch.log({0})) ;; {0} ;; torch.log(torch.exp({0})) ;; torch.expm1(torch.log1p({0})) ;; torch.tanh(torch.atanh({0}))
torch.exp({0}) - 1 ;; torch.expm1({0})
torch.log({0} + 1) ;; torch.log1p({0})
torch.sigmoid({0}) ;; 1 / (1 + torch.exp(-{0})) ;; (torch.tanh({0} / 2) + 1) / 2 ;; 1 - torch.sigmoid(-{0}) ;; torch.exp({0}) / (1 + torch.exp({0}))
F.silu({0}) ;; {0} * torch.sigmoid({0}) ;; {0} / (1 + torch.exp(-{0}))
torch.tanh({0}) ;; 2 * torch.sigmoid(2 * {0}) - 1 ;; -torch.tanh(-{0})
F.softplus({0}) ;; torch.log1p(torch.exp({0})) ;; -F.logsigmoid(-{0})
torch.clamp({0}, -1, 1) ;; torch.clamp(torch.clamp({0}, min=-1), max=1) ;; torch.minimum(torch.maximum({0}, -torch.ones_like({0})), torch.ones_like({0})) ;; F.hardtanh({0}) ;; -torch.clamp(-{0}, -1, 1) ;; torch.clamp(torch.clamp({0}, -1, 1), -2, 2)
torch.clamp({0}, min=-1e30, max=1e30) ;; {0} ;; torch.clamp({0}, -3.5e38, 3.5e38) ;; torch.clamp({0}, float('-inf'), float('inf')) ;; torch.clamp({0}, -65504, 65504) ;; torch.nan_to_num({0})
{0} ;; torch.where({0} == 0, torch.zeros_like({0}), {0}) ;; {0}.masked_fill({0} == 0, 0) ;; torch.where({0} != {0}, {0}, {0}) ;; torch.where({1} > 0, {0}, {0}) ;; torch.where({0} == {0}, {0}, float('nan'))
torch.where({0} > {1}, {0}, {1}) ;; torch.where(~({0} > {1}), {1}, {0}) ;; torch.where({0} <= {1}, {1}, {0})
{0} ;; {0}.double().to({d}) ;; {0}.float().to({d}) ;; {0}.half().to({d}) ;; {0}.bfloat16().to({d}) ;; {0}.long().to({d}) ;; {0}.int().to({d}) ;; {0}.char().to({d}) ;; {0}.byte().to({d}) ;; {0}.bool().to({d}) ;; {0}.to(torch.float8_e4m3fn).to({d}) ;; {0}.to(torch.float8_e5m2).to({d})
{0}.half() ;; {0}.float().half() ;; {0}.double().half() ;; {0}.bfloat16().half() ;; {0}.half().float().half() ;; {0}.half().bfloat16().half() ;; {0}.long().half()
{0}.bfloat16() ;; {0}.float().bfloat16() ;; {0}.half().bfloat16() ;; {0}.double().bfloat16() ;; {0}.bfloat16().float().bfloat16()
{0}.float() ;; {0}.double().float() ;; {0}.half().float() ;; {0}.long().float()
{0}.long() ;; {0}.int().long() ;; {0}.float().long() ;; {0}.double().long() ;; torch.trunc({0}).long() ;; {0}.short().long() ;; torch.floor({0}).long()
{0}.to(torch.int8) ;; {0}.to(torch.uint8).to(torch.int8) ;; {0}.long().to(torch.int8) ;; {0}.short().to(torch.int8) ;; {0}.float().to(torch.int8)
{0}.bool() ;; {0} != 0 ;; {0}.long() != 0 ;; {0}.to(torch.uint8).bool() ;; ~({0} == 0) ;; torch.abs({0}) > 0 ;; {0}.bool().float().bool() ;; torch.logical_not(torch.logical_not({0})) ;; {0}.half().bool()
torch.logical_and({0}, {1}) ;; ({0} * {1}) != 0 ;; ({0} != 0) & ({1} != 0) ;; ({0}.bool() * {1}.bool()) ;; ~torch.logical_or({0} == 0, {1} == 0)
torch.logical_xor({0}, {1}) ;; {0} != {1} ;; {0}.bool() ^ {1}.bool() ;; {0}.bool() != {1}.bool() ;; ({0}.bool().int() + {1}.bool().int()) == 1
{0} & {1} ;; ~(~{0} | ~{1}) ;; {1} & {0} ;; {0} * {1} ;; torch.minimum({0}, {1})
{0} ^ {1} ;; ({0} | {1}) - ({0} & {1}) ;; ({0} | {1}) & ~({0} & {1}) ;; {0} + {1} - 2 * ({0} & {1})
{0} << 1 ;; {0} * 2 ;; {0} + {0} ;; ({0} << 2) >> 1 ;; {0} << 1 << 0
{0} >> 1 ;; {0} // 2 ;; torch.div({0}, 2, rounding_mode='floor') ;; torch.div({0}, 2, rounding_mode='trunc') ;; ({0} / 2).to({d}) ;; ({0} - ({0} & 1)) // 2
{0} ;; ({0} * 2) // 2 ;; ({0} << 1) >> 1 ;; ({0} // 2) * 2 + {0} % 2 ;; ({0} >> 1 << 1) ;; ({0} & 1) ;; ({0} + 1) - 1 ;; torch.abs({0}) * torch.sign({0}) ;; ~(~{0}) ;; {0} // 1 ;; ({0} / 1).to({d}) ;; -({0} // -1)
{0} % 4 ;; {0} & 3 ;; {0} - ({0} // 4) * 4 ;; torch.fmod({0}, 4) ;; torch.remainder({0} + 4, 4) ;; torch.remainder(torch.remainder({0}, 4), 4)
{0} + 1 > {0} ;; torch.ones_like({0}, dtype=torch.bool) ;; {0} - 1 < {0} ;; {0} == {0}
torch.abs({0}) >= 0 ;; {0} == {0} ;; {0} * {0} >= 0 ;; torch.ones_like({0}, dtype=torch.bool)
{0}.sum(-1) ;; {0}.flip(-1).sum(-1) ;; {0}.cumsum(-1)[..., -1] ;; ({0} * 2).sum(-1) / 2 ;; {0}.double().sum(-1).to({d}) ;; {0}.unsqueeze(0).sum((0, -1)) ;; torch.matmul({0}, torch.ones_like({0}[..., 0, :])) ;; torch.mean({0}, -1) * {0}.shape[-1] ;; -(-{0}).sum(-1)
{0}.amax(-1) ;; {0}.flip(-1).amax(-1) ;; {0}.sort(-1)[0][..., -1] ;; {0}.topk(1, -1)[0].squeeze(-1) ;; {0}.max(-1)[0] ;; -(-{0}).amin(-1) ;; {0}.sort(-1, descending=True)[0][..., 0] ;; {0}.cummax(-1)[0][..., -1]
{0}.argmax(-1) ;; {0}.max(-1)[1] ;; (-{0}).argmin(-1) ;; {0}.topk(1, -1)[1].squeeze(-1) ;; {0}.sort(-1, descending=True)[1][..., 0] ;; {0}.sort(-1, descending=True, stable=True)[1][..., 0] ;; {0}.shape[-1] - 1 - {0}.flip(-1).argmax(-1) ;; ({0} + 1).argmax(-1) ;; ({0} * 2).argmax(-1) ;; {0}.double().argmax(-1) ;; torch.softmax({0}, -1).argmax(-1) ;; {0}.argsort(-1)[..., -1]
{0}.sort(-1)[0] ;; -((-{0}).sort(-1, descending=True)[0]) ;; {0}.sort(-1, descending=True)[0].flip(-1) ;; {0}.sort(-1)[0].sort(-1)[0] ;; {0}.gather(-1, {0}.argsort(-1)) ;; {0}.flip(-1).sort(-1)[0] ;; {0}.sort(-1, stable=True)[0] ;; {0}.topk({0}.shape[-1], -1, largest=False)[0]
{0}.sort(-1)[1] ;; {0}.argsort(-1) ;; {0}.sort(-1, stable=True)[1] ;; (-{0}).sort(-1, descending=True)[1] ;; ({0} * 2).argsort(-1) ;; ({0} + 1).argsort(-1) ;; {0}.topk({0}.shape[-1], -1, largest=False)[1] ;; {0}.argsort(-1, stable=True)
{0}.any(-1) ;; ({0} != 0).any(-1) ;; {0}.bool().sum(-1) > 0 ;; {0}.sum(-1) != 0 ;; {0}.abs().amax(-1) > 0 ;; ~({0} == 0).all(-1) ;; {0}.bool().long().amax(-1).bool()
{0}.all(-1) ;; {0}.prod(-1) != 0 ;; {0}.abs().amin(-1) > 0 ;; ~({0} == 0).any(-1) ;; {0}.bool().sum(-1) == {0}.shape[-1]
{0}.cumsum(-1) ;; {0}.flip(-1).cumsum(-1).flip(-1) ;; {0}.double().cumsum(-1).to({d}) ;; torch.matmul({0}, torch.ones({0}.shape[-1], {0}.shape[-1], dtype={d}).triu()) ;; torch.cat([{0}[..., :1], {0}.cumsum(-1)[..., 1:]], -1)
torch.diff({0}.cumsum(-1), dim=-1) ;; {0}[..., 1:] ;; ({0}.cumsum(-1)[..., 1:] - {0}.cumsum(-1)[..., :-1])
torch.matmul({0}, torch.eye({0}.shape[-1], dtype={d})) ;; {0} ;; F.linear({0}, torch.eye({0}.shape[-1], dtype={d})) ;; {0} * 1
torch.matmul({0}, {1}.transpose(-1, -2)) ;; torch.matmul({1}, {0}.transpose(-1, -2)).transpose(-1, -2) ;; F.linear({0}, {1}) if {0}.dim() == 2 else torch.matmul({0}, {1}.transpose(-1, -2)) ;; ({0}.unsqueeze(-2) * {1}.unsqueeze(-3)).sum(-1)
torch.matmul({0} * 2, {1}.transpose(-1, -2)) ;; torch.matmul({0}, {1}.transpose(-1, -2)) * 2 ;; torch.matmul({0}, ({1} * 2).transpose(-1, -2))
{0}.mean(-1) ;; {0}.sum(-1) / {0}.shape[-1] ;; ({0} / {0}.shape[-1]).sum(-1) ;; {0}.float().mean(-1).to({d}) ;; {0}.mean(-1, keepdim=True).squeeze(-1)
{0}.var(-1) ;; {0}.std(-1) ** 2 ;; {0}.var(-1, correction=1) ;; ({0} * {0}).mean(-1) - {0}.mean(-1) ** 2 ;; ({0} - {0}.mean(-1, keepdim=True)).square().sum(-1) / ({0}.shape[-1] - 1) ;; ({0} + 1).var(-1) ;; {0}.var(-1, correction=0)
torch.logsumexp({0}, -1) ;; torch.log(torch.exp({0}).sum(-1)) ;; torch.logsumexp({0} - 1, -1) + 1 ;; {0}.amax(-1) + torch.log(torch.exp({0} - {0}.amax(-1, keepdim=True)).sum(-1))
F.layer_norm({0}, {0}.shape[-1:]) ;; F.layer_norm({0} * 2, {0}.shape[-1:]) ;; F.layer_norm({0} + 1, {0}.shape[-1:]) ;; ({0} - {0}.mean(-1, keepdim=True)) * torch.rsqrt({0}.var(-1, correction=0, keepdim=True) + 1e-5) ;; F.layer_norm({0}, {0}.shape[-1:], eps=1e-6) ;; F.layer_norm({0}.float(), {0}.shape[-1:]).to({d})
F.rms_norm({0}, {0}.shape[-1:], eps=1e-6) ;; {0} * torch.rsqrt(({0} * {0}).mean(-1, keepdim=True) + 1e-6) ;; {0} / torch.sqrt({0}.square().mean(-1, keepdim=True) + 1e-6) ;; ({0}.float() * torch.rsqrt({0}.float().square().mean(-1, keepdim=True) + 1e-6)).to({d})
torch.tril({0}) + torch.triu({0}, 1) ;; {0} ;; torch.where(torch.ones({0}.shape[-2:], dtype=torch.bool).tril(), {0}, {0}) ;; torch.tril({0}, 99)
torch.tril({0}) ;; {0}.masked_fill(~torch.ones({0}.shape[-2:], dtype=torch.bool).tril(), 0) ;; {0} * torch.ones({0}.shape[-2:], dtype={d}).tril() ;; {0} - torch.triu({0}, 1) ;; torch.tril(torch.tril({0}, 1)) ;; torch.triu({0}.transpose(-1, -2)).transpose(-1, -2)
torch.roll({0}, 1, -1) ;; torch.cat([{0}[..., -1:], {0}[..., :-1]], -1) ;; torch.roll({0}, 1 - {0}.shape[-1], -1) ;; torch.roll({0}, -1, -1) ;; torch.roll({0}, 1 + {0}.shape[-1], -1) ;; torch.roll({0}.flip(-1), -1, -1).flip(-1)
F.pad({0}, [1, 1]) ;; torch.cat([torch.zeros_like({0}[..., :1]), {0}, torch.zeros_like({0}[..., :1])], -1) ;; F.pad(F.pad({0}, [1, 0]), [0, 1]) ;; F.pad({0}, [1, 1], value=-0.0) ;; F.pad({0}.flip(-1), [1, 1]).flip(-1) ;; F.pad(F.pad({0}, [2, 2]), [-1, -1])
F.pad({0}, [-1, 1]) ;; torch.cat([{0}[..., 1:], torch.zeros_like({0}[..., :1])], -1) ;; torch.roll({0}, -1, -1) ;; F.pad({0}[..., 1:], [0, 1]) ;; F.pad(F.pad({0}, [-1, 0]), [0, 1]) ;; F.pad(F.pad({0}, [0, 1]), [-1, 0])
{0}.sum() ;; {0}.sum(-1).sum() ;; {0}.flatten().sum(0) ;; {0}.transpose(0, -1).sum() ;; torch.sum({0}, dtype=torch.float64).to({d}) ;; {0}.sum(0).sum()
{0}.prod(-1) ;; {0}.cumprod(-1)[..., -1] ;; torch.exp(torch.log({0}).sum(-1)) ;; {0}.flip(-1).prod(-1) ;; -((-{0}).prod(-1))
torch.cat([{0}, {1}], -1).sum(-1) ;; {0}.sum(-1) + {1}.sum(-1) ;; torch.cat([{1}, {0}], -1).sum(-1)
torch.zeros_like({0}).scatter(-1, torch.zeros_like({0}, dtype=torch.int64), {0})[..., :1] ;; {0}[..., -1:] ;; {0}[..., :1] ;; {0}.amax(-1, keepdim=True)
torch.zeros_like({0}).scatter_add(-1, torch.zeros_like({0}, dtype=torch.int64), {0})[..., 0] ;; {0}.sum(-1) ;; {0}.cumsum(-1)[..., -1]
F.scaled_dot_product_attention({0}, {1}, {1}) ;; torch.softmax({0} @ {1}.transpose(-1, -2) / {0}.shape[-1] ** 0.5, -1) @ {1} ;; F.scaled_dot_product_attention({0}, {1}, {1}, scale=1.0) ;; F.scaled_dot_product_attention({0} / {0}.shape[-1] ** 0.5, {1}, {1}, scale=1.0) ;; F.scaled_dot_product_attention({0}, {1}, {1}, is_causal=True)
"""


def forms():
    """The lines of the table, each as a list of texts."""
    return [[form.strip() for form in line.split(" ;; ")] for line in IDENTITIES.strip().splitlines()]
