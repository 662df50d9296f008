use crate::check::compare;
use crate::energy::CostModel;
use crate::ir::{Graph, text};
use crate::progress::Silent;
use crate::rules::{RuleSet, Tier};

const LLAMA: &str = "\"site-packages/transformers/models/llama/modeling_llama.py\":257 fn \"forward\"";
const GPT2: &str = "\"site-packages/transformers/models/gpt2/modeling_gpt2.py\":211 fn \"forward\"";
const INTEGRATION: &str =
    "\"site-packages/transformers/integrations/sdpa_attention.py\":92 fn \"sdpa_attention_forward\"";
const SOFTMAX: &str = "\"site-packages/torch/nn/functional.py\":2133 fn \"softmax\"";
const OWN: &str = "\"train.py\":12 fn \"fast_attention\"";
const TIMM: &str = "\"site-packages/timm/layers/attention.py\":93 fn \"forward\"";
const MHA: &str = "\"site-packages/torch/nn/functional.py\":6487 fn \"multi_head_attention_forward\"";
const DIFFUSERS: &str = "\"site-packages/diffusers/models/attention_processor.py\":700 fn \"__call__\"";
const ACTIVATIONS: &str = "\"site-packages/transformers/activations.py\":58 fn \"forward\"";

fn read(text: &str) -> Graph {
    text::parse("flags.mir", text).unwrap_or_else(|e| panic!("{:?}\n{text}", miette::Report::new(e)))
}

/// All flags that the regions of two graphs name.
fn named(a: &str, b: &str, tier: Tier) -> Vec<String> {
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let checked = compare(&read(a), &read(b), &rules, tier, &costs, &Silent).unwrap();
    assert!(checked.comparison.tier.is_some(), "{a}\n{b}\nare not equivalent");
    checked.comparison.regions.iter().filter_map(|r| r.cause.flag.clone()).collect()
}

const HEAD: &str = "graph g(q: f32[2, 4, 64, 16], k: f32[2, 4, 64, 16], v: f32[2, 4, 64, 16])";

fn eager(at: &str) -> String {
    format!(
        "{HEAD} {{ t = permute(k; dims=[0, 1, 3, 2]) s = matmul(q, t) m = mul(s, 0.25) \
         p = softmax(m; dim=3) @ {at} o = matmul(p, v) return o }}"
    )
}

fn fused(at: &str) -> String {
    format!("{HEAD} {{ o = sdpa(q, k, v; scale=0.25) @ {at} return o }}")
}

fn attention(a: &str, b: &str) -> Vec<String> {
    named(&eager(a), &fused(b), Tier::Rounding)
}

fn from(inner: &str, outer: &str) -> String {
    format!("{inner} from {outer}")
}

#[test]
fn the_flag_of_the_framework_that_dispatched_is_named() {
    let sdpa = ["attn_implementation=\"sdpa\" (set in B)"];
    assert_eq!(attention(LLAMA, LLAMA), sdpa);
    assert_eq!(attention(&from(SOFTMAX, LLAMA), &from(INTEGRATION, LLAMA)), sdpa);
    assert_eq!(attention(TIMM, TIMM), ["fused_attn=True (set in B)"]);
    assert_eq!(attention(&from(SOFTMAX, MHA), MHA), ["need_weights=False (set in B)"]);
    assert_eq!(attention(DIFFUSERS, DIFFUSERS), ["attn_processor=AttnProcessor2_0() (set in B)"]);
    let swapped = named(&fused(LLAMA), &eager(LLAMA), Tier::Rounding);
    assert_eq!(swapped, ["attn_implementation=\"sdpa\" (set in A)"]);
}

