"""What `scripts/bench train` trains: initial values, batches and optimizers, in NumPy alone.

TensorFlow's and PyTorch's models (tensorflow_training.py, torch_training.py) both start from these
values, so that their losses can be compared.
"""
import dataclasses

import numpy as np

BATCHES = 4  # that take turns
RECOMMENDER_TABLES, RECOMMENDER_ROWS, RECOMMENDER_WIDTH = 26, 10_000, 16
LSTM_UNITS, LSTM_STEPS, LSTM_FEATURES = 128, 50, 64
BERT_TOKENS, BERT_WORDS = 128, 30522


@dataclasses.dataclass
class Bert:
    layers: int
    width: int
    heads: int
    inner: int
    batch: int


BERT_MINI = Bert(layers=4, width=256, heads=4, inner=1024, batch=16)
BERT_BASE = Bert(layers=12, width=768, heads=12, inner=3072, batch=32)


@dataclasses.dataclass
class Task:
    """Variables by name, batches of arrays by name, and the optimizer of the variables that are
    trained: all but `*/moving_*`. `optimizer` is "sgd", "momentum", "adam" or "adagrad"."""

    values: dict
    batches: list
    optimizer: str
    learning_rate: float


def make_task(name):
    random = np.random.default_rng(1)
    return globals()[f"{name}_task"](random)


def normal(random, *shape, scale=1.0):
    return (random.standard_normal(shape, dtype=np.float32) * np.float32(scale))


def dense(random, name, rows, columns):
    """A kernel that keeps the scale of what it multiplies, and a bias."""
    return {f"{name}/kernel": normal(random, rows, columns, scale=(2 / rows) ** 0.5),
            f"{name}/bias": np.zeros(columns, np.float32)}


def filters(random, name, size, inputs, outputs):
    """A filter in the order height, width, inputs, outputs."""
    return {f"{name}/filter": normal(random, size, size, inputs, outputs,
                                     scale=(2 / (size * size * inputs)) ** 0.5)}


def classified(random, batch, classes, *shape):
    return [{"x": normal(random, batch, *shape),
             "labels": random.integers(classes, size=batch, dtype=np.int32)}
            for _ in range(BATCHES)]


def layers_task(random, sizes, batch, optimizer, learning_rate):
    values = {}
    for i, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        values |= dense(random, f"dense{i}", rows, columns)
    return Task(values, classified(random, batch, sizes[-1], sizes[0]), optimizer, learning_rate)


def mlp_task(random):
    return layers_task(random, (784, 512, 512, 10), 64, "adam", 1e-4)


def small_mlp_task(random):
    return layers_task(random, (64, 32, 10), 32, "sgd", 0.05)


def lenet_task(random):
    values = (filters(random, "conv0", 5, 1, 6) | {"conv0/bias": np.zeros(6, np.float32)} |
              filters(random, "conv1", 5, 6, 16) | {"conv1/bias": np.zeros(16, np.float32)})
    for i, (rows, columns) in enumerate(((400, 120), (120, 84), (84, 10))):
        values |= dense(random, f"dense{i}", rows, columns)
    return Task(values, classified(random, 64, 10, 28, 28, 1), "momentum", 0.01)


def resnet20_blocks():
    """Name, channels that come in, channels that go out, and stride of each residual block."""
    channels = 16
    for stage, outputs in enumerate((16, 32, 64)):
        for block in range(3):
            yield f"block{stage}{block}", channels, outputs, 2 if stage and not block else 1
            channels = outputs


def norm(name, channels):
    zeros, ones = np.zeros(channels, np.float32), np.ones(channels, np.float32)
    return {f"{name}/gamma": ones, f"{name}/beta": zeros,
            f"{name}/moving_mean": zeros, f"{name}/moving_variance": ones}


def resnet20_task(random):
    values = filters(random, "stem", 3, 3, 16) | norm("stem", 16)
    for name, inputs, outputs, stride in resnet20_blocks():
        values |= filters(random, f"{name}a", 3, inputs, outputs) | norm(f"{name}a", outputs)
        values |= filters(random, f"{name}b", 3, outputs, outputs) | norm(f"{name}b", outputs)
        if stride > 1:
            values |= filters(random, f"{name}c", 1, inputs, outputs) | norm(f"{name}c", outputs)
    values |= dense(random, "dense", 64, 10)
    return Task(values, classified(random, 64, 10, 32, 32, 3), "momentum", 0.01)


