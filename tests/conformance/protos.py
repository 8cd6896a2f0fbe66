"""The messages of TensorFlow and TensorFlow Serving, without loading TensorFlow.

`import tensorflow` takes seconds and a gigabyte, and comparing recorded answers needs only the
generated message classes. They are plain modules inside TensorFlow's package, so this puts an empty
module in the package's place and lets the import system look below it.
"""

import importlib.machinery
import sys
import types

if "tensorflow" not in sys.modules:
    _spec = importlib.machinery.PathFinder.find_spec("tensorflow")
    if _spec is None:
        raise ImportError("the package tensorflow is not installed: use scripts/python_env")
    _package = types.ModuleType("tensorflow")
    _package.__path__ = list(_spec.submodule_search_locations)
    sys.modules["tensorflow"] = _package

# pylint: disable=wrong-import-position
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_status_pb2,
    model_service_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

__all__ = [
    "classification_pb2",
    "get_model_status_pb2",
    "model_service_pb2",
    "model_service_pb2_grpc",
    "predict_pb2",
    "prediction_service_pb2",
    "prediction_service_pb2_grpc",
    "regression_pb2",
    "tensor_pb2",
    "types_pb2",
]