/// Pairs that look like the work of a flag and are not.
#[test]
fn no_flag_is_named_for_what_looks_like_it() {
    let none: [&str; 0] = [];
    // Written by hand on either side, on both, or below the framework's own call.
    assert_eq!(attention(LLAMA, OWN), none);
    assert_eq!(attention(OWN, LLAMA), none);
    assert_eq!(attention(OWN, OWN), none);
    assert_eq!(attention(LLAMA, &from(OWN, LLAMA)), none);
    assert_eq!(attention(&from(OWN, LLAMA), LLAMA), none);
    // Other models, other frameworks, other functions of the file.
    assert_eq!(attention(GPT2, LLAMA), none);
    assert_eq!(attention(LLAMA, TIMM), none);
    assert_eq!(attention(SOFTMAX, MHA), none);
    // Names that only contain the framework's.
    assert_eq!(attention("\"my_transformers/models/x.py\":3", "\"my_transformers/models/x.py\":3"), none);
    assert_eq!(
        attention("\"site-packages/timm_like/layers/x.py\":3", "\"site-packages/timm_like/layers/x.py\":3"),
        none
    );
    // The same operators on both sides, from the framework.
    assert_eq!(named(&fused(LLAMA), &fused(LLAMA), Tier::Rounding), none);
    assert_eq!(named(&eager(LLAMA), &eager(GPT2), Tier::Rounding), none);
}

const CONVOLUTION: &str = "conv1d(unsqueeze(x; dim=0), unsqueeze(w; dim=2); stride=[1], padding=[0], dilation=[1])";

fn with(config: &str, op: &str) -> String {
    format!("{config} graph g(x: f32[64, 64], w: f32[64, 64]) {{ y = {op} return y }}")
}

#[test]
fn a_math_flag_is_named_where_it_changes_an_operator() {
    let tf32 = |op: &str| named(&with("", op), &with("config allow_tf32 = true", op), Tier::ANY_ERROR);
    assert_eq!(tf32("matmul(x, w)"), ["torch.backends.cuda.matmul.allow_tf32"]);
    assert!(tf32("add(x, w)").is_empty(), "no product");
    assert!(tf32(CONVOLUTION).is_empty(), "another flag's");
    let cudnn = |op: &str| named(&with("", op), &with("config cudnn_tf32_off = true", op), Tier::ANY_ERROR);
    assert_eq!(cudnn(CONVOLUTION), ["torch.backends.cudnn.allow_tf32"]);
    assert!(cudnn("matmul(x, w)").is_empty(), "another flag's");
}

#[test]
fn the_activation_of_a_config_is_named() {
    let head = "graph g(x: f32[64, 64])";
    let written = format!(
        "{head} {{ h = mul(x, 0.5) p = pow(x; exponent=3.0) @ {ACTIVATIONS} c = mul(p, 0.044715) i = add(x, c) \
         m = mul(i, 0.7978845608028654) t = tanh(m) @ {ACTIVATIONS} o = add(t, 1.0) y = mul(h, o) return y }}"
    );
    let fused = format!("{head} {{ y = gelu(x; approximate=\"tanh\") @ {ACTIVATIONS} return y }}");
    assert_eq!(named(&written, &fused, Tier::Rounding), ["hidden_act=\"gelu_pytorch_tanh\" (set in B)"]);
    let by_hand = written.replace(ACTIVATIONS, OWN);
    assert!(named(&by_hand, &fused, Tier::Rounding).is_empty());
}

#[test]
fn the_table_is_read() {
    super::TABLE.as_ref().unwrap();
    for flag in super::flags() {
        let kinds = [flag.config.is_some(), flag.dispatch.is_some(), flag.variable.is_some()];
        assert_eq!(kinds.iter().filter(|is| **is).count(), 1, "{} has one kind of evidence", flag.name);
        let ops = flag.dispatch.iter().flat_map(|d| &d.values).flat_map(|v| v.has.iter().chain(&v.lacks));
        assert!(ops.into_iter().all(|op| crate::ops::find(op).is_some()), "{}", flag.name);
    }
}

#[test]
fn a_flag_is_known_by_the_variable_that_its_framework_reads() {
    let model = "lib/site-packages/transformers/models/llama/modeling_llama.py";
    let name = |file: &str, variable: &str| super::read_as(file, variable).map(|(name, _)| name);
    assert_eq!(name(model, "self.config._attn_implementation"), Some("attn_implementation"));
    assert_eq!(name(model, "use_cache"), Some("use_cache"));
    assert_eq!(name(model, "self.config.my_use_cache"), None);
    assert_eq!(name(model, "self.config.attn_implementation.kind"), None);
    assert_eq!(name("my_transformers/model.py", "self.config._attn_implementation"), None);
    assert_eq!(name("site-packages/torch/optim/adam.py", "foreach"), Some("foreach"));
    assert_eq!(name("train.py", "foreach"), None);
}
