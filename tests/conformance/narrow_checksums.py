"""Prints checksums of TensorFlow's composite ops in half and bfloat16.

The lines belong into the tables kRecordedCases of runtime/kernels/stepwise_elementwise_test.cc and
runtime/kernels/nn/narrow_cross_entropy_test.cc, which say how operands and checksums are made.
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


def main():
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


if __name__ == "__main__":
    main()
