"""Graphs of real sizes with constant weights, for every way that a product can go.

Each function builds one graph on a Builder: in float32, which is what is recorded, and in float64,
which says what the numbers should have been.
"""

import tensorflow as tf

from conformance import large_recording

raw = tf.raw_ops
_CASES = {}


def _case(*ran, **recorded):
    """Names a graph by its function; `ran` are op types that its optimised form must run.

    `recorded` are further arguments of large_recording.record().
    """

    def add(function):
        _CASES[function.__name__] = (function, ran, recorded)
        return function

    return add


# ---- matrix products ----


def _dense(b, x, name, rows, columns):
    product = raw.MatMul(a=x, b=b.weight(name + "/kernel", [rows, columns], rows**-0.5))
    return raw.BiasAdd(value=product, bias=b.weight(name + "/bias", [columns], 0.5))


@_case("_FusedMatMul")
def one_row(b):
    """A matrix times a vector, which waits for its weights."""
    return raw.Relu(features=_dense(b, b.input("x", [1, 1024]), "dense", 1024, 2048))


@_case()
def four_rows_transposed(b):
    weights = b.weight("kernel", [2048, 768], 768**-0.5)
    return raw.MatMul(a=b.input("x", [4, 768]), b=weights, transpose_b=True)


@_case("_FusedMatMul")
def panels_32_rows(b):
    """Few rows next to many weights."""
    return raw.Relu6(features=_dense(b, b.input("x", [32, 768], 2), "dense", 768, 3072))


@_case()
def panels_transposed_weights(b):
    weights = b.weight("kernel", [1000, 512], 512**-0.5)
    return raw.MatMul(a=b.input("x", [49, 512]), b=weights, transpose_b=True)


@_case()
def strassen_1024_rows(b):
    return _dense(b, b.input("x", [1024, 768]), "dense", 768, 3072)


@_case("_FusedMatMul")
def strassen_residual(b):
    """Rows that are no multiple of the tiles, and what is added to the product."""
    x = b.input("x", [777, 1088])
    return raw.Relu(features=raw.AddV2(x=_dense(b, x, "dense", 1088, 1088), y=x))


@_case()
def strassen_unequal_magnitudes(b):
    """Rows and columns that differ by powers of ten, and whose sums would lose the smaller ones."""
    rows = raw.Pow(x=b.const(10.0), y=b.input("row_powers", [600, 1], 4))
    columns = raw.Pow(x=b.const(10.0), y=b.weight("column_powers", [1, 640], 4))
    weights = raw.Mul(x=b.weight("kernel", [512, 640], 512**-0.5), y=columns)
    product = raw.MatMul(a=raw.Mul(x=b.input("x", [600, 512]), y=rows), b=weights)
    return raw.RealDiv(x=raw.RealDiv(x=product, y=rows), y=columns)


@_case()
def many_rows_few_columns(b):
    """Weights that fit into the first-level cache."""
    return raw.MatMul(a=b.input("x", [4096, 64]), b=b.weight("kernel", [64, 24], 0.125))


@_case()
def transposed_left(b):
    weights = b.weight("kernel", [384, 500], 384**-0.5)
    return raw.MatMul(a=b.input("x", [384, 200]), b=weights, transpose_a=True)


@_case()
def batch_of_both(b):
    """Both sides differ from one matrix of the batch to the next."""
    return raw.BatchMatMulV2(
        x=b.input("x", [4, 6, 96, 64]), y=b.input("y", [4, 6, 128, 64], 0.125), adj_y=True
    )


@_case()
def batch_of_rows(b):
    """One constant matrix for the whole batch."""
    weights = b.weight("kernel", [320, 480], 320**-0.5)
    return raw.BatchMatMulV2(x=b.input("x", [6, 50, 320]), y=weights)


@_case()
def batch_of_constants(b):
    """A constant matrix for each head."""
    return raw.BatchMatMulV2(
        x=b.input("x", [12, 128, 64]), y=b.weight("kernel", [12, 64, 64], 0.125)
    )


@_case()
def einsum_of_heads(b):
    query, key = b.input("query", [2, 100, 8, 64], 0.5), b.input("key", [2, 90, 8, 64], 0.5)
    return raw.Einsum(inputs=[key, query], equation="BSNH,BTNH->BNTS")


