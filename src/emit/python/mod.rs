//! A program as Python text that runs by itself with PyTorch.

mod literal;
mod results;
mod text;

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::names::{Names, is_keyword};
use super::program::{Id, Program, Source, Step};
use super::{EmitError, program};
use crate::ir::{Graph, NodeKind, Role, Target};
use crate::ops::aten::Arg;
pub use text::torch_dtype;
use text::{comment, float, quoted};

/// `graph` as a Python file: a function `forward` that computes it, and a table of what its parameters are. Those that `before`
/// gives are computed once, by a function `precompute`.
///
/// # Errors
/// An operator that no call of PyTorch computes; an output that Python cannot give.
pub fn python(program: &Program, before: Option<&Program>) -> Result<String, EmitError> {
    let graph = program.graph;
    let names = names(program, &[]);
    let precomputed = before.iter().flat_map(|before| before.graph.outputs()).map(|o| &*o.name).collect();
    let file = File { program, names: &names, last: last_uses(program), precomputed };
    let mut out = String::new();
    let _ = writeln!(out, "# Written by magneton-ir from {}.", comment(&graph.name));
    out.push_str("import torch\n\naten = torch.ops.aten\n\n");
    file.inputs(&mut out);
    out.push_str("\n\n");
    file.forward(&mut out)?;
    if file.of_role(Role::Parameter) || file.of_role(Role::Buffer) {
        out.push_str(LOAD);
    }
    let mut has_large_literals = file.has_large_literals();
    if let Some(before) = before {
        let own = self::names(before, &["weights"]);
        let first = File { program: before, names: &own, last: last_uses(before), precomputed: Vec::new() };
        first.precompute(&file, &mut out);
        has_large_literals |= first.has_large_literals();
    }
    if has_large_literals {
        out.push_str(literal::CONSTANT);
    }
    Ok(out)
}

/// How weights get to where they are wanted.
const LOAD: &str = r#"

def load(source):
    """The parameters and buffers of `forward` that a state dict, a module or an exported program holds, by name."""
    if isinstance(source, dict):
        tensors = dict(source)
    elif callable(source.state_dict):
        tensors = dict(source.state_dict())
    else:
        tensors = {**source.state_dict, **source.constants}
    return {name: tensors[own] for name, (kind, own) in INPUTS.items() if kind in ("parameter", "buffer") and own in tensors}
"#;

struct File<'p, 'g> {
    program: &'p Program<'g>,
    /// Per tensor of the program.
    names: &'p [String],
    /// Tensors that no step reads after this one.
    last: FxHashMap<usize, Vec<Id>>,
    /// Inputs that are computed once.
    precomputed: Vec<&'p str>,
}

/// What a function calls each tensor of its program; it has other variables too.
fn names(program: &Program, others: &[&str]) -> Vec<String> {
    let mut names = Names::default();
    others.iter().for_each(|name| names.keep(name));
    program.tensors.iter().map(|held| names.take(&held.name)).collect()
}

/// By step, the tensors made by calls that nothing reads later.
fn last_uses(program: &Program) -> FxHashMap<usize, Vec<Id>> {
    let mut last: FxHashMap<Id, usize> = FxHashMap::default();
    for (i, step) in program.steps.iter().enumerate() {
        last.extend(step.results.iter().map(|&id| (id, i)));
        let arguments = step.call.positional.iter().chain(&step.call.keyword);
        last.extend(arguments.flat_map(|(_, arg)| arg.tensors()).map(|&id| (id, i)));
    }
    let mut by_step: FxHashMap<usize, Vec<Id>> = FxHashMap::default();
    for (id, step) in last {
        if program.tensors[id].source == Source::Call && !program.outputs.contains(&id) {
            by_step.entry(step).or_default().push(id);
        }
    }
    by_step.values_mut().for_each(|ids| ids.sort_unstable());
    by_step
}

impl File<'_, '_> {
    fn graph(&self) -> &Graph {
        self.program.graph
    }

    fn of_role(&self, role: Role) -> bool {
        let is = |kind: &NodeKind| matches!(kind, NodeKind::Input { role: own } if *own == role);
        self.graph().inputs().iter().any(|&id| is(&self.graph().node(id).kind))
    }

