"""Pipelines that read and write files, whose elements TensorFlow records; see pipeline_recording."""

import gzip
import struct
import zlib

import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops

from conformance import pipeline_recording

Dataset = tf.data.Dataset
CASES = {}
_case = pipeline_recording.names_in(CASES)


def test_file(files, name, contents):
    """The path of a file with these bytes, which the graph writes before it runs."""
    path = pipeline_recording.path_of(name)
    files.append(tf.io.write_file(path, tf.constant(contents)))
    return path


def unused_path(name):
    """A path at which the pipeline keeps elements; there is nothing when it is recorded."""
    path = pipeline_recording.path_of(name)
    pipeline_recording.remove(path)
    return path


# ---- read from files ----


def tf_records_file(*records):
    """The bytes of a TFRecord file."""

    def masked(data):
        crc = 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        crc ^= 0xFFFFFFFF
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    out = b""
    for record in records:
        length = struct.pack("<Q", len(record))
        out += length + masked(length) + record + masked(record)
    return out


@_case(rewind=2)
def tf_records(files):
    first = test_file(files, "records_1", tf_records_file(b"one", b"", b"three" * 99))
    second = test_file(files, "records_2", tf_records_file(b"four"))
    return tf.data.TFRecordDataset([first, second])


@_case
def tf_records_gzip(files):
    path = test_file(files, "records.gz", gzip.compress(tf_records_file(b"one", b"two" * 999), mtime=0))
    return tf.data.TFRecordDataset(path, compression_type="GZIP").map(tf.strings.length)


@_case
def tf_records_zlib(files):
    path = test_file(files, "records.zlib", zlib.compress(tf_records_file(b"one", b"two")))
    return tf.data.TFRecordDataset(path, compression_type="ZLIB")


@_case
def tf_records_cut(files):
    return tf.data.TFRecordDataset(test_file(files, "cut", tf_records_file(b"one", b"two")[:-6]))


@_case
def tf_records_damaged(files):
    records = tf_records_file(b"one", b"two")
    return tf.data.TFRecordDataset(test_file(files, "damaged", records[:-6] + b"?" + records[-5:]))


@_case
def tf_records_of_no_file(_):
    return tf.data.TFRecordDataset("/tmp/tessera_pipeline_that_is_not_there")


@_case(rewind=2)
def text_lines(files):
    first = test_file(files, "lines_1", b"one\r\ntwo\n\nfour")
    return tf.data.TextLineDataset([first, test_file(files, "lines_2", b"five\n")])


@_case
def text_lines_gzip(files):
    path = test_file(files, "lines.gz", gzip.compress(b"one\ntwo\n", mtime=0))
    return tf.data.TextLineDataset(path, compression_type="GZIP")


@_case(rewind=1)
def fixed_length_records(files):
    path = test_file(files, "fixed", b"HHaaabbbcccF")
    return tf.data.FixedLengthRecordDataset(path, 3, header_bytes=2, footer_bytes=1)


@_case
def fixed_length_records_zlib(files):
    path = test_file(files, "fixed.zlib", zlib.compress(b"HHaaabbbcccF"))
    return tf.data.FixedLengthRecordDataset(
        path, 3, header_bytes=2, footer_bytes=1, compression_type="ZLIB"
    )


@_case
def fixed_length_records_with_a_rest(files):
    return tf.data.FixedLengthRecordDataset(test_file(files, "rest", b"aaabbbc"), 3)


@_case(rewind=1)
def csv(files):
    path = test_file(files, "csv", b'a,b,c\n1,"x, ""y""",2.5\n,z,\n3,,4\n')
    return tf.data.experimental.CsvDataset(
        path, [7, tf.constant("none"), tf.constant([1.5])], header=True
    )


@_case
def csv_of_some_columns(files):
    path = test_file(files, "csv_columns", b"1;2;3\n4;NA;6\n")
    return tf.data.experimental.CsvDataset(
        path, [0, 9], field_delim=";", na_value="NA", select_cols=[0, 1]
    )


@_case
def csv_with_a_field_missing(files):
    path = test_file(files, "csv_missing", b"1,2\n3,\n")
    return tf.data.experimental.CsvDataset(path, [tf.int32, tf.int32])


# ---- kept in files ----


@_case
def cached_in_a_file(_):
    path = unused_path("cache")
    return Dataset.range(4).map(lambda x: (x, tf.strings.as_string(x))).cache(path).repeat(3)


@_case
def snapshot(_):
    path = unused_path("snapshot")
    return Dataset.range(5).map(lambda x: x * 7).snapshot(path).repeat(2)


@_case
def saved_and_loaded(files):
    """Two shards, which are read one after the other."""
    path = unused_path("saved")
    spec = tf.TensorSpec([], tf.int64)
    shard = tf.function(lambda x: x % 2).get_concrete_function(spec)

    @tf.function
    def read(variant):
        shards = dataset_ops._VariantDataset(variant, tf.data.DatasetSpec(spec))
        return shards.flat_map(lambda elements: elements)._variant_tensor

    reader = read.get_concrete_function(tf.TensorSpec([], tf.variant))
    files.append(
        tf.raw_ops.SaveDataset(
            input_dataset=Dataset.range(6)._variant_tensor,
            path=path,
            shard_func_other_args=[],
            shard_func=shard,
        )
    )
    loaded = tf.raw_ops.LoadDataset(
        path=path,
        reader_func_other_args=[],
        output_types=[tf.int64],
        output_shapes=[[]],
        reader_func=reader,
    )
    return dataset_ops._VariantDataset(loaded, spec)
