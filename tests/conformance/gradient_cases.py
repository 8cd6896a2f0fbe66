"""The gradients that tests/data/record lets TensorFlow compute, by the family of their ops.

Each case is one op with small inputs, chosen so that the formula's branches are taken:
broadcasting, ties, zeros, several axes, both values of attributes.
"""

import itertools

import numpy as np
import tensorflow as tf

from conformance import kernel_gradient_cases
from conformance.gradient_flow_cases import compositions, flow_v1, flow_v2
from conformance.gradient_recording import GradientFile, random


def _complex(seed, *shape):
    return (random(seed, *shape) + 1j * random(seed + 1, *shape)).astype(np.complex64)


def _int(*values):
    return np.array(values, np.int32)


def unary():
    """Functions of one tensor, in the middle of where they are defined."""
    file = GradientFile("unary")
    anywhere = random(1, 2, 3)
    positive = np.abs(anywhere) + 0.1
    inside = np.tanh(anywhere)
    for op in (
        "Abs Neg Sign Inv Reciprocal Square Exp Expm1 Sin Cos Tan Sinh Cosh Tanh Atan Asinh "
        "Sigmoid Erf Erfc Dawsn FresnelCos FresnelSin BesselI0 BesselI0e BesselI1 BesselI1e "
        "BesselJ0 BesselJ1 Softplus Softsign Relu Relu6 Elu Selu LeakyRelu Softmax LogSoftmax "
        "Identity CheckNumerics"
    ).split():
        attrs = {"message": "m"} if op == "CheckNumerics" else None
        file.op(op, [4 * anywhere if op == "Relu6" else anywhere], attrs)
    for op in (
        "Sqrt Rsqrt Log Log1p Lgamma Digamma Expint Spence BesselK0 BesselK0e BesselK1 BesselK1e "
        "BesselY0 BesselY1"
    ).split():
        file.op(op, [positive])
    for op in "Asin Acos Atanh Erfinv".split():
        file.op(op, [inside])
    file.op("Acosh", [1 + positive])
    file.op("Ndtri", [0.5 + 0.4 * inside])
    for op in (
        "Neg Reciprocal Square Exp Expm1 Sin Cos Tan Sinh Cosh Tanh Sigmoid Sqrt Rsqrt Log Log1p "
        "Conj Asin Acos Atan Asinh Acosh Atanh"
    ).split():
        file.op(op, [_complex(3, 2, 3)], rtol=1e-4, atol=1e-5)
    for op in "Real Imag Angle ComplexAbs".split():
        file.op(op, [_complex(5, 2, 3)], {"Tout": tf.float32})
    file.op("Cast", [anywhere], {"SrcT": tf.float32, "DstT": tf.float64})
    zero = np.zeros([2], np.float32)
    for op in "BesselI1 BesselI1e BesselJ1".split():
        file.op(op, [zero])
    file.op("Spence", [np.ones([2], np.float32)])
    # Gradients of gradients.
    for op in "ReciprocalGrad InvGrad SqrtGrad RsqrtGrad TanhGrad SigmoidGrad".split():
        file.op(op, [positive, random(7, 2, 3)])
    for op in "ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad SoftplusGrad".split():
        file.op(op, [random(8, 2, 3), random(9, 2, 3)])
    return file


