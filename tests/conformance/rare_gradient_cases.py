"""Gradients of ops that no recorded graph differentiates, as TensorFlow computes them:

    TF_ENABLE_ONEDNN_OPTS=0 python -m conformance.rare_gradient_cases FOLDER

writes the files, in the format of gradient_recording. tests/training/test_gradients_of_rare_ops.py
compares them with those of AddGradients().
"""

import functools
import sys

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.compiler.tf2xla.python import xla  # noqa: F401  registers gradients
from tensorflow.python.ops import composite_tensor_ops

from conformance import rare_flow_gradient_cases
from conformance.gradient_recording import GradientFile, random
from conformance.rare_flow_gradient_cases import debugged

raw = tf.raw_ops
v1 = tf.compat.v1


def _long(*values):
    return np.array(values, np.int64)


def earlier_versions():
    """Ops that only graphs of earlier versions may have."""
    file = GradientFile("earlier_versions", producer=6)
    positive = np.abs(random(5, 4)) + np.float32(0.2)
    for scale in (False, True):
        file.raw(
            lambda x, mean, variance, beta, gamma, scale=scale: raw.BatchNormWithGlobalNormalization(
                t=x, m=mean, v=variance, beta=beta, gamma=gamma, variance_epsilon=1e-3,
                scale_after_normalization=scale),
            [random(1, 2, 3, 2, 4), random(2, 4), positive, random(3, 4), random(4, 4)])
    file.op("QuantizeAndDequantize", [random(1, 2, 3)],
            {"signed_input": True, "num_bits": 4, "range_given": True, "input_min": -0.7,
             "input_max": 0.7})
    return file


def pools():
    """Gradients of the gradients of pools, and patches of volumes."""
    file = GradientFile("pools")
    image, volume = random(1, 2, 5, 6, 3), random(2, 2, 4, 5, 4, 2)
    sizes = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}

    def twice(x, d, grad, pool, **options):
        return grad(orig_input=x, orig_output=pool(input=x, **options), grad=d, **options)

    for padding in ("SAME", "VALID"):
        options = dict(sizes, padding=padding)
        rows, columns = (3, 3) if padding == "SAME" else (2, 2)
        d = random(3, 2, rows, columns, 3)
        file.raw(lambda x, d, o=options: twice(x, d, raw.MaxPoolGradV2, raw.MaxPoolV2, **o),
                 [image, d])
        file.raw(lambda x, d, o=options: raw.MaxPoolGradGrad(
            orig_input=x, orig_output=raw.MaxPool(input=x, **o), grad=d, **o),
                 [image, random(4, *image.shape)])
    volumes = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 1, 1], "padding": "VALID"}
    file.raw(lambda x, d: raw.MaxPool3DGradGrad(
        orig_input=x, orig_output=raw.MaxPool3D(input=x, **volumes), grad=d, **volumes),
             [volume, random(5, *volume.shape)])
    for padding, strides in (("SAME", [1, 1, 2, 1, 1]), ("VALID", [1, 2, 1, 2, 1])):
        file.op("ExtractVolumePatches", [volume],
                {"ksizes": [1, 2, 3, 1, 1], "strides": strides, "padding": padding})
    return file


def largest():
    """What is largest in a row, of which several elements may be."""
    file = GradientFile("largest")
    ties = np.array([[2, 7, 7, 2, 7], [1, 1, 1, 1, 1]], np.float32)
    for x in (random(1, 6), random(2, 2, 3, 5), random(3, 2, 5, dtype=np.float64), ties):
        for k in (np.int32(1), np.int32(3), np.int32(x.shape[-1])):
            file.op("TopKV2", [x, k])
            # The order of what is not sorted may be any.
            file.raw(lambda x, k=k: tf.reduce_sum(
                tf.square(raw.TopKV2(input=x, k=k, sorted=False)[0]), -1), [x])
    file.op("TopKV2", [ties, np.int64(2)])
    # Both outputs: the indices have no gradient, and pick rows of another tensor here.
    file.raw(lambda x, rows: tf.gather(rows, raw.TopKV2(input=x, k=2)[1]) * 2.0,
             [random(4, 2, 5), random(5, 5, 3)])
    return file


