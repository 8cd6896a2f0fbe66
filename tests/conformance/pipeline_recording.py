"""Records what a tf.data pipeline gives, as a whole graph like those of tests/data/golden/graphs.

The graph initialises an iterator, and then takes all elements of it in one run, one behind the
other. A pipeline that fails is recorded with the elements before the error left out.
"""

import pathlib
import shutil

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import errors

from conformance import recording

# A pipeline that has not ended by then is cut off.
_MOST_ELEMENTS = 24

_v1 = tf.compat.v1

# The paths that pipelines have been given for their files.
_paths = set()


def path_of(name):
    """Where a pipeline has a file, a folder, or several files that begin so. record() removes them."""
    path = f"/tmp/tessera_pipeline_{name}"
    _paths.add(path)
    return path


def remove(path):
    """Removes the files and folders whose paths begin with `path`."""
    path = pathlib.Path(path)
    for file in path.parent.glob(path.name + "*"):
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()


def names_in(cases):
    """A decorator that keeps a pipeline in `cases` by its name, with `rewind`: see Pipeline."""

    def case(function=None, *, rewind=0):
        def add(function):
            cases[function.__name__] = (function, rewind)
            return function

        return add(function) if function else add

    return case


class Pipeline:
    """The graph of a pipeline with `count` elements taken, and with its state saved on the way.

    `rewind` is how many of the last elements are taken a second time, after a saved state has put
    the iterator back.
    """

    def __init__(self, make, count, rewind):
        self.graph = tf.Graph()
        self.fetches = []
        with self.graph.as_default():
            files = []
            dataset = make(files)
            iterator = _v1.data.make_initializable_iterator(dataset)
            self.init = [operation.name for operation in files] + [iterator.initializer.name]
            resource = iterator._iterator_resource  # pylint: disable=protected-access
            last = self._take(iterator, count - rewind, [])
            if rewind:
                with tf.control_dependencies(last):
                    state = tf.raw_ops.SerializeIterator(resource_handle=resource)
                last = self._take(iterator, rewind, [state])
                with tf.control_dependencies(last):
                    back = tf.raw_ops.DeserializeIterator(
                        resource_handle=resource, serialized=state
                    )
                last = self._take(iterator, rewind, [back])
            with tf.control_dependencies(last):
                more = tf.identity(iterator.get_next_as_optional().has_value(), name="more")
            self.fetches.append(more)
            # What an error graph fetches: one element more than there are.
            with tf.control_dependencies(last):
                self.beyond = tf.nest.flatten(iterator.get_next())[0]

    def _take(self, iterator, count, after):
        for _ in range(count):
            with tf.control_dependencies(after):
                components = tf.nest.flatten(iterator.get_next(), expand_composites=True)
                after = [tf.identity(component) for component in components]
            self.fetches += after
        return [fetch.op for fetch in after] if count else after

    def run(self, fetches):
        """The values of the fetches in a new session."""
        with _v1.Session(graph=self.graph, config=recording.session_config()) as session:
            for name in self.init:
                session.run(self.graph.get_operation_by_name(name))
            return session.run(fetches)


def _count(make):
    """How many elements there are, and the error behind them, if any."""
    graph = tf.Graph()
    with graph.as_default():
        files = []
        iterator = _v1.data.make_initializable_iterator(make(files))
        element = tf.nest.flatten(iterator.get_next(), expand_composites=True)
    count = 0
    with _v1.Session(graph=graph, config=recording.session_config()) as session:
        try:
            for operation in [*files, iterator.initializer]:
                session.run(operation)
            for count in range(_MOST_ELEMENTS):
                session.run(element)
            return _MOST_ELEMENTS, None
        except errors.OpError as error:
            ended = isinstance(error, errors.OutOfRangeError) and "End of sequence" in str(error)
            return count, None if ended else error


def record(directory, name, make, rewind=0):
    """Writes DIRECTORY/NAME.pb for the pipeline that make(files) builds, and returns its path.

    `make` appends to `files` the operations that write the files it reads, which are removed in the
    end.
    """
    try:
        return _record(directory, name, make, rewind)
    finally:
        for path in _paths:
            remove(path)
        _paths.clear()


def _record(directory, name, make, rewind):
    count, error = _count(make)
    pipeline = Pipeline(make, count, 0 if error else min(rewind, count))
    graph = graph_pb2.GraphDef()
    graph.CopyFrom(pipeline.graph.as_graph_def())
    plan = graph.node.add(name="plan", op="NoOp")
    plan.attr["_init"].list.s.extend(name.encode() for name in pipeline.init)
    if error:
        code = {v: k for k, v in vars(errors).items() if k.isupper() and isinstance(v, int)}
        plan.attr["_error"].s = code[error.error_code].encode()
        plan.attr["_fetch"].s = pipeline.beyond.name.encode()
    else:
        for i, value in enumerate(pipeline.run(pipeline.fetches)):
            fetch = pipeline.fetches[i]
            _add_expectation(graph, f"expect/{i}", fetch, value)
    path = pathlib.Path(directory) / f"{name}.pb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(graph.SerializeToString(deterministic=True))
    return path


def _add_expectation(graph, name, fetch, value):
    proto = tf.make_tensor_proto(value, dtype=fetch.dtype)
    node = graph.node.add(name=name, op="Const")
    node.attr["dtype"].type = fetch.dtype.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(proto)
    node.attr["_of"].s = fetch.name.encode()