    /// Whether tensors are made that need a device.
    fn makes_tensors(&self) -> bool {
        let arguments = self.program.steps.iter().flat_map(|s| s.call.positional.iter().chain(&s.call.keyword));
        let literals = self.program.tensors.iter().any(|t| matches!(t.source, Source::Literal(_)));
        literals || arguments.into_iter().any(|(_, arg)| *arg == Arg::Device)
    }

    fn has_large_literals(&self) -> bool {
        let held = |source| match source {
            Source::Literal(node) => literal::is_large(self.graph(), node),
            _ => false,
        };
        self.program.tensors.iter().any(|t| held(t.source))
    }

    /// The table of inputs.
    fn inputs(&self, out: &mut String) {
        out.push_str("# Parameter of `forward`: what it is, and what the program calls it.\nINPUTS = {\n");
        for (id, held) in self.program.tensors.iter().enumerate() {
            let Source::Input(node) = held.source else { continue };
            let NodeKind::Input { role } = self.graph().node(node).kind else { continue };
            let kind = match role {
                _ if self.precomputed.contains(&held.name.as_str()) => "precomputed",
                Role::User => "user input",
                Role::Parameter => "parameter",
                Role::Buffer => "buffer",
            };
            let ty = held.ty.as_ref().map(|ty| format!("  # {ty}")).unwrap_or_default();
            let _ = writeln!(out, "    \"{}\": (\"{kind}\", {}),{ty}", self.names[id], quoted(&held.name));
        }
        out.push_str("}\n");
        for constant in self.graph().constant_inputs() {
            let (name, value) = (comment(&constant.name), comment(&constant.value.to_string()));
            let _ = writeln!(out, "# The program holds for `{name}` = {value} only.");
        }
    }

    fn forward(&self, out: &mut String) -> Result<(), EmitError> {
        let inputs = self.program.tensors.iter().zip(self.names).filter(|(t, _)| matches!(t.source, Source::Input(_)));
        let inputs: Vec<&str> = inputs.map(|(_, name)| name.as_str()).collect();
        let _ = match inputs.len() {
            0..=4 => writeln!(out, "def forward({}):", inputs.join(", ")),
            _ => writeln!(out, "def forward(\n    {},\n):", inputs.join(",\n    ")),
        };
        if self.makes_tensors() {
            let _ = match inputs.first() {
                Some(first) => writeln!(out, "    device = {first}.device"),
                None => writeln!(out, "    device = torch.get_default_device()"),
            };
        }
        self.body(out);
        self.writes(out)?;
        let returned = results::returned(self.program, self.names);
        let _ = writeln!(out, "    return {returned}");
        Ok(())
    }

    /// What the function calls its input that the graph calls `name`.
    fn argument_of(&self, name: &str) -> &str {
        let is = |t: &program::Held| matches!(t.source, Source::Input(_)) && t.name == name;
        self.program.tensors.iter().position(is).map_or("", |place| &self.names[place])
    }

    /// The function that computes once what `forward` takes.
    fn precompute(&self, forward: &File, out: &mut String) {
        out.push_str("\n\ndef precompute(weights, device=None):\n");
        out.push_str("    \"\"\"What `forward` takes beside the weights, made of them: to be called once. `weights` is what `load` gives.\"\"\"\n");
        let inputs = self.program.tensors.iter().zip(self.names).filter(|(t, _)| matches!(t.source, Source::Input(_)));
        for (held, name) in inputs {
            let _ = writeln!(out, "    {name} = weights[{}]", quoted(forward.argument_of(&held.name)));
        }
        if self.makes_tensors() {
            out.push_str("    if device is None:\n");
            out.push_str("        device = next((w.device for w in weights.values()), torch.get_default_device())\n");
        }
        self.body(out);
        out.push_str("    return {\n");
        for (output, &id) in self.graph().outputs().iter().zip(&self.program.outputs) {
            let _ = writeln!(
                out,
                "        {}: {}.contiguous(),",
                quoted(forward.argument_of(&output.name)),
                self.names[id]
            );
        }
        out.push_str("    }\n");
    }