# Half of the last place of a narrow output, relative to a number just above a power of two.
_BFLOAT16_TOLERANCE, _HALF_TOLERANCE = 2**-8, 2**-11
_FEW = {"samples": 96, "stretches": 64}


@_case(tolerance=_BFLOAT16_TOLERANCE, **_FEW)
def bfloat16_product(b):
    x = b.narrow(b.input("x", [64, 768]), tf.bfloat16)
    weights = b.narrow(b.weight("kernel", [768, 1024], 768**-0.5), tf.bfloat16)
    return b.wide(raw.MatMul(a=x, b=weights))


@_case(tolerance=_HALF_TOLERANCE, **_FEW)
def half_product(b):
    x = b.narrow(b.input("x", [64, 768]), tf.float16)
    weights = b.narrow(b.weight("kernel", [768, 1024], 768**-0.5), tf.float16)
    return b.wide(raw.MatMul(a=x, b=weights))


@_case("_FusedMatMul")
def gelu_erfc(b):
    """The inner layer of a transformer with GELU as Keras writes it."""
    x = _dense(b, b.input("x", [128, 768]), "dense", 768, 3072)
    half = raw.Mul(x=b.const(0.5), y=x)
    tail = raw.Erfc(x=raw.Mul(x=raw.Neg(x=x), y=b.const(0.5**0.5)))
    return raw.Mul(x=half, y=tail)


@_case("_Gelu")
def gelu_tanh(b):
    """GELU by its approximation, after nothing that could take it in."""
    x = b.input("x", [64, 3072], 6)
    cube = raw.Pow(x=x, y=b.const(3.0))
    inner = raw.Mul(
        x=raw.AddV2(x=x, y=raw.Mul(x=b.const(0.044715), y=cube)), y=b.const(0.7978845608028654)
    )
    gate = raw.AddV2(x=b.const(1.0), y=raw.Tanh(x=inner))
    return raw.Mul(x=raw.Mul(x=b.const(0.5), y=x), y=gate)


# ---- convolutions ----


def _convolve(
    b, x, name, size, channels, out, strides=1, padding="SAME", dilations=1, bias=True, taps=None
):
    height, width = (size, size) if taps is None else taps
    filters = b.weight(
        name + "/kernel", [height, width, channels, out], (height * width * channels) ** -0.5
    )
    result = raw.Conv2D(
        input=x,
        filter=filters,
        strides=[1, strides, strides, 1],
        padding=padding,
        dilations=[1, dilations, dilations, 1],
    )
    return raw.BiasAdd(value=result, bias=b.weight(name + "/bias", [out], 0.5)) if bias else result


def _depthwise(b, x, name, size, channels, strides=1, multiplier=1):
    filters = b.weight(name + "/kernel", [size, size, channels, multiplier], 1 / size)
    result = raw.DepthwiseConv2dNative(
        input=x, filter=filters, strides=[1, strides, strides, 1], padding="SAME"
    )
    return raw.BiasAdd(value=result, bias=b.weight(name + "/bias", [channels * multiplier], 0.5))


def _batch_norm(b, x, name, channels):
    """As Keras 3 writes it."""
    mean, beta = b.weight(name + "/mean", [channels], 0.2), b.weight(
        name + "/beta", [channels], 0.3
    )
    variance = b.weight(name + "/variance", [channels], 0.4, 1)
    gamma = b.weight(name + "/gamma", [channels], 0.5, 1)
    scale = raw.Mul(x=raw.Rsqrt(x=raw.AddV2(x=variance, y=b.const(1e-3))), y=gamma)
    shift = raw.Sub(x=beta, y=raw.Mul(x=mean, y=scale))
    return raw.AddV2(x=raw.Mul(x=x, y=scale), y=shift)


@_case("_FusedConv2D")
def winograd_two_images(b):
    """A 3x3 convolution of several images: tiles of 4x4."""
    return raw.Relu(features=_convolve(b, b.input("x", [4, 28, 28, 128]), "conv", 3, 128, 128))


@_case("_FusedConv2D")
def winograd_one_image(b):
    """Of one image with many channels: tiles of 2x2."""
    x = b.input("x", [1, 14, 14, 256])
    return raw.Relu(features=raw.AddV2(x=_convolve(b, x, "conv", 3, 256, 256), y=x))


