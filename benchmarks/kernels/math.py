"""Elementwise functions, reductions, scans, casts, random numbers."""

import numpy as np
import tensorflow as tf

from kernels.case import (Case, bfloat16s, booleans, doubles, floats, integers, uniform)

raw = tf.raw_ops
SIZE = 262144

FUNCTIONS = [
    ("Exp", tf.exp), ("Expm1", tf.math.expm1), ("Tanh", tf.tanh), ("Sigmoid", tf.sigmoid),
    ("Sin", tf.sin), ("Cos", tf.cos), ("Tan", tf.tan), ("Sinh", tf.sinh), ("Cosh", tf.cosh),
    ("Asinh", tf.asinh), ("Atan", tf.atan), ("Erf", tf.math.erf), ("Erfc", tf.math.erfc),
    ("Softplus", tf.nn.softplus), ("Softsign", tf.nn.softsign), ("Elu", tf.nn.elu),
    ("Selu", tf.nn.selu), ("Relu6", tf.nn.relu6), ("LeakyRelu", tf.nn.leaky_relu),
    ("Square", tf.square), ("Rint", tf.math.rint), ("Floor", tf.floor), ("Round", tf.round),
    ("Sign", tf.sign), ("Abs", tf.abs), ("IsNan", tf.math.is_nan), ("Gelu", tf.nn.gelu),
    ("Swish", tf.nn.swish),
]
POSITIVE = [("Log", tf.math.log), ("Log1p", tf.math.log1p), ("Sqrt", tf.sqrt),
            ("Rsqrt", tf.math.rsqrt), ("Reciprocal", tf.math.reciprocal),
            ("Lgamma", tf.math.lgamma), ("Digamma", tf.math.digamma), ("Acosh", lambda x: tf.acosh(x + 1)),
            ("BesselI0e", lambda x: raw.BesselI0e(x=x))]
UNIT = [("Asin", tf.asin), ("Acos", tf.acos), ("Atanh", tf.atanh), ("Erfinv", tf.math.erfinv),
        ("Ndtri", tf.math.ndtri)]
BINARY = [("AddV2", tf.add), ("Mul", tf.multiply), ("RealDiv", tf.divide), ("Maximum", tf.maximum),
          ("SquaredDifference", tf.math.squared_difference), ("Atan2", tf.atan2),
          ("FloorMod", tf.math.floormod), ("DivNoNan", tf.math.divide_no_nan),
          ("Xlogy", lambda x, y: tf.math.xlogy(x, tf.abs(y))), ("Less", tf.less),
          ("Equal", tf.equal), ("Pow", lambda x, y: tf.pow(tf.abs(x), y))]

CASES = [Case(f"{name} {SIZE}", function, [floats(SIZE)]) for name, function in FUNCTIONS]
CASES += [Case(f"{name} {SIZE}", function, [uniform(0.1, 10, SIZE)])
          for name, function in POSITIVE]
