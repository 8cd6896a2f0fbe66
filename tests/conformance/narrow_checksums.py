"""Prints checksums of TensorFlow's composite ops in half and bfloat16.

The lines belong into the tables of runtime/kernels/stepwise_elementwise_test.cc,
runtime/kernels/nn/narrow_cross_entropy_test.cc, runtime/kernels/stepwise_reduction_test.cc,
runtime/kernels/stepwise_segment_test.cc, runtime/kernels/stepwise_product_test.cc and
runtime/kernels/nn/narrow_batch_norm_test.cc, which say how operands are made. TensorFlow adds up on
one thread.
"""

import numpy as np
import tensorflow as tf

UNARY = {"Elu": "features", "Selu": "features", "Softplus": "features", "Softsign": "features",
         "Sigmoid": "x"}
BINARY = {"EluGrad": ("gradients", "outputs"), "SeluGrad": ("gradients", "outputs"),
          "SoftplusGrad": ("gradients", "features"), "SoftsignGrad": ("gradients", "features"),
          "TanhGrad": ("y", "dy"), "SigmoidGrad": ("y", "dy"), "SqrtGrad": ("y", "dy"),
          "RsqrtGrad": ("y", "dy"), "ReciprocalGrad": ("y", "dy"),
          "SquaredDifference": ("x", "y"), "FloorDiv": ("x", "y"), "TruncateDiv": ("x", "y"),
          "Xdivy": ("x", "y"), "Xlogy": ("x", "y"), "Xlog1py": ("x", "y")}


def moderate(bits):
    return (bits & 0x8FFF) | 0x3000


def checksum(bits, dtype):
    """The weighted sum of the bits; all NaNs count as one, denormal bfloat16s as zeros."""
    bits = bits.astype(np.uint64)
    magnitude = bits & 0x7FFF
    infinity = 0x7C00 if dtype == tf.float16 else 0x7F80
    bits = np.where(magnitude > infinity, 0x7FFF, bits)
    if dtype == tf.bfloat16:
        bits = np.where(magnitude < 0x80, bits & 0x8000, bits)
    weights = np.arange(1, len(bits) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return int((bits.astype(np.uint64) * weights).sum(dtype=np.uint64))


def run(op, dtype, operands):
    raw = getattr(tf.raw_ops, op)
    operands = {name: tf.bitcast(tf.constant(bits), dtype) for name, bits in operands.items()}
    return tf.bitcast(raw(**operands), tf.uint16).numpy()


def print_cross_entropies(dtype, name):
    for classes in (4, 10, 45, 100):
        row, column = np.meshgrid(np.arange(64), np.arange(classes), indexing="ij")
        values = ((row * 7919 + column * 104729) % 1000 - 500) / 128
        logits = tf.cast(tf.constant(values, tf.float32), dtype)
        labels = tf.cast(tf.constant((row + column) % 4 / 64, tf.float32), dtype)
        sparse = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=logits, labels=tf.constant(np.arange(64) * 13 % classes))
        dense = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels)
        sums = [checksum(tf.bitcast(tensor, tf.uint16).numpy().reshape(-1), dtype)
                for tensor in (*sparse, *dense)]
        print(f"    {{DType::{name}, {classes}, {{{', '.join(f'0x{s:016x}' for s in sums)}}}}},")

def narrow_numbers(dtype, *shape):
    """Element i of the tests' tensors."""
    numbers = (np.arange(np.prod(shape)) * 7919 % 1000 - 500) / 128
    return tf.cast(tf.constant(numbers.reshape(shape), tf.float32), dtype)


REDUCTIONS = [("Sum", (7, 3), (1,)), ("Sum", (7, 45), (1,)), ("Sum", (3, 3001), (1,)),
              ("Sum", (10000,), (0,)), ("Sum", (15, 16), (0,)), ("Sum", (64, 20), (0,)),
              ("Sum", (3, 17, 20), (1,)), ("Sum", (5, 9, 7), (0, 2)), ("Sum", (3, 4, 5, 6), (1, 3)),
              ("Sum", (3, 4, 5, 6), (0, 2)), ("Mean", (7, 45), (1,)), ("Mean", (3, 17, 20), (1,)),
              ("EuclideanNorm", (7, 45), (1,)), ("Prod", (7, 5), (1,))]


