use super::*;
use crate::ir::{DType, Shape, TensorType};
use crate::ops::find;
use crate::rules::arena::{InstanceArena, TermId};
use crate::rules::{Build, Piece, RuleFile, RuleSet};

fn rule(text: &str) -> RuleSet {
    let file = RuleFile::new("test.rules", &format!("/// Test.\nrule r [real]: {text}\n"));
    RuleSet::default().with_sources(&[file]).map_err(|e| format!("{e:?}")).unwrap()
}

fn leaf(arena: &mut InstanceArena, shape: &[usize]) -> TermId {
    arena.leaf(TensorType::new(DType::F32, Shape::from_slice(shape)).unwrap(), [].into())
}

fn call(arena: &mut InstanceArena, op: &str, attrs: &[(&str, AttrValue)], operands: &[TermId]) -> TermId {
    let def = find(op).unwrap();
    arena.apply(&Op::Table(def), &def.attrs(attrs).unwrap(), 0, operands).unwrap()
}

fn number(arena: &mut InstanceArena, value: f64) -> TermId {
    let (op, attrs) = crate::ops::number(value.into(), DType::F32);
    arena.apply(&Op::Table(op), &attrs, 0, &[]).unwrap()
}

fn matches(set: &RuleSet, arena: &InstanceArena, root: TermId) -> Vec<Bindings<TermId>> {
    let mut found = Vec::new();
    set.rules()[0].search(arena, root, &mut 1000, &mut found);
    found.retain_mut(|b| matches!(set.rules()[0].check_conditions(arena, b), Outcome::Holds { .. }));
    found
}

#[test]
fn commutative_operators_match_in_both_orders() {
    let set = rule("add(neg(x), y) => sub(y, x)");
    let mut arena = InstanceArena::default();
    let (a, b) = (leaf(&mut arena, &[2]), leaf(&mut arena, &[2]));
    let negated = call(&mut arena, "neg", &[], &[a]);
    let sum = call(&mut arena, "add", &[], &[b, negated]);
    let found = matches(&set, &arena, sum);
    assert_eq!(found.len(), 1);
    let built = set.rules()[0].build_rhs(&found[0], &mut arena).unwrap();
    assert_eq!(built, call(&mut arena, "sub", &[], &[b, a]));
}

#[test]
fn a_name_that_stands_twice_is_one_tensor() {
    let set = rule("mul(x, sigmoid(x)) => silu(x)");
    let mut arena = InstanceArena::default();
    let (a, b) = (leaf(&mut arena, &[2]), leaf(&mut arena, &[2]));
    let gate = call(&mut arena, "sigmoid", &[], &[a]);
    let (same, other) = (call(&mut arena, "mul", &[], &[gate, a]), call(&mut arena, "mul", &[], &[gate, b]));
    assert_eq!(matches(&set, &arena, same).len(), 1);
    assert_eq!(matches(&set, &arena, other).len(), 0);
}

#[test]
fn typed_constants_match_as_people_type_them_and_are_built_as_they_were() {
    let set = rule("mul(x, 0.7978845608028654) => neg(x)");
    let mut arena = InstanceArena::default();
    let a = leaf(&mut arena, &[2]);
    for (value, fits) in [(0.79788456, true), (0.7978, false), (0.5, false)] {
        let c = number(&mut arena, value);
        let product = call(&mut arena, "mul", &[], &[a, c]);
        let found = matches(&set, &arena, product);
        assert_eq!(found.len(), usize::from(fits), "{value}");
        if fits {
            assert_eq!(set.rules()[0].build_lhs(&found[0], &mut arena).unwrap(), product);
        }
    }
}

#[test]
fn lists_bind_any_number_of_operands() {
    let set = rule("concat([neg(xs)...]; dim=d) => neg(concat([xs...]; dim=d))");
    let mut arena = InstanceArena::default();
    let parts: Vec<TermId> = (1..4).map(|n| leaf(&mut arena, &[n])).collect();
    let negated: Vec<TermId> = parts.iter().map(|&p| call(&mut arena, "neg", &[], &[p])).collect();
    let joined = call(&mut arena, "concat", &[], &negated);
    let found = matches(&set, &arena, joined);
    assert_eq!(found[0].lists[0].as_deref(), Some(&parts[..]));
    let mixed = call(&mut arena, "concat", &[], &[negated[0], parts[1]]);
    assert_eq!(matches(&set, &arena, mixed).len(), 0);
}

