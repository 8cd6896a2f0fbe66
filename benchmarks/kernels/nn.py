"""Neural networks: products, convolutions, pooling, normalisation, recurrent cells, quantised ops."""

import numpy as np
import tensorflow as tf

from kernels.case import (Case, bfloat16s, floats, integers, uniform, weight)

raw = tf.raw_ops


def conv(filters, strides=1, padding="SAME", dilations=1):
    return lambda x: tf.nn.conv2d(x, weight(*filters), strides, padding, dilations=dilations)


def depthwise(size, channels, stride=1):
    strides = [1, stride, stride, 1]
    return lambda x: tf.nn.depthwise_conv2d(x, weight(size, size, channels, 1), strides, "SAME")


def layer_norm(x, gamma, beta):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-6) * gamma + beta


def attention(q, k, v):
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.125)
    return tf.matmul(weights, v)


def batch_norm(x):
    channels = x.shape[-1]
    return raw.FusedBatchNormV3(x=x, scale=weight(channels) + 1.0, offset=weight(channels),
                                mean=weight(channels), variance=tf.abs(weight(channels)) + 1.0,
                                is_training=False).y


def block_lstm(x):
    units, width = 128, x.shape[2]
    zero = tf.zeros([x.shape[1], units])
    return raw.BlockLSTMV2(seq_len_max=np.int64(x.shape[0]), x=x, cs_prev=zero, h_prev=zero,
                           w=weight(width + units, 4 * units), wci=tf.zeros([units]),
                           wcf=tf.zeros([units]), wco=tf.zeros([units]),
                           b=weight(4 * units)).h


def lstm_cell(x, cs, h):
    units = cs.shape[1]
    out = raw.LSTMBlockCell(x=x, cs_prev=cs, h_prev=h, w=weight(x.shape[1] + units, 4 * units),
                            wci=tf.zeros([units]), wcf=tf.zeros([units]), wco=tf.zeros([units]),
                            b=weight(4 * units))
    return out.cs, out.h


def gru_cell(x, h):
    units = h.shape[1]
    width = x.shape[1] + units
    return raw.GRUBlockCell(x=x, h_prev=h, w_ru=weight(width, 2 * units), w_c=weight(width, units),
                            b_ru=weight(2 * units), b_c=weight(units)).h


