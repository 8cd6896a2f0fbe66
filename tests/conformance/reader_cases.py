"""Graphs of readers and of other state that v1 programs keep; tests/data/record records them."""

import functools
import gzip
import zlib

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from conformance import graph_cases
from conformance.graph_cases import Plan
from conformance.pipeline_file_cases import tf_records_file

raw = tf.raw_ops
_NO_FLOW = np.float32(0)
_CASES = {}


def _case(function):
    _CASES[function.__name__] = function
    return function


def _in_turn(*steps):
    """The outputs of functions, each of which runs behind the one before."""
    outputs, last = [], []
    for step in steps:
        with tf.control_dependencies(last):
            output = step()
        flat = tf.nest.flatten(output)
        outputs += [value for value in flat if isinstance(value, tf.Tensor)]
        last = [value.op if isinstance(value, tf.Tensor) else value for value in flat]
    return outputs


# ---- tensor arrays whose handle is a string, or a reference to one ----


def _at_producer(version):
    """Makes the current graph one of an old program, which may have ops that were removed since."""
    old = graph_pb2.GraphDef()
    old.versions.producer = version
    tf.import_graph_def(old)


class _Array:
    """The ops on a tensor array of version "" or "V2"."""

    def __init__(self, version, **attrs):
        _at_producer({"": 15, "V2": 25}[version])
        self.version = version
        self.handle = self._op("")(size=attrs.pop("size", 3), **attrs)

    def _op(self, name):
        return getattr(raw, f"TensorArray{name}{self.version}")

    def __getattr__(self, name):
        return functools.partial(self._op(name), handle=self.handle)


def _elements(version):
    array = _Array(version, dtype=tf.float32)
    flow = array.Write(index=0, value=np.float32([1, 2]), flow_in=_NO_FLOW)
    flow = array.Scatter(indices=[2, 1], value=np.float32([[5, 6], [3, 4]]), flow_in=flow)
    size = array.Size(flow_in=flow)
    first, rest = _in_turn(
        lambda: array.Read(index=0, dtype=tf.float32, flow_in=flow),
        lambda: array.Gather(indices=[1, 2], dtype=tf.float32, flow_in=flow),
    )
    return Plan([], [size, first, rest])


def _split(version):
    array = _Array(version, dtype=tf.int32)
    value = np.arange(10, dtype=np.int32).reshape(5, 2)
    flow = array.Split(value=value, lengths=np.int64([2, 0, 3]), flow_in=_NO_FLOW)
    value, lengths = array.Concat(dtype=tf.int32, flow_in=flow)
    return Plan([], [value, lengths])


def _gradients(version):
    array = _Array(version, dtype=tf.float32, size=2, clear_after_read=False)
    flow = array.Scatter(indices=[0, 1], value=np.float32([1, 2]), flow_in=_NO_FLOW)
    grad = _Array.__new__(_Array)
    grad.version = version
    handle = array.handle if version else tf.identity(array.handle)
    grad.handle = array._op("Grad")(handle=handle, flow_in=flow, source="gradients")
    again = _Array.__new__(_Array)
    again.version = version
    again.handle = array._op("Grad")(handle=handle, flow_in=flow, source="gradients")
    flow = grad.Write(index=1, value=np.float32(3), flow_in=flow)
    flow = again.Write(index=1, value=np.float32(4), flow_in=flow)
    zero = grad.Read(index=0, dtype=tf.float32, flow_in=flow)
    total = again.Read(index=1, dtype=tf.float32, flow_in=flow)
    return Plan([], [zero, total])


def _closed(version):
    array = _Array(version, dtype=tf.float32)
    with tf.control_dependencies([array.Close()]):
        return Plan([array.Size(flow_in=_NO_FLOW)])


def _no_handle():
    _at_producer(25)
    return Plan([raw.TensorArraySizeV2(handle=["_tensor_arrays", "nothing"], flow_in=_NO_FLOW)])


for _name, _version in (("v1", ""), ("v2", "V2")):
    for _function in (_elements, _split, _gradients, _closed):
        _CASES[f"tensor_array_{_name}{_function.__name__}"] = functools.partial(_function, _version)
_CASES["tensor_array_v2_unknown"] = _no_handle