def resnet50_blocks():
    """Name, channels that come in, channels inside, and stride of each block. Four times as many
    channels as are inside go out; the first block of a stage has a shortcut with weights."""
    channels = 64
    for stage, (inside, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            yield f"block{stage}{block}", channels, inside, 2 if stage and not block else 1
            channels = 4 * inside


def resnet50_task(random):
    values = filters(random, "stem", 7, 3, 64) | norm("stem", 64)
    for name, inputs, inside, _ in resnet50_blocks():
        outputs = 4 * inside
        values |= filters(random, f"{name}a", 1, inputs, inside) | norm(f"{name}a", inside)
        values |= filters(random, f"{name}b", 3, inside, inside) | norm(f"{name}b", inside)
        values |= filters(random, f"{name}c", 1, inside, outputs) | norm(f"{name}c", outputs)
        if inputs != outputs:
            values |= filters(random, f"{name}d", 1, inputs, outputs) | norm(f"{name}d", outputs)
    values |= dense(random, "dense", 2048, 1000)
    return Task(values, classified(random, 64, 1000, 224, 224, 3), "momentum", 0.01)


def lstm_task(random):
    """Gates in the order input, forget, cell, output."""
    values = {"lstm/kernel": normal(random, LSTM_FEATURES, 4 * LSTM_UNITS, scale=0.1),
              "lstm/recurrent": normal(random, LSTM_UNITS, 4 * LSTM_UNITS, scale=0.08),
              "lstm/bias": np.zeros(4 * LSTM_UNITS, np.float32)}
    values |= dense(random, "dense", LSTM_UNITS, 10)
    return Task(values, classified(random, 32, 10, LSTM_STEPS, LSTM_FEATURES), "adam", 1e-3)


def bert_task(random, bert):
    def layer_norm(name):
        return {f"{name}/gamma": np.ones(bert.width, np.float32),
                f"{name}/beta": np.zeros(bert.width, np.float32)}

    def small(name, rows, columns):
        return {f"{name}/kernel": normal(random, rows, columns, scale=0.02),
                f"{name}/bias": np.zeros(columns, np.float32)}

    values = {"word": normal(random, BERT_WORDS, bert.width, scale=0.02),
              "position": normal(random, BERT_TOKENS, bert.width, scale=0.02)} | layer_norm("norm")
    for i in range(bert.layers):
        for part in ("query", "key", "value", "out"):
            values |= small(f"layer{i}/{part}", bert.width, bert.width)
        values |= layer_norm(f"layer{i}/norm0")
        values |= small(f"layer{i}/inner", bert.width, bert.inner)
        values |= small(f"layer{i}/outer", bert.inner, bert.width) | layer_norm(f"layer{i}/norm1")
    values |= small("pooler", bert.width, bert.width) | small("dense", bert.width, 2)
    batches = [{"ids": random.integers(BERT_WORDS, size=(bert.batch, BERT_TOKENS), dtype=np.int32),
                "labels": random.integers(2, size=bert.batch, dtype=np.int32)}
               for _ in range(BATCHES)]
    return Task(values, batches, "adam", 1e-4)


def bert_mini_task(random):
    return bert_task(random, BERT_MINI)


def bert_base_task(random):
    return bert_task(random, BERT_BASE)


def recommender_task(random):
    """Tables of embeddings and 13 numbers, as in Criteo's advertisements."""
    values = {f"table{i:02}": normal(random, RECOMMENDER_ROWS, RECOMMENDER_WIDTH, scale=0.05)
              for i in range(RECOMMENDER_TABLES)}
    inputs = 13 + RECOMMENDER_TABLES * RECOMMENDER_WIDTH
    for i, (rows, columns) in enumerate(((inputs, 256), (256, 64), (64, 1))):
        values |= dense(random, f"dense{i}", rows, columns)
    batches = [{"x": normal(random, 128, 13),
                "ids": random.integers(RECOMMENDER_ROWS, size=(128, RECOMMENDER_TABLES),
                                       dtype=np.int32),
                "labels": random.integers(2, size=128).astype(np.float32)}
               for _ in range(BATCHES)]
    return Task(values, batches, "adagrad", 0.01)