def binary():
    """Functions of several tensors, with every way to broadcast."""
    file = GradientFile("binary")
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 1, 3), (4, 1))]
    for op in (
        "Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan SquaredDifference Maximum Minimum Atan2 "
        "FloorMod NextAfter"
    ).split():
        for a, b in shapes if op in ("Mul", "Sub") else shapes[:2]:
            if op == "MulNoNan":
                # The shapes must be equal.
                file.op(op, [random(1, 2, 3), random(2, 2, 3)])
                break
            wide = np.float64 if op == "NextAfter" else np.float32
            file.op(op, [random(1, *a, dtype=wide), random(2, *b, dtype=wide)])
    for op in "Pow Xdivy Xlogy Xlog1py Igamma Igammac Zeta".split():
        for a, b in shapes[:3]:
            shift = 1.1 if op == "Zeta" else 0.1
            file.op(op, [np.abs(random(3, *a)) + np.float32(shift),
                         np.abs(random(4, *b)) + np.float32(0.1)], rtol=1e-4)
    file.op("Pow", [np.array([-2, -1, 0, 0, 3], np.float32), np.array([2, 3, 0, 2, 2], np.float32)])
    for op in "Xdivy Xlogy Xlog1py".split():
        file.op(op, [np.array([0, 0, 2], np.float32), np.array([0, 1, 3], np.float32)])
    file.op("DivNoNan", [np.array([0, 1, 2], np.float32), np.array([0, 0, 3], np.float32)])
    file.op("Polygamma", [np.array([1, 2], np.float32), np.array([0.5, 2], np.float32)], rtol=1e-4)
    file.op("Betainc", [np.array([0.5, 2], np.float32), np.array([1.5, 3], np.float32),
                        np.array([0.2, 0.7], np.float32)], rtol=1e-4)
    for op in "Add Sub Mul RealDiv Pow SquaredDifference".split():
        file.op(op, [_complex(5, 2, 3), _complex(7, 3)], rtol=1e-4, atol=1e-5)
    file.op("Complex", [random(1, 2, 3), random(2, 3)], {"Tout": tf.complex64})
    tied = np.array([1, 2, 2, -1], np.float32)
    for op in "Maximum Minimum".split():
        file.op(op, [tied, tied[::-1].copy()])
    file.op("AddN", [random(1, 2), random(2, 2), random(3, 2)])
    file.raw(lambda a, b: tf.raw_ops.AccumulateNV2(inputs=[a, b], shape=[2]),
             [random(1, 2), random(2, 2)])
    chosen = np.array([[True, False, True], [False, False, True]])
    file.op("Select", [chosen, random(1, 2, 3), random(2, 2, 3)])
    file.op("Select", [np.array([True, False]), random(1, 2, 3), random(2, 2, 3)])
    file.op("SelectV2", [chosen, random(1, 2, 3), random(2, 2, 3)])
    file.op("SelectV2", [np.array([True, False, True]), random(1, 2, 1), random(2, 1)])
    file.op("ClipByValue", [random(1, 2, 3), np.float32(-0.5), np.float32(0.6)])
    file.op("Cross", [random(1, 2, 3), random(2, 2, 3)])
    return file


def reduction():
    """Reductions over axes of both signs, scans, and segments."""
    file = GradientFile("reduction")
    x = random(1, 2, 3, 4)
    axes = [_int(1), _int(0, 2), np.int32(-1), _int(-1, 0), _int(0, 1, 2), _int()]
    for op in "Sum Mean Max Min Prod EuclideanNorm".split():
        for axis, keep in itertools.product(axes, (False, True)):
            if keep and axis.size != 1 and op != "Sum":
                continue
            file.op(op, [x, axis], {"keep_dims": keep}, rtol=1e-4)
    file.op("Max", [np.array([[1, 2, 2], [3, 3, 3]], np.float32), _int(1)])
    file.op("Prod", [np.array([[1, 0, 2], [0, 0, 3]], np.float32), _int(1)])
    file.op("Sum", [_complex(2, 2, 3), _int(1)])
    file.op("Prod", [_complex(2, 2, 3), _int(1)])
    for op, exclusive, reverse in itertools.product(
        ("Cumsum", "Cumprod", "CumulativeLogsumexp"), (False, True), (False, True)
    ):
        if op == "CumulativeLogsumexp" and exclusive:
            continue
        file.op(op, [x, np.int32(1)], {"exclusive": exclusive, "reverse": reverse}, rtol=1e-4)
    rows = random(3, 5, 2)
    for op in "SegmentSum SegmentMean SegmentMax SegmentMin".split():
        file.op(op, [rows, _int(0, 0, 1, 2, 2)])
        file.op(op, [np.array([1, 1, 2, 2, 2], np.float32), _int(0, 0, 1, 1, 1)])
    file.op("SegmentProd", [rows, _int(0, 0, 1, 2, 2)])
    file.op("SegmentProd", [np.array([0, 2, 0, 0, 3], np.float32), _int(0, 0, 1, 1, 2)])
    elements = np.array([[1, 0], [1, 1], [0, 0], [1, 1], [0, 1]], np.int32)
    for reduction_of in "Sum Max Min Prod".split():
        op = "UnsortedSegment" + reduction_of
        file.op(op, [rows, _int(2, 0, -1, 2, 0), np.int32(3)])
        file.op(op, [rows, elements, np.int32(2)])
    file.op("UnsortedSegmentProd",
            [np.array([0, 2, 0, 0, 3], np.float32), _int(0, 0, 1, 1, 2), np.int32(3)])
    file.op("TopKV2", [random(4, 2, 5), np.int32(3)])
    file.op("TopKV2", [random(4, 2, 2, 5), np.int32(2)])
    file.op("NthElement", [random(4, 2, 5), np.int32(2)])
    return file