CASES += [Case(f"{name} {SIZE}", function, [uniform(0.01, 0.99, SIZE)]) for name, function in UNIT]
CASES += [Case(f"{name} 512x512", function, [floats(512, 512)] * 2) for name, function in BINARY]
CASES += [
    Case("AddV2 8x128x768, row", tf.add, [floats(8, 128, 768), floats(768)]),
    Case("Mul 8x128x768, column", tf.multiply, [floats(8, 128, 768), floats(8, 128, 1)]),
    Case("Sub 512x1x64 and 1x256x64", tf.subtract, [floats(512, 1, 64), floats(1, 256, 64)]),
    Case("Mul bfloat16 512x512", tf.multiply, [bfloat16s(512, 512)] * 2),
    Case("Exp bfloat16 262144", tf.exp, [bfloat16s(SIZE)]),
    Case("Tanh double 65536", tf.tanh, [doubles(65536)]),
    Case("Exp double 65536", tf.exp, [doubles(65536)]),
    Case("FloorDiv int32 262144", lambda x: x // 7, [integers(10**6, SIZE)]),
    Case("Mod int64 262144", lambda x: x % 1000003, [integers(10**12, SIZE, dtype=np.int64)]),
    Case("LogicalAnd 1048576", tf.logical_and, [booleans(0.5, 1048576)] * 2),
    Case("BitwiseXor int32 262144", tf.bitwise.bitwise_xor, [integers(10**6, SIZE)] * 2),
    Case("ClipByValue 262144", lambda x: tf.clip_by_value(x, -1.0, 1.0), [floats(SIZE)]),
    Case("AddN 8 of 65536", lambda *x: tf.add_n(x), [floats(65536)] * 8),
    Case("ComplexAbs 65536", lambda x, y: tf.abs(tf.complex(x, y)), [floats(65536)] * 2),
    Case("Cast uint8 to float 1x512x512x3", lambda x: tf.cast(x, tf.float32),
         [integers(256, 1, 512, 512, 3, dtype=np.uint8)]),
    Case("Cast float to uint8 512x512x3", lambda x: tf.cast(x, tf.uint8),
         [uniform(0, 255, 512, 512, 3)]),
    Case("Cast int64 to int32 262144", lambda x: tf.cast(x, tf.int32),
         [integers(10**6, SIZE, dtype=np.int64)]),
    Case("Cast float to bfloat16 1048576", lambda x: tf.cast(x, tf.bfloat16), [floats(1048576)]),
    Case("Cast float to half 262144", lambda x: tf.cast(x, tf.float16), [floats(SIZE)]),
    Case("Cast half to float 262144", lambda x: tf.cast(x, tf.float32),
         [lambda rng: rng.standard_normal(SIZE).astype(np.float16)]),
    Case("Cast bool to float 1048576", lambda x: tf.cast(x, tf.float32), [booleans(0.5, 1048576)]),
    Case("Sum 1024x1024, rows", lambda x: tf.reduce_sum(x, 1), [floats(1024, 1024)]),
    Case("Sum 1024x1024, columns", lambda x: tf.reduce_sum(x, 0), [floats(1024, 1024)]),
    Case("Sum 1048576, all", tf.reduce_sum, [floats(1048576)], tolerance=1e-3),
    Case("Sum 64x128x256, middle", lambda x: tf.reduce_sum(x, 1), [floats(64, 128, 256)]),
    Case("Mean 8x56x56x64, image", lambda x: tf.reduce_mean(x, [1, 2]), [floats(8, 56, 56, 64)],
         tolerance=1e-3),
    Case("Mean 8x7x7x2048, image", lambda x: tf.reduce_mean(x, [1, 2]), [floats(8, 7, 7, 2048)]),
    Case("Max 1024x1024, rows", lambda x: tf.reduce_max(x, 1), [floats(1024, 1024)]),
    Case("Max 1024x1024, columns", lambda x: tf.reduce_max(x, 0), [floats(1024, 1024)]),
    Case("Prod 1024x256, rows", lambda x: tf.reduce_prod(x, 1), [uniform(0.9, 1.1, 1024, 256)]),
    Case("Any 1024x1024, rows", lambda x: tf.reduce_any(x, 1), [booleans(0.001, 1024, 1024)]),
    Case("Sum int32 1024x1024, rows", lambda x: tf.reduce_sum(x, 1), [integers(100, 1024, 1024)]),
    Case("Sum bfloat16 1024x1024, rows", lambda x: tf.reduce_sum(x, 1), [bfloat16s(1024, 1024)],
         tolerance=3e-2),
    Case("ArgMax 64x32000", lambda x: tf.argmax(x, 1), [floats(64, 32000)]),
    Case("ArgMax 8x64x64x21, channels", lambda x: tf.argmax(x, -1), [floats(8, 64, 64, 21)]),
    Case("ArgMin 1024x512, columns", lambda x: tf.argmin(x, 0), [floats(1024, 512)]),
    Case("EuclideanNorm 1024x1024, rows", lambda x: raw.EuclideanNorm(input=x, axis=1),
         [floats(1024, 1024)]),
    Case("LogSumExp 1024x1000", lambda x: tf.reduce_logsumexp(x, 1), [floats(1024, 1000)]),
    Case("Cumsum 256x4096, rows", lambda x: tf.cumsum(x, 1), [floats(256, 4096)]),
    Case("Cumsum 4096x256, columns", lambda x: tf.cumsum(x, 0), [floats(4096, 256)]),
    Case("Cumsum int32 65536, exclusive", lambda x: tf.cumsum(x, exclusive=True),
         [integers(10, 65536)]),
    Case("Cumprod 256x1024", lambda x: tf.math.cumprod(x, 1), [uniform(0.99, 1.01, 256, 1024)]),
    Case("CumulativeLogsumexp 64x1024", lambda x: tf.math.cumulative_logsumexp(x, 1),
         [floats(64, 1024)]),
    Case("StatelessRandomUniformV2 262144",
         lambda s: tf.random.stateless_uniform([SIZE], s), [integers(1000, 2)]),
    Case("StatelessRandomNormalV2 262144",
         lambda s: tf.random.stateless_normal([SIZE], s), [integers(1000, 2)]),
    Case("StatelessTruncatedNormalV2 65536",
         lambda s: tf.random.stateless_truncated_normal([65536], s), [integers(1000, 2)]),
    Case("RandomStandardNormal 262144",
         lambda s: raw.RandomStandardNormal(shape=s, dtype=tf.float32, seed=3),
         [lambda rng: np.array([SIZE], np.int32)], tolerance=float("inf")),
    Case("Multinomial 64x1000, 10", lambda x: tf.random.categorical(x, 10, seed=3),
         [floats(64, 1000)], tolerance=float("inf")),
    Case("RandomShuffle 65536", lambda x: tf.random.shuffle(x, seed=3), [integers(1000, 65536)],
         tolerance=float("inf")),
    Case("StatelessRandomGammaV3 16384",
         lambda s: tf.random.stateless_gamma([16384], s, alpha=2.0), [integers(1000, 2)],
         tolerance=float("inf")),
]
