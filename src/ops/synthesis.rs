//! The facet `synthesis` of an operator's entry: how operands are chosen for a wanted result, so that rules can be tried on
//! calls that are well typed.

/// One way to choose operands, and the attributes that go with them, for a result of a wanted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synthesis {
    /// Operands of the result's element type that broadcast to its shape. None where an operand may be left out.
    Broadcast,
    /// As `Broadcast`, of any element type, for a result that is bool.
    Compare,
    /// As `Compare`, and bool more often than not.
    Negate,
    /// As `Broadcast`, with a bool condition in front.
    Choose,
    /// The result's type, a mask, and a number.
    Fill,
    /// The result's shape in any element type.
    Cast,
    /// The result's shape, in its element type or in another that `dtype` turns into it.
    Softmax,
    /// Matrices or vectors, with batches that broadcast.
    Matmul,
    /// Rows and a transposed matrix, with or without bias.
    Linear,
    /// A bias and two factors of this rank.
    BiasedProduct { rank: usize },
    /// Queries, keys, values and a mask.
    Attention,
    /// The result's type, and parameters over its trailing dimensions.
    Normalise,
    /// The result's type, and one parameter a channel; in f32 for narrow floats too if `wide`.
    NormaliseChannels { wide: bool },
    /// The result's shape with the dimensions of the list `dim` put back.
    Reduce,
    /// As `Reduce`, for one dimension and a result of places.
    ReduceToPlace,
    /// As many elements in another shape.
    Reshape,
    /// The dimensions in another order.
    Permute,
    /// A shape that broadcasts to the result's.
    Expand,
    /// More along one dimension.
    Slice,
    /// This slot and others beside it.
    Split,
    /// One dimension of size 1 less.
    Unsqueeze,
    /// One dimension of size 1 more.
    Squeeze,
    /// Parts along one dimension.
    Concat,
    /// Fewer entries of dimension 1.
    RepeatHeads,
    /// Fewer entries of one dimension.
    RepeatEntries,
    /// The result's type, with some dimensions to turn.
    Flip,
    /// The result's type, with shifts of some dimensions.
    Roll,
    /// The result without what is put around it.
    Pad,
    /// More entries along one dimension.
    Differences,
    /// A table and places of the result's shape.
    Gather,
    /// A matrix of rows and their places.
    Embed,
    /// A table and a vector of places.
    Select,
    /// A table and one index tensor.
    Index,
    /// The result's type, with places and values of a common shape.
    Scatter,
    /// The result's type, a vector of places and slices for them.
    AddSlices,
    /// The result's type, values and one index tensor.
    Put,
    /// Whole numbers, for a result with a class dimension.
    Classes,
    /// The result's shape, for values or places in order.
    Order,
    /// As `Order`, with more entries along the dimension.
    OrderFirst,
    /// Scores and target classes.
    ClassLoss,
    /// An image, filters, and a bias if one is given.
    Convolve { spatial: usize },
    /// An image.
    Pool,
    /// Square matrices.
    Eigenvalues,
    /// No operands; element type and shape become attributes.
    Create,
}