def array():
    """What moves elements."""
    file = GradientFile("array")
    x = random(1, 2, 3, 4)
    file.op("Reshape", [x, _int(6, -1)])
    file.op("ExpandDims", [x, np.int32(1)])
    file.op("Squeeze", [x[:1]], {"squeeze_dims": [0]})
    file.op("Transpose", [x, _int(2, 0, 1)])
    file.op("ConjugateTranspose", [_complex(1, 2, 3), _int(1, 0)])
    file.op("BroadcastTo", [random(1, 3, 1), _int(2, 3, 4)])
    file.op("Fill", [_int(2, 3), np.float32(2)])
    file.op("Tile", [x, _int(2, 1, 3)])
    file.op("Pack", [random(1, 2), random(2, 2)], {"axis": 1})
    file.op("Unpack", [x], {"num": 3, "axis": 1})
    file.op("ConcatV2", [random(1, 2, 1), random(2, 2, 3), np.int32(1)], {"N": 2})
    file.op("ConcatV2", [random(1, 2, 1), random(2, 2, 3), np.int32(-1)], {"N": 2})
    file.op("Concat", [np.int32(0), random(1, 2, 3), random(2, 1, 3)], {"N": 2})
    file.op("Split", [np.int32(2), x], {"num_split": 2})
    file.op("SplitV", [x, _int(1, 3), np.int32(2)], {"num_split": 2})
    file.op("Pad", [x, np.array([[0, 1], [2, 0], [1, 1]], np.int32)])
    file.raw(lambda x: tf.raw_ops.EnsureShape(input=x, shape=[2, 3, 4]), [x])
    file.raw(lambda x, y: tf.raw_ops.IdentityN(input=[x, y]), [x, x])
    file.raw(lambda x: tf.compat.v1.placeholder_with_default(x, [2, 3, 4]), [x])
    file.op("PadV2", [x, np.array([[0, 1], [2, 0], [1, 1]], np.int32), np.float32(2)])
    for mode in ("REFLECT", "SYMMETRIC"):
        file.op("MirrorPad", [x, np.array([[0, 1], [2, 0], [1, 1]], np.int32)], {"mode": mode})
    file.op("MirrorPadGrad", [random(1, 4, 5), np.array([[1, 0], [1, 1]], np.int32)],
            {"mode": "REFLECT"})
    file.op("Slice", [x, _int(0, 1, 1), _int(1, -1, 2)])
    file.op("StridedSlice", [x, _int(0, 2), _int(2, 0), _int(1, -1)])
    file.op("StridedSlice", [x, _int(1, 0), _int(0, 0), _int(1, 2)],
            {"shrink_axis_mask": 1, "end_mask": 2})
    file.op("StridedSliceGrad", [_int(4), _int(1), _int(4), _int(2), random(1, 2)])
    file.op("TensorStridedSliceUpdate", [random(1, 5), _int(1), _int(4), _int(2), random(2, 2)])
    file.op("ReverseV2", [x, _int(0, 2)])
    file.op("Reverse", [x, np.array([True, False, True])])
    file.op("ReverseSequence", [x, np.array([2, 3], np.int64)], {"seq_dim": 1})
    file.op("Roll", [x, _int(1, -2), _int(0, 2)])
    image = random(2, 1, 4, 4, 2)
    crops = np.array([[0, 0], [0, 0]], np.int32)
    file.op("SpaceToBatch", [image, crops], {"block_size": 2})
    file.op("BatchToSpace", [random(3, 4, 2, 2, 1), crops], {"block_size": 2})
    file.op("SpaceToBatchND", [image, _int(2, 2), np.array([[0, 0], [2, 2]], np.int32)])
    file.op("BatchToSpaceND", [random(3, 4, 2, 2, 1), _int(2, 2), crops])
    file.op("SpaceToDepth", [image], {"block_size": 2})
    file.op("DepthToSpace", [random(3, 1, 2, 2, 4)], {"block_size": 2})
    file.op("ExtractImagePatches", [random(4, 2, 5, 4, 2)],
            {"ksizes": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1],
             "padding": "SAME"})
    file.op("Diag", [random(1, 2, 3)])
    file.op("DiagPart", [random(1, 2, 3, 2, 3)])
    return file


