"""Runs random cases on TensorFlow: reads them from the standard input, answers on the standard
output. An answer has nodes "tensorflow/<k>", or "tensorflow" with an error; see random_cases.cc.
"""

import os
import sys
import tempfile

from conformance import recording
import numpy as np
from random_cases import messages
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import errors, tensor_util


def with_placeholders(case):
    """The graph of a case with placeholders of unknown shape, its feeds, and its plan."""
    graph = graph_pb2.GraphDef(versions=case.versions, library=case.library)
    feeds = {}
    plan = None
    for node in case.node:
        if node.name == "plan":
            plan = node
        elif node.name.startswith("in"):
            placeholder = graph.node.add(name=node.name, op="Placeholder")
            placeholder.attr["dtype"].type = node.attr["dtype"].type
            placeholder.attr["shape"].shape.unknown_rank = True
            feeds[node.name + ":0"] = tensor_util.MakeNdarray(node.attr["value"].tensor)
        else:
            graph.node.add().CopyFrom(node)
    return graph, feeds, plan


def run_in_folder(case):
    """What run() gives, in an empty working directory, for the files of the case."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="tessera_case_", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            return run(case)
        finally:
            os.chdir(before)


def run(case):
    """Adds what TensorFlow gives for the case to a new answer."""
    answer = graph_pb2.GraphDef()
    graph_def, feeds, plan = with_placeholders(case)

    def fail(code, message):
        node = answer.node.add(name="tensorflow", op="NoOp")
        node.attr["_error"].s = code.encode()
        node.attr["_message"].s = message.encode(errors="replace")
        return answer

    fetches = [name.decode() for name in plan.attr["_fetch"].list.s]
    targets = [name.decode() for name in plan.attr["_target"].list.s]
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(graph_def, name="")
        except ValueError as error:  # how Python shows INVALID_ARGUMENT of the importer
            return fail("INVALID_ARGUMENT", str(error))
        except errors.OpError as error:
            return fail(recording.error_name(error), str(error))
        tensors = [graph.get_tensor_by_name(name) for name in fetches]
        operations = [graph.get_operation_by_name(name) for name in targets]
        with tf.compat.v1.Session(config=recording.session_config()) as session:
            try:
                values = session.run([tensors, operations], feeds)[0]
            except errors.OpError as error:
                return fail(recording.error_name(error), error.message)
    if sum(np.asarray(value).nbytes for value in values) > messages.MOST_BYTES:
        return fail("RESOURCE_EXHAUSTED", f"the outputs are {messages.TOO_LARGE}")
    for i, (value, tensor) in enumerate(zip(values, tensors)):
        recording.add_const(answer, f"tensorflow/{i}", value, tensor.dtype)
    return answer


def main():
    # TensorFlow prints to the standard output now and then.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    messages.Server(run_in_folder).serve(sys.stdin.buffer, output)


if __name__ == "__main__":
    main()