@_case("_FusedConv2D", **_FEW)
def winograd_many_channels(b):
    """Of a small image with more channels: tiles of 2x2 where products are slow, too."""
    return _convolve(b, b.input("x", [1, 7, 7, 512]), "conv", 3, 512, 512)


@_case("_FusedConv2D")
def winograd_odd_image(b):
    """An image that tiles do not cover evenly, without padding."""
    return _convolve(b, b.input("x", [3, 33, 27, 64]), "conv", 3, 64, 96, padding="VALID")


@_case("_FusedConv2D")
def batch_norm_into_3x3(b):
    """What a batch norm scales the filter by is multiplied while it is packed."""
    x = _convolve(b, b.input("x", [2, 28, 28, 96]), "conv", 3, 96, 96, bias=False)
    return raw.Relu(features=_batch_norm(b, x, "norm", 96))


@_case("_FusedConv2D")
def bottleneck(b):
    """A residual block of ResNet: pointwise, 3x3 and pointwise, with batch norms."""
    x = b.input("x", [2, 28, 28, 256])
    y = raw.Relu(
        features=_batch_norm(b, _convolve(b, x, "in", 1, 256, 64, bias=False), "norm1", 64)
    )
    y = raw.Relu(
        features=_batch_norm(b, _convolve(b, y, "mid", 3, 64, 64, bias=False), "norm2", 64)
    )
    y = _batch_norm(b, _convolve(b, y, "out", 1, 64, 256, bias=False), "norm3", 256)
    return raw.Relu(features=raw.AddV2(x=y, y=x))


@_case("_FusedConv2D")
def first_layer(b):
    """7x7 with stride 2 over three channels, behind explicit padding."""
    padded = raw.Pad(
        input=b.input("x", [1, 112, 112, 3]), paddings=[[0, 0], [3, 3], [3, 3], [0, 0]]
    )
    return raw.Relu(features=_convolve(b, padded, "conv", 7, 3, 64, strides=2, padding="VALID"))


@_case("_FusedConv2D")
def strided_3x3(b):
    return raw.Relu(
        features=_convolve(b, b.input("x", [1, 56, 56, 64]), "conv", 3, 64, 128, strides=2)
    )


@_case("_FusedConv2D")
def pointwise(b):
    return raw.Relu(features=_convolve(b, b.input("x", [2, 28, 28, 256]), "conv", 1, 256, 512))


@_case("_FusedConv2D")
def pointwise_strided_residual(b):
    x, residual = b.input("x", [1, 28, 28, 512]), b.input("residual", [1, 14, 14, 1024])
    y = _convolve(b, x, "conv", 1, 512, 1024, strides=2)
    return raw.Relu(features=raw.AddV2(x=y, y=residual))


@_case("_FusedConv2D")
def dilated_3x3(b):
    return _convolve(b, b.input("x", [1, 28, 28, 96]), "conv", 3, 96, 96, dilations=2)


@_case("_FusedConv2D")
def oblong_filter(b):
    """1x7 as in Inception."""
    return _convolve(b, b.input("x", [1, 17, 17, 128]), "conv", 0, 128, 160, taps=(1, 7))


@_case("_FusedConv2D")
def grouped(b):
    x = b.input("x", [1, 28, 28, 128])
    filters = b.weight("kernel", [3, 3, 32, 128], (9 * 32) ** -0.5)
    y = raw.Conv2D(input=x, filter=filters, strides=[1, 1, 1, 1], padding="SAME")
    return raw.Relu(features=raw.BiasAdd(value=y, bias=b.weight("bias", [128], 0.5)))


@_case("_FusedDepthwiseConv2dNative")
def depthwise_3x3(b):
    return raw.Relu6(features=_depthwise(b, b.input("x", [2, 56, 56, 96], 4), "depthwise", 3, 96))


@_case("_FusedDepthwiseConv2dNative")
def depthwise_5x5_strided(b):
    return _depthwise(b, b.input("x", [1, 55, 57, 72]), "depthwise", 5, 72, strides=2, multiplier=2)


@_case("_SeparableBlock")
def separable_block(b):
    """MobileNetV2's block behind another layer: its middle is made a few rows at a time."""
    x = _convolve(b, b.input("x", [2, 56, 56, 16], 3), "before", 3, 16, 24)
    y = raw.Relu6(
        features=_batch_norm(b, _convolve(b, x, "expand", 1, 24, 144, bias=False), "norm1", 144)
    )
    y = raw.Relu6(features=_depthwise(b, y, "depthwise", 3, 144))
    y = _batch_norm(b, _convolve(b, y, "project", 1, 144, 24, bias=False), "norm2", 24)
    return raw.AddV2(x=y, y=x)