def gather():
    """What picks by indices, with repeated ones."""
    file = GradientFile("gather")
    table = random(1, 4, 3)
    twice = np.array([[0, 2], [2, 3]], np.int32)
    file.op("Gather", [table, twice])
    file.op("GatherV2", [table, twice, np.int32(0)])
    file.op("GatherV2", [table, twice % 3, np.int32(1)])
    file.op("GatherV2", [random(2, 2, 4, 3), twice, np.int32(-2)])
    file.op("GatherV2", [random(2, 2, 4, 3), twice, np.int32(1)], {"batch_dims": 1})
    file.op("GatherV2", [random(2, 2, 2, 3, 2), twice[:, :, None] % 3, np.int32(2)],
            {"batch_dims": 2})
    file.op("GatherV2", [random(2, 2, 3, 4), twice, np.int32(2)], {"batch_dims": 1})
    file.op("GatherNd", [table, np.array([[0, 1], [3, 2], [0, 1]], np.int32)])
    file.op("GatherNd", [table, np.array([[0], [3], [0]], np.int32)])
    where = np.array([[1], [3]], np.int32)
    file.op("ScatterNd", [where, random(1, 2, 3), _int(5, 3)])
    for op in ("ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterSub TensorScatterUpdate "
               "TensorScatterMax TensorScatterMin").split():
        file.op(op, [table, where, random(2, 2, 3)])
    file.op("TensorScatterMax", [np.ones([4], np.float32), np.array([[1], [1]], np.int32),
                                 np.array([1, 1], np.float32)])
    file.op("DynamicPartition", [table, _int(1, 0, 1, 1)], {"num_partitions": 2})
    for op in "DynamicStitch ParallelDynamicStitch".split():
        file.op(op, [_int(0, 2), _int(1, 3), random(1, 2, 3), random(2, 2, 3)], {"N": 2})

    def lookup():
        variable = tf.Variable(table, trainable=True, use_resource=True)
        of = {"resource": variable.handle, "dtype": tf.float32}
        return [
            tf.raw_ops.ResourceGather(indices=twice, **of),
            tf.raw_ops.ResourceGather(indices=_int(1, 2), **of),
            tf.raw_ops.ResourceGatherNd(indices=[[0, 1], [0, 1]], **of),
        ]

    file.raw(lookup, [])

    def read():
        variable = tf.Variable(table, use_resource=True)
        return tf.square(variable) + tf.gather(tf.identity(variable), _int(0, 0, 1, 3))

    file.raw(read, [])
    return file


def matmul():
    """Products in all layouts."""
    file = GradientFile("matmul")
    for a, b in itertools.product((False, True), (False, True)):
        left = random(1, 2, 3).T.copy() if a else random(1, 2, 3)
        right = random(2, 3, 4).T.copy() if b else random(2, 3, 4)
        file.op("MatMul", [left, right], {"transpose_a": a, "transpose_b": b})
        lefts, rights = np.stack([left, -left]), np.stack([right, 2 * right])
        for op in "BatchMatMul BatchMatMulV2 BatchMatMulV3".split():
            attrs = {"Tout": tf.float32} if op.endswith("3") else {}
            file.op(op, [lefts, rights], {"adj_x": a, "adj_y": b, **attrs})
        file.op("BatchMatMulV2", [lefts[:, None], rights[:1]], {"adj_x": a, "adj_y": b})
    file.op("MatMul", [_complex(1, 2, 3), _complex(3, 3, 4)])
    file.op("BatchMatMulV2", [_complex(1, 1, 2, 3), _complex(3, 2, 3, 4)])
    return file


