"""Short forms for what the tests ask through TensorFlow Serving's own Python client."""

import contextlib

import grpc
import numpy as np
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

SECONDS = 60
_DTYPES = {
    "f4": types_pb2.DT_FLOAT,
    "f8": types_pb2.DT_DOUBLE,
    "i4": types_pb2.DT_INT32,
    "i8": types_pb2.DT_INT64,
    "O": types_pb2.DT_STRING,
    "S": types_pb2.DT_STRING,
}
_FIELDS = {
    types_pb2.DT_FLOAT: ("float_val", np.float32),
    types_pb2.DT_DOUBLE: ("double_val", np.float64),
    types_pb2.DT_INT32: ("int_val", np.int32),
    types_pb2.DT_INT64: ("int64_val", np.int64),
    types_pb2.DT_STRING: ("string_val", object),
}


class Client:
    """Both services of one server, over one channel: a plain one, unless another is given. Close it,
    or use it in a `with`."""

    def __init__(self, server, channel=None, **channel_arguments):
        self.channel = channel or grpc.insecure_channel(
            server.grpc_address,
            options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
            **channel_arguments,
        )
        self.prediction = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.models = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def predict(self, request):
        return self.prediction.Predict(request, timeout=SECONDS)

    def half_plus_two(self, values, **spec):
        """y = x/2 + 2 of model `m`, as a list."""
        request = predict_request("m", {"x": np.array(values, np.float32)}, **spec)
        return array(self.predict(request).outputs["y"]).tolist()

    def version_states(self, model, **spec):
        """{version: (state's name, error code, error message)}."""
        request = get_model_status_pb2.GetModelStatusRequest()
        fill_spec(request.model_spec, model, **spec)
        reply = self.models.GetModelStatus(request, timeout=SECONDS)
        name_of = get_model_status_pb2.ModelVersionStatus.State.Name
        return {
            entry.version: (
                name_of(entry.state),
                entry.status.error_code,
                entry.status.error_message,
            )
            for entry in reply.model_version_status
        }


def fill_spec(spec, model, signature="", version=None, label=None):
    spec.name = model
    spec.signature_name = signature
    if version is not None:
        spec.version.value = version
    if label is not None:
        spec.version_label = label


def tensor(values):
    """A TensorProto of a numpy array, its values in the typed field."""
    values = np.asarray(values)
    dtype = _DTYPES[values.dtype.str[1:] if values.dtype.kind in "fi" else values.dtype.kind]
    proto = tensor_pb2.TensorProto(dtype=dtype)
    for size in values.shape:
        proto.tensor_shape.dim.add(size=size)
    getattr(proto, _FIELDS[dtype][0]).extend(values.ravel().tolist())
    return proto


def array(proto):
    """The numpy array of a TensorProto, from either of its forms."""
    field, numpy_type = _FIELDS[proto.dtype]
    shape = [dim.size for dim in proto.tensor_shape.dim]
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, numpy_type).reshape(shape)
    return np.array(list(getattr(proto, field)), numpy_type).reshape(shape)


def predict_request(model, inputs, output_filter=(), **spec):
    """`inputs`: {name: array or TensorProto}."""
    request = predict_pb2.PredictRequest(output_filter=output_filter)
    fill_spec(request.model_spec, model, **spec)
    for name, value in inputs.items():
        proto = value if isinstance(value, tensor_pb2.TensorProto) else tensor(value)
        request.inputs[name].CopyFrom(proto)
    return request


def add_examples(examples, features):
    """Fills a list of Examples from [{name: value}]; text becomes bytes, int int64, float float."""
    for feature in features:
        example = examples.add()
        fill_example(example, feature)


def fill_example(example, feature):
    for name, value in feature.items():
        kind = example.features.feature[name]
        if isinstance(value, (str, bytes)):
            kind.bytes_list.value.append(value.encode() if isinstance(value, str) else value)
        elif isinstance(value, int):
            kind.int64_list.value.append(value)
        else:
            kind.float_list.value.append(value)


def classify_request(model, features, **spec):
    request = classification_pb2.ClassificationRequest()
    fill_spec(request.model_spec, model, **spec)
    add_examples(request.input.example_list.examples, features)
    return request


def regress_request(model, features, **spec):
    request = regression_pb2.RegressionRequest()
    fill_spec(request.model_spec, model, **spec)
    add_examples(request.input.example_list.examples, features)
    return request


def multi_inference_request(*tasks, features=({"x": 2.0},)):
    """tasks: (model, signature, method)."""
    request = inference_pb2.MultiInferenceRequest()
    for model, signature, method in tasks:
        task = request.tasks.add(method_name=method)
        fill_spec(task.model_spec, model, signature=signature)
    add_examples(request.input.example_list.examples, features)
    return request


def metadata_request(model, fields=("signature_def",), **spec):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    fill_spec(request.model_spec, model, **spec)
    return request


@contextlib.contextmanager
def refused(code, containing=""):
    """The block must end with a gRPC error of this code, e.g. `with refused("NOT_FOUND"): ...`."""
    try:
        yield
    except grpc.RpcError as error:
        assert error.code().name == code, f"{error.code().name}: {error.details()}"
        assert containing in error.details()
    else:
        raise AssertionError(f"the request was answered, expected {code}")