def roundings():
    """Gradients of half, whose products and sums are rounded in TensorFlow's order."""
    file = GradientFile("roundings")
    # Whole vectors: TensorFlow computes the sigmoid of what is left over in other steps.
    x = np.abs(random(1, 64, dtype=np.float16))
    for function in (lambda a: tf.pow(a, 3.0), tf.math.log, tf.math.log1p, tf.nn.softplus,
                     tf.math.erf, tf.math.erfc, tf.nn.sigmoid, tf.nn.tanh, tf.math.exp):
        file.raw(function, [x], rtol=0, atol=0)
    factors = [random(seed, 64, dtype=np.float16) for seed in (2, 3, 4, 5)]
    file.raw(lambda a: sum(a * factor for factor in factors), [x], rtol=0, atol=0)
    file.raw(lambda a: tf.nn.gelu(a, approximate=True), [x], rtol=0, atol=0)
    return file


def batch_norms():
    """Gradients of the gradients of batch normalisation, of the first two versions."""
    file = GradientFile("batch_norms")
    x, scale = random(1, 2, 3, 2, 4), random(2, 4)
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    for op in (raw.FusedBatchNormGrad, raw.FusedBatchNormGradV2):
        for is_training in (True, False):

            def grad(dy, x, scale, mean, variance, op=op, is_training=is_training):
                return op(y_backprop=dy, x=x, scale=scale, reserve_space_1=mean,
                          reserve_space_2=variance, epsilon=1e-3, is_training=is_training)[:3]

            file.raw(lambda dy, x, scale, f=grad: f(dy, x, scale, mean, variance),
                     [random(3, *x.shape), x, scale], rtol=1e-3, atol=1e-4)
    return file


def passing_on():
    """What passes gradients on, with an effect of its own or none."""
    file = GradientFile("passing_on")
    x = random(1, 2, 3)
    file.raw(lambda x: raw.CheckNumericsV2(tensor=x * x, message="m"), [x])
    file.raw(lambda x: raw.Print(input=x * x, data=[x], message="value"), [x])

    file.raw(lambda x: debugged(x * x), [x])
    for bits, axis in ((4, -1), (8, 1)):
        shape = () if axis < 0 else (3,)
        lowest, highest = np.full(shape, -0.9, np.float32), np.full(shape, 1.2, np.float32)
        file.raw(
            lambda x, low, high, bits=bits, axis=axis: raw.QuantizeAndDequantizeV4(
                input=x, input_min=low, input_max=high, num_bits=bits, range_given=True, axis=axis),
            [x, lowest, highest])
    # No gradient flows through numbers of 8 bits.
    for narrow in (tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn):
        file.raw(lambda x, d=narrow: tf.cast(tf.cast(x, d), tf.float32) * 2 + x, [x])
    return file


