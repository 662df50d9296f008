//! Which arguments autocast casts to which type. Exports record that it is on and leave its casts out.

use std::collections::hash_map::Entry;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::autocast::{Autocast, Casts};
use super::lowering::{NodeLowering, Refusal};
use super::target::Target;
use crate::ir::{DType, Value};

/// One operator of ATen per line, then what autocast does to it on each kind of device. Read off PyTorch by
/// `tests/data/make_schemas.py`.
const TABLE: &str = include_str!("autocast.txt");

/// What autocast does to an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// Casts its arguments to the lower type.
    Low,
    /// Casts them to f32.
    F32,
    /// Asks for an f32 result where no type is asked for.
    Type,
    /// Casts them to the widest type among them.
    Widest,
    /// Leaves it alone, but it may be made of operators that autocast casts for.
    Inside,
}

fn parse(line: &'static str) -> Option<(&'static str, Vec<(&'static str, Policy)>)> {
    let (name, words) = line.split_once(' ')?;
    let policy = |word: &'static str| {
        let (device, policy) = word.split_once('=')?;
        let policy = match policy {
            "low" => Policy::Low,
            "f32" => Policy::F32,
            "type" => Policy::Type,
            "widest" => Policy::Widest,
            "inside" => Policy::Inside,
            _ => return None,
        };
        Some((device, policy))
    };
    Some((name, words.split(' ').map(policy).collect::<Option<_>>()?))
}

static POLICIES: LazyLock<FxHashMap<&'static str, Vec<(&'static str, Policy)>>> =
    LazyLock::new(|| TABLE.lines().filter_map(parse).collect());

fn policy(target: Target, device: &str) -> Option<Policy> {
    if target.namespace != "aten" {
        return None;
    }
    let full = target.full_name();
    let all = POLICIES.get(full.strip_prefix("aten.")?)?;
    all.iter().find(|(d, _)| *d == device).map(|(_, policy)| *policy)
}

impl Autocast {
    /// Adds the casts for the operator of `site`.
    pub(super) fn casts(&self, site: &mut NodeLowering) -> Result<Casts, Refusal> {
        let mut casts = Casts::default();
        let names: Vec<&str> = site.node.inputs.iter().flat_map(|i| i.arg.tensors()).collect();
        let target = Target::of(&site.node.target);
        for (device, lower) in &self.0 {
            let mut here = Vec::new();
            for name in names.iter().filter(|&&name| site.scope.device(name) == Some(device)) {
                let value = site.value(name)?;
                let dtype = site.dtype(value);
                here.push((value, dtype.is_float() && dtype != DType::F64 && !site.scope.is_complex(name)));
            }
            let Some(&(_, first_is_eligible)) = here.first() else { continue };
            let here: Vec<Value> = here.into_iter().filter(|&(_, eligible)| eligible).map(|(value, _)| value).collect();
            let to = match policy(target, device) {
                Some(Policy::Low) => *lower,
                Some(Policy::F32) => DType::F32,
                Some(Policy::Type) if first_is_eligible && !site.given("dtype") => DType::F32,
                Some(Policy::Type) => continue,
                Some(Policy::Widest) => match here.iter().any(|&v| site.dtype(v) == DType::F32) {
                    true => DType::F32,
                    false => *lower,
                },
                // The kernels of ATen that no list names compute as without autocast.
                None if target.namespace == "aten" && matches!(device.as_str(), "cpu" | "cuda") => continue,
                inside => {
                    casts.happen_inside |= inside == Some(Policy::Inside);
                    casts.mode = Some(self.describe());
                    continue;
                }
            };
            for value in here {
                if let Entry::Vacant(free) = casts.cast.entry(value) {
                    free.insert(site.cast("autocast", value, to)?);
                }
            }
        }
        Ok(casts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        assert!(TABLE.lines().count() > 300);
        for line in TABLE.lines() {
            assert!(parse(line).is_some(), "{line}");
        }
        for line in ["mm", "mm cpu", "mm cpu=lower", "mm cpu=low "] {
            assert!(parse(line).is_none(), "{line}");
        }
    }

    #[test]
    fn policies_depend_on_the_device() {
        let policy = |target, device| policy(Target::of(target), device);
        assert_eq!(policy("torch.ops.aten.mm.default", "cpu"), Some(Policy::Low));
        assert_eq!(policy("torch.ops.aten.softmax.int", "cuda"), Some(Policy::Type));
        assert_eq!(policy("torch.ops.aten.softmax.int", "cpu"), None);
        assert_eq!(policy("torch.ops.aten.layer_norm.default", "cuda"), Some(Policy::F32));
        assert_eq!(policy("torch.ops.aten.layer_norm.default", "cpu"), None);
        assert_eq!(policy("torch.ops.aten.cat.default", "cpu"), Some(Policy::Widest));
        assert_eq!(policy("torch.ops.aten.einsum.default", "cpu"), Some(Policy::Inside));
        assert_eq!(policy("torch.ops.aten.add.Tensor", "cuda"), None);
        assert_eq!(policy("torch.ops.mylib.mm.default", "cpu"), None);
    }
}
