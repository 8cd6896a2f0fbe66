"""The models that `scripts/gpu/bench` times, in the dtype that is asked for, with random weights."""

import keras
from keras import layers, ops

TOKENS = 128
# Of the decoder: as LLaMA 3.2 1B, with as many heads for keys as for queries.
DECODER = {"layers": 16, "width": 2048, "heads": 32, "inner": 5632, "words": 32000}
BERT = {"layers": 12, "width": 768, "heads": 12, "inner": 3072, "words": 30522}


@keras.saving.register_keras_serializable()
class Rotary(layers.Layer):
    """Rotates pairs of features by angles that grow with the position."""

    def call(self, x):
        length, size = x.shape[1], x.shape[-1]
        rates = 10000.0 ** (-ops.arange(0, size, 2, dtype="float32") / size)
        angles = ops.arange(length, dtype="float32")[:, None] * rates[None, :]
        cos, sin = (ops.cast(f(angles)[None, :, None, :], x.dtype) for f in (ops.cos, ops.sin))
        a, b = ops.split(x, 2, axis=-1)
        return ops.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


@keras.saving.register_keras_serializable()
class CausalAttention(layers.Layer):
    """Attention of each position to those up to it, over [batch, length, heads, size]."""

    def call(self, query, key, value):
        length, size = query.shape[1], query.shape[-1]
        scores = ops.einsum("bqhd,bkhd->bhqk", query, key) * size**-0.5
        mask = ops.triu(ops.ones((length, length), dtype="bool"), k=1)
        scores = ops.where(mask, ops.cast(-1e9, scores.dtype), scores)
        return ops.einsum("bhqk,bkhd->bqhd", ops.softmax(scores), value)


def decoder(shape):
    """A decoder as LLaMA's, over a prompt: the logits of the token that comes next."""
    width, heads = shape["width"], shape["heads"]
    tokens = keras.Input((TOKENS,), dtype="int32", name="tokens")
    x = layers.Embedding(shape["words"], width)(tokens)
    for _ in range(shape["layers"]):
        y = layers.RMSNormalization()(x)
        query, key, value = (
            layers.Reshape((TOKENS, heads, width // heads))(layers.Dense(width, use_bias=False)(y))
            for _ in range(3)
        )
        mixed = CausalAttention()(Rotary()(query), Rotary()(key), value)
        x = x + layers.Dense(width, use_bias=False)(layers.Reshape((TOKENS, width))(mixed))
        y = layers.RMSNormalization()(x)
        gate = layers.Dense(shape["inner"], use_bias=False, activation="silu")(y)
        up = layers.Dense(shape["inner"], use_bias=False)(y)
        x = x + layers.Dense(width, use_bias=False)(gate * up)
    last = layers.RMSNormalization()(x)[:, -1]
    return keras.Model(tokens, layers.Dense(shape["words"], use_bias=False)(last))


def bert(shape):
    """BERT without a mask: the pooled output."""
    width, heads = shape["width"], shape["heads"]
    tokens = keras.Input((TOKENS,), dtype="int32", name="tokens")
    x = layers.LayerNormalization()(layers.Embedding(shape["words"], width)(tokens))
    for _ in range(shape["layers"]):
        attended = layers.MultiHeadAttention(heads, width // heads)(x, x)
        x = layers.LayerNormalization()(x + attended)
        inner = layers.Dense(shape["inner"], activation="gelu")(x)
        x = layers.LayerNormalization()(x + layers.Dense(width)(inner))
    return keras.Model(tokens, layers.Dense(width, activation="tanh")(x[:, 0]))


def transformer_flops(shape, gated):
    """Of one example: two for each product, of weights and of attention."""
    width, inner = shape["width"], shape["inner"]
    weights = 4 * width * width + (3 if gated else 2) * width * inner
    return shape["layers"] * TOKENS * 2 * (weights + 2 * TOKENS * width)


def shape_of(name, small):
    """The sizes of a transformer; None for other models."""
    if name == "resnet50":
        return None
    shape = dict(BERT if name == "bert_base" else DECODER)
    if small:
        shape.update(layers=2, width=64, heads=4, inner=128, words=100)
    return shape


def make(name, small, policy):
    """Returns the model in a dtype policy of Keras, and the floating-point operations of an example."""
    # Layers are numbered from the beginning, as torch_serving.py expects.
    keras.utils.clear_session()
    keras.config.set_dtype_policy(policy)  # after the line above, which forgets it
    keras.utils.set_random_seed(1)
    shape = shape_of(name, small)
    if shape is None:
        return keras.applications.ResNet50(weights=None), 2 * 3.86e9
    if name == "bert_base":
        return bert(shape), transformer_flops(shape, gated=False)
    return decoder(shape), transformer_flops(shape, gated=True) + 2 * shape["width"] * shape["words"]
