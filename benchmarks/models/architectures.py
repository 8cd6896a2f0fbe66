"""Architectures of recommendation, language, speech and series, with random weights.

Each function returns what holds the variables, a tf.function with the result "output", and the specs
of its arguments. inputs() makes arguments for them.
"""

import numpy as np
import tensorflow as tf

LSTM_STEPS, LSTM_FEATURES = 100, 64
DLRM_TABLES, DLRM_ROWS, DLRM_DENSE = 26, 10000, 13
WHISPER_FRAMES, WHISPER_MELS = 3000, 80
LLAMA_WIDTH, LLAMA_HEADS, LLAMA_LAYERS, LLAMA_HIDDEN = 512, 8, 4, 1376
LLAMA_WORDS, LLAMA_TOKENS = 8000, 128


class Weights(tf.Module):
    """Variables with random values, and the layers that use them."""

    def __init__(self):
        super().__init__()
        self._random = tf.random.Generator.from_seed(1)
        self._kept = []

    def weight(self, *shape, scale=None, mean=0.0):
        scale = scale or shape[0] ** -0.5
        variable = tf.Variable(self._random.normal(shape, mean=mean, stddev=scale))
        self._kept.append(variable)
        return variable

    def dense(self, rows, columns):
        kernel, bias = self.weight(rows, columns), self.weight(columns, scale=0.1)
        return lambda x: tf.matmul(x, kernel) + bias

    def layer_norm(self, width):
        scale, offset = self.weight(width, scale=0.1, mean=1.0), self.weight(width, scale=0.1)

        def norm(x):
            mean = tf.reduce_mean(x, -1, keepdims=True)
            variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
            return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + offset

        return norm


def split_heads(x, heads):
    shape = tf.shape(x)
    parts = tf.reshape(x, (shape[0], shape[1], heads, x.shape[-1] // heads))
    return tf.transpose(parts, (0, 2, 1, 3))


def join_heads(x):
    shape = tf.shape(x)
    return tf.reshape(tf.transpose(x, (0, 2, 1, 3)), (shape[0], shape[2], x.shape[1] * x.shape[3]))


def attend(query, key, value):
    scores = tf.matmul(query, key, transpose_b=True) * (1.0 / query.shape[-1] ** 0.5)
    return tf.matmul(tf.nn.softmax(scores), value)


def gelu(x):
    """By Erf, which ONNX has; tf.nn.gelu is made of Erfc."""
    return 0.5 * x * (1.0 + tf.math.erf(x * 0.5**0.5))


def lstm():
    """Keras's LSTM, twice, over a series of features."""
    import keras

    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.layers.Input((LSTM_STEPS, LSTM_FEATURES)),
        keras.layers.LSTM(128, return_sequences=True), keras.layers.LSTM(128),
        keras.layers.Dense(16)])
    function = tf.function(lambda series: {"output": model(series, training=False)})
    spec = tf.TensorSpec((None, LSTM_STEPS, LSTM_FEATURES), tf.float32, name="series")
    return [x.value for x in model.weights], function, [spec]


def dlrm():
    """Naumov et al., 2019: embeddings and dense features, whose pairs interact by inner products."""
    w = Weights()
    width = 64
    bottom = [w.dense(DLRM_DENSE, 512), w.dense(512, 256), w.dense(256, width)]
    tables = [w.weight(DLRM_ROWS, width, scale=0.1) for _ in range(DLRM_TABLES)]
    pairs = [i * (DLRM_TABLES + 1) + j for i in range(DLRM_TABLES + 1) for j in range(i)]
    top = [w.dense(width + len(pairs), 512), w.dense(512, 256), w.dense(256, 1)]

    def call(dense, ids):
        for layer in bottom:
            dense = tf.nn.relu(layer(dense))
        features = [dense] + [tf.gather(table, ids[:, i]) for i, table in enumerate(tables)]
        stacked = tf.stack(features, 1)
        products = tf.reshape(tf.matmul(stacked, stacked, transpose_b=True),
                              (-1, (DLRM_TABLES + 1) ** 2))
        x = tf.concat([dense, tf.gather(products, pairs, axis=1)], 1)
        for layer in top[:-1]:
            x = tf.nn.relu(layer(x))
        return {"output": tf.sigmoid(top[-1](x))}

    return w, tf.function(call), [tf.TensorSpec((None, DLRM_DENSE), tf.float32, name="dense"),
                                  tf.TensorSpec((None, DLRM_TABLES), tf.int32, name="ids")]


def whisper_encoder():
    """The encoder of Whisper tiny: two convolutions over the spectrogram, four layers of 384."""
    w = Weights()
    width, heads, frames = 384, 6, WHISPER_FRAMES // 2
    filters = [w.weight(3, WHISPER_MELS, width, scale=0.06), w.weight(3, width, width, scale=0.03)]
    biases = [w.weight(width, scale=0.1) for _ in filters]
    positions = w.weight(frames, width, scale=0.1)
    layers = [{"norm1": w.layer_norm(width), "norm2": w.layer_norm(width),
               **{name: w.dense(width, width) for name in ("query", "key", "value", "out")},
               "inner": w.dense(width, 4 * width), "outer": w.dense(4 * width, width)}
              for _ in range(4)]
    last = w.layer_norm(width)

    def call(mel):
        x = mel
        for kernel, bias, stride in zip(filters, biases, (1, 2)):
            padded = tf.pad(x, [[0, 0], [1, 1], [0, 0]])
            x = gelu(tf.nn.conv1d(padded, kernel, stride, "VALID") + bias)
        x += positions
        for layer in layers:
            y = layer["norm1"](x)
            q, k, v = (split_heads(layer[name](y), heads) for name in ("query", "key", "value"))
            x += layer["out"](join_heads(attend(q, k, v)))
            x += layer["outer"](gelu(layer["inner"](layer["norm2"](x))))
        return {"output": last(x)}

    return w, tf.function(call), [tf.TensorSpec((None, WHISPER_FRAMES, WHISPER_MELS), tf.float32,
                                                name="mel")]