def variants():
    """Optionals, composite tensors in variants, CSR matrices, ragged and sparse tensors."""
    file = GradientFile("variants")
    x, y = random(1, 2, 3), random(2, 4)

    def optional(x, y):
        boxed = raw.OptionalFromValue(components=[x * x, y])
        return raw.OptionalGetValue(optional=boxed, output_types=[tf.float32, tf.float32],
                                    output_shapes=[[2, 3], [4]])

    file.raw(optional, [x, y])

    def composite(values):
        sparse = tf.SparseTensor(_long([0, 1], [1, 0], [1, 2]), values * values, _long(2, 3))
        encoded = composite_tensor_ops.composite_tensor_to_variants(sparse)
        return composite_tensor_ops.composite_tensor_from_variant(
            encoded, tf.SparseTensorSpec([2, 3], tf.float32)).values

    file.raw(composite, [random(3, 3)])
    file.raw(
        lambda v: raw.RaggedTensorToSparse(
            rt_nested_splits=[_long(0, 2, 2, 3), _long(0, 1, 3, 6)], rt_dense_values=v * v
        ).sparse_values,
        [random(4, 6)])

    left = random(5, 3, 4) * (random(6, 3, 4) > 0)
    right = random(7, 4, 2) * (random(8, 4, 2) > 0)

    def csr(x):
        return raw.DenseToCSRSparseMatrix(dense_input=x, indices=tf.where(tf.not_equal(x, 0)))

    file.raw(lambda x: raw.CSRSparseMatrixToSparseTensor(
        sparse_matrix=csr(x), type=tf.float32).values, [left])
    file.raw(lambda x: raw.CSRSparseMatrixToDense(sparse_input=csr(x), type=tf.float32), [left])
    for transpose_a, transpose_b in ((False, False), (True, False), (False, True), (True, True)):
        def product(a, b, ta=transpose_a, tb=transpose_b):
            c = raw.SparseMatrixSparseMatMul(a=csr(a), b=csr(b), type=tf.float32, transpose_a=ta,
                                             transpose_b=tb)
            return raw.CSRSparseMatrixToDense(sparse_input=c, type=tf.float32)

        file.raw(product, [left.T.copy() if transpose_a else left,
                           right.T.copy() if transpose_b else right])
    return file


def sparse_and_dense():
    """Sparse tensors with dense ones, which are broadcast."""
    file = GradientFile("sparse_and_dense")
    where, values = _long([0, 0], [0, 2], [1, 2]), random(1, 3)
    for dense in (random(2, 2, 3), random(3, 3), random(4, 2, 1), random(5, 1, 1)):
        def call(op, x, y):
            return op(sp_indices=where, sp_values=x, sp_shape=_long(2, 3), dense=y)

        for op in (raw.SparseDenseCwiseMul, raw.SparseDenseCwiseDiv):
            file.raw(lambda x, y, op=op: call(op, x, y), [values, dense])
        # TensorFlow has no gradient of sums.
        file.raw(lambda x, y: call(raw.SparseDenseCwiseAdd, x, y), [values, dense],
                 oracle=lambda x, y: x + tf.gather_nd(tf.broadcast_to(y, [2, 3]), where))
    return file


def updated_slices():
    """Slices that are replaced by a value, which is broadcast to them."""
    file = GradientFile("updated_slices")
    begin, end, strides = np.int32([1, 0]), np.int32([3, 4]), np.int32([1, 2])
    for shape in ((2, 2), (2, 1), (1, 2), (2,), (1,), ()):
        file.op("TensorStridedSliceUpdate", [random(1, 3, 4), begin, end, strides,
                                             np.float32(random(2, *shape))])
    one = np.int32([1])
    for shape in ((4,), (1,)):
        file.op("TensorStridedSliceUpdate", [random(1, 3, 4), one, one + 1, one, random(2, *shape)],
                {"shrink_axis_mask": 1})
    return file


def scalar_limits():
    """Incomplete beta functions of a scalar, to which TensorFlow sums no gradient."""
    file = GradientFile("scalar_limits")
    exponents = np.array([1.5, 2, 0.7], np.float32)
    for a in (np.float32(0.5), exponents):
        file.raw(lambda x, a=a: tf.math.betainc(a, exponents, x), [np.float32(0.3)],
                 oracle=lambda x, a=a: tf.math.betainc(
                     tf.broadcast_to(a, [3]), exponents, tf.broadcast_to(x, [3])), rtol=1e-4)
    return file


def images():
    """Images that are resized in narrow dtypes, and colours with channels of 0."""
    file = GradientFile("images")
    for dtype in (np.float16, tf.bfloat16.as_numpy_dtype):
        file.raw(lambda x, s: raw.ResizeBicubic(images=x, size=[6, 3]) * s,
                 [random(1, 1, 4, 5, 2, dtype=dtype), np.float32(2)])
    channels = np.array([0, 0.3, 0.7, 1], np.float32)
    file.op("RGBToHSV", [np.stack(np.meshgrid(channels, channels, channels), -1)])
    file.op("RGBToHSV", [random(1, 6, 3)])
    return file


