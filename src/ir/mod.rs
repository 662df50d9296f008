//! The operator IR: tensor types, attributes, graphs, layouts, origins.

mod arrangement;
mod attr;
mod config;
mod content;
mod dtype;
mod fixed;
mod graph;
mod graph_layouts;
mod layout;
mod number;
mod number_text;
mod origin;
mod signature;
mod tensor;
pub mod text;
mod value;

pub(crate) use arrangement::{Arrangement, Steps};
pub use attr::{AttrValue, Attrs, Ints};
pub use config::{ConfigError, MathConfig, Settings};
pub use content::{Content, Contents, Digest, NoContents};
pub use dtype::{DType, UnknownDType};
pub use graph::{Graph, GraphError, Literal, Node, NodeKind, Role, read_value};
pub use graph_layouts::{layouts, output_layout};
pub use layout::Layout;
pub use number::{Float, Number};
pub use origin::{Frame, Origin};
pub use signature::{ConstantInput, ConstantOutput, Output, Path, ResultPosition, Step, Target};
pub use tensor::{MAX_ELEMENTS, MAX_RANK, Shape, ShapeError, TensorType, flat_index, unflatten};
pub use value::{NodeId, Value};

pub(crate) use fixed::{Fixed, added};
pub(crate) use tensor::dense_strides;