class Llama(Weights):
    """A decoder as LLaMA's (Touvron et al., 2023): RMSNorm, rotary positions, SwiGLU."""

    def __init__(self):
        super().__init__()
        width = LLAMA_WIDTH
        self.words = self.weight(LLAMA_WORDS, width, scale=1.0)
        self.layers = [{name: self.weight(width, width)
                        for name in ("query", "key", "value", "out")} |
                       {"norm1": self.weight(width, scale=0.1, mean=1.0),
                        "norm2": self.weight(width, scale=0.1, mean=1.0),
                        "gate": self.weight(width, LLAMA_HIDDEN),
                        "up": self.weight(width, LLAMA_HIDDEN),
                        "down": self.weight(LLAMA_HIDDEN, width)} for _ in range(LLAMA_LAYERS)]
        self.norm = self.weight(width, scale=0.1, mean=1.0)
        self.head = self.weight(width, LLAMA_WORDS)

    def run(self, ids, first, cache):
        """The logits after the last of `ids`, [batch, tokens], which stand at `first` and so on.
        `cache`: keys and values of the tokens before them, [batch, layers, 2, heads, first, size];
        None: there are none."""
        size, tokens = LLAMA_WIDTH // LLAMA_HEADS, ids.shape[1]
        angles = np.outer(np.arange(first, first + tokens),
                          10000.0 ** (-np.arange(0, size, 2) / size))
        cos, sin = (np.concatenate([f(angles)] * 2, 1).astype(np.float32) for f in (np.cos, np.sin))

        def norm(x, scale):
            return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-6) * scale

        def rotate(x):
            left, right = tf.split(x, 2, -1)
            return x * cos + tf.concat([-right, left], -1) * sin

        x = tf.gather(self.words, ids)
        for i, layer in enumerate(self.layers):
            y = norm(x, layer["norm1"])
            query, key, value = (split_heads(tf.matmul(y, layer[name]), LLAMA_HEADS)
                                 for name in ("query", "key", "value"))
            query, key = rotate(query), rotate(key)
            if cache is not None:
                key = tf.concat([cache[:, i, 0], key], 2)
                value = tf.concat([cache[:, i, 1], value], 2)
            scores = tf.matmul(query, key, transpose_b=True) * size**-0.5
            if tokens > 1:
                scores += np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)
            mixed = join_heads(tf.matmul(tf.nn.softmax(scores), value))
            x += tf.matmul(mixed, layer["out"])
            y = norm(x, layer["norm2"])
            gate = tf.matmul(y, layer["gate"])
            x += tf.matmul(gate * tf.sigmoid(gate) * tf.matmul(y, layer["up"]), layer["down"])
        return {"output": tf.matmul(norm(x[:, -1], self.norm), self.head)}


def llama_prefill():
    """The decoder over a prompt."""
    w = Llama()
    function = tf.function(lambda ids: w.run(ids, 0, None))
    return w, function, [tf.TensorSpec((None, LLAMA_TOKENS), tf.int32, name="ids")]


def llama_token():
    """The decoder over one more token, after a prompt whose keys and values are given."""
    w = Llama()
    function = tf.function(lambda ids, cache: w.run(ids, LLAMA_TOKENS, cache))
    return w, function, [tf.TensorSpec((None, 1), tf.int32, name="ids"),
                         tf.TensorSpec((None, *llama_cache_shape()), tf.float32, name="cache")]


def llama_cache_shape():
    return LLAMA_LAYERS, 2, LLAMA_HEADS, LLAMA_TOKENS, LLAMA_WIDTH // LLAMA_HEADS


MAKERS = {
    "llama_prefill": llama_prefill,
    "llama_token": llama_token,
    "lstm": lstm,
    "dlrm": dlrm,
    "whisper_encoder": whisper_encoder,
}


def inputs(name, batch, rng):
    """Arguments for a batch, by name."""
    normal = lambda *shape: rng.standard_normal((batch, *shape), dtype=np.float32)  # noqa: E731
    integers = lambda high, *shape: rng.integers(  # noqa: E731
        0, high, (batch, *shape), dtype=np.int32)
    if name == "llama_prefill":
        return {"ids": integers(LLAMA_WORDS, LLAMA_TOKENS)}
    if name == "llama_token":
        return {"ids": integers(LLAMA_WORDS, 1), "cache": normal(*llama_cache_shape())}
    if name == "lstm":
        return {"series": normal(LSTM_STEPS, LSTM_FEATURES)}
    if name == "dlrm":
        return {"dense": normal(DLRM_DENSE), "ids": integers(DLRM_ROWS, DLRM_TABLES)}
    return {"mel": normal(WHISPER_FRAMES, WHISPER_MELS)}
