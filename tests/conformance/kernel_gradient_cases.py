"""Gradients of sequences, ragged and sparse tensors, samples, matrix functions; see gradient_cases."""

import numpy as np
import tensorflow as tf

from conformance.gradient_recording import GradientFile, random

raw = tf.raw_ops
_LOOSE = {"rtol": 1e-3, "atol": 1e-3}


def _int(*values):
    return np.array(values, np.int32)


def _long(*values):
    return np.array(values, np.int64)


def sequences():
    """CTC, LSTM blocks, isotonic regression, pools of random regions."""
    file = GradientFile("sequences")
    logits = random(1, 5, 2, 4)
    labels = {
        "labels_indices": np.int64([[0, 0], [0, 1], [1, 0]]),
        "labels_values": _int(0, 2, 1),
        "sequence_length": _int(5, 4),
    }
    file.raw(lambda x: raw.CTCLoss(inputs=x, **labels)[0], [logits], **_LOOSE)
    cells, inputs, batch, steps = 3, 2, 2, 4
    state = [random(2, batch, cells), random(3, batch, cells)]
    weights = [random(4, inputs + cells, 4 * cells), *(random(i, cells) for i in (5, 6, 7))]
    x = random(9, steps, batch, inputs)
    # Not of BlockLSTMV2, whose gates stand in another order: TensorFlow gives it the gradient of the
    # first version, which takes the gates for each other.
    for peephole in (False, True):

        def block(x, cs, h, w, wci, wcf, wco, b, peephole=peephole):
            given = dict(x=x, cs_prev=cs, h_prev=h, w=w, wci=wci, wcf=wcf, wco=wco, b=b)
            out = raw.BlockLSTM(seq_len_max=np.int64(steps), use_peephole=peephole, **given)
            return [out.cs, out.h]

        file.raw(block, [x, *state, *weights, random(8, 4 * cells)], **_LOOSE)
    file.raw(lambda x: raw.IsotonicRegression(input=x)[0], [random(1, 3, 6)])
    image = random(1, 1, 6, 7, 2)
    for op in (raw.FractionalMaxPool, raw.FractionalAvgPool):
        for overlapping in (False, True):
            pool = {"pooling_ratio": [1.0, 1.4, 1.7, 1.0], "overlapping": overlapping}
            file.raw(
                lambda x, op=op, pool=pool: op(
                    value=x, deterministic=True, seed=3, seed2=4, **pool
                )[0],
                [image],
            )
    return file


def ragged():
    """Ragged tensors to and from other forms."""
    file = GradientFile("ragged")
    splits = [_long(0, 2, 2, 3), _long(0, 1, 3, 6)]
    values = random(1, 6, 2)
    file.raw(
        lambda v: raw.RaggedGather(
            params_nested_splits=splits,
            params_dense_values=v,
            indices=_int(2, 0, 2),
            OUTPUT_RAGGED_RANK=2,
        ).output_dense_values,
        [values],
    )
    for default in (np.float32(7), random(2, 2)):
        file.raw(
            lambda v, d: raw.RaggedTensorToTensor(
                shape=_long(-1, -1, -1, -1),
                values=v,
                default_value=d,
                row_partition_tensors=splits,
                row_partition_types=["ROW_SPLITS", "ROW_SPLITS"],
            ),
            [values, default],
        )
    file.raw(
        lambda v, d: raw.RaggedTensorToTensor(
            shape=_long(3, 2),
            values=v,
            default_value=d,
            row_partition_tensors=[np.int64(4), _long(0, 0, 2, 2, 2)],
            row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
        ),
        [random(3, 5), np.float32(1)],
    )

    def there_and_back(v, batched):
        variant = raw.RaggedTensorToVariant(
            rt_nested_splits=splits, rt_dense_values=v, batched_input=batched
        )
        return raw.RaggedTensorFromVariant(
            encoded_ragged=variant,
            input_ragged_rank=1 if batched else 2,
            output_ragged_rank=2,
            Tvalues=tf.float32,
        ).output_dense_values

    def flat_rows(v):
        variants = raw.RaggedTensorToVariant(
            rt_nested_splits=[], rt_dense_values=v, batched_input=True
        )
        return raw.RaggedTensorFromVariant(
            encoded_ragged=variants, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32
        ).output_dense_values

    def one_row(v):
        variants = raw.RaggedTensorToVariant(
            rt_nested_splits=[_long(0, 2, 2, 6)], rt_dense_values=v, batched_input=True
        )
        return raw.RaggedTensorFromVariant(
            encoded_ragged=variants[2],
            input_ragged_rank=0,
            output_ragged_rank=0,
            Tvalues=tf.float32,
            Tsplits=tf.int64,
        ).output_dense_values

    file.raw(lambda v: there_and_back(v, True), [values])
    file.raw(lambda v: there_and_back(v, False), [values])
    file.raw(flat_rows, [values])
    file.raw(one_row, [values])
    file.raw(
        lambda v, d: raw.RaggedFillEmptyRows(
            value_rowids=_long(0, 2, 2), values=v, nrows=np.int64(4), default_value=d
        ).output_values,
        [random(4, 3), np.float32(2)],
    )
    return file


