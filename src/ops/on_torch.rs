//! The facet `replay` of an operator's entry: how it is called on libtorch, where the tool is built with that.

/// How an operator is called on libtorch; `None` where there is no such call.
#[cfg(feature = "torch")]
pub type Replay = Option<fn(&super::replay::Run) -> super::replay::Replayed<Vec<tch::Tensor>>>;

/// Without libtorch there are no calls.
#[cfg(not(feature = "torch"))]
pub type Replay = Option<std::convert::Infallible>;

/// A call of one result, or of `several`.
#[cfg(feature = "torch")]
macro_rules! torch {
    (several |$r:ident| $results:expr) => {
        Some(|$r| Ok($results))
    };
    (|$r:ident| $result:expr) => {
        Some(|$r| Ok(vec![$result]))
    };
}

#[cfg(not(feature = "torch"))]
macro_rules! torch {
    ($($call:tt)*) => {
        None
    };
}