def print_reductions(dtype, name):
    for op, shape, axes in REDUCTIONS:
        result = getattr(tf.raw_ops, op)(input=narrow_numbers(dtype, *shape), axis=axes)
        bits = tf.bitcast(result, tf.uint16).numpy().reshape(-1)
        print(f'    {{"{op}", DType::{name}, {{{", ".join(map(str, shape))}}}, '
              f'{{{", ".join(map(str, axes))}}}, 0x{checksum(bits, dtype):016x}}},')


def print_others(dtype, name):
    raw = tf.raw_ops
    results = [
        ("BiasAddGrad", raw.BiasAddGrad(out_backprop=narrow_numbers(dtype, 40, 20))),
        ("L2Loss", raw.L2Loss(t=narrow_numbers(dtype, 5000))),
        ("Softmax", raw.Softmax(logits=narrow_numbers(dtype, 16, 45))),
        ("LogSoftmax", raw.LogSoftmax(logits=narrow_numbers(dtype, 16, 45))),
        ("AddN", raw.AddN(inputs=tf.unstack(narrow_numbers(dtype, 20, 50)))),
        ("AvgPool", raw.AvgPool(value=narrow_numbers(dtype, 2, 7, 7, 8), ksize=[1, 3, 3, 1],
                                strides=[1, 2, 2, 1], padding="SAME"))]
    image = narrow_numbers(dtype, 2, 7, 7, 8)
    windows = {"ksize": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
    pooled = raw.MaxPool(input=image, **windows)
    results.append(("MaxPoolGrad", raw.MaxPoolGrad(
        orig_input=image, orig_output=pooled, grad=image, **windows)))
    if dtype == tf.float16:
        results.append(("AvgPoolGrad", raw.AvgPoolGrad(
            orig_input_shape=[2, 9, 9, 8], grad=narrow_numbers(dtype, 2, 4, 4, 8),
            ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="VALID")))
    for op, result in results:
        bits = tf.bitcast(result, tf.uint16).numpy().reshape(-1)
        print(f'    {{"{op}", DType::{name}, 0x{checksum(bits, dtype):016x}}},')


def print_segments(dtype, name):
    for rows, columns, segments in ((7, 5, 2), (40, 1, 3), (60, 8, 3), (100, 45, 4)):
        place = np.arange(rows)
        numbers = narrow_numbers(dtype, rows, columns)
        factors = tf.cast(1 + narrow_numbers(tf.float32, rows, columns) / 64, dtype)
        for op in ("SegmentSum", "SegmentMean", "SegmentProd", "UnsortedSegmentSum",
                   "UnsortedSegmentProd"):
            given = {"data": factors if op.endswith("Prod") else numbers}
            if op.startswith("Unsorted"):
                given |= {"segment_ids": place * 7 % (segments + 1) - 1, "num_segments": segments}
            else:
                given["segment_ids"] = place * segments // rows
            result = getattr(tf.raw_ops, op)(**given)
            bits = tf.bitcast(result, tf.uint16).numpy().reshape(-1)
            print(f'    {{"{op}", DType::{name}, {rows}, {columns}, {segments}, '
                  f"0x{checksum(bits, dtype):016x}}},")


# Batch, height, width, channels of the input; those of the output, or outputs of each channel; size
# of the filter; stride; padding.
CONVOLUTIONS = [(2, 6, 7, 3, 8, 3, 1, "SAME"), (3, 7, 7, 5, 12, 3, 2, "SAME"),
                (1, 5, 6, 16, 27, 1, 1, "VALID"), (2, 6, 5, 4, 40, 2, 1, "VALID"),
                (16, 10, 10, 2, 20, 3, 1, "SAME")]
DEPTHWISE = [(2, 6, 7, 8, 1, 3, 1, "SAME"), (3, 7, 7, 5, 2, 3, 2, "SAME"),
             (2, 5, 6, 19, 1, 5, 1, "VALID"), (2, 6, 6, 3, 4, 2, 1, "SAME")]


def print_convolutions():
    raw = tf.raw_ops
    for depthwise, cases in ((False, CONVOLUTIONS), (True, DEPTHWISE)):
        for case in cases:
            batch, height, width, channels, more, size, stride, padding = case
            numbers = np.arange(size * size * channels * more) * 104729 % 1000 - 500
            weights = tf.cast(tf.constant(
                numbers.reshape(size, size, channels, more) / 1024, tf.float32), tf.float16)
            image = narrow_numbers(tf.float16, batch, height, width, channels)
            options = {"strides": [1, stride, stride, 1], "padding": padding}
            forward = raw.DepthwiseConv2dNative if depthwise else raw.Conv2D
            shape = forward(input=image, filter=weights, **options).shape
            gradient = narrow_numbers(tf.float16, *shape)
            name = "DepthwiseConv2dNative" if depthwise else "Conv2D"
            calls = [(f"{name}BackpropInput",
                      {"input_sizes": image.shape, "filter": weights, "out_backprop": gradient}),
                     (f"{name}BackpropFilter",
                      {"input": image, "filter_sizes": weights.shape, "out_backprop": gradient})]
            if depthwise:
                calls.insert(0, (name, {"input": image, "filter": weights}))
            for op, given in calls:
                result = getattr(raw, op)(**given, **options)
                bits = tf.bitcast(result, tf.uint16).numpy().reshape(-1)
                print(f'    {{"{op}", {", ".join(map(str, case[:-1]))}, "{padding}", '
                      f"0x{checksum(bits, tf.float16):016x}}},")


EINSUMS = [("bij,bjk->bik", (3, 8, 30), (3, 30, 29)), ("bij,bkj->bik", (4, 7, 8), (4, 7, 8)),
           ("aecd,abcd->acbe", (2, 9, 3, 16), (2, 11, 3, 16)), ("ij,jk->ik", (5, 900), (900, 9)),
           ("bij,bjk->bik", (4, 6, 4), (4, 4, 6))]


def print_einsums():
    for equation, left, right in EINSUMS:
        result = tf.raw_ops.Einsum(
            inputs=[narrow_numbers(tf.float16, *left), narrow_numbers(tf.float16, *right)],
            equation=equation)
        bits = tf.bitcast(result, tf.uint16).numpy().reshape(-1)
        shapes = ", ".join("{" + ", ".join(map(str, shape)) + "}" for shape in (left, right))
        print(f'    {{"{equation}", {shapes}, 0x{checksum(bits, tf.float16):016x}}},')


def print_batch_norms():
    raw = tf.raw_ops
    for shape in ((4, 5, 6, 3), (8, 8, 8, 20), (3, 2, 2, 9)):
        channels = np.arange(shape[-1])
        x = narrow_numbers(tf.float16, *shape)
        dy = tf.cast(narrow_numbers(tf.float16, *shape)[::-1] / 4, tf.float16)
        scale, offset = np.float32(1 + channels / 16), np.float32(channels / 8 - 1)
        options = {"scale": scale, "epsilon": 0.001}
        forward = raw.FusedBatchNormV3(x=x, offset=offset, mean=[], variance=[], **options)
        back = raw.FusedBatchNormGradV3(
            y_backprop=dy, x=x, reserve_space_1=forward.reserve_space_1,
            reserve_space_2=forward.reserve_space_2, reserve_space_3=forward.reserve_space_3,
            **options)
        sums = [checksum(tf.bitcast(tensor, tf.uint16).numpy().reshape(-1), tf.float16)
                for tensor in (forward.y, back.x_backprop)]
        print(f"    {{{{{', '.join(map(str, shape))}}}, 0x{sums[0]:016x}, 0x{sums[1]:016x}}},")


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    everything = np.arange(65536, dtype=np.uint16)
    others = ((np.arange(65536) * 40503 + 12345) & 0xFFFF).astype(np.uint16)
    for dtype, name in ((tf.float16, "kHalf"), (tf.bfloat16, "kBfloat16")):
        lines = []
        for op, argument in UNARY.items():
            bits = everything
            if dtype == tf.bfloat16:
                bits = np.where(bits & 0x7FFF < 0x80, bits & 0x8000, bits).astype(np.uint16)
            lines.append((op, "kAll", run(op, dtype, {argument: bits})))
        for op, (first, second) in BINARY.items():
            if dtype == tf.float16 and not op.startswith("Xlog"):
                lines.append((op, "kAll", run(op, dtype, {first: everything, second: others})))
            lines.append((op, "kModerate", run(op, dtype, {first: moderate(everything),
                                                           second: moderate(others)})))
        for op, operands, result in lines:
            print(f'    {{"{op}", DType::{name}, {operands}, 0x{checksum(result, dtype):016x}}},')
        print_cross_entropies(dtype, name)
        print_reductions(dtype, name)
        print_others(dtype, name)
        print_segments(dtype, name)
    print_convolutions()
    print_einsums()
    print_batch_norms()


if __name__ == "__main__":
    main()