def nn():
    """Convolutions, pooling, normalisation, losses."""
    file = GradientFile("nn")
    image, flt = random(1, 2, 5, 6, 4), random(2, 3, 3, 4, 2)
    loose = {"rtol": 1e-4, "atol": 1e-4}
    for padding, stride in itertools.product(("SAME", "VALID"), (1, 2)):
        attrs = {"strides": [1, stride, stride, 1], "padding": padding}
        file.op("Conv2D", [image, flt], attrs, **loose)
        file.op("DepthwiseConv2dNative", [image, flt], attrs, **loose)
        pool = {"ksize": [1, 2, 3, 1], **attrs}
        file.op("MaxPool", [image], pool)
        file.op("AvgPool", [image], pool)
    unit = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    file.op("Conv2D", [image, flt], {**unit, "padding": "EXPLICIT",
                                     "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0]}, **loose)
    out = random(3, 2, 5, 6, 2)
    file.op("Conv2DBackpropInput", [_int(2, 5, 6, 4), flt, out], unit, **loose)
    file.op("Conv2DBackpropFilter", [image, _int(3, 3, 4, 2), out], unit, **loose)
    deep = random(3, 2, 5, 6, 8)
    file.op("DepthwiseConv2dNativeBackpropInput", [_int(2, 5, 6, 4), flt, deep], unit, **loose)
    file.op("DepthwiseConv2dNativeBackpropFilter", [image, _int(3, 3, 4, 2), deep], unit, **loose)
    volume, flt3 = random(1, 1, 4, 4, 5, 2), random(2, 2, 2, 3, 2, 3)
    unit3 = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    file.op("Conv3D", [volume, flt3], unit3, **loose)
    out3 = random(3, 1, 4, 4, 5, 3)
    file.op("Conv3DBackpropInputV2", [_int(1, 4, 4, 5, 2), flt3, out3], unit3, **loose)
    file.op("Conv3DBackpropFilterV2", [volume, _int(2, 2, 3, 2, 3), out3], unit3, **loose)
    pool3 = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}
    file.op("MaxPool3D", [volume], pool3)
    file.op("AvgPool3D", [volume], pool3)
    file.op("AvgPool3DGrad", [_int(1, 4, 4, 5, 2), random(4, 1, 2, 2, 3, 2)], pool3)
    pool = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    file.op("AvgPoolGrad", [_int(2, 5, 6, 4), random(4, 2, 3, 3, 4)], pool)
    file.op("MaxPoolV2", [image, _int(1, 2, 2, 1), _int(1, 2, 2, 1)], {"padding": "SAME"})
    file.op("MaxPoolWithArgmax", [image], pool)
    file.raw(lambda x, dy: tf.raw_ops.MaxPoolGrad(
        orig_input=x, orig_output=tf.nn.max_pool2d(x, 2, 2, "SAME"), grad=dy, **pool),
        [image, random(4, 2, 3, 3, 4)])
    file.raw(lambda x, dy: tf.raw_ops.MaxPool3DGrad(
        orig_input=x, orig_output=tf.nn.max_pool3d(x, 2, 2, "SAME"), grad=dy, **pool3),
        [volume, random(4, 1, 2, 2, 3, 2)])
    file.op("LRN", [image], {"depth_radius": 2, "alpha": 0.3, "beta": 0.6, "bias": 1.5}, **loose)
    file.op("Dilation2D", [image, random(5, 2, 2, 4)],
            {**unit, "rates": [1, 1, 1, 1]}, **loose)
    scale, offset, mean = random(5, 4), random(6, 4), random(7, 4)
    variance = np.abs(random(8, 4)) + np.float32(0.5)
    for op, training in itertools.product(
        ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), (True, False)
    ):
        stats = [np.zeros([0], np.float32)] * 2 if training else [mean, variance]

        def norm(x, s, o, op=op, training=training, stats=stats):
            return getattr(tf.raw_ops, op)(x=x, scale=s, offset=o, mean=stats[0],
                                           variance=stats[1], is_training=training, epsilon=0.01)[0]

        file.raw(norm, [image, scale, offset], **loose)
    file.op("BiasAdd", [image, random(5, 4)])
    file.op("BiasAdd", [image, random(5, 5)], {"data_format": "NCHW"})
    file.op("BiasAddV1", [image, random(5, 4)])
    file.op("BiasAddGrad", [image])
    labels = np.array([[0.2, 0.3, 0.5], [1, 0, 0]], np.float32)
    file.op("SoftmaxCrossEntropyWithLogits", [random(1, 2, 3), labels])
    file.raw(lambda x, y: tf.nn.softmax_cross_entropy_with_logits(y, x), [random(1, 2, 3), labels])
    file.op("SparseSoftmaxCrossEntropyWithLogits", [random(1, 2, 3), _int(2, 0)])
    file.op("L2Loss", [image])
    return file