@_case
def tensor_array_packed():
    array = _Array("", dtype=tf.string, size=0, dynamic_size=True)
    flow = array.Unpack(value=np.array(["a", "b"]), flow_in=_NO_FLOW)
    return Plan([], [array.Pack(dtype=tf.string, flow_in=flow)])


@_case
def tensor_array_unpacked_into_too_many():
    array = _Array("", dtype=tf.int32, size=3)
    return Plan([array.Unpack(value=np.int32([1, 2]), flow_in=_NO_FLOW)])


@_case
def tensor_array_gradient_with_shape():
    array = raw.TensorArrayV3(size=2, dtype=tf.float32, element_shape=[2], clear_after_read=False)
    flow = raw.TensorArrayScatterV3(
        handle=array.handle, indices=[0, 1], value=np.float32([[1, 2], [3, 4]]), flow_in=array.flow
    )
    grad = raw.TensorArrayGradWithShape(
        handle=array.handle, flow_in=flow, shape_to_prepend=[3], source="g"
    )
    flow = raw.TensorArrayWriteV3(
        handle=grad.grad_handle,
        index=0,
        value=np.arange(6, dtype=np.float32).reshape(3, 2),
        flow_in=grad.flow_out,
    )
    read = functools.partial(
        raw.TensorArrayReadV3, handle=grad.grad_handle, dtype=tf.float32, flow_in=flow
    )
    return Plan([], [read(index=0), read(index=1)])


# ---- readers ----

_TEXT = b"header\none\r\n\nthree"


def _file(name, contents):
    """The path of a file for one case, as cases run at once, and the op that writes it."""
    path = f"/tmp/tessera_reader_{name}"
    return path, raw.WriteFile(filename=path, contents=contents)