#[test]
fn attributes_that_a_pattern_leaves_out_have_their_default() {
    let set = rule("sum(x; dim=d) => neg(sum(x; dim=d))");
    let mut arena = InstanceArena::default();
    let a = leaf(&mut arena, &[2, 3]);
    let dim = ("dim", AttrValue::Ints([1].into_iter().collect()));
    let kept = call(&mut arena, "sum", &[dim.clone(), ("keepdim", AttrValue::Bool(true))], &[a]);
    let dropped = call(&mut arena, "sum", &[dim], &[a]);
    assert_eq!(matches(&set, &arena, kept).len(), 0);
    assert_eq!(matches(&set, &arena, dropped).len(), 1);
}

#[test]
fn negative_dims_count_from_the_end() {
    let set = rule("softmax(x; dim=-1) => log_softmax(x; dim=-1)");
    let mut arena = InstanceArena::default();
    let a = leaf(&mut arena, &[2, 3, 4]);
    let of = |arena: &mut InstanceArena, op: &str, d: i64| call(arena, op, &[("dim", AttrValue::Int(d))], &[a]);
    let (last, first) = (of(&mut arena, "softmax", 2), of(&mut arena, "softmax", 0));
    assert_eq!(matches(&set, &arena, first).len(), 0);
    let found = matches(&set, &arena, last);
    assert_eq!(set.rules()[0].build_rhs(&found[0], &mut arena).unwrap(), of(&mut arena, "log_softmax", 2));
}

#[test]
fn the_search_stops_when_its_budget_is_used_up() {
    let set = rule("neg(neg(x)) => x");
    let mut arena = InstanceArena::default();
    let mut a = leaf(&mut arena, &[2]);
    for _ in 0..2 {
        a = call(&mut arena, "neg", &[], &[a]);
    }
    let mut found = Vec::new();
    let mut budget = 1;
    set.rules()[0].search(&arena, a, &mut budget, &mut found);
    assert_eq!((found.len(), budget), (0, 0));
}

#[test]
fn what_cannot_be_decided_is_assumed_and_reported() {
    let set = rule("where(m, x, y) => x assume is_uniform(m)");
    let mut arena = InstanceArena::default();
    let a = leaf(&mut arena, &[2]);
    let mask = TensorType::new(DType::Bool, Shape::from_slice(&[2])).unwrap();
    let open = arena.leaf(mask.clone(), [].into());
    let known = arena.constant_leaf(mask, crate::eval::Constant::Uniform(1.0.into()));
    for (mask, assumed) in [(open, vec!["is_uniform(", "#", ")"]), (known, vec![])] {
        let choice = call(&mut arena, "where", &[], &[mask, a, a]);
        let mut found = matches(&set, &arena, choice);
        let rule = &set.rules()[0];
        let Outcome::Holds { assumed: conditions } = rule.check_conditions(&arena, &mut found[0]) else { panic!() };
        let sentences = conditions.iter().flat_map(|&at| rule.assumption(at, &arena, &found[0]));
        let said: Vec<String> = sentences
            .flatten()
            .map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Tensor(id) | Piece::Cast(id, _) => {
                    assert_eq!(id, mask);
                    "#".to_owned()
                }
            })
            .collect();
        assert_eq!(said, assumed);
    }
}

#[test]
fn other_roots_are_found_among_all_terms() {
    let set = rule("{ matmul(x, a), matmul(x, b) } => { matmul(x, a), matmul(x, b) }");
    let mut arena = InstanceArena::default();
    let (x, y, a, b) =
        (leaf(&mut arena, &[2, 3]), leaf(&mut arena, &[2, 3]), leaf(&mut arena, &[3, 4]), leaf(&mut arena, &[3, 5]));
    let product = |arena: &mut InstanceArena, x, w| call(arena, "matmul", &[], &[x, w]);
    let all = [product(&mut arena, x, a), product(&mut arena, x, b), product(&mut arena, y, a)];
    let (mut found, mut budget) = (Vec::new(), 1_000);
    set.rules()[0].search(&arena, all[0], &mut budget, &mut found);
    assert!(found.is_empty(), "one root alone is no match");
    let among = |op: &str| if op == "matmul" { &all[..] } else { &[] };
    set.rules()[0].search_among(&arena, all[0], &among, &mut budget, &mut found);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].tensors.as_slice(), &[Some(x), Some(a), Some(b)]);
    let mut other = Vec::new();
    set.rules()[0].search_among(&arena, all[2], &among, &mut budget, &mut other);
    assert!(other.is_empty(), "no other product has this operand");
}