def sparse_sums():
    """Sums of sparse tensors, and products of matrices with zeros."""
    file = GradientFile("sparse_sums")
    a = {"a_indices": np.int64([[0, 0], [1, 2]]), "a_shape": _long(2, 3)}
    b = {"b_indices": np.int64([[0, 0], [0, 1], [1, 0]]), "b_shape": _long(2, 3)}
    for threshold in (0.0, 0.5):
        file.raw(
            lambda x, y, threshold=threshold: raw.SparseAdd(
                a_values=x, b_values=y, thresh=np.float32(threshold), **a, **b
            ).sum_values,
            [random(1, 2), random(2, 3)],
        )
    for transpose in (False, True):
        left = random(3, 2, 3).T.copy() if transpose else random(3, 2, 3)
        file.op("SparseMatMul", [left, random(4, 3, 4)], {"transpose_a": transpose}, rtol=1e-4)
        right = random(4, 3, 4).T.copy()
        file.op(
            "SparseMatMul",
            [left, right],
            {"transpose_a": transpose, "transpose_b": True},
            rtol=1e-4,
        )
    return file


def matrix_functions():
    """Decompositions and banded matrices."""
    file = GradientFile("matrix_functions")
    matrix = random(1, 2, 3, 3) + 3 * np.eye(3, dtype=np.float32)
    positive = matrix @ matrix.transpose(0, 2, 1) / 9 + np.eye(3, dtype=np.float32)
    distinct = np.float32([[1, 0.2, 0.1], [0.3, 3, -0.2], [0.1, 0.2, 6]])
    # The signs and phases of vectors are not defined.
    file.raw(lambda x: tf.abs(raw.Eig(input=x, Tout=tf.complex64)[0]), [distinct], **_LOOSE)
    file.raw(
        lambda x: raw.Eig(input=x, Tout=tf.complex64, compute_v=False)[0], [distinct], **_LOOSE
    )
    file.raw(
        lambda x: [tf.abs(part) for part in raw.Eig(input=x, Tout=tf.complex64)],
        [distinct],
        **_LOOSE,
    )
    for rows, columns in ((3, 3), (4, 3), (3, 4)):
        x = random(5, 2, rows, columns)
        file.raw(lambda x: [tf.abs(part) for part in raw.Svd(input=x)], [x], **_LOOSE)
        file.raw(lambda x: raw.Svd(input=x, compute_uv=False)[0], [x], **_LOOSE)
    file.raw(
        lambda x: [tf.abs(part) for part in raw.Svd(input=x, full_matrices=True)],
        [random(6, 3, 3)],
        **_LOOSE,
    )
    file.op("MatrixSquareRoot", [positive], **_LOOSE)
    for lower in (False, True):
        for adjoint in (False, True):
            attrs = {"lower": lower, "adjoint": adjoint}
            file.op(
                "BandedTriangularSolve",
                [np.abs(random(7, 2, 2, 4)) + 1, random(8, 2, 4, 2)],
                attrs,
                **_LOOSE,
            )
    diagonals = random(9, 2, 3, 4) + np.float32([[0], [4], [0]])
    right = random(10, 2, 4, 3)
    file.op("TridiagonalSolve", [diagonals, right], **_LOOSE)
    file.op("TridiagonalMatMul", [*(random(i, 2, 1, 4) for i in (1, 2, 3)), right], **_LOOSE)
    return file


