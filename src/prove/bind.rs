//! Which inputs of the two graphs are the same tensor.

use rustc_hash::FxHashMap;

use crate::ir::{Graph, NodeKind, Role, TensorType};

/// An input that one or both graphs have.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundInput {
    pub name: String,
    pub role: Role,
    pub ty: TensorType,
}

/// Inputs of both graphs under common numbers.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    pub inputs: Vec<BoundInput>,
    /// Per input of A, in the graph's order: its number.
    pub a: Vec<u32>,
    /// Per input of B, in the graph's order: its number.
    pub b: Vec<u32>,
    /// What was taken for granted, one sentence each.
    pub assumptions: Vec<String>,
}

fn describe(graph: &Graph, input: usize) -> BoundInput {
    let node = graph.node(graph.inputs()[input]);
    let role = match node.kind {
        NodeKind::Input { role } => role,
        _ => Role::User,
    };
    BoundInput { name: node.name.to_string(), role, ty: node.types[0].clone() }
}

/// Binds inputs of one name and type, then, per role and type, the rest by position.
pub fn bind(a: &Graph, b: &Graph) -> Binding {
    let left: Vec<BoundInput> = (0..a.inputs().len()).map(|i| describe(a, i)).collect();
    let right: Vec<BoundInput> = (0..b.inputs().len()).map(|i| describe(b, i)).collect();
    let mut partner: Vec<Option<usize>> = vec![None; right.len()];
    let mut taken = vec![false; left.len()];

    let by_name: FxHashMap<&str, usize> = left.iter().enumerate().map(|(i, x)| (x.name.as_str(), i)).collect();
    for (j, y) in right.iter().enumerate() {
        if let Some(&i) = by_name.get(y.name.as_str())
            && left[i].ty == y.ty
        {
            partner[j] = Some(i);
            taken[i] = true;
        }
    }
    let named = partner.iter().flatten().count();

    let mut guesses = Vec::new();
    for (j, y) in right.iter().enumerate() {
        if partner[j].is_some() {
            continue;
        }
        let free = (0..left.len()).find(|&i| !taken[i] && left[i].role == y.role && left[i].ty == y.ty);
        if let Some(i) = free {
            partner[j] = Some(i);
            taken[i] = true;
            guesses.push(format!("`{}` of A is `{}` of B (same type and position)", left[i].name, y.name));
        }
    }

    let mut binding = Binding { a: (0..left.len() as u32).collect(), inputs: left, ..Binding::default() };
    for (j, y) in right.into_iter().enumerate() {
        let number = partner[j].unwrap_or_else(|| {
            binding.inputs.push(y);
            binding.inputs.len() - 1
        });
        binding.b.push(number as u32);
    }
    if named > 0 {
        binding.assumptions.push(format!("{named} inputs and parameters of one name and type are the same tensor"));
    }
    binding.assumptions.extend(guesses);
    for (i, input) in binding.inputs.iter().enumerate() {
        let side = match (binding.a.contains(&(i as u32)), binding.b.contains(&(i as u32))) {
            (true, false) => "A",
            (false, true) => "B",
            _ => continue,
        };
        binding.assumptions.push(format!("`{}` of {side} has no counterpart on the other side", input.name));
    }
    binding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Origin, Shape};

    fn graph(inputs: &[(&str, usize)]) -> Graph {
        let mut g = Graph::new("g");
        for &(name, size) in inputs {
            let ty = TensorType::new(DType::F32, Shape::from_slice(&[size])).unwrap();
            g.add_input(name, Role::User, ty, Origin::default());
        }
        g
    }

    #[test]
    fn names_win_over_positions() {
        let binding = bind(&graph(&[("x", 3), ("y", 3)]), &graph(&[("y", 3), ("x", 3)]));
        assert_eq!((binding.a, binding.b), (vec![0, 1], vec![1, 0]));
    }

    #[test]
    fn a_guess_by_position_is_listed() {
        let binding = bind(&graph(&[("x", 3), ("y", 4)]), &graph(&[("p", 4), ("q", 3)]));
        assert_eq!(binding.b, vec![1, 0]);
        assert_eq!(binding.assumptions.len(), 2);
    }

    #[test]
    fn inputs_of_different_types_stay_apart() {
        let binding = bind(&graph(&[("x", 3)]), &graph(&[("x", 4)]));
        assert_eq!(binding.b, vec![1]);
        assert_eq!(binding.inputs.len(), 2);
    }
}
