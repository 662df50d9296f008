//! Running a graph on given inputs, with the reference evaluator.

use rustc_hash::FxHashMap;

use crate::arrays::Array;
use crate::eval::{EvalError, GraphProgram, LazyEvaluator, Options};
use crate::ir::{Contents, Graph, NodeKind, Role, TensorType};

/// The most elements that one run may compute.
const BUDGET: usize = 1 << 28;

/// Why a graph could not be run.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RunError {
    #[error("the input `{name}` is missing; it is {ty}")]
    #[diagnostic(code(run::input))]
    Missing { name: String, ty: Box<TensorType> },
    #[error("there is no input `{name}`")]
    #[diagnostic(code(run::input), help("inputs are {}", known.join(", ")))]
    Unknown { name: String, known: Vec<String> },
    #[error("the input `{name}` is {wanted}, not {given}")]
    #[diagnostic(code(run::input))]
    Type { name: String, wanted: Box<TensorType>, given: Box<TensorType> },
    #[error("the values of `{name}` are not in the file")]
    #[diagnostic(code(run::weights), help("weights are taken from the file, or given as inputs"))]
    Weights { name: String },
    #[error("the output `{name}` cannot be computed: {source}")]
    #[diagnostic(code(run::evaluate))]
    Evaluate {
        name: String,
        #[source]
        source: EvalError,
    },
}

/// The outputs of a graph, by name. Inputs that are not given are taken from the file. Every operator's result is rounded to
/// its type.
///
/// # Errors
/// If an input is missing or of another type, and where an operator has no reference semantics.
pub fn run(
    graph: &Graph,
    contents: &mut dyn Contents,
    mut given: FxHashMap<String, Array>,
) -> Result<Vec<(String, Array)>, RunError> {
    let mut program = GraphProgram::new(graph, 0);
    let mut names = Vec::new();
    for (position, &id) in graph.inputs().iter().enumerate() {
        let node = graph.node(id);
        let (name, ty) = (node.name.to_string(), graph.ty(id.into()));
        let is_user = matches!(node.kind, NodeKind::Input { role: Role::User });
        let data = match given.remove(&name) {
            Some(array) if array.ty == *ty => array.data,
            Some(array) => {
                return Err(RunError::Type { name, wanted: Box::new(ty.clone()), given: Box::new(array.ty) });
            }
            None if graph.users(id).next().is_none() && !is_output(graph, id) => {
                names.push(name);
                continue;
            }
            None => match contents.elements(position) {
                Some(data) => data,
                None if is_user => return Err(RunError::Missing { name, ty: Box::new(ty.clone()) }),
                None => return Err(RunError::Weights { name }),
            },
        };
        let wrong = |_| RunError::Weights { name: name.clone() };
        program = program.with_input(position, data).map_err(wrong)?;
        names.push(name);
    }
    if let Some(name) = given.into_keys().min() {
        return Err(RunError::Unknown { name, known: names });
    }
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: true, budget: BUDGET });
    let outputs = graph.outputs().iter().map(|output| {
        let name = output.name.to_string();
        match evaluator.tensor(output.value) {
            Ok(data) => Ok((name, Array { ty: graph.ty(output.value).clone(), data })),
            Err(source) => Err(RunError::Evaluate { name, source }),
        }
    });
    outputs.collect()
}

fn is_output(graph: &Graph, id: crate::ir::NodeId) -> bool {
    graph.outputs().iter().any(|output| output.value.node == id)
}