@_case("_FusedConv2D", **_FEW)
def weights_of_channels(b):
    """The dense layer of a block that weighs the channels of an image: a convolution of a point."""
    x = _convolve(b, b.input("x", [2, 1, 1, 1152]), "conv", 1, 1152, 48)
    return raw.Mul(x=x, y=raw.Sigmoid(x=x))


def _bytes(x, dtype):
    return tf.bitcast(tf.cast(x, tf.uint8), dtype)


@_case("QuantizedConv2D", **_FEW)
def bytes_3x3(b):
    """A convolution of bytes, whose sums are exact."""
    sums, _, _ = raw.QuantizedConv2D(
        input=_bytes(b.indices("x", [2, 28, 28, 64], 256), tf.quint8),
        filter=_bytes(b.weight("kernel", [3, 3, 64, 96], 128, 128), tf.quint8),
        min_input=-1.0,
        max_input=2.0,
        min_filter=-0.5,
        max_filter=0.5,
        strides=[1, 1, 1, 1],
        padding="SAME",
    )
    return b.wide(tf.bitcast(sums, tf.int32))


# ---- transformers ----


def _layer_norm(b, x, name, width):
    mean = raw.Mean(input=x, axis=[-1], keep_dims=True)
    variance = raw.Mean(input=raw.SquaredDifference(x=x, y=mean), axis=[-1], keep_dims=True)
    root = raw.Rsqrt(x=raw.AddV2(x=variance, y=b.const(1e-6)))
    scale = raw.Mul(x=root, y=b.weight(name + "/gamma", [width], 0.5, 1))
    shift = raw.Sub(x=b.weight(name + "/beta", [width], 0.3), y=raw.Mul(x=mean, y=scale))
    return raw.AddV2(x=raw.Mul(x=x, y=scale), y=shift)


@_case("_LayerNorm")
def layer_norm(b):
    x, y = b.input("x", [4, 128, 768], 2), b.input("y", [4, 128, 768])
    return _layer_norm(b, raw.AddV2(x=x, y=y), "norm", 768)


@_case("_EmbeddingSum", "_LayerNorm")
def embeddings(b):
    """Words, kinds and positions, added up and normalised."""
    words = raw.GatherV2(
        params=b.weight("words", [3000, 256], 1), indices=b.indices("ids", [4, 64], 3000), axis=0
    )
    kinds = raw.GatherV2(
        params=b.weight("kinds", [2, 256], 1), indices=b.indices("types", [4, 64], 2), axis=0
    )
    x = raw.AddV2(x=raw.AddV2(x=words, y=kinds), y=b.weight("positions", [64, 256], 1))
    return _layer_norm(b, x, "norm", 256)


@_case("_Attention")
def attention(b):
    """A layer's attention with its projections and its residual, eight heads of 64."""
    batch, length, heads, size = 2, 128, 8, 64
    width = heads * size
    x = b.input("x", [batch, length, width])
    flat = raw.Reshape(tensor=x, shape=[batch * length, width])

    def split(name):
        y = raw.Reshape(
            tensor=_dense(b, flat, name, width, width), shape=[batch, length, heads, size]
        )
        return raw.Transpose(x=y, perm=[0, 2, 1, 3])

    scores = raw.BatchMatMulV2(x=split("query"), y=split("key"), adj_y=True)
    masked = raw.AddV2(
        x=raw.Mul(x=scores, y=b.const(size**-0.5)), y=b.input("mask", [batch, 1, 1, length], 2)
    )
    mixed = raw.BatchMatMulV2(x=raw.Softmax(logits=masked), y=split("value"))
    rows = raw.Reshape(
        tensor=raw.Transpose(x=mixed, perm=[0, 2, 1, 3]), shape=[batch * length, width]
    )
    out = _dense(b, rows, "out", width, width)
    return raw.AddV2(x=raw.Reshape(tensor=out, shape=[batch, length, width]), y=x)


def record(directory):
    """Records all cases below DIRECTORY and returns their paths."""
    return [
        large_recording.record(directory, name, build, ran, **recorded)
        for name, (build, ran, recorded) in _CASES.items()
    ]