def linalg():
    """Diagonals, solvers, factorisations, Einsum."""
    file = GradientFile("linalg")
    loose = {"rtol": 1e-3, "atol": 1e-3}
    matrix = random(1, 2, 3, 3) + 3 * np.eye(3, dtype=np.float32)
    symmetric = matrix @ matrix.transpose(0, 2, 1)
    file.op("MatrixDiag", [random(1, 2, 3)])
    file.op("MatrixDiagPart", [random(1, 2, 3, 4)])
    file.op("MatrixSetDiag", [random(1, 2, 3, 4), random(2, 2, 3)])
    file.op("MatrixBandPart", [random(1, 2, 3, 4), np.int64(1), np.int64(0)])
    band = _int(-1, 1)
    zero = np.float32(0)
    for version in ("V2", "V3"):
        size = [np.int32(3), np.int32(4)]
        file.op("MatrixDiag" + version, [random(1, 2, 3, 3), band, *size, zero])
        file.op("MatrixDiagPart" + version, [random(1, 2, 3, 4), band, zero])
        file.op("MatrixSetDiag" + version, [random(1, 2, 3, 4), random(2, 2, 3, 3), band])
    for adjoint in (False, True):
        file.op("MatrixInverse", [matrix], {"adjoint": adjoint}, **loose)
        file.op("MatrixSolve", [matrix, random(2, 2, 3, 2)], {"adjoint": adjoint}, **loose)
        for lower in (False, True):
            file.op("MatrixTriangularSolve", [matrix, random(2, 2, 3, 2)],
                    {"adjoint": adjoint, "lower": lower}, **loose)
    file.op("MatrixTriangularSolve", [matrix[:1], random(2, 2, 3, 2)], **loose)
    for rows, columns in ((4, 3), (3, 4)):
        file.op("MatrixSolveLs", [random(3, rows, columns), random(4, rows, 2), np.float64(0.1)],
                {"fast": True}, **loose)
    file.op("Cholesky", [symmetric], **loose)
    file.op("MatrixDeterminant", [matrix], **loose)
    file.op("LogMatrixDeterminant", [matrix], **loose)
    eigen = tf.raw_ops.SelfAdjointEigV2
    file.raw(lambda x: [tf.abs(t) for t in eigen(input=x)], [symmetric], **loose)
    file.raw(lambda x: eigen(input=x, compute_v=False)[0], [symmetric], **loose)
    file.raw(lambda x: [tf.abs(t) for t in tf.raw_ops.Qr(input=x)], [random(5, 4, 3)], **loose)
    for equation, *shapes in (
        ("ab,bc->ac", (2, 3), (3, 4)),
        ("abc,cd->adb", (2, 3, 4), (4, 5)),
        ("BTNH,BSNH->BNTS", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("ab,b->a", (2, 3), (3,)),
        ("ab,cb->a", (2, 3), (4, 3)),
        ("ab->b", (2, 3)),
        ("ab->ba", (2, 3)),
        ("abc->b", (2, 3, 4)),
        ("...ab,...bc->...ac", (2, 3, 4), (2, 4, 5)),
        ("...ab,bc->...ac", (2, 3, 4), (4, 5)),
        ("...ab,...bc->...ac", (1, 3, 4), (5, 4, 2)),
        ("a...b->b...", (2, 3, 4)),
    ):
        file.op("Einsum", [random(i, *shape) for i, shape in enumerate(shapes)],
                {"equation": equation}, **loose)
    return file


def image():
    """Resizing, cropping, simulated quantisation."""
    file = GradientFile("image")
    x = random(1, 1, 4, 5, 2)
    size = _int(6, 3)
    for corners, centers in ((False, False), (True, False), (False, True)):
        attrs = {"align_corners": corners, "half_pixel_centers": centers}
        for op in "ResizeBilinear ResizeNearestNeighbor ResizeBicubic".split():
            file.op(op, [x, size], attrs, rtol=1e-4, atol=1e-4)
    file.op("ScaleAndTranslate", [x, size, np.array([1.2, 0.7], np.float32),
                                  np.array([0.1, -0.2], np.float32)],
            {"kernel_type": "triangle"}, rtol=1e-4, atol=1e-4)
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0.3, 0, 1, 0.7]], np.float32)
    file.op("CropAndResize", [x, boxes, _int(0, 0), _int(3, 2)], rtol=1e-4, atol=1e-4)
    file.op("FakeQuantWithMinMaxArgs", [x], {"min": -1, "max": 1})
    limits = [np.float32(-1), np.float32(1)]
    file.op("FakeQuantWithMinMaxVars", [x, *limits], rtol=1e-4)
    file.op("FakeQuantWithMinMaxVarsPerChannel",
            [x, np.array([-1, -2], np.float32), np.array([1, 0.5], np.float32)], rtol=1e-4)
    file.op("QuantizeAndDequantizeV2", [x, *limits])
    file.op("QuantizeAndDequantizeV3", [x, *limits, np.int32(8)])
    transforms = np.array([[1.1, 0.2, 0.5, -0.1, 0.9, 0.3, 0, 0]], np.float32)
    for op, more in (("ImageProjectiveTransformV2", []),
                     ("ImageProjectiveTransformV3", [np.float32(0)])):
        file.op(op, [x, transforms, size, *more], {"interpolation": "NEAREST"})
    return file


