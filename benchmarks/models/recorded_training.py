"""TensorFlow's side of `scripts/bench train --recorded`: a MetaGraph in a session, step by step.

    recorded_training.py FOLDER OPTIMIZER [--threads=N]

Answers as tensorflow_training.py does; the losses, which are not fetched, are 0.
"""
import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
from tensorflow_serving.apis import predict_pb2

tf1 = tf.compat.v1


def prepare(folder, optimizer, threads):
    """A step, and the arrays that it is called with."""
    meta = meta_graph_pb2.MetaGraphDef()
    meta.ParseFromString((folder / f"train_{optimizer}.meta").read_bytes())
    with tf.Graph().as_default() as graph:
        tf1.import_graph_def(meta.graph_def, name="")
    config = tf1.ConfigProto(intra_op_parallelism_threads=threads,
                             inter_op_parallelism_threads=threads)
    session = tf1.Session(graph=graph, config=config)
    session.run("init")
    request = predict_pb2.PredictRequest()
    request.ParseFromString((folder / "feed_0.pb").read_bytes())
    feeds = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
    options = config_pb2.CallableOptions(feed=list(feeds), target=["train_op"])
    return session._make_callable_from_options(options), list(feeds.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("optimizer")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    step, feeds = prepare(options.folder, options.optimizer, options.threads)
    for line in sys.stdin:
        answers = []
        for _ in range(int(line)):
            start = time.perf_counter_ns()
            step(*feeds)
            answers.append(f"{time.perf_counter_ns() - start} 0")
        print(" ".join(answers), flush=True)


if __name__ == "__main__":
    main()
