//! Type rules, work counts, layouts and kernels under sizes and attributes that no model has. Debug builds check
//! arithmetic, so that an overflow fails here.

use smallvec::SmallVec;

use super::{AttrDef, AttrKind, Call, Default, Family, OpDef, all};
use crate::eval::{EvalError, GraphProgram, LazyEvaluator, Options, random};
use crate::ir::{AttrValue, Attrs, DType, Graph, Layout, Origin, Role, Shape, TensorType, Value, layouts, unflatten};

const CALLS: u64 = 10_000;

struct Draw {
    seed: u64,
    count: u64,
}

impl Draw {
    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        self.count += 1;
        from[(random::mix(self.seed, self.count) % from.len() as u64) as usize].clone()
    }

    fn below(&mut self, n: usize) -> usize {
        self.count += 1;
        (random::mix(self.seed, self.count) % n as u64) as usize
    }

    fn shape(&mut self) -> Shape {
        let rank = self.pick(&[0, 1, 2, 2, 3, 3, 4, 4, 5, 16]);
        self.shape_of(rank)
    }

    fn shape_of(&mut self, rank: usize) -> Shape {
        (0..rank).map(|_| self.pick(&[0, 1, 1, 1, 2, 2, 4, 7, 1 << 20, 1 << 43])).collect()
    }

    fn int(&mut self) -> i64 {
        self.pick(&[i64::MIN, i64::MIN + 1, -(1 << 40), -2, -1, 0, 1, 1, 2, 2, 3, 4, 1 << 43, i64::MAX - 1, i64::MAX])
    }

    fn attr(&mut self, op: &OpDef, def: &AttrDef, like: &[usize]) -> AttrValue {
        if self.below(3) == 0
            && let Some(default) = def.default.value()
        {
            return default;
        }
        match def.kind {
            _ if def.default == Default::None && self.below(3) == 0 => AttrValue::None,
            AttrKind::Bool => AttrValue::Bool(self.below(2) == 0),
            AttrKind::Int => AttrValue::Int(self.int()),
            AttrKind::Number if self.below(2) == 0 => AttrValue::Int(self.int()),
            AttrKind::Float | AttrKind::Number => AttrValue::float(self.pick(&[
                0.0,
                1.0,
                0.5,
                -3.0,
                1e300,
                f64::MIN_POSITIVE,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ])),
            AttrKind::Str => {
                let all = ["none", "tanh", "mean", "sum", "prod", "amax", "reflect", "replicate", "linear", ""];
                AttrValue::str(self.pick(&all))
            }
            AttrKind::DType => AttrValue::DType(self.pick(&DType::ALL)),
            AttrKind::Dim => AttrValue::Int(self.pick(&[0, 0, 1, 2, 3, i64::MAX])),
            AttrKind::Dims => {
                let count = self.pick(&[0, 1, 1, 2, like.len()]);
                AttrValue::Ints((0..count).map(|i| self.pick(&[i as i64, 0, 1, 2, i64::MAX])).collect())
            }
            // Windows have one size for each dimension but batch and channel.
            AttrKind::Ints if op.family == Family::Conv => {
                let count = like.len().saturating_sub(2);
                if self.below(2) == 0 {
                    let usual = i64::from(!def.name.ends_with("padding"));
                    return AttrValue::Ints(std::iter::repeat_n(usual, count).collect());
                }
                AttrValue::Ints(
                    (0..count)
                        .map(|_| {
                            self.pick(if def.name.ends_with("padding") {
                                &[0, 0, 0, 1, i64::MAX]
                            } else {
                                &[0, 1, 1, 1, 2, i64::MAX]
                            })
                        })
                        .collect(),
                )
            }
            // Padding of a few elements, now and then of too many.
            AttrKind::Ints if op.name == "pad_edges" => {
                let count = self.pick(&[2, 4, 6]);
                AttrValue::Ints((0..count).map(|_| self.pick(&[0, 0, 1, 1, 1, 2, -1, i64::MAX])).collect())
            }
            AttrKind::Ints if self.below(2) == 0 => AttrValue::shape(like),
            AttrKind::Ints => {
                let count = self.pick(&[0, 1, 2, 2, like.len(), 2 * like.len()]);
                AttrValue::Ints((0..count).map(|_| self.int()).collect())
            }
        }
    }
}