def lstm_loop(x):
    """Keras's LSTM without its cuDNN branch: a while loop over time."""
    units, width = 128, x.shape[2]
    kernel, recurrent, bias = weight(width, 4 * units), weight(units, 4 * units), weight(4 * units)

    def step(state, at):
        h, c = state
        z = tf.matmul(at, kernel) + tf.matmul(h, recurrent) + bias
        i, f, g, o = tf.split(z, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    inputs = tf.TensorArray(tf.float32, x.shape[0]).unstack(x)
    zero = tf.zeros([x.shape[1], units])
    _, h, _ = tf.while_loop(lambda t, *_: t < x.shape[0],
                            lambda t, h, c: (t + 1, *step((h, c), inputs.read(t))), (0, zero, zero))
    return h


def quantized_matmul(x):
    """A dense layer with weights of int8, which are scaled back before the product."""
    values = np.random.default_rng(3).integers(-127, 128, (768, 3072), dtype=np.int8)
    return tf.matmul(x, tf.cast(tf.constant(values), tf.float32) * 0.01)


def fake_quantized(x):
    return tf.quantization.fake_quant_with_min_max_args(x, -6, 6)


def quantized_conv(x):
    filters = np.random.default_rng(3).integers(0, 255, (3, 3, 64, 64), dtype=np.uint8)
    image = raw.QuantizeV2(input=x, min_range=-3.0, max_range=3.0, T=tf.quint8)
    return raw.QuantizedConv2D(
        input=image.output, filter=tf.bitcast(tf.constant(filters), tf.quint8),
        min_input=image.output_min, max_input=image.output_max, min_filter=-1.0, max_filter=1.0,
        strides=[1, 1, 1, 1], padding="SAME").output


def quantize_dequantize(x):
    q = raw.QuantizeV2(input=x, min_range=-3.0, max_range=3.0, T=tf.qint8, mode="SCALED")
    return raw.Dequantize(input=q.output, min_range=q.output_min, max_range=q.output_max,
                          mode="SCALED")


CASES = [
    Case("MatMul 128x768x3072", lambda x: tf.matmul(x, weight(768, 3072)), [floats(128, 768)]),
    Case("MatMul 1x1024x1024", lambda x: tf.matmul(x, weight(1024, 1024)), [floats(1, 1024)]),
    Case("MatMul 512x13x512, DLRM", lambda x: tf.matmul(x, weight(13, 512)), [floats(512, 13)]),
    Case("MatMul 512x256x1", lambda x: tf.matmul(x, weight(256, 1)), [floats(512, 256)]),
    Case("MatMul 512x512x512, both fed", tf.matmul, [floats(512, 512)] * 2),
    Case("MatMul 512x512x512, transposed", lambda x, y: tf.matmul(x, y, transpose_a=True),
         [floats(512, 512)] * 2),
    Case("MatMul bfloat16 128x768x3072",
         lambda x: tf.matmul(x, weight(768, 3072, dtype=tf.bfloat16)), [bfloat16s(128, 768)],
         tolerance=2e-2),
    Case("MatMul bfloat16 1x2048x2048",
         lambda x: tf.matmul(x, weight(2048, 2048, dtype=tf.bfloat16)), [bfloat16s(1, 2048)],
         tolerance=2e-2),
    Case("MatMul double 256x256x256", tf.matmul,
         [lambda rng: rng.standard_normal((256, 256))] * 2),
    Case("MatMul int8 weights 128x768x3072", quantized_matmul, [floats(128, 768)]),
    Case("BatchMatMulV2 96x128x64x128, scores", lambda q, k: tf.matmul(q, k, transpose_b=True),
         [floats(8, 12, 128, 64)] * 2),
    Case("BatchMatMulV2 512x27x16x27, DLRM", lambda x: tf.matmul(x, x, transpose_b=True),
         [floats(512, 27, 16)]),
    Case("BatchMatMulV2 12x1x64x512, a token", tf.matmul, [floats(12, 1, 64), floats(12, 64, 512)]),
    Case("Einsum btd,dnh->btnh", lambda x: tf.einsum("btd,dnh->btnh", x, weight(768, 12, 64)),
         [floats(2, 128, 768)]),
    Case("Einsum btnh,bsnh->bnts", lambda q, k: tf.einsum("btnh,bsnh->bnts", q, k),
         [floats(2, 128, 12, 64)] * 2),
    Case("Einsum bnts,bsnh->btnh", lambda w, v: tf.einsum("bnts,bsnh->btnh", w, v),
         [floats(2, 12, 128, 128), floats(2, 128, 12, 64)]),
    Case("Attention 12x128x64", attention, [floats(1, 12, 128, 64)] * 3),
    Case("Conv2D 3x3 64, 56x56", conv((3, 3, 64, 64)), [floats(1, 56, 56, 64)]),
    Case("Conv2D 1x1 256 to 64, 56x56", conv((1, 1, 256, 64)), [floats(1, 56, 56, 256)]),
    Case("Conv2D 7x7 stride 2, 224x224x3", conv((7, 7, 3, 64), 2), [floats(1, 224, 224, 3)]),
    Case("Conv2D 3x3 stride 2, 128, 28x28", conv((3, 3, 128, 128), 2), [floats(4, 28, 28, 128)]),
    Case("Conv2D 3x3 dilated, 65x65x64", conv((3, 3, 64, 64), dilations=2),
         [floats(1, 65, 65, 64)]),
    Case("Conv2D grouped 3x3, 32 groups", conv((3, 3, 4, 128)), [floats(1, 56, 56, 128)]),
    Case("Conv2D bfloat16 3x3 64, 56x56",
         lambda x: tf.nn.conv2d(x, weight(3, 3, 64, 64, dtype=tf.bfloat16), 1, "SAME"),
         [bfloat16s(1, 56, 56, 64)], tolerance=2e-2),
    Case("Conv1D 3, 80 to 384, 3000", lambda x: tf.nn.conv1d(x, weight(3, 80, 384), 1, "SAME"),
         [floats(1, 3000, 80)]),
    Case("Conv1D causal 2, 64, 4096, WaveNet",
         lambda x: tf.nn.conv1d(x, weight(2, 64, 64), 1, "VALID", dilations=4),
         [floats(1, 4096, 64)]),
    Case("Conv3D 3x3x3 32, 16x28x28",
         lambda x: tf.nn.conv3d(x, weight(3, 3, 3, 32, 32), [1] * 5, "SAME"),
         [floats(1, 16, 28, 28, 32)]),
    Case("Conv3D 3x3x3 3 to 64, 16x56x56",
         lambda x: tf.nn.conv3d(x, weight(3, 3, 3, 3, 64), [1] * 5, "SAME"),
         [floats(1, 16, 56, 56, 3)]),
    Case("Conv2DBackpropInput 4x4 stride 2, 32x32x128",
         lambda x: tf.nn.conv2d_transpose(x, weight(4, 4, 64, 128), [1, 64, 64, 64], 2),
         [floats(1, 32, 32, 128)]),
    Case("DepthwiseConv2dNative 3x3, 56x56x144", depthwise(3, 144), [floats(1, 56, 56, 144)]),
    Case("DepthwiseConv2dNative 5x5 stride 2, 28x28x240", depthwise(5, 240, 2),
         [floats(4, 28, 28, 240)]),
    Case("DepthwiseConv2dNative 3x3, 7x7x960", depthwise(3, 960), [floats(8, 7, 7, 960)]),
    Case("Dilation2D 3x3, 64x64x16",
         lambda x: tf.nn.dilation2d(x, weight(3, 3, 16), [1] * 4, "SAME", "NHWC", [1] * 4),
         [floats(1, 64, 64, 16)]),
    Case("MaxPool 3x3 stride 2, 112x112x64", lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"),
         [floats(1, 112, 112, 64)]),
    Case("MaxPool 2x2, 8x28x28x128", lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
         [floats(8, 28, 28, 128)]),
    Case("AvgPool 3x3, 35x35x192", lambda x: tf.nn.avg_pool2d(x, 3, 1, "SAME"),
         [floats(1, 35, 35, 192)]),
    Case("MaxPool3D 2, 16x28x28x32", lambda x: tf.nn.max_pool3d(x, 2, 2, "SAME"),
         [floats(1, 16, 28, 28, 32)]),
    Case("AvgPool3D 2, 16x28x28x32", lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"),
         [floats(1, 16, 28, 28, 32)]),
    Case("MaxPoolWithArgmax 2x2, 64x64x32",
         lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME"), [floats(1, 64, 64, 32)]),
    Case("FractionalMaxPool 1.44, 56x56x32",
         lambda x: raw.FractionalMaxPool(value=x, pooling_ratio=[1.0, 1.44, 1.44, 1.0],
                                         deterministic=True, seed=3, seed2=4)[0],
         [floats(2, 56, 56, 32)], tolerance=float("inf")),
    Case("FusedBatchNormV3 8x56x56x64", batch_norm, [floats(8, 56, 56, 64)]),
    Case("LayerNorm 1024x768", lambda x: layer_norm(x, weight(768), weight(768)),
         [floats(8, 128, 768)]),
    Case("LRN 27x27x192", lambda x: tf.nn.local_response_normalization(x, 5),
         [floats(1, 27, 27, 192)]),
    Case("Softmax 96x128x128", tf.nn.softmax, [floats(8, 12, 128, 128)]),
    Case("Softmax 64x1000", tf.nn.softmax, [floats(64, 1000)]),
    Case("LogSoftmax 128x32000", tf.nn.log_softmax, [floats(128, 32000)]),
    Case("SoftmaxCrossEntropy 256x1000",
         lambda x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x),
         [floats(256, 1000), integers(1000, 256)]),
    Case("BiasAdd 8x56x56x64", lambda x: tf.nn.bias_add(x, weight(64)), [floats(8, 56, 56, 64)]),
    Case("L2Normalize 1024x256", lambda x: tf.math.l2_normalize(x, -1), [floats(1024, 256)]),
    Case("L2Loss 1048576", tf.nn.l2_loss, [floats(1048576)], tolerance=1e-3),
    Case("LSTMBlockCell 32x128, 256 units", lstm_cell,
         [floats(32, 128), floats(32, 256), floats(32, 256)]),
    Case("GRUBlockCell 32x128, 256 units", gru_cell, [floats(32, 128), floats(32, 256)]),
    Case("BlockLSTMV2 100x8x64, 128 units", block_lstm, [floats(100, 8, 64)]),
    Case("LSTM loop 50x8x64, 128 units", lstm_loop, [floats(50, 8, 64)]),
    Case("CTCGreedyDecoder 200x4x80", lambda x: raw.CTCGreedyDecoder(
        inputs=x, sequence_length=tf.fill([4], 200), merge_repeated=True), [floats(200, 4, 80)]),
    Case("CTCBeamSearchDecoder 100x1x30, 25 beams", lambda x: raw.CTCBeamSearchDecoder(
        inputs=x, sequence_length=tf.fill([1], 100), beam_width=25, top_paths=1,
        merge_repeated=False), [uniform(-5, 5, 100, 1, 30)]),
    Case("CTCLoss 200x8x80", lambda x, i: raw.CTCLoss(
        inputs=x, labels_indices=tf.constant([[b, t] for b in range(8) for t in range(40)], tf.int64),
        labels_values=i, sequence_length=tf.fill([8], 200)).loss,
         [floats(200, 8, 80), integers(79, 320)]),
    Case("QuantizeV2 and Dequantize 262144", quantize_dequantize, [uniform(-3, 3, 262144)]),
    Case("FakeQuantWithMinMaxArgs 262144", fake_quantized, [floats(262144)]),
    Case("QuantizedConv2D 3x3 64, 28x28", quantized_conv, [uniform(-3, 3, 1, 28, 28, 64)]),
    Case("QuantizeAndDequantizeV2 262144",
         lambda x: tf.quantization.quantize_and_dequantize_v2(x, -3.0, 3.0), [floats(262144)]),
]
