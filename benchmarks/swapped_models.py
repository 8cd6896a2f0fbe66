"""Models for the benchmarks that swap versions, and versions of them on disk."""

import os
import pathlib
import shutil

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2  # noqa: E402

from load_generator import ROOT  # noqa: E402  # puts tests/ on the path

from clients.client import predict_request, tensor  # noqa: E402

HALF_PLUS_TWO = ROOT / "tests" / "data" / "tfserving" / "half_plus_two" / "00000123"


def response(outputs, version=None):
    """A PredictResponse that is right; with a version, for that version alone."""
    message = predict_pb2.PredictResponse()
    for name, value in outputs.items():
        message.outputs[name].CopyFrom(tensor(value))
    if version is not None:
        message.model_spec.version.value = version
    return message


def export_half_plus_two(folder, model):
    """y = x/2 + 2. Returns (request, right answer)."""
    shutil.copytree(HALF_PLUS_TWO, folder)
    request = predict_request(model, {"x": np.array([1.0, 2.0, 5.0], np.float32)})
    return request, response({"y": np.array([2.5, 3.0, 4.5], np.float32)})


def export_resnet50(folder, model):
    """ResNet-50 with random weights, batch 1. Returns (request, TensorFlow's answer)."""
    tf.keras.utils.set_random_seed(1)
    resnet = tf.keras.applications.ResNet50(weights=None, classifier_activation=None)
    resnet.export(str(folder), verbose=False)
    image = np.random.default_rng(1).random((1, 224, 224, 3), np.float32)
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    (feed,) = signature.structured_input_signature[1]
    outputs = {k: v.numpy() for k, v in signature(**{feed: tf.constant(image)}).items()}
    return predict_request(model, {feed: image}), response(outputs)


class Weights(tf.Module):
    """A chain of square layers, `megabytes` of variables: y = tanh(...tanh(x W1)... Wn) * 0 + x + b."""

    def __init__(self, megabytes):
        super().__init__()
        self.width = 2048 if megabytes >= 64 else 512
        count = max(1, round(megabytes * 1e6 / (4 * self.width**2)))
        normal = np.random.default_rng(1).standard_normal
        self.layers = [
            tf.Variable(normal((self.width, self.width), np.float32) / self.width**0.5)
            for _ in range(count)
        ]
        self.offset = tf.Variable(0.0)

    @tf.function
    def __call__(self, x):
        hidden = x
        for layer in self.layers:
            hidden = tf.tanh(hidden @ layer)
        return {"y": hidden * 0.0 + x + self.offset}


def export_weights(folder, model, megabytes):
    """Weights with a request to warm up with. Returns (request, width of its input)."""
    module = Weights(megabytes)
    x = tf.TensorSpec([None, module.width], tf.float32, name="x")
    tf.saved_model.save(
        module, str(folder), signatures=module.__call__.get_concrete_function(x)
    )
    request = predict_request(model, {"x": np.zeros((1, module.width), np.float32)})
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.CopyFrom(request)
    extra = pathlib.Path(folder) / "assets.extra"
    extra.mkdir()
    with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as writer:
        writer.write(log.SerializeToString())
    return request, module.width


def write_offset(folder, offset):
    """Makes a copy of `export_weights` another version: writes its variables anew, beside the old
    ones, and puts them in their place."""
    prefix = str(pathlib.Path(folder) / "variables" / "variables")
    reader = tf.train.load_checkpoint(prefix)
    names = sorted(reader.get_variable_to_shape_map())
    values = {name: reader.get_tensor(name) for name in names}
    (name,) = [name for name in names if name.startswith("offset/")]
    values[name] = np.float32(offset)
    tf.raw_ops.SaveV2(
        prefix=prefix + ".new",
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[tf.constant(values[name]) for name in names],
    )
    for end in (".index", ".data-00000-of-00001"):
        os.replace(prefix + ".new" + end, prefix + end)