def diagonals():
    """Products that take a diagonal of an operand, since a label stands there twice."""
    file = GradientFile("diagonals")
    for equation, *shapes in (
        ("ii->", (3, 3)),
        ("iji->ji", (3, 2, 3)),
        ("iij,kj->ik", (3, 3, 2), (4, 2)),
        ("aab,bcc->ac", (2, 2, 3), (3, 4, 4)),
        ("...ii->...i", (2, 3, 3)),
        ("a...a,...b->b...a", (3, 2, 3), (2, 4)),
        ("i->ii", (3,)),
    ):
        file.op("Einsum", [random(i, *shape) for i, shape in enumerate(shapes)],
                {"equation": equation}, rtol=1e-4, atol=1e-5)
    return file


def cut_spectra():
    """Inverse transforms that take a part of their input: TensorFlow has no gradient of these."""
    file = GradientFile("cut_spectra")

    def spectrum(*shape):
        return (random(1, *shape) + 1j * random(2, *shape)).astype(np.complex64)

    for length in (6, 5):
        file.raw(lambda x, n=length: raw.IRFFT(input=x, fft_length=[n]), [spectrum(2, 6)],
                 oracle=lambda x, n=length: raw.IRFFT(input=x[:, :n // 2 + 1], fft_length=[n]))
        file.raw(lambda x, n=length: raw.IRFFT2D(input=x, fft_length=[3, n]), [spectrum(2, 4, 6)],
                 oracle=lambda x, n=length: raw.IRFFT2D(
                     input=x[:, :3, :n // 2 + 1], fft_length=[3, n]))
    return file


def close_values():
    """Decompositions whose eigenvalues or singular values nearly coincide."""
    file = GradientFile("close_values")
    tolerances = {"rtol": 1e-4, "atol": 1e-6}
    left, right = (np.linalg.qr(random(seed, 4, 4, dtype=np.float64))[0] for seed in (1, 2))
    values = np.diag([3e-9, 1e-9, 5e-9, 2e-9])
    file.raw(lambda x: tf.abs(tf.linalg.eigh(x)[1]), [left @ values @ left.T], **tolerances)
    general = left @ values @ right
    file.raw(lambda x: tf.abs(tf.linalg.eig(x)[1]), [left @ values @ np.linalg.inv(left)],
             **tolerances)
    for x in (general, general[:3], general[:, :3]):
        file.raw(lambda x: [tf.abs(t) for t in tf.linalg.svd(x)], [x], **tolerances)
    return file


def complex_matrices():
    """Decompositions of complex matrices."""
    file = GradientFile("complex_matrices")
    tolerances = {"rtol": 1e-8, "atol": 1e-8}

    def matrix(seed, *shape):
        return random(seed, *shape, dtype=np.float64) + 1j * random(seed + 1, *shape)

    x = matrix(1, 2, 3, 3)
    hermitian = x @ x.conj().transpose(0, 2, 1)
    for with_vectors in (True, False):
        file.raw(lambda x, v=with_vectors: [
            tf.abs(t) for t in raw.SelfAdjointEigV2(input=x, compute_v=v)][:1 + v],
                 [hermitian], **tolerances)
    file.raw(lambda x: raw.SelfAdjointEigV2(input=x, compute_v=False)[0], [hermitian], **tolerances)
    for rows, columns in ((3, 3), (4, 3), (3, 5)):
        for full in (False, True):
            if full and rows > columns:
                continue
            file.raw(lambda x, f=full: list(raw.Qr(input=x, full_matrices=f)),
                     [matrix(5, 2, rows, columns)], **tolerances)

    def root(x, **options):
        """Depends on the phases of the vectors on either side, but not on those of both."""
        s, u, v = raw.Svd(input=x, **options)
        k = s.shape[-1]
        scaled = u[..., :k] * tf.cast(tf.sqrt(s), u.dtype)[..., None, :]
        return tf.matmul(scaled, v[..., :k], adjoint_b=True)

    def same_root(x):
        """TensorFlow's gradient of complex singular vectors has a term twice."""
        if x.shape[-1] > x.shape[-2]:
            return tf.linalg.adjoint(same_root(tf.linalg.adjoint(x)))
        e, v = tf.linalg.eigh(tf.matmul(x, x, adjoint_a=True))
        scaled = v * tf.pow(e, tf.cast(-0.25, e.dtype))[..., None, :]
        return x @ tf.matmul(scaled, v, adjoint_b=True)

    for rows, columns in ((3, 3), (4, 3), (3, 4), (5, 2)):
        real = random(7, 2, rows, columns, dtype=np.float64)
        for x in (real, matrix(8, 2, rows, columns)):
            for full in (False, True)[:1 + (abs(rows - columns) <= 1)]:
                file.raw(lambda x, f=full: [
                    tf.abs(t) for t in raw.Svd(input=x, full_matrices=f)], [x], **tolerances)
                file.raw(lambda x, f=full: root(x, full_matrices=f), [x], oracle=same_root,
                         **tolerances)
    return file


def recurrent():
    """BlockLSTMV2: TensorFlow gives it the gradient of BlockLSTM, whose gates stand in another
    order, so that the oracle is the same recurrence in basic ops."""
    file = GradientFile("recurrent")
    cells, inputs, batch, steps = 3, 2, 2, 4

    def block(use_peephole, x, cs, h, w, wci, wcf, wco, b):
        out = raw.BlockLSTMV2(seq_len_max=np.int64(steps), x=x, cs_prev=cs, h_prev=h, w=w, wci=wci,
                              wcf=wcf, wco=wco, b=b, cell_clip=0, use_peephole=use_peephole)
        return [out.cs, out.h]

    def basic(use_peephole, x, cs, h, w, wci, wcf, wco, b):
        states, results = [], []
        for step in range(steps):
            i, f, g, o = tf.split(tf.concat([x[step], h], 1) @ w + b, 4, axis=1)
            if use_peephole:
                i, f = i + wci * cs, f + wcf * cs
            cs = tf.sigmoid(f) * cs + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o + wco * cs if use_peephole else o) * tf.tanh(cs)
            states.append(cs)
            results.append(h)
        return [tf.stack(states), tf.stack(results)]

    weights = [random(4, inputs + cells, 4 * cells), *(random(i, cells) for i in (5, 6, 7))]
    given = [random(9, steps, batch, inputs), random(2, batch, cells), random(3, batch, cells),
             *weights, random(8, 4 * cells)]
    for peephole in (False, True):
        file.raw(functools.partial(block, peephole), given,
                 oracle=functools.partial(basic, peephole), rtol=1e-3, atol=1e-4)
    return file


def compiled():
    """Ops that TensorFlow compiles alone."""
    file = GradientFile("compiled")

    @tf.function(jit_compile=True)
    def einsum(a, b):
        return gen_xla_ops.xla_einsum(a=a, b=b, equation="ij,jk->ik")

    file.raw(lambda a, b: einsum(a, b), [random(1, 2, 3), random(2, 3, 4)])

    @tf.function(jit_compile=True)
    def sharded(a):
        return gen_xla_ops.xla_sharding(input=a * a, sharding="")

    file.raw(lambda a: sharded(a), [random(1, 2, 3)])

    for largest in (True, False):
        @tf.function(jit_compile=True)
        def nearest(a, largest=largest):
            return raw.ApproxTopK(input=a, k=3, reduction_dimension=1, is_max_k=largest)[0]

        file.raw(lambda a, f=nearest: f(a), [random(1, 2, 7, 3)])
    return file


FILES = (earlier_versions, pools, largest, roundings, batch_norms, passing_on, variants,
         sparse_and_dense, updated_slices, scalar_limits, images, diagonals, cut_spectra,
         close_values, complex_matrices, recurrent, compiled, *rare_flow_gradient_cases.FILES)


if __name__ == "__main__":
    for make in FILES:
        make().write(sys.argv[1])
