//! The values of initializers, read when they are asked for.

use std::io::{self, Read};
use std::path::PathBuf;

use super::proto;
use super::tensor::{self, DataLocation};
use crate::elements::elements;
use crate::ir::{Content, Contents, Number};

/// The initializers that became inputs of the graph.
pub(super) struct Initializers {
    /// Of the model.
    pub folder: PathBuf,
    /// By input of the graph; users give the others.
    pub tensors: Vec<Option<proto::Tensor>>,
}

impl Initializers {
    fn tensor(&self, input: usize) -> Option<&proto::Tensor> {
        self.tensors.get(input)?.as_ref()
    }

    fn reader(&self, tensor: &proto::Tensor) -> Option<Box<dyn Read>> {
        let ty = tensor::type_of(tensor).ok()?;
        match tensor::place(tensor, &self.folder).ok()? {
            DataLocation::Outside { file, offset } => {
                Some(Box::new(io::BufReader::new(tensor::open(&file, offset).ok()?)))
            }
            DataLocation::Inside => Some(Box::new(io::Cursor::new(tensor::bytes(tensor, &ty, &self.folder).ok()?))),
        }
    }
}

impl Contents for Initializers {
    fn holds(&mut self, input: usize) -> bool {
        self.tensor(input).is_some_and(|t| match tensor::place(t, &self.folder) {
            Ok(DataLocation::Outside { file, .. }) => file.is_file(),
            Ok(DataLocation::Inside) => true,
            Err(_) => false,
        })
    }

    fn checksum(&mut self, _: usize) -> Option<u32> {
        None
    }

    fn content(&mut self, input: usize) -> Option<Content> {
        let tensor = self.tensor(input)?;
        let ty = tensor::type_of(tensor).ok()?;
        Content::read(&ty, self.reader(tensor)?).ok().flatten()
    }

    fn tells_weights(&self) -> bool {
        false
    }

    fn elements(&mut self, input: usize) -> Option<Vec<Number>> {
        let tensor = self.tensor(input)?;
        let ty = tensor::type_of(tensor).ok()?;
        elements(ty.dtype, &tensor::bytes(tensor, &ty, &self.folder).ok()?)
    }

    fn missing(&mut self, input: usize) -> Option<PathBuf> {
        match tensor::place(self.tensor(input)?, &self.folder).ok()? {
            DataLocation::Outside { file, .. } if !file.is_file() => Some(file),
            _ => None,
        }
    }
}