    fn body(&self, out: &mut String) {
        for (id, held) in self.program.tensors.iter().enumerate() {
            if let Source::Literal(node) = held.source {
                let _ = writeln!(out, "    {} = {}", self.names[id], literal::literal(self.graph(), node));
            }
        }
        let mut source = None;
        for (i, step) in self.program.steps.iter().enumerate() {
            let line = self.graph().node(step.node).origin.line();
            let line = line.map(|frame| comment(&format!("{frame}  {}", frame.code.trim())));
            if line != source {
                if let Some(line) = &line {
                    let _ = writeln!(out, "    # {line}");
                }
                source = line;
            }
            self.step(out, step);
            if let Some(dead) = self.last.get(&i) {
                let dead: Vec<&str> = dead.iter().map(|&id| self.names[id].as_str()).collect();
                let _ = writeln!(out, "    del {}", dead.join(", "));
            }
        }
    }

    fn step(&self, out: &mut String, step: &Step) {
        let call = &step.call;
        let positional = call.positional.iter().map(|(_, arg)| self.argument(arg));
        let keyword = call.keyword.iter().map(|(name, arg)| match is_keyword(name) {
            // Such as `from`, which no call can name.
            true => format!("**{{{}: {}}}", quoted(name), self.argument(arg)),
            false => format!("{name}={}", self.argument(arg)),
        });
        let arguments: Vec<String> = positional.chain(keyword).collect();
        let results: Vec<&str> = step.results.iter().map(|&id| self.names[id].as_str()).collect();
        let results = match results.as_slice() {
            [one] if !call.list => (*one).to_owned(),
            all => format!("{},", all.join(", ")),
        };
        let target = match call.target.strip_prefix("aten.") {
            Some(_) => call.target.to_string(),
            None => format!("torch.ops.{}", call.target),
        };
        let _ = writeln!(out, "    {results} = {target}({})", arguments.join(", "));
    }

    fn argument(&self, arg: &Arg<Id>) -> String {
        let list = |all: Vec<String>| format!("[{}]", all.join(", "));
        let name = |id: &Id| self.names[*id].clone();
        match arg {
            Arg::None => "None".to_owned(),
            Arg::Bool(v) => if *v { "True" } else { "False" }.to_owned(),
            Arg::Int(v) => v.to_string(),
            Arg::Float(v) => float(*v),
            Arg::Str(v) => quoted(v),
            Arg::Ints(v) => list(v.iter().map(i64::to_string).collect()),
            Arg::Floats(v) => list(v.iter().map(|&f| float(f)).collect()),
            Arg::Bools(v) => list(v.iter().map(|&b| if b { "True" } else { "False" }.to_owned()).collect()),
            Arg::DType(v) => torch_dtype(*v).to_owned(),
            Arg::MemoryFormat(code) => text::memory_format(*code).to_owned(),
            Arg::Device => "device".to_owned(),
            Arg::On(v) => quoted(v),
            Arg::Tensor(id) | Arg::Either(id) => name(id),
            Arg::Tensors(all) => list(all.iter().map(name).collect()),
            Arg::OptionalTensors(all) => list(all.iter().map(|t| t.as_ref().map_or("None".to_owned(), name)).collect()),
        }
    }

    /// What the program leaves in its inputs.
    fn writes(&self, out: &mut String) -> Result<(), EmitError> {
        for (output, &id) in self.graph().outputs().iter().zip(&self.program.outputs) {
            match &output.target {
                Target::Result(_) | Target::Loss(_) => {}
                Target::Write(input) => {
                    let is = |t: &program::Held| matches!(t.source, Source::Input(_)) && *t.name == **input;
                    let place = self.program.tensors.iter().position(is).ok_or_else(|| EmitError::Output {
                        output: output.name.to_string(),
                        reason: format!("it is written to `{input}`, which is no input"),
                    })?;
                    let _ = writeln!(out, "    {}.copy_({})", self.names[place], self.names[id]);
                }
                Target::Gradient(input) => {
                    return Err(EmitError::Output {
                        output: output.name.to_string(),
                        reason: format!("it is the gradient of `{input}`, which a function does not return"),
                    });
                }
            }
        }
        Ok(())
    }
}
