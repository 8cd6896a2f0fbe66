"""The roles of a convolution's dimensions, for messages of XLA and of uniform quantisation alike."""


def fill(numbers, lhs, rhs, output):
    """Fills the message, and returns it as an attribute: a letter a dimension, b, f, i, o, and digits
    for those of space."""

    def spatial(layout):
        return [layout.index(d) for d in sorted(set(layout) - set("bfio"))]

    numbers.input_batch_dimension = lhs.index("b")
    numbers.input_feature_dimension = lhs.index("f")
    numbers.input_spatial_dimensions.extend(spatial(lhs))
    numbers.kernel_input_feature_dimension = rhs.index("i")
    numbers.kernel_output_feature_dimension = rhs.index("o")
    numbers.kernel_spatial_dimensions.extend(spatial(rhs))
    numbers.output_batch_dimension = output.index("b")
    numbers.output_feature_dimension = output.index("f")
    numbers.output_spatial_dimensions.extend(spatial(output))
    return numbers.SerializeToString().decode("latin-1")
