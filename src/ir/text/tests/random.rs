//! Random graphs made from the op table: random attributes and operands, kept where the type rules accept them.

use smallvec::SmallVec;

use crate::ir::{
    AttrValue, Attrs, DType, Frame, Graph, Ints, MathConfig, Number, Origin, Output, Path, Role, Shape, Step, Target,
    TensorType, Value,
};
use crate::ops::{self, AttrDef, AttrKind, CustomOp, Default, Op};

/// SplitMix64: enough for test data.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }

    fn float(&mut self) -> f64 {
        match self.below(8) {
            0 => f64::NEG_INFINITY,
            1 => f64::NAN,
            2 => self.below(5) as f64,
            3 => -1e-30,
            4 => 1e300,
            _ => f64::from_bits(self.next() >> 2),
        }
    }

    fn name(&mut self, i: usize) -> String {
        match self.below(5) {
            0 => format!("odd \"name\"\n{i}"),
            1 => format!("in.{i}"),
            2 => format!("größe{i}"),
            3 => format!("v{i}.1"),
            _ => format!("v{i}"),
        }
    }

    fn origin(&mut self) -> Origin {
        let frame = |r: &mut Random| Frame {
            file: (*r.pick(&["model.py", "a \"b\".py", ""])).into(),
            line: r.below(1000) as u32,
            function: (*r.pick(&["", "forward"])).into(),
            code: (*r.pick(&["", "y = x @ w  # \\"])).into(),
        };
        let frames: Vec<Frame> = (0..self.below(3)).map(|_| frame(self)).collect();
        let module = (*self.pick(&["", "layers.0"])).into();
        Origin { frames: frames.into(), module, implicit: self.below(9) == 0, ..Origin::default() }
    }

    fn attr(&mut self, def: &AttrDef, first: Option<&TensorType>) -> AttrValue {
        if self.below(2) == 0
            && let Some(value) = def.default.value()
        {
            return value;
        }
        if def.default == Default::None && self.below(2) == 0 {
            return AttrValue::None;
        }
        let rank = first.map_or(0, TensorType::rank);
        match def.kind {
            AttrKind::Bool => AttrValue::Bool(self.below(2) == 0),
            AttrKind::Int => AttrValue::Int(self.below(4) as i64),
            AttrKind::Float => AttrValue::float(self.float()),
            AttrKind::Number if self.below(2) == 0 => AttrValue::Int(self.below(4) as i64),
            AttrKind::Number => AttrValue::float(self.float()),
            AttrKind::Str => AttrValue::str(self.pick::<&str>(&["tanh", "mean", "none", "sum"])),
            AttrKind::DType => AttrValue::DType(*self.pick(&DType::ALL)),
            AttrKind::Dim => AttrValue::Int(self.below(rank) as i64),
            AttrKind::Ints | AttrKind::Dims => AttrValue::Ints(self.ints(first)),
        }
    }

    fn path(&mut self) -> Option<Path> {
        let names = ["logits", "odd \"key\"", "", "1a", "größe"];
        let step = |r: &mut Random| match r.below(2) {
            0 => Step::Index(r.below(5) as i64 - 1),
            _ => Step::Name((*r.pick(&names)).into()),
        };
        let steps = self.below(4);
        (self.below(3) > 0).then(|| Path((0..steps).map(|_| step(self)).collect()))
    }

    fn constant(&mut self) -> AttrValue {
        match self.below(5) {
            0 => AttrValue::None,
            1 => AttrValue::Bool(self.below(2) == 0),
            2 => AttrValue::Int(self.below(9) as i64 - 4),
            3 => AttrValue::float(self.float()),
            _ => AttrValue::str(self.pick::<&str>(&["none", "a \"text\"\n", ""])),
        }
    }

    /// Outputs of every kind, and constants.
    fn signature(&mut self, graph: &mut Graph, values: &[Value]) {
        for i in 0..self.below(6) {
            let value = *self.pick(values);
            let path = self.path();
            let input = *self.pick(graph.inputs());
            let same_type = graph.ty(value) == graph.ty(input.into());
            let changed = graph.node(input).name.clone();
            let target = match self.below(6) {
                0 => {
                    let constant = self.constant();
                    graph.add_constant_output(constant, path);
                    continue;
                }
                1 => Target::Loss(graph.next_place(path)),
                2 if same_type => Target::Write(changed),
                3 if same_type => Target::Gradient(changed),
                _ => Target::Result(graph.next_place(path)),
            };
            graph.push_output(Output { name: format!("out {i}").into(), value, target });
        }
        for i in 0..self.below(3) {
            let (name, value) = (self.name(1000 + i), self.constant());
            graph.add_constant_input(&name, value);
        }
    }

    /// Lists that some operator has a use for: sizes, a reversed order, parts of a size, ones.
    fn ints(&mut self, first: Option<&TensorType>) -> Ints {
        let shape: Ints = first.map(|t| t.shape.iter().map(|&d| d as i64).collect()).unwrap_or_default();
        match self.below(6) {
            0 => shape,
            1 => (0..shape.len() as i64).rev().collect(),
            2 => shape.last().map(|&d| SmallVec::from_slice(&[1, d - 1])).unwrap_or_default(),
            3 => SmallVec::from_elem(1, 1 + self.below(2)),
            4 => shape.last().map(|&d| SmallVec::from_elem(d, 1)).unwrap_or_default(),
            _ => SmallVec::from_elem(self.below(shape.len()) as i64, 1),
        }
    }
}

