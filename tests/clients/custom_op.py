"""The example of docs/custom-ops.md, and a model that needs it."""

import pathlib
import subprocess

from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from clients.server import REPOSITORY


def build_library(folder):
    """Builds the example by the command that stands there; returns its path."""
    library = pathlib.Path(folder) / "libzero_out.so"
    guide = (REPOSITORY / "docs" / "custom-ops.md").read_text(encoding="utf-8")
    command = next(line for line in guide.splitlines() if line.startswith("g++ "))
    assert "/tmp/libzero_out.so" in command
    subprocess.run(
        command.replace("/tmp/libzero_out.so", str(library)), shell=True, check=True, cwd=REPOSITORY
    )
    return library


def save_zero_out_model(folder):
    """Writes version 1 of a model that is y = ZeroOut(x) into a folder of versions."""
    graph = graph_pb2.GraphDef()
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph.node.add(name="zero_out", op="ZeroOut", input=["x"])
    saved_model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta_graph = saved_model.meta_graphs.add(graph_def=graph)
    meta_graph.meta_info_def.tags.append("serve")
    signature = meta_graph.signature_def["serving_default"]
    signature.method_name = "tensorflow/serving/predict"
    signature.inputs["x"].MergeFrom(tensor_info("x:0"))
    signature.outputs["y"].MergeFrom(tensor_info("zero_out:0"))
    (folder / "1").mkdir()
    (folder / "1" / "saved_model.pb").write_bytes(saved_model.SerializeToString())


def tensor_info(name):
    """A float tensor of unknown shape."""
    return meta_graph_pb2.TensorInfo(name=name, dtype=1)