def samples_and_colours():
    """Random numbers by their parameters, and colours."""
    file = GradientFile("samples_and_colours")
    seed = _int(3, 4)
    alpha = np.abs(random(1, 3)) + np.float32(0.5)
    file.raw(
        lambda a: raw.StatelessRandomGammaV2(shape=_int(2, 4, 3), seed=seed, alpha=a),
        [alpha],
        **_LOOSE,
    )
    file.raw(
        lambda a: raw.StatelessRandomGammaV3(
            shape=_int(2, 3), key=np.uint64([1]), counter=np.uint64([2, 3]), alg=1, alpha=a
        ),
        [alpha],
        **_LOOSE,
    )
    file.raw(
        lambda a: raw.RandomGamma(shape=_int(4), alpha=a, seed=5, seed2=6), [alpha], **_LOOSE
    )
    file.raw(
        lambda m, s, low, high: raw.StatelessParameterizedTruncatedNormal(
            shape=_int(2, 3), seed=seed, means=m, stddevs=s, minvals=low, maxvals=high
        ),
        [
            np.float32([0.1, -0.2, 0.3]),
            np.float32([1, 0.5, 2]),
            np.float32([-1, -1, -2]),
            np.float32([1.5, 1, 0.5]),
        ],
        **_LOOSE,
    )
    colours = np.float32([[0.2, 0.5, 0.9], [0.8, 0.1, 0.3], [0.3, 0.7, 0.2], [0.5, 0.4, 0.1]])
    file.op("RGBToHSV", [colours], rtol=1e-4, atol=1e-4)
    return file


def normalisation():
    """Batch norms: the gradients of their gradients."""
    file = GradientFile("normalisation")
    x, dy, scale = random(1, 2, 2, 3, 2), random(2, 2, 2, 3, 2), random(3, 2)
    mean, variance = random(4, 2), np.abs(random(5, 2)) + np.float32(0.5)
    for training in (True, False):
        for output in range(3):

            def norm_grad(dy, x, s, training=training, output=output):
                return raw.FusedBatchNormGradV3(
                    y_backprop=dy, x=x, scale=s, reserve_space_1=mean, reserve_space_2=variance,
                    reserve_space_3=mean, is_training=training, epsilon=0.01)[output]

            file.raw(norm_grad, [dy, x, scale], **_LOOSE)
    return file


def csr_matrices():
    """Compressed sparse row matrices."""
    file = GradientFile("csr_matrices")
    indices = np.int64([[0, 1], [1, 0], [1, 2], [3, 2]])
    values, dense = random(1, 4), random(2, 3, 2)

    def matrix(v):
        return raw.SparseTensorToCSRSparseMatrix(indices=indices, values=v,
                                                 dense_shape=np.int64([4, 3]))

    for form in ({}, {"transpose_a": True}, {"adjoint_a": True}, {"transpose_b": True},
                 {"adjoint_b": True}, {"transpose_output": True},
                 {"transpose_a": True, "transpose_b": True, "transpose_output": True}):
        right = dense
        if "transpose_a" in form or "adjoint_a" in form:
            right = random(3, 4, 2)
        if "transpose_b" in form or "adjoint_b" in form:
            right = np.ascontiguousarray(right.T)
        file.raw(lambda v, b, form=form: raw.SparseMatrixMatMul(a=matrix(v), b=b, **form),
                 [values, right], **_LOOSE)
    batch = np.int64([[0, 0, 1], [0, 1, 0], [1, 1, 2], [1, 3, 2]])
    file.raw(lambda v, b: raw.SparseMatrixMatMul(
        a=raw.SparseTensorToCSRSparseMatrix(indices=batch, values=v,
                                            dense_shape=np.int64([2, 4, 3])), b=b),
             [values, random(4, 2, 3, 2)], **_LOOSE)
    file.raw(lambda v: raw.CSRSparseMatrixToDense(
        sparse_input=raw.SparseMatrixTranspose(input=matrix(v), type=tf.float32),
        type=tf.float32), [values], **_LOOSE)
    return file


FILES = (csr_matrices, normalisation, sequences, ragged, sparse_sums, matrix_functions, samples_and_colours)
