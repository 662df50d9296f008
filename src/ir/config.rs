//! Workload configuration: flags outside the graph that change which kernels run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Math flags of a workload. The defaults are PyTorch's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct MathConfig {
    /// `torch.backends.cuda.matmul.allow_tf32`: f32 matrix products may use TF32 tensor cores.
    pub allow_tf32: bool,
    /// `torch.backends.cudnn.allow_tf32` is on by default in PyTorch; this field says it was turned off.
    pub cudnn_tf32_off: bool,
}

/// Settings of a process by their names, such as `cudnn.benchmark`, and its variables and versions of packages.
pub type Settings = BTreeMap<String, String>;

/// A flag that does not exist, or a value that it does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ConfigError {
    /// Why the flag cannot have that value.
    pub reason: String,
    /// The flags there are.
    pub known: Vec<String>,
}

impl MathConfig {
    /// Flags and values, by the names that `.mir` files and the command line use.
    pub fn flags(&self) -> Vec<(String, Value)> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields.into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Sets one flag by name.
    ///
    /// # Errors
    /// An unknown flag, or a value that it cannot have.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ConfigError> {
        let mut flags = self.flags();
        let known = || self.flags().into_iter().map(|(name, _)| name).collect();
        let Some(flag) = flags.iter_mut().find(|(n, _)| n == name) else {
            return Err(ConfigError { reason: format!("there is no flag `{name}`"), known: known() });
        };
        flag.1 = value;
        let wrong = |e| ConfigError { reason: format!("`{name}`: {e}"), known: Vec::new() };
        *self = serde_json::from_value(Value::Object(flags.into_iter().collect())).map_err(wrong)?;
        Ok(())
    }
}
