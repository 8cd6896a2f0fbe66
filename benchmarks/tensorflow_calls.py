"""Prepared calls of TensorFlow's Session: the fastest way to run a graph by its Python API.

    peer = TensorFlowPeer(lambda executor: PreparedCall(make_session(executor), feeds, fetches))
    times = {name: call.run(100) for name, call in peer.calls.items()}
    step = fastest(times)               # step.executor, step.best, step.median, step.call

TensorFlow has two executors, and the faster one depends on the graph: all of them are timed. Beside
each stands an empty call, with the same number of feeds and fetches and a graph that does nothing;
its time is what Python and the session take, and is subtracted.
"""

import dataclasses
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import config_pb2  # noqa: E402

tf1 = tf.compat.v1
EXECUTORS = {"default": "", "single-threaded": "SINGLE_THREADED_EXECUTOR"}


def session_config(executor):
    """One thread, which calls kernels through this executor."""
    config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.experimental.executor_type = executor
    return config


class PreparedCall:
    """A session's callable, which runs on the calling thread. `feeds` maps tensors to values."""

    def __init__(self, session, feeds, fetches, targets=()):
        self._session = session
        options = config_pb2.CallableOptions(feed=feeds, fetch=fetches, target=targets)
        options.run_options.inter_op_thread_pool = -1
        self._call = session._make_callable_from_options(options)
        self._values = list(feeds.values())
        self.feeds, self.num_fetches = feeds, len(fetches)

    def run(self, steps):
        """Seconds of each of `steps` runs."""
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            self._call(*self._values)
            times.append(time.perf_counter() - start)
        return times

    def results(self):
        return self._call(*self._values)


def _empty_call(call, executor):
    """A call with the feeds of `call`, which nothing reads, and as many fetches of one scalar."""
    graph = tf.Graph()
    with graph.as_default():
        feeds = {tf1.placeholder(value.dtype, value.shape).name: value
                 for value in call.feeds.values()}
        scalar = tf.constant(1.0)
        fetches = [tf.raw_ops.Identity(input=scalar).name for _ in range(call.num_fetches)]
        targets = [] if fetches else [tf.raw_ops.NoOp().name]
    return PreparedCall(tf1.Session(graph=graph, config=session_config(executor)), feeds, fetches,
                        targets)


@dataclasses.dataclass
class Step:
    """Seconds of a step without the call around it."""

    executor: str
    best: float
    median: float
    call: float  # subtracted


class TensorFlowPeer:
    """One graph in each executor that takes it. `make(executor)` prepares its call."""

    def __init__(self, make):
        self.calls = {}
        for name, executor in EXECUTORS.items():
            try:
                call = make(executor)
                call.run(1)
            except (tf.errors.FailedPreconditionError, tf.errors.UnimplementedError):
                continue  # The single-threaded executor takes no v1 control flow or variables.
            self.calls[f"TensorFlow, {name}"] = call
            self.calls[f"empty call, {name}"] = _empty_call(call, executor)


def fastest(times):
    """The Step of the faster executor, by the seconds of each of a peer's calls."""
    steps = []
    for name in EXECUTORS:
        if f"TensorFlow, {name}" in times:
            call = min(times[f"empty call, {name}"])
            best, median = (max(summary(times[f"TensorFlow, {name}"]) - call, 1e-9)
                            for summary in (min, statistics.median))
            steps.append(Step(name, best, median, call))
    return min(steps, key=lambda step: step.best)
