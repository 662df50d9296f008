//! The JSON form of an exported program, as `torch/_export/serde/schema.py` describes it. Only what the importer
//! uses is read; everything else in the file is skipped.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::argument::{Argument, Size, TensorName};

/// Versions of the schema with this major number are read; PyTorch raises it for breaking changes.
pub(super) const MAJOR_VERSIONS: std::ops::RangeInclusive<u64> = 5..=8;

#[derive(Deserialize)]
pub(super) struct ExportedProgram {
    pub graph_module: GraphModule,
    pub schema_version: SchemaVersion,
    #[serde(default)]
    pub torch_version: Option<String>,
}

/// Which version of the schema a file has; readable when the rest is not.
#[derive(Deserialize)]
pub(super) struct VersionOnly {
    pub schema_version: SchemaVersion,
    #[serde(default)]
    pub torch_version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct SchemaVersion {
    pub major: u64,
}

#[derive(Deserialize)]
pub(super) struct GraphModule {
    pub graph: Graph,
    pub signature: Signature,
    #[serde(default)]
    pub module_call_graph: Vec<ModuleCall>,
}

/// One call of a module. The first entry is the program itself.
#[derive(Deserialize)]
pub(super) struct ModuleCall {
    pub fqn: String,
    #[serde(default)]
    pub signature: Option<CallSignature>,
}

#[derive(Deserialize)]
pub(super) struct CallSignature {
    /// The structure of what is returned, as JSON text.
    #[serde(default)]
    pub out_spec: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Graph {
    pub inputs: Vec<Argument>,
    pub outputs: Vec<Argument>,
    pub nodes: Vec<Node>,
    pub tensor_values: FxHashMap<String, TensorMeta>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Node {
    pub target: String,
    pub inputs: Vec<NamedArgument>,
    pub outputs: Vec<Argument>,
    #[serde(default)]
    pub metadata: Metadata,
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedArgument {
    pub name: String,
    pub arg: Argument,
    /// How it was given: by position is [`POSITIONAL`]. Older files do not say.
    #[serde(default)]
    pub kind: Option<i64>,
}

/// The code of an argument that is given by position.
pub(super) const POSITIONAL: i64 = 1;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Metadata {
    #[serde(default)]
    pub stack_trace: Option<String>,
    #[serde(default)]
    pub nn_module_stack: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct TensorMeta {
    pub dtype: i64,
    pub sizes: Vec<Size>,
    #[serde(default)]
    pub strides: Vec<Size>,
    #[serde(default)]
    pub storage_offset: Option<Size>,
    #[serde(default = "strided")]
    pub layout: i64,
    #[serde(default)]
    pub device: Device,
}

/// Where a tensor lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Device {
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    pub index: Option<i64>,
}

/// The code of PyTorch's ordinary memory layout.
pub(super) const STRIDED: i64 = 7;

fn yes() -> bool {
    true
}

fn strided() -> i64 {
    STRIDED
}

#[derive(Deserialize)]
pub(super) struct Signature {
    pub input_specs: Vec<InputSpec>,
    pub output_specs: Vec<OutputSpec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InputSpec {
    UserInput {
        arg: Argument,
    },
    Parameter {
        arg: TensorName,
        parameter_name: String,
    },
    Buffer {
        arg: TensorName,
        buffer_name: String,
        /// Whether it is stored with the weights; others are with the constants.
        #[serde(default = "yes")]
        persistent: bool,
    },
    TensorConstant {
        arg: TensorName,
        tensor_constant_name: String,
    },
    CustomObj {},
    Token {},
    ConstantInput {
        name: String,
        value: Argument,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OutputSpec {
    UserOutput { arg: Argument },
    LossOutput { arg: TensorName },
    BufferMutation { arg: TensorName, buffer_name: String },
    ParameterMutation { arg: TensorName, parameter_name: String },
    UserInputMutation { arg: TensorName, user_input_name: String },
    GradientToParameter { arg: TensorName, parameter_name: String },
    GradientToUserInput { arg: TensorName, user_input_name: String },
    Token {},
}

/// `data/weights/model_weights_config.json` and its like for constants: where the data lies.
#[derive(Deserialize)]
pub(super) struct PayloadConfig {
    pub config: FxHashMap<String, Payload>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Payload {
    pub path_name: String,
    #[serde(default)]
    pub use_pickle: bool,
    #[serde(default)]
    pub tensor_meta: Option<TensorMeta>,
}

/// What reports call a node. Files of older versions name only the outputs.
pub(super) fn node_name(node: &Node) -> &str {
    node.name.as_deref().or_else(|| node.outputs.iter().flat_map(Argument::tensors).next()).unwrap_or(&node.target)
}
