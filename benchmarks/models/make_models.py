#!/usr/bin/env python3
"""Makes the models that `scripts/bench model` times: SavedModels, and ONNX files for the peers.

    "$(scripts/python_env bench)" benchmarks/models/make_models.py [DIR] [--only NAME]

Weights are random, from a fixed seed: speed does not depend on them, but the statistics of batch
norm are such that activations stay of order one through all layers, so that outputs can be
compared. A model that is there already is not made again.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

IMAGE_NAMES = ("resnet50", "mobilenet_v2", "efficientnet_b0")
# Those of architectures.py, which imports TensorFlow.
OTHER_NAMES = ("lstm", "dlrm", "whisper_encoder", "llama_prefill", "llama_token")
NAMES = (*IMAGE_NAMES, "bert_base", *OTHER_NAMES)
BERT_TOKENS = 128


def default_directory():
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    return pathlib.Path(cache) / "tessera" / "bench_models"


def keras_image_model(name):
    """The model of keras.applications, with batch norm statistics measured on random images."""
    import keras
    import numpy as np

    make = {
        "resnet50": keras.applications.ResNet50,
        "mobilenet_v2": keras.applications.MobileNetV2,
        "efficientnet_b0": keras.applications.EfficientNetB0,
    }[name]
    keras.utils.set_random_seed(1)
    model = make(weights=None)
    rng = np.random.default_rng(1)
    norms = [x for x in model.layers if isinstance(x, keras.layers.BatchNormalization)]
    for layer in norms:
        layer.momentum = 0.0
        layer.gamma.assign(rng.uniform(0.5, 1.5, layer.gamma.shape))
        layer.beta.assign(rng.normal(0.0, 0.2, layer.beta.shape))
    # One pass in training mode sets mean and variance to those of the batch.
    model(rng.standard_normal((4, 224, 224, 3), dtype=np.float32), training=True)
    return model


def image_function(name):
    import tensorflow as tf

    model = keras_image_model(name)
    spec = tf.TensorSpec((None, 224, 224, 3), tf.float32, name="image")
    function = tf.function(lambda image: {"output": model(image, training=False)})
    return [x.value for x in model.weights], function, [spec]


def bert_function():
    """BERT-base: 12 layers of 768, 12 heads, post-norm, GELU by erf; the pooled output."""
    import tensorflow as tf

    layers, width, heads, inner, words = 12, 768, 12, 3072, 30522
    size = width // heads

    class Bert(tf.Module):
        def __init__(self):
            super().__init__(name="bert")
            self.random = tf.random.Generator.from_seed(1)
            self.embeddings = [
                self.weight("word", (words, width)),
                self.weight("position", (512, width)),
                self.weight("type", (2, width)),
            ]
            self.embedding_norm = self.norm("embedding_norm")
            self.layers = [self.layer(i) for i in range(layers)]
            self.pooler = self.dense("pooler", width, width)

        def weight(self, name, shape):
            return tf.Variable(self.random.normal(shape, stddev=0.02), name=name)

        def dense(self, name, rows, columns):
            return (self.weight(name + "_kernel", (rows, columns)),
                    self.weight(name + "_bias", (columns,)))

        def norm(self, name):
            return (tf.Variable(1 + self.random.normal((width,), stddev=0.1), name=name + "_gamma"),
                    self.weight(name + "_beta", (width,)))

        def layer(self, i):
            return {
                "query": self.dense(f"l{i}_query", width, width),
                "key": self.dense(f"l{i}_key", width, width),
                "value": self.dense(f"l{i}_value", width, width),
                "out": self.dense(f"l{i}_out", width, width),
                "norm1": self.norm(f"l{i}_norm1"),
                "inner": self.dense(f"l{i}_inner", width, inner),
                "outer": self.dense(f"l{i}_outer", inner, width),
                "norm2": self.norm(f"l{i}_norm2"),
            }

        @staticmethod
        def normalise(x, norm):
            mean = tf.reduce_mean(x, axis=-1, keepdims=True)
            variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=-1, keepdims=True)
            scale = tf.math.rsqrt(variance + 1e-12) * norm[0]
            return x * scale + (norm[1] - mean * scale)

        @staticmethod
        def apply(x, dense):
            shape = tf.shape(x)
            y = tf.matmul(tf.reshape(x, (-1, dense[0].shape[0])), dense[0])
            y = tf.nn.bias_add(y, dense[1])
            return tf.reshape(y, tf.concat([shape[:-1], [dense[0].shape[1]]], 0))

        def heads(self, x, dense):
            shape = tf.shape(x)
            y = tf.reshape(self.apply(x, dense), (shape[0], shape[1], heads, size))
            return tf.transpose(y, (0, 2, 1, 3))

        def attend(self, x, mask, layer):
            query = self.heads(x, layer["query"])
            key = self.heads(x, layer["key"])
            value = self.heads(x, layer["value"])
            scores = tf.matmul(query, key, transpose_b=True) * (1.0 / size**0.5)
            weights = tf.nn.softmax(scores + mask, axis=-1)
            mixed = tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3))
            return self.apply(tf.reshape(mixed, tf.shape(x)), layer["out"])

        def forward(self, ids, mask, types):
            word, position, kind = self.embeddings
            x = tf.gather(word, ids) + tf.gather(kind, types)
            x = x + position[:BERT_TOKENS]
            x = self.normalise(x, self.embedding_norm)
            mask = (1.0 - tf.cast(mask, tf.float32))[:, None, None, :] * -10000.0
            for layer in self.layers:
                x = self.normalise(x + self.attend(x, mask, layer), layer["norm1"])
                y = self.apply(x, layer["inner"])
                y = 0.5 * y * tf.math.erfc(-y * 0.7071067811865476)
                x = self.normalise(x + self.apply(y, layer["outer"]), layer["norm2"])
            pooled = tf.tanh(self.apply(x[:, 0], self.pooler))
            return {"output": pooled, "sequence": x}

    module = Bert()
    specs = [tf.TensorSpec((None, BERT_TOKENS), tf.int32, name=name)
             for name in ("ids", "mask", "types")]
    return module, tf.function(module.forward), specs


def replace_erfc(path):
    """ONNX has no Erfc: writes GELU as 1 + Erf(x / sqrt(2)), the form that its runtimes fuse."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(str(path))
    graph = model.graph
    made_by = {output: node for node in graph.node for output in node.output}
    nodes = []
    for node in graph.node:
        if node.op_type != "Erfc":
            nodes.append(node)
            continue
        scaled = made_by[node.input[0]]  # Neg(x) * 0.7071
        negated = next(made_by[x] for x in scaled.input if x in made_by)
        assert scaled.op_type == "Mul" and negated.op_type == "Neg", "no GELU around Erfc"
        name = node.name
        nodes += [
            helper.make_node("Div", [negated.input[0], "gelu_root"], [name + "/div"]),
            helper.make_node("Erf", [name + "/div"], [name + "/erf"]),
            helper.make_node("Add", [name + "/erf", "gelu_one"], list(node.output)),
        ]
    del graph.node[:]
    graph.node.extend(nodes)
    for name, value in (("gelu_root", 2**0.5), ("gelu_one", 1.0)):
        graph.initializer.append(numpy_helper.from_array(np.float32(value), name))
    onnx.save(model, str(path))


