//! The wire format of protobuf, walked before the decoder allocates anything: says where a file is damaged, and how much
//! memory its messages will take.

/// The most bytes that the decoded messages may take, apart from the raw data of tensors, which stays where it is. A model of
/// 100,000 nodes takes 200 MB.
const MAX_DECODED: u64 = 2 << 30;

/// Messages nested deeper than this are refused; graphs in graphs take four levels each.
const MAX_DEPTH: usize = 64;

/// What a decoded message takes, whatever is in it: none of the structures is larger.
const MESSAGE: u64 = 320;

/// Where bytes stop making sense, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub offset: usize,
    pub reason: String,
}

/// A message of the schema, as far as fields of it hold other messages or lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    Model,
    Graph,
    Function,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    ValueInfo,
    Type,
    TensorType,
    ElementType,
    Shape,
    /// A message without messages in it.
    Leaf,
}

impl MessageKind {
    /// The message that field `number` holds.
    fn field(self, number: u64) -> Option<MessageKind> {
        Some(match (self, number) {
            (MessageKind::Model, 7) => MessageKind::Graph,
            (MessageKind::Model, 25) => MessageKind::Function,
            (MessageKind::Graph, 1) | (MessageKind::Function, 7) => MessageKind::Node,
            (MessageKind::Graph, 5) => MessageKind::Tensor,
            (MessageKind::Graph, 15) | (MessageKind::Attribute, 22) => MessageKind::SparseTensor,
            (MessageKind::Graph, 11..=13) | (MessageKind::Function, 12) => MessageKind::ValueInfo,
            (MessageKind::Node, 5) | (MessageKind::Function, 11) => MessageKind::Attribute,
            (MessageKind::Attribute, 5 | 10) | (MessageKind::SparseTensor, 1 | 2) => MessageKind::Tensor,
            (MessageKind::Attribute, 6 | 11) => MessageKind::Graph,
            (MessageKind::Attribute, 14) | (MessageKind::ValueInfo, 2) => MessageKind::Type,
            (MessageKind::Type, 1 | 8) => MessageKind::TensorType,
            (MessageKind::Type, 4 | 9) => MessageKind::ElementType,
            (MessageKind::ElementType, 1) => MessageKind::Type,
            (MessageKind::TensorType, 2) => MessageKind::Shape,
            (MessageKind::Shape, 1)
            | (MessageKind::Model | MessageKind::Function, 8 | 9 | 14 | 20 | 26)
            | (MessageKind::Node, 9 | 10)
            | (MessageKind::Tensor, 13 | 16)
            | (MessageKind::Graph, 14 | 16) => MessageKind::Leaf,
            _ => return None,
        })
    }

    /// How many bytes one byte of a field without messages can become.
    fn growth(self, number: u64) -> u64 {
        match (self, number) {
            (MessageKind::Tensor, 9) => 0,
            // Integers of one byte each become eight.
            (MessageKind::Tensor, 1 | 5 | 7 | 11) | (MessageKind::Attribute, 8) | (MessageKind::SparseTensor, 3) => 8,
            _ => 1,
        }
    }
}

/// Walks the message in `bytes`.
///
/// # Errors
/// Where it is cut off or no protobuf, and if it would take too much memory.
pub(super) fn check(bytes: &[u8]) -> Result<(), Damage> {
    let mut walk = Walk { bytes, at: 0, decoded: 0 };
    walk.message(MessageKind::Model, bytes.len(), 0)
}

/// Whether `bytes` start as an ONNX model does: with fields of the outermost message, each of its type. The last one may be
/// cut off.
pub(super) fn is_model(bytes: &[u8]) -> bool {
    let mut walk = Walk { bytes, at: 0, decoded: 0 };
    let mut seen = 0;
    while walk.at < bytes.len() {
        let Ok(tag) = walk.varint(bytes.len()) else { return seen > 1 };
        let fits = match tag >> 3 {
            1 | 5 => tag & 7 == 0,
            2..=4 | 6..=8 | 14 | 20 | 25 | 26 => tag & 7 == 2,
            _ => false,
        };
        if !fits {
            return false;
        }
        seen += 1;
        // What holds a graph is a model.
        if tag >> 3 == 7 && seen > 1 || walk.skip(tag & 7, bytes.len()).is_err() {
            return seen > 1;
        }
    }
    seen > 1
}

struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
    decoded: u64,
}

impl Walk<'_> {
    fn damage<T>(&self, reason: impl Into<String>) -> Result<T, Damage> {
        Err(Damage { offset: self.at, reason: reason.into() })
    }

    fn spend(&mut self, bytes: u64) -> Result<(), Damage> {
        self.decoded = self.decoded.saturating_add(bytes);
        if self.decoded > MAX_DECODED {
            return self.damage(format!("its messages take more than {} MiB", MAX_DECODED >> 20));
        }
        Ok(())
    }

    fn varint(&mut self, end: usize) -> Result<u64, Damage> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at).filter(|_| self.at < end) else {
                return self.damage("a number is cut off");
            };
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        self.damage("a number is longer than 64 bits")
    }

    /// The end of a field that states its length.
    fn length(&mut self, end: usize) -> Result<usize, Damage> {
        let length = self.varint(end)?;
        let left = end - self.at;
        match usize::try_from(length).ok().filter(|&length| length <= left) {
            Some(length) => Ok(self.at + length),
            None => self.damage(format!("a field states {length} bytes, {left} are left")),
        }
    }

    fn skip(&mut self, wire_type: u64, end: usize) -> Result<(), Damage> {
        let to = match wire_type {
            0 => {
                self.varint(end)?;
                self.at
            }
            1 => self.at + 8,
            2 => self.length(end)?,
            5 => self.at + 4,
            _ => return self.damage(format!("a field has the unknown wire type {wire_type}")),
        };
        if to > end {
            return self.damage("a number is cut off");
        }
        self.at = to;
        Ok(())
    }

    fn message(&mut self, kind: MessageKind, end: usize, depth: usize) -> Result<(), Damage> {
        if depth > MAX_DEPTH {
            return self.damage(format!("messages are nested more than {MAX_DEPTH} deep"));
        }
        self.spend(MESSAGE)?;
        while self.at < end {
            let tag = self.varint(end)?;
            let (number, wire_type) = (tag >> 3, tag & 7);
            match (kind.field(number), wire_type) {
                (Some(inner), 2) => {
                    let end = self.length(end)?;
                    self.message(inner, end, depth + 1)?;
                }
                (None, 2) => {
                    let to = self.length(end)?;
                    let length = (to - self.at) as u64;
                    // A string or a list that stands for itself takes three words more.
                    self.spend(length.saturating_mul(kind.growth(number)) + 32)?;
                    self.at = to;
                }
                _ => {
                    self.skip(wire_type, end)?;
                    self.spend(8)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_has_its_place() {
        let reason = |bytes: &[u8]| check(bytes).map_err(|d| (d.offset, d.reason));
        assert_eq!(reason(&[0x08, 0x0a]), Ok(()));
        assert_eq!(reason(&[0x08, 0x8a]), Err((2, "a number is cut off".to_owned())));
        assert_eq!(reason(&[0x3a, 0x05, 0x0a]), Err((2, "a field states 5 bytes, 1 are left".to_owned())));
        assert_eq!(reason(&[0x3a, 0x02, 0x0a, 0x01]), Err((4, "a field states 1 bytes, 0 are left".to_owned())));
        assert_eq!(reason(&[0x0f]), Err((1, "a field has the unknown wire type 7".to_owned())));
        assert!(reason(&[0xff; 12]).is_err());
    }

    #[test]
    fn many_small_messages_cost_what_they_take() {
        // 16 million empty nodes in 32 MB.
        let nodes = [0x0a, 0x00].repeat(16 << 20);
        let mut bytes = vec![0x3a];
        let mut length = nodes.len();
        while length > 0x7f {
            bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend(nodes);
        assert!(check(&bytes).is_err_and(|d| d.reason.contains("MiB")));
    }

    #[test]
    fn text_is_no_model() {
        assert!(!is_model(b"graph f(x: f32[2]) { return x }"));
        assert!(!is_model(b"{}") && !is_model(b"") && !is_model(b":B"));
        assert!(is_model(&[0x08, 0x0a, 0x3a, 0x00]));
        assert!(is_model(&[0x08, 0x0a, 0x12, 0x07, b'p', b'y']));
    }
}