/// Whether the call is well-typed; everything that follows from that must not panic.
fn survives(op: &'static OpDef, draw: &mut Draw) -> bool {
    let common = if op.name.ends_with("3d") { draw.shape_of(5) } else { draw.shape() };
    let dtype = draw.pick(&DType::ALL);
    let (least, most) = op.operand_count();
    let count = least + draw.below(most.min(least + 3) - least + 1);
    let mut graph = Graph::new("hostile");
    let mut operands: Vec<Value> = Vec::new();
    for i in 0..count {
        let without = |d: usize| common.iter().enumerate().filter(|&(i, _)| i != d).map(|(_, &size)| size).collect();
        let shape = match draw.below(10) {
            0..2 => draw.shape(),
            2 => common.iter().skip(1).take(1).copied().collect(),
            3 => without(1),
            // Rows, one matrix for each group, the groups' ends: no shape fits all three.
            _ if op.name == "grouped_mm" => match (i, &common[..]) {
                (0, [r, k, ..]) => [*r, *k].into_iter().collect(),
                (1, [r, k, ..]) => [*r, *k, *k].into_iter().collect(),
                (_, [r, ..]) => [*r].into_iter().collect(),
                (_, []) => common.clone(),
            },
            // Rows, places among them, starts of bags.
            _ if op.name == "embedding_bag" => match (i, &common[..]) {
                (0, [r, k, ..]) => [*r, *k].into_iter().collect(),
                (_, [r, ..]) => [*r].into_iter().collect(),
                (_, []) => common.clone(),
            },
            // Filters with as many channels as the input.
            _ if op.name.starts_with("conv_transpose") && i == 1 => match &common[..] {
                [_, c, rest @ ..] => [*c, *c].into_iter().chain(rest.iter().copied()).collect(),
                _ => common.clone(),
            },
            _ => common.clone(),
        };
        let dtype = if draw.below(5) == 0 { draw.pick(&[DType::Bool, DType::I64, DType::F32]) } else { dtype };
        let dtype = match op.name {
            "grouped_mm" if i == 2 => DType::I32,
            "embedding_bag" if i > 0 => DType::I64,
            "scatter_reduce" if i == 1 => DType::I64,
            _ => dtype,
        };
        let Ok(ty) = TensorType::new(dtype, shape) else { return false };
        operands.push(graph.add_input(&format!("x{i}"), Role::User, ty, Origin::default()).into());
    }
    let attrs: Attrs = op.attrs.iter().map(|a| draw.attr(op, a, &common)).collect();
    let Ok(node) = graph.add_op("y", op, attrs.clone(), &operands, Origin::default()) else { return false };

    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| graph.ty(v)).collect();
    let call = Call { op, attrs: &attrs, operands: &types };
    let outputs = graph.node(node).types.clone();
    let work = call.work(&outputs);
    assert!(work.flops >= 0.0 && work.bytes_read >= 0.0 && work.bytes_written >= 0.0, "{op:?}: {work:?}");
    let layouts: Vec<SmallVec<[Layout; 1]>> = layouts(&graph);
    assert!(layouts[node.index()].iter().zip(&outputs).all(|(l, t)| l.strides.len() == t.rank()), "{op:?}");

    let program = GraphProgram::new(&graph, draw.seed);
    for (slot, ty) in outputs.iter().enumerate() {
        if ty.numel() == 0 {
            continue;
        }
        let mut evaluator = LazyEvaluator::new(&program, Options { rounding: true, budget: 500 });
        for flat in [0, ty.numel() - 1, draw.below(ty.numel())] {
            let result = evaluator.element(Value::new(node, slot as u32), &unflatten(&ty.shape, flat));
            // A random position may lie outside of its dimension, a random integer be divided by zero; then the
            // evaluator says so.
            use EvalError::{Budget, DivisionByZero, IndexOutOfRange, NoSemantics, Unrepresentable};
            let says_so = match &result {
                Ok(_) | Err(Budget | NoSemantics(_) | IndexOutOfRange | DivisionByZero) => true,
                // Unsigned types have no counterpart of a float below 0, and u64 here none of a number from 2^63 on.
                Err(Unrepresentable) => types.iter().any(|ty| ty.dtype.is_unsigned()) || ty.dtype.is_unsigned(),
                Err(_) => false,
            };
            assert!(says_so, "{op:?}: {result:?}");
        }
    }
    true
}

#[test]
fn nothing_panics_on_hostile_sizes_and_attributes() {
    let mut never = Vec::new();
    for op in all() {
        let accepted = (0..CALLS).filter(|&seed| survives(op, &mut Draw { seed, count: 0 })).count();
        if accepted == 0 {
            never.push(op.name);
        }
    }
    assert!(never.is_empty(), "only ill-typed calls were drawn of {never:?}");
}