def spectral():
    """Transforms of even and odd lengths."""
    file = GradientFile("spectral")
    loose = {"rtol": 1e-4, "atol": 1e-4}
    z = _complex(1, 2, 3, 4)
    for op in "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D".split():
        file.op(op, [z], **loose)
    for length in (5, 6):
        file.op("RFFT", [random(1, 2, length), _int(length)], {"Tcomplex": tf.complex64}, **loose)
        file.op("RFFT2D", [random(1, 3, length), _int(3, length)], {"Tcomplex": tf.complex64},
                **loose)
        half = length // 2 + 1
        file.op("IRFFT", [_complex(1, 2, half), _int(length)], {"Treal": tf.float32}, **loose)
        file.op("IRFFT2D", [_complex(1, 3, half), _int(3, length)], {"Treal": tf.float32}, **loose)
    return file


def sparse():
    """Sparse tensors, and segments of picked rows."""
    file = GradientFile("sparse")
    table = random(1, 4, 3)
    for op in "SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN".split():
        file.op(op, [table, _int(0, 2, 2, 3), _int(0, 0, 1, 2)])
        file.op(op + "WithNumSegments", [table, _int(0, 2, 2, 3), _int(0, 0, 2, 2), np.int32(4)])
    where = np.array([[0, 1], [1, 0], [1, 2]], np.int64)
    values, shape = random(2, 3), np.array([2, 3], np.int64)
    for a, b in itertools.product((False, True), (False, True)):
        dense = random(3, 2 if a else 3, 4)
        file.op("SparseTensorDenseMatMul", [where, values, shape, dense.T.copy() if b else dense],
                {"adjoint_a": a, "adjoint_b": b})
    file.op("SparseTensorDenseAdd", [where, values, shape, random(3, 2, 3)])
    file.op("SparseToDense", [where, shape, values, np.float32(0.5)])
    for axis, keep in itertools.product((_int(0), _int(-1), _int(0, 1)), (False, True)):
        file.op("SparseReduceSum", [where, values, shape, axis], {"keep_dims": keep})
    file.op("SparseReorder", [where[::-1].copy(), values, shape])
    file.op("SparseSoftmax", [where, values, shape])
    file.op("SparseFillEmptyRows", [where[1:], values[1:], shape, np.float32(0.5)])
    file.op("SparseSlice", [where, values, shape, np.array([1, 0], np.int64),
                            np.array([1, 2], np.int64)])
    for op in "SparseDenseCwiseMul SparseDenseCwiseDiv".split():
        file.raw(lambda v, op=op: getattr(tf.raw_ops, op)(
            sp_indices=where, sp_values=v, sp_shape=shape, dense=random(4, 3)), [values])
    return file