def function_of(name):
    """What holds the variables, the function, the specs of its arguments."""
    if name in IMAGE_NAMES:
        return image_function(name)
    if name == "bert_base":
        return bert_function()
    import architectures

    return architectures.MAKERS[name]()


def make(name, directory):
    import tensorflow as tf

    saved = directory / name / "1"
    onnx = directory / f"{name}.onnx"
    if not (saved / "saved_model.pb").exists():
        unfinished = directory / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(saved, ignore_errors=True)
        owner, function, specs = function_of(name)
        holder = tf.Module()
        holder.owner = owner  # of the variables
        holder.call = function
        tf.saved_model.save(holder, str(unfinished),
                            signatures=function.get_concrete_function(*specs))
        saved.parent.mkdir(parents=True, exist_ok=True)
        unfinished.rename(saved)
        onnx.unlink(missing_ok=True)
    if not onnx.exists():
        unfinished = directory / f"{name}.unfinished.onnx"
        subprocess.run(
            [sys.executable, "-m", "tf2onnx.convert", "--saved-model", str(saved), "--output",
             str(unfinished), "--opset", "18"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if name == "bert_base":
            replace_erfc(unfinished)
        unfinished.rename(onnx)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=pathlib.Path, default=default_directory())
    parser.add_argument("--only", choices=NAMES)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    for name in NAMES if args.only is None else (args.only,):
        make(name, args.directory)


if __name__ == "__main__":
    main()