/// A random graph of about `size` operators, and the names of the table operators in it.
pub(super) fn graph(seed: u64, size: usize) -> (Graph, Vec<&'static str>) {
    let mut random = Random(seed);
    let mut graph = Graph::new(["g", "a graph", "none"][random.below(3)]);
    graph.config = MathConfig { allow_tf32: random.below(2) == 0, ..MathConfig::default() };
    let table: Vec<_> = ops::all().collect();
    let mut values: Vec<Value> = Vec::new();
    let mut used = Vec::new();
    let mut number = 0;
    for shape in [&[2, 3][..], &[3, 3], &[3], &[], &[2, 3, 4], &[1, 4, 2, 3], &[2, 1]] {
        let dtype = *random.pick(&[DType::F32, DType::F32, DType::F32, DType::BF16, DType::I64, DType::Bool]);
        let ty = TensorType::new(dtype, Shape::from_slice(shape)).unwrap();
        let role = *random.pick(&[Role::User, Role::Parameter, Role::Buffer]);
        let (name, origin) = (random.name(number), random.origin());
        values.push(graph.add_input(&name, role, ty, origin).into());
        number += 1;
    }
    let data: Vec<Number> = (0..3).map(|_| DType::F32.element(random.float())).collect();
    let ty = TensorType::new(DType::F32, Shape::from_slice(&[3])).unwrap();
    values.push(graph.add_literal("a literal", ty.clone(), data, Origin::default()).unwrap().into());
    let op = Op::Custom(CustomOp::new("lib.op", vec!["odd name".into(), "x".into()]).into());
    let attrs = Attrs::from_iter([AttrValue::str("\u{7f} ü"), AttrValue::DType(DType::F16)]);
    let operands = [values[0], values[3]];
    let types = [ty.clone(), ty];
    let custom = graph.add_custom("custom", op, attrs, &operands, types, random.origin()).unwrap();
    values.extend([Value::new(custom, 0), Value::new(custom, 1)]);
    for _ in 0..size {
        let def = **random.pick(&table.iter().collect::<Vec<_>>());
        for _ in 0..20 {
            let (least, most) = def.operand_count();
            let count = least + random.below(most.min(least + 2) - least + 1);
            let operands: Vec<Value> = (0..count).map(|_| *random.pick(&values)).collect();
            let first = operands.first().map(|&v| graph.ty(v).clone());
            let attrs: Attrs = def.attrs.iter().map(|a| random.attr(a, first.as_ref())).collect();
            let (name, origin) = (random.name(number), random.origin());
            let Ok(node) = graph.add_op(&name, def, attrs, &operands, origin) else { continue };
            number += 1;
            used.push(def.name);
            let slots = graph.node(node).types.len();
            values.extend((0..slots).map(|s| Value::new(node, s as u32)));
            break;
        }
        if random.below(3) == 0 {
            let like = graph.ty(*random.pick(&values)).dtype;
            let whole = if like == DType::Bool { random.below(2) as i64 } else { [0, 1, 2, 100][random.below(4)] };
            let value = if like.is_float() { Number::float(random.float()) } else { Number::Int(whole) };
            let (op, attrs) = ops::number(value, like);
            let node = graph.add_op(&format!("s{number}"), op, attrs, &[], Origin::implicit()).unwrap();
            number += 1;
            values.push(node.into());
        }
    }
    random.signature(&mut graph, &values);
    (graph, used)
}