def data_flow():
    """Tensor lists, and the accesses of TensorArrays that loops do not make."""
    file = GradientFile("data_flow")
    x, row = random(1, 3, 2), random(2, 2)
    ops = tf.raw_ops

    def stack(handle):
        return ops.TensorListStack(
            input_handle=handle, element_shape=[2], element_dtype=tf.float32)

    def from_tensor(tensor):
        return ops.TensorListFromTensor(tensor=tensor, element_shape=[2])

    file.raw(lambda x, r: stack(ops.TensorListPushBack(
        input_handle=from_tensor(x), tensor=r)), [x, row])

    def pop(x):
        rest, last = ops.TensorListPopBack(
            input_handle=from_tensor(x), element_shape=[2], element_dtype=tf.float32)
        return [stack(rest), last]

    file.raw(pop, [x])
    file.raw(lambda x: pop(x)[1], [x])
    file.raw(lambda x: ops.TensorListGather(
        input_handle=from_tensor(x), indices=[2, 0], element_shape=[2],
        element_dtype=tf.float32), [x])
    file.raw(lambda x: stack(ops.TensorListScatterV2(
        tensor=x, indices=[2, 0, 1], element_shape=[2], num_elements=-1)), [x])
    file.raw(lambda x: stack(ops.TensorListScatter(
        tensor=x, indices=[2, 0, 1], element_shape=[2])), [x])
    file.raw(lambda x, r: stack(ops.TensorListScatterIntoExistingList(
        input_handle=from_tensor(x), tensor=r[None], indices=[1])), [x, row])
    file.raw(lambda x: stack(ops.TensorListResize(input_handle=from_tensor(x), size=2)), [x])

    def split(x):
        return ops.TensorListSplit(tensor=x, element_shape=[-1, 2], lengths=[1, 2])

    file.raw(lambda x: ops.TensorListConcatV2(
        input_handle=split(x), element_shape=[-1, 2], leading_dims=np.zeros([0], np.int64),
        element_dtype=tf.float32)[0], [x])
    file.raw(lambda x: ops.TensorListConcat(
        input_handle=split(x), element_dtype=tf.float32,
        element_shape=[None, 2])[0], [x])

    def array(x):
        parts = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
        return [parts.read(1), parts.concat()]

    file.raw(array, [x])
    return file


def dtypes():
    """Other dtypes of values and of indices, empty tensors, scalar indices."""
    file = GradientFile("dtypes")
    x = random(1, 2, 3)
    for dtype in (np.float64, np.float16):
        positive = (np.abs(x) + 0.1).astype(dtype)
        for op in "Tanh Sigmoid Square Sqrt Exp Log Relu Softmax Erf Lgamma".split():
            file.op(op, [positive])
        for op in "Mul AddV2 RealDiv Maximum Pow SquaredDifference".split():
            file.op(op, [positive, (np.abs(random(2, 3)) + 0.1).astype(dtype)])
        for op in "Sum Mean Max Prod".split():
            file.op(op, [random(1, 2, 3, 4).astype(dtype), np.array([1, -1], np.int64)])
        file.op("MatMul", [x.astype(dtype), random(2, 3, 4).astype(dtype)])
        file.op("Cumsum", [x.astype(dtype), np.int64(-1)], {"reverse": True})
    long = np.int64
    file.op("ExpandDims", [x, long(-1)])
    file.op("Tile", [x, np.array([2, 1], long)])
    file.op("Pad", [x, np.array([[1, 0], [0, 2]], long)])
    file.op("Slice", [x, np.array([0, 1], long), np.array([2, -1], long)])
    for indices, axis in itertools.product((np.array([[1, 0]], long), long(1)), (0, 1, -1)):
        file.op("GatherV2", [x, indices, long(axis)])
    file.op("BroadcastTo", [random(1, 3), np.array([2, 3], long)])
    file.op("Transpose", [x, np.array([1, 0], long)])
    file.op("SplitV", [random(1, 2, 4), np.array([1, 3], long), np.int32(-1)], {"num_split": 2})
    file.op("Mean", [random(1, 0, 3), _int(1)])
    file.op("Sum", [random(1, 0, 3), _int(0)])
    file.op("StridedSlice", [random(1, 3, 4, 5), _int(0, 0, 1), _int(0, 0, 3), _int(1, 1, 1)],
            {"ellipsis_mask": 2, "begin_mask": 1, "end_mask": 1})
    file.op("StridedSlice", [x, _int(0, 0), _int(0, 2), _int(1, 1)], {"new_axis_mask": 1})
    file.op("SegmentSum", [x, np.array([0, 2], long)])
    return file


FILES = (unary, binary, reduction, array, gather, matmul, nn, linalg, image, spectral, sparse,
         data_flow, dtypes, *kernel_gradient_cases.FILES, compositions, flow_v1, flow_v2)


def record(directory):
    """Writes all files and returns their paths."""
    return [make().write(directory) for make in FILES]