def _reading(reader, files, reads=8, by_reference=False):
    """What `reads` reads of files with these contents give; all of them, one file at a time."""
    runs, paths = [], []
    for name, contents in files.items():
        path, write = _file(name, contents)
        runs.append(write)
        paths.append(path)
    version = "" if by_reference else "V2"
    queue = getattr(raw, "FIFOQueue" + version)(component_types=[tf.string], shapes=[[]])

    def op(name, **inputs):
        return getattr(raw, name + version)(**inputs)

    runs.append(op("QueueEnqueueMany", handle=queue, components=[np.array(paths)]))
    runs.append(op("QueueClose", handle=queue))
    at = {"reader_handle": reader}
    steps = [lambda: op("ReaderRead", queue_handle=queue, **at)] * (reads // 2)
    steps += [lambda: op("ReaderReadUpTo", queue_handle=queue, num_records=np.int64(3), **at)] * (
        reads - reads // 2
    )
    steps.append(lambda: op("ReaderNumRecordsProduced", **at))
    steps.append(lambda: op("ReaderNumWorkUnitsCompleted", **at))
    steps.append(lambda: op("ReaderReset", **at))
    steps.append(lambda: op("ReaderNumRecordsProduced", **at))
    return Plan(runs, _in_turn(*steps))


@_case
def reader_of_lines():
    reader = raw.TextLineReaderV2(skip_header_lines=1)
    return _reading(reader, {"lines_1": _TEXT, "lines_2": b"", "lines_3": b"h\nlast\n"}, 3)


@_case
def reader_of_whole_files():
    return _reading(raw.WholeFileReaderV2(), {"whole_1": b"a\0b", "whole_2": b""}, 2)


@_case
def reader_by_reference():
    return _reading(raw.WholeFileReader(), {"reference_1": b"a", "reference_2": b"b"}, 2, True)


@_case
def reader_of_fixed_lengths():
    reader = raw.FixedLengthRecordReaderV2(header_bytes=2, record_bytes=3, footer_bytes=1)
    return _reading(reader, {"fixed_1": b"hhabcdeff", "fixed_2": b"hhabcdefghif"}, 3)


@_case
def reader_of_overlapping_records():
    reader = raw.FixedLengthRecordReaderV2(record_bytes=3, hop_bytes=2)
    return _reading(reader, {"overlapping": b"abcdefg"}, 2)


@_case
def reader_of_distant_records():
    reader = raw.FixedLengthRecordReaderV2(record_bytes=1, hop_bytes=3, encoding="ZLIB")
    return _reading(reader, {"distant": zlib.compress(b"abcdefgh")}, 2)


@_case
def reader_of_tf_records():
    reader = raw.TFRecordReaderV2()
    return _reading(reader, {"records": tf_records_file(b"one", b"", b"three" * 9)}, 2)


@_case
def reader_of_compressed_tf_records():
    reader = raw.TFRecordReaderV2(compression_type="GZIP")
    contents = gzip.compress(tf_records_file(b"one", b"two"), mtime=0)
    return _reading(reader, {"records_gz": contents}, 2)


def _identity_reader():
    reader = raw.IdentityReaderV2()
    queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
    fill = raw.QueueEnqueueManyV2(handle=queue, components=[np.array(["a", "b", "c"])])
    return reader, queue, fill


@_case
def reader_restored():
    reader, queue, fill = _identity_reader()
    read = functools.partial(raw.ReaderReadV2, reader_handle=reader, queue_handle=queue)
    saved = []

    def save():
        saved.append(raw.ReaderSerializeStateV2(reader_handle=reader))
        return saved[0]

    outputs = _in_turn(
        read,
        save,
        read,
        lambda: raw.ReaderNumRecordsProducedV2(reader_handle=reader),
        lambda: raw.ReaderRestoreStateV2(reader_handle=reader, state=saved[0]),
        lambda: raw.ReaderNumRecordsProducedV2(reader_handle=reader),
        read,
    )
    return Plan([fill], outputs)


@_case
def reader_restored_from_nonsense():
    reader, _, _ = _identity_reader()
    return Plan([raw.ReaderRestoreStateV2(reader_handle=reader, state="nonsense")])


@_case
def reader_without_state():
    return Plan([raw.ReaderSerializeStateV2(reader_handle=raw.TextLineReaderV2()).op])


@_case
def reader_of_a_missing_file():
    queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
    fill = raw.QueueEnqueueV2(handle=queue, components=["/tmp/tessera_reader_missing"])
    read = raw.ReaderReadV2(reader_handle=raw.TextLineReaderV2(), queue_handle=queue)
    return Plan([fill, read.key.op])


@_case
def reader_of_a_file_shorter_than_its_header():
    path, write = _file("short", b"h")
    queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
    fill = raw.QueueEnqueueV2(handle=queue, components=[path])
    reader = raw.FixedLengthRecordReaderV2(header_bytes=2, record_bytes=3)
    read = raw.ReaderReadV2(reader_handle=reader, queue_handle=queue)
    return Plan([write, fill, read.key.op])


@_case
def reader_at_the_end():
    queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
    read = raw.ReaderReadV2(reader_handle=raw.IdentityReaderV2(), queue_handle=queue)
    return Plan([raw.QueueCloseV2(handle=queue), read.key.op])


@_case
def reader_with_a_queue_of_numbers():
    queue = raw.FIFOQueueV2(component_types=[tf.int32], shapes=[[]])
    fill = raw.QueueEnqueueV2(handle=queue, components=[np.int32(1)])
    read = raw.ReaderReadV2(reader_handle=raw.IdentityReaderV2(), queue_handle=queue)
    return Plan([fill, read.key.op])


# ---- other state of a session ----


@_case
def session_tensor_unknown():
    return Plan([raw.GetSessionTensor(handle="nothing;1;", dtype=tf.float32).op])


@_case
def critical_section():
    mutex = raw.MutexV2()
    handle = raw.VarHandleOp(dtype=tf.int32, shape=[])
    assign = raw.AssignVariableOp(resource=handle, value=np.int32(0))
    done = []
    for _ in range(5):
        lock = raw.MutexLock(mutex=mutex)
        with tf.control_dependencies([lock]):
            value = raw.ReadVariableOp(resource=handle, dtype=tf.int32)
            write = raw.AssignVariableOp(resource=handle, value=value * 2 + 1)
        with tf.control_dependencies([write]):
            done.append(raw.ConsumeMutexLock(mutex_lock=lock))
    with tf.control_dependencies(done):
        return Plan([assign], [raw.ReadVariableOp(resource=handle, dtype=tf.int32)])


@_case
def keys_of_a_map():
    entries = raw.EmptyTensorMap()
    entries = raw.TensorMapInsert(input_handle=entries, key=np.int32([1, 2]), value=np.float32(1))
    entries = raw.TensorMapInsert(input_handle=entries, key=np.int32([1, 2]), value=np.float32(2))
    return Plan([], [raw.TensorMapStackKeys(input_handle=entries, key_dtype=tf.int32)])


@_case
def keys_of_an_empty_map():
    return Plan([raw.TensorMapStackKeys(input_handle=raw.EmptyTensorMap(), key_dtype=tf.int32).op])


@_case
def keys_of_a_map_of_another_dtype():
    entries = raw.TensorMapInsert(
        input_handle=raw.EmptyTensorMap(), key=np.int32(1), value=np.float32(1)
    )
    return Plan([raw.TensorMapStackKeys(input_handle=entries, key_dtype=tf.float32).op])


# ---- functions of rows, tables of datasets, vocabularies ----


@tf.function(input_signature=[tf.TensorSpec([2]), tf.TensorSpec([])])
def _scaled(row, factor):
    return row * factor, tf.reduce_sum(row)


def _map_rows(rows, shapes=((2,), ())):
    return raw.MapDefun(
        arguments=[rows],
        captured_inputs=[np.float32(10)],
        output_types=[tf.float32, tf.float32],
        output_shapes=shapes,
        f=_scaled.get_concrete_function(),
    )


@_case
def function_of_rows():
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    return Plan([], [*_map_rows(rows), *_map_rows(rows, (None, None)), *_map_rows(rows[:0])])


@_case
def function_of_rows_of_a_scalar():
    return Plan([_map_rows(tf.compat.v1.placeholder_with_default(np.float32(1), None))[0].op])


def _table_of(keys, values):
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    dataset = tf.data.Dataset.from_tensor_slices((np.array(keys), np.int64(values)))
    fill = raw.InitializeTableFromDataset(
        table_handle=table, dataset=dataset._variant_tensor  # pylint: disable=protected-access
    )
    return table, fill


@_case
def table_of_a_dataset():
    table, fill = _table_of(["a", "b"], [1, 2])
    found = raw.LookupTableFindV2(
        table_handle=table, keys=np.array(["b", "x", "a"]), default_value=np.int64(-1)
    )
    return Plan([fill], [found, raw.LookupTableSizeV2(table_handle=table)])


@_case
def table_of_a_dataset_with_two_values_for_a_key():
    return Plan([_table_of(["a", "a"], [1, 2])[1]])


def _remapping(name, count, new=b"a\nb\nc\nd\n", old=b"c\nb\nx\ny\na", offset=0, old_size=-1):
    paths, writes = zip(_file(f"{name}_new", new), _file(f"{name}_old", old))
    with tf.control_dependencies(writes):
        remapping = raw.GenerateVocabRemapping(
            new_vocab_file=paths[0],
            old_vocab_file=paths[1],
            new_vocab_offset=offset,
            num_new_vocab=count,
            old_vocab_size=old_size,
        )
    return remapping, Plan([remapping.remapping.op])


@_case
def vocabulary_remapped():
    results = []
    for options in ({}, {"old_size": 2}, {"count": 0}, {"count": 2, "offset": 1}):
        results.append(lambda options=options: _remapping("remapped", **{"count": 4, **options})[0])
    return Plan([], _in_turn(*results))


_CASES.update(
    vocabulary_too_short=lambda: _remapping("too_short", 4, offset=1)[1],
    vocabulary_empty=lambda: _remapping("empty", 0, new=b"")[1],
    vocabulary_smaller_than_said=lambda: _remapping("smaller_than_said", 1, old_size=9)[1],
    vocabulary_with_an_entry_twice=lambda: _remapping("with_an_entry_twice", 1, old=b"a\na\n")[1],
)


def _remapped_matrix(case, rows, columns, initial, shape, name="w"):
    path = f"/tmp/tessera_reader_matrix_{case}"
    save = raw.SaveV2(
        prefix=path,
        tensor_names=["w", "vector", "double"],
        shape_and_slices=[""] * 3,
        tensors=[
            np.arange(12, dtype=np.float32).reshape(4, 3),
            np.float32([1]),
            np.float64([[1]]),
        ],
    )
    with tf.control_dependencies([save]):
        return raw.LoadAndRemapMatrix(
            ckpt_path=path,
            old_tensor_name=name,
            row_remapping=np.int64(rows),
            col_remapping=np.int64(columns),
            initializing_values=np.float32(initial),
            num_rows=shape[0],
            num_cols=shape[1],
        )


@_case
def matrix_remapped():
    calls = (
        ([2, 0], [], [], (2, 3)),
        ([2, -1], [], [7, 8, 9], (2, 3)),
        ([2, -1, 0], [1, -1], [9, 8, 7, 6], (3, 2)),
        ([], [], [], (0, 3)),
        ([0], [-1, -1], [1, 2], (1, 2)),
    )
    return Plan([], _in_turn(*(functools.partial(_remapped_matrix, "good", *call) for call in calls)))


_BAD_MATRICES = {
    "too_few_values": ([2, -1], [], [7, 8], (2, 3)),
    "too_many_values": ([2, 1], [], [7], (2, 3)),
    "a_row_twice": ([2, 2], [], [], (2, 3)),
    "other_columns": ([1], [], [], (1, 2)),
    "other_rows": ([1], [], [], (2, 3)),
    "a_vector": ([0], [], [], (1, 1), "vector"),
    "doubles": ([0], [], [], (1, 1), "double"),
    "no_tensor": ([0], [], [], (1, 1), "nothing"),
}
for _name, _call in _BAD_MATRICES.items():
    _CASES[f"matrix_remapped_{_name}"] = (
        lambda name=_name, call=_call: Plan([_remapped_matrix(name, *call).op])
    )


@_case
def weights_shrunk():
    weights = raw.VariableV2(shape=[6], dtype=tf.float32)
    assign = raw.Assign(ref=weights, value=np.float32([-3, -0.5, 0, 0.2, 1, 7]))
    return Plan([assign, raw.SdcaShrinkL1(weights=[weights], l1=1, l2=2)], [weights + 0])


@_case
def weights_shrunk_before_they_are_there():
    weights = raw.VariableV2(shape=[6], dtype=tf.float32)
    return Plan([raw.SdcaShrinkL1(weights=[weights], l1=1, l2=2)])


@_case
def fingerprints():
    text = "".join(chr(32 + i * 7 % 90) for i in range(300))
    strings = np.array([text[:length] for length in (0, 1, 7, 15, 16, 17, 140, 144, 200, 300)])
    return Plan([], [raw.SdcaFprint(input=strings), raw.SdcaFprint(input=strings[:0])])


# ---- collective operations of one member ----


@_case
def collectives_of_one():
    keys = iter(range(1, 99))
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)

    def group():
        return {"group_size": 1, "group_key": next(keys), "instance_key": next(keys)}

    reduction = {"merge_op": "Add", "final_op": "Div"}
    results = [
        raw.CollectiveReduce(input=rows, subdiv_offsets=[0], **reduction, **group()),
        raw.CollectiveReduceV2(input=rows, ordering_token=[], **reduction, **group()),
        raw.CollectiveReduceV2(input=np.int64(7), ordering_token=[], **reduction, **group()),
        raw.CollectiveReduceV2(input=rows[:0], ordering_token=[], **reduction, **group()),
        raw.CollectiveGather(input=rows, shape=rows.shape, **group()),
        raw.CollectiveGatherV2(input=rows, ordering_token=[], **group()),
        raw.CollectiveBcastSend(input=rows, shape=rows.shape, **group()),
        raw.CollectiveBcastSendV2(input=np.array(True), **group()),
    ]
    groups = np.int32([[0, 1], [2, 3]])
    results += raw.CollectiveAssignGroupV2(group_assignment=groups, device_index=3, base_key=5)
    return Plan([], results)


@_case
def collective_of_nobody():
    return Plan(
        [
            raw.CollectiveReduceV2(
                input=np.float32(1),
                group_size=0,
                group_key=1,
                instance_key=1,
                merge_op="Add",
                final_op="Id",
                ordering_token=[],
            ).op
        ]
    )


@_case
def collective_group_without_the_device():
    groups = np.int32([[0, 1]])
    assigned = raw.CollectiveAssignGroupV2(group_assignment=groups, device_index=3, base_key=5)
    return Plan([assigned.group_size.op])


def record(directory):
    """Writes DIRECTORY/NAME.pb for each case, and returns the paths."""
    return graph_cases.record(directory, _CASES)
