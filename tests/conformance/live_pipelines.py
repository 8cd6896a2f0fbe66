"""Pipelines that TensorFlow runs while the tests run, with what they gave, as graphs for check_ops.

    python -m conformance.live_pipelines DIRECTORY

Unlike those of pipeline_cases nothing of them is kept in the repository. They vary what the
recorded ones do once: arguments at and beyond their limits, errors in the middle, files that end
anywhere.
"""

import gzip
import pathlib
import sys
import zlib

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops

from conformance import pipeline_recording
from conformance.pipeline_file_cases import test_file, tf_records_file, unused_path

Dataset = tf.data.Dataset
Csv = tf.data.experimental.CsvDataset
raw = tf.raw_ops
_placeholder = tf.compat.v1.placeholder_with_default
_NUMBER = tf.TensorSpec([], tf.int64)
_STRING = tf.TensorSpec([], tf.string)
_RECORDS = tf_records_file(b"one", b"", b"three" * 99, b"4")

# By name: what makes the dataset from the list of operations that write its files, and how many of
# the last elements come again after a saved position was restored.
CASES = {}


def _case(name, make, rewind=0):
    if name in CASES:
        raise ValueError(f"there are two pipelines of the name {name}")
    CASES[name] = (make, rewind)


def _made(op, spec, *, of=None, **inputs):
    """The dataset that an op gives. What the op would refuse while the graph is built is fed."""
    if of is not None:
        inputs["input_dataset"] = of._variant_tensor
    inputs.setdefault("output_types", [component.dtype for component in tf.nest.flatten(spec)])
    inputs.setdefault("output_shapes", [component.shape for component in tf.nest.flatten(spec)])
    return dataset_ops._VariantDataset(op(**inputs), spec)


def _fed(value, dtype=np.int64):
    return _placeholder(dtype(value), None)


def _to_four(x):
    """Fails for all but 0 to 3."""
    return tf.gather([1, 2, 3, 4], x)


def _failing(count, *at):
    """The numbers from 0 on, but for those of `at`, which are errors."""
    def check(x):
        fails = tf.reduce_any(tf.equal(x, at))
        return x + tf.gather(tf.zeros([1], tf.int64), tf.cast(fails, tf.int64))

    return Dataset.range(count).map(check)


def _rows(x):
    return tf.fill([x], x)


def _sparse():
    return tf.SparseTensor([[0, 1], [1, 0], [1, 2], [3, 3]], [1.0, 2.0, 3.0, 4.0], [5, 4])


def _add_ranges():
    limits = [(0, 0, 1), (0, 5, 0), (5, 0, 1), (5, 0, -2), (-3, 3, 2), (-(2**63), -(2**63) + 3, 1)]
    for i, limit in enumerate(limits):
        _case(f"range_{i}", lambda _, limit=limit: Dataset.range(*map(_fed, limit)), 1)
    for dtype in (tf.int32, tf.uint8, tf.uint64, tf.half, tf.bfloat16, tf.double, tf.bool):
        _case(f"range_of_{dtype.name}",
              lambda _, dtype=dtype: _made(raw.RangeDataset, tf.TensorSpec([], dtype),
                                           start=np.int64(0), stop=np.int64(300), step=np.int64(7)))


def _add_slices():
    _case("slices_of_nothing", lambda _: Dataset.from_tensor_slices(np.zeros([0, 3], np.float32)))
    _case("slices_of_a_scalar", lambda _: Dataset.from_tensor_slices(_fed(1)))
    _case("slices_that_differ",
          lambda _: Dataset.from_tensor_slices((_fed([1, 2]), _fed([1, 2, 3]))))
    slices = tf.compat.v1.data.Dataset.from_sparse_tensor_slices
    _case("sparse_slices", lambda _: slices(_sparse()), 2)
    _case("sparse_slices_without_values",
          lambda _: slices(tf.SparseTensor(np.zeros([0, 2], np.int64), [], [3, 4])), 1)
    _case("sparse_slices_in_disorder",
          lambda _: slices(tf.SparseTensor([[1, 1], [0, 0]], [1.0, 2.0], [3, 4])))
    _case("sparse_batches", lambda _: Dataset.from_tensor_slices(_sparse()).batch(2).map(
        tf.sparse.to_dense), 1)
    _case("sparse_cached", lambda _: Dataset.from_tensor_slices(_sparse()).cache().repeat(2).map(
        tf.sparse.to_dense), 3)


def _add_maps():
    for calls in (1, 3, tf.data.AUTOTUNE):
        _case(f"mapped_by_{calls}", lambda _, calls=calls: Dataset.range(13).map(
            lambda x: tf.strings.as_string(x * 3), num_parallel_calls=calls), 3)
    _case("mapped_in_any_order", lambda _: Dataset.range(13).map(
        lambda x: x * 3, num_parallel_calls=4, deterministic=False).batch(20).map(tf.sort))
    _case("mapped_to_datasets", lambda _: Dataset.range(4).map(Dataset.range).flat_map(
        lambda inner: inner), 1)
    _case("mapped_with_a_seed", lambda _: Dataset.range(5).map(
        lambda x: tf.random.uniform([], seed=3)))
    _case("mapped_until_an_error", lambda _: Dataset.range(6).map(_to_four))
    _case("mapped_past_errors", lambda _: Dataset.range(9).map(
        lambda x: _to_four(x % 6), num_parallel_calls=3).ignore_errors(), 2)
    identity = tf.function(lambda x: x).get_concrete_function
    for calls in (0, -5):
        _case(f"mapped_by_{calls}_calls", lambda _, calls=calls: _made(
            raw.ParallelMapDatasetV2, _NUMBER, of=Dataset.range(3), other_arguments=[],
            f=identity(_NUMBER), num_parallel_calls=_fed(calls)))
    _case("filtered_by_a_number", lambda _: _made(
        raw.FilterDataset, _NUMBER, of=Dataset.range(3), other_arguments=[],
        predicate=identity(_NUMBER)))
    _case("taken_while_never", lambda _: Dataset.range(6).take_while(lambda x: x < 0))
    _case("scanned_with_a_growing_state", lambda _: Dataset.range(5).scan(
        tf.zeros([0], tf.int64), lambda seen, x: (tf.concat([seen, [x]], 0), seen)), 2)
    _case("scanned_until_an_error", lambda _: Dataset.range(6).scan(
        np.int64(0), lambda state, x: (state, _to_four(x))))
    _case("reduced_until_an_error", lambda _: Dataset.from_tensors(
        Dataset.range(5).reduce(0, lambda _, x: _to_four(x))))
    _case("single_of_none", lambda _: Dataset.from_tensors(Dataset.range(0).get_single_element()))


def _add_interleaves():
    def inner(x):
        return Dataset.range(x * 10, x * 10 + x)

    for cycle, block in [(1, 1), (2, 3), (4, 1), (16, 2), (3, 100)]:
        for calls in (None, 2):
            _case(f"interleaved_{cycle}_{block}_{calls}",
                  lambda _, cycle=cycle, block=block, calls=calls: Dataset.range(1, 6).interleave(
                      inner, cycle, block, num_parallel_calls=calls), 3)
    _case("interleaved_past_errors", lambda _: Dataset.range(4).interleave(
        lambda x: Dataset.range(x, x + 2).map(_to_four), 2, num_parallel_calls=2).ignore_errors())
    ranges = tf.function(lambda x: Dataset.range(x)._variant_tensor).get_concrete_function(_NUMBER)
    legal = {"cycle_length": 2, "block_length": 1, "num_parallel_calls": 1,
             "buffer_output_elements": 1, "prefetch_input_elements": 0}
    illegal = [("cycle_length", 0), ("cycle_length", -2), ("block_length", 0), ("block_length", -1),
               ("num_parallel_calls", 0), ("num_parallel_calls", 3), ("num_parallel_calls", -1),
               ("buffer_output_elements", 0), ("buffer_output_elements", -1),
               ("buffer_output_elements", -2), ("prefetch_input_elements", -1),
               ("prefetch_input_elements", -3)]
    for op in (raw.InterleaveDataset, raw.ParallelInterleaveDatasetV2,
               raw.ParallelInterleaveDatasetV4, raw.LegacyParallelInterleaveDatasetV2):
        op_name = op.__name__ if op.__name__ != "wrapper" else op.__wrapped__.__name__
        known = set((op.__kwdefaults__ or {})) | set(op.__wrapped__.__code__.co_varnames)
        for name, value in illegal:
            if name not in known:
                continue
            arguments = {key: _fed for key in legal if key in known}
            _case(f"{op_name}_{name}_{value}",
                  lambda _, op=op, name=name, value=value, arguments=arguments: _made(
                      op, _NUMBER, of=Dataset.range(4), other_arguments=[], f=ranges,
                      **{key: fed({**legal, name: value}[key]) for key, fed in arguments.items()}))


def _add_order():
    for size in (1, 2, 7, 100):
        _case(f"shuffled_{size}", lambda _, size=size: Dataset.range(11).shuffle(size, seed=5), 3)
    for size in (0, -1, -3):
        _case(f"shuffled_by_{size}", lambda _, size=size: _made(
            raw.ShuffleDataset, _NUMBER, of=Dataset.range(4), buffer_size=_fed(size),
            seed=np.int64(1), seed2=np.int64(1)))
    _case("shuffled_twice", lambda _: Dataset.range(11).shuffle(3, seed=4).shuffle(
        5, seed=2).repeat(2), 5)
    _case("shuffled_and_cached", lambda _: Dataset.range(9).shuffle(4, seed=8).cache().repeat(2), 3)
    _case("cached_and_shuffled", lambda _: Dataset.range(6).cache().shuffle(6, seed=2).repeat(2), 3)
    _case("random_anew",
          lambda _: Dataset.random(5, rerandomize_each_iteration=True).take(3).repeat(2))
    for choices in ([0, 1, 1, 0, 1], [0, 5], [0, -1]):
        _case(f"chosen_{'_'.join(map(str, choices))}", lambda _, choices=choices:
              Dataset.choose_from_datasets(
                  [Dataset.range(1), Dataset.range(10, 13)],
                  Dataset.from_tensor_slices(np.int64(choices))))


def _add_batches():
    for size in (1, 3, 10, 100):
        for drop in (False, True):
            for calls in (None, 2):
                _case(f"batches_{size}_{drop}_{calls}",
                      lambda _, size=size, drop=drop, calls=calls: Dataset.range(10).batch(
                          size, drop, num_parallel_calls=calls), 1)
    _case("batches_until_an_error", lambda _: Dataset.range(6).map(_to_four).prefetch(1).batch(3))
    _case("batches_past_errors", lambda _: Dataset.range(9).map(
        lambda x: _to_four(x % 5)).prefetch(1).batch(3).ignore_errors())
    _case("padded", lambda _: Dataset.range(7).map(
        lambda x: tf.fill([x % 3, x % 2 + 1], x)).padded_batch(3), 1)
    padded = {"larger": [6], "smaller": [1], "of_another_rank": [2, 2], "without_rank": [],
              "negative": [-2]}
    for name, shape in padded.items():
        _case(f"padded_{name}", lambda _, shape=shape: dataset_ops._VariantDataset(
            raw.PaddedBatchDatasetV2(
                input_dataset=Dataset.range(1, 5).map(_rows)._variant_tensor, batch_size=2,
                padded_shapes=[_fed(shape)], padding_values=[np.int64(7)], drop_remainder=False,
                output_shapes=[tf.TensorShape(None)]), tf.TensorSpec(None, tf.int64)))
    _case("ragged", lambda _: Dataset.range(5).map(_rows).ragged_batch(2, drop_remainder=True).map(
        lambda rows: (rows.flat_values, rows.row_splits)))
    for bounded in (False, True):
        _case(f"bucketed_{bounded}", lambda _, bounded=bounded: Dataset.from_tensor_slices(
            [1, 2, 2, 5, 4, 3, 1, 5, 4]).map(_rows).bucket_by_sequence_length(
                tf.size, [3, 6], [2, 3, 2], pad_to_bucket_boundary=bounded))
    for size, shift, stride, drop in [(3, 1, 1, False), (3, 1, 1, True), (2, 5, 1, False),
                                      (2, 3, 2, True), (20, 1, 1, False), (20, 1, 1, True)]:
        arguments = (size, shift, stride, drop)
        _case(f"windows_{size}_{shift}_{stride}_{drop}", lambda _, arguments=arguments:
              Dataset.range(8).window(*arguments).flat_map(lambda window: window.batch(5)), 2)
    for sizes, drop in [([3], False), ([3], True), ([1, 2], False), ([20], False)]:
        _case(f"rebatched_{'_'.join(map(str, sizes))}_{drop}", lambda _, sizes=sizes, drop=drop:
              Dataset.range(11).batch(4).rebatch(sizes, drop_remainder=drop), 2)
    _case("rebatched_from_rows_of_different_lengths", lambda _: Dataset.range(1, 4).map(
        lambda x: tf.zeros([2, x])).rebatch(3))
    _case("unbatched_scalars", lambda _: _made(raw.UnbatchDataset, _NUMBER, of=Dataset.range(4)))
    _case("grouped_by_growing_windows", lambda _: Dataset.range(20).group_by_window(
        lambda x: x % 3, lambda _, window: window.batch(10), window_size_func=lambda key: key + 1))
    _case("grouped_by_empty_windows", lambda _: Dataset.range(9).group_by_window(
        lambda x: x % 3, lambda _, window: window.batch(10), window_size_func=lambda key: key * 0))


def _add_parts():
    for count in (-1, 0, 1, 3, -7):
        _case(f"repeated_{count}", lambda _, count=count: Dataset.range(3).repeat(count).take(8), 2)
        _case(f"taken_{count}", lambda _, count=count: Dataset.range(2).take(count), 1)
        _case(f"skipped_{count}", lambda _, count=count: Dataset.range(5).skip(count), 1)
    shards = [(3, 0, False), (3, 2, False), (1, 0, False), (0, 0, False), (3, 3, False),
              (3, -1, False), (-1, 0, False), (5, 1, True), (3, 1, True), (10, 9, True)]
    for shard in shards:
        _case(f"shard_{'_'.join(map(str, shard))}", lambda _, shard=shard: _made(
            raw.ShardDataset, _NUMBER, of=Dataset.range(10 if shard[0] != 5 else 3),
            num_shards=_fed(shard[0]), index=_fed(shard[1]), require_non_empty=shard[2]), 1)
    for size in (0, 1, 100, tf.data.AUTOTUNE, -2):
        _case(f"prefetched_{size}", lambda _, size=size: _made(
            raw.PrefetchDataset, _NUMBER, of=Dataset.range(6), buffer_size=_fed(size)), 2)
    _case("cached_in_part", lambda _: Dataset.range(6).cache().take(3).repeat(2))
    _case("cached_in_an_empty_file", lambda _: Dataset.range(0).cache(
        unused_path("live_cache")).repeat(2))
    _case("snapshot_compressed", lambda _: Dataset.range(5).snapshot(
        unused_path("live_snapshot"), compression="GZIP").repeat(2))
    _case("unique_numbers", lambda _: Dataset.range(10).map(lambda x: x % 4).unique().repeat(2), 2)
    for op, name in ((raw.MaxIntraOpParallelismDataset, "max_intra_op_parallelism"),
                     (raw.PrivateThreadPoolDataset, "num_threads")):
        for threads in (2, 0, -1):
            _case(f"{name}_{threads}", lambda _, op=op, name=name, threads=threads: _made(
                op, _NUMBER, of=Dataset.range(4), **{name: _fed(threads)}), 1)


def _add_files():
    def records(name, contents, compression="", **arguments):
        _case(f"records_{name}", lambda files: tf.data.TFRecordDataset(
            test_file(files, f"live_{name}", contents), compression, **arguments), 1)

    records("gzip", gzip.compress(_RECORDS, mtime=0), "GZIP")
    records("zlib", zlib.compress(_RECORDS), "ZLIB")
    records("plain_for_gzip", _RECORDS, "GZIP")
    records("gzip_for_zlib", gzip.compress(_RECORDS, mtime=0), "ZLIB")
    records("gzip_for_plain", gzip.compress(_RECORDS, mtime=0))
    records("of_nothing", b"")
    records("with_a_huge_length", _RECORDS + b"\xff" * 16)
    records("buffered", _RECORDS, buffer_size=3)
    lines = {"without_an_end": b"a\nb", "empty": b"\n\n\r\n\n",
             "with_returns": b"a\rb\n\rc\r\nd\r\r\n", "long": b"x" * 300000 + b"\ny\n",
             "of_bytes": b"\xef\xbb\xbfa\nb\xff\x00\n"}
    for name, contents in lines.items():
        _case(f"lines_{name}", lambda files, name=name, contents=contents: tf.data.TextLineDataset(
            test_file(files, f"live_{name}", contents)), 1)
    fixed = {"rest": {}, "record_bytes": {"record_bytes": 0}, "header_bytes": {"header_bytes": -1},
             "footer_bytes": {"footer_bytes": -1}, "buffer_size": {"buffer_size": -1}}
    layout = {"header_bytes": 2, "footer_bytes": 1, "record_bytes": 3, "buffer_size": 0}
    for name, wrong in fixed.items():
        for compression in ("", "GZIP"):
            contents = b"HHaaabbb" + (b"b" if name == "rest" else b"") + b"F"
            if compression:
                contents = gzip.compress(contents, mtime=0)
            _case(f"fixed_{name}_{compression}",
                  lambda files, name=name, wrong=wrong, contents=contents, compression=compression:
                  dataset_ops._VariantDataset(
                      raw.FixedLengthRecordDatasetV2(
                          filenames=[test_file(files, f"live_{name}{compression}", contents)],
                          compression_type=compression,
                          **{key: _fed(value) for key, value in {**layout, **wrong}.items()}),
                      _STRING))
    tables = {
        "of_types": (b'1,2.5,a,9999999999\n-3,1e3,"b""c",-1\n', [0, 0.5, "z", np.int64(3)], {}),
        "of_defaults": (b",,,\n", [7, 0.5, "z", np.int64(3)], {}),
        "bad_number": (b"1\nx\n", [tf.int32], {}),
        "large_number": (b"99999999999\n", [tf.int32], {}),
        "too_many": (b"1,2,3\n", [0, 0], {}),
        "too_few": (b"1\n", [0, 0], {}),
        "quoted_line": (b'"a\nb",1\nc,2\n', ["", 0], {}),
        "quote_inside": (b'a"b,1\n', ["", 0], {}),
        "quote_open": (b'"ab,1\n', ["", 0], {}),
        "quote_ends_early": (b'"a"b,1\n', ["", 0], {}),
        "quotes_off": (b'"a",1\n', ["", 0], {"use_quote_delim": False}),
        "not_available": (b'NA,1\n"NA",NA\n', ["q", 9], {"na_value": "NA"}),
        "header_alone": (b"a,b\n", [1, 2], {"header": True}),
        "header_missing": (b"", [1, 2], {"header": True}),
        "header_blank": (b"\n1,2\n", [1, 2], {"header": True}),
        "blank_line": (b"1\n\n2\n", [5], {}),
        "blank_line_of_two": (b"1,2\n\n2,3\n", [5, 6], {}),
        "blank_end": (b"1\n\r\n", [5], {}),
        "last_field_empty": (b"1,\n2,", [1, 2], {}),
        "columns": (b"1,2,3,4\n5,6,7,8\n", [0, 0], {"select_cols": [1, 3]}),
        "columns_beyond": (b"1,2\n", [0, 0], {"select_cols": [1, 3]}),
        "spaces": (b" 1, 2 \n", [0, 0], {}),
    }
    for name, (contents, defaults, options) in tables.items():
        _case(f"csv_{name}",
              lambda files, name=name, contents=contents, defaults=defaults, options=options:
              Csv(test_file(files, f"live_{name}", contents), defaults, **options), 1)


def _add_cardinalities():
    def counts(endless, unknown):
        def by_parity(dataset):
            return dataset.group_by_window(lambda x: x % 2, lambda _, window: window, window_size=2)

        datasets = [
            endless.interleave(Dataset.range, 2, num_parallel_calls=2),
            endless.flat_map(Dataset.range),
            by_parity(endless), by_parity(Dataset.range(4)), endless.skip(-1), unknown.skip(-1),
            Dataset.choose_from_datasets([Dataset.range(3), endless], Dataset.range(2)),
            Dataset.choose_from_datasets([Dataset.range(3), unknown], Dataset.range(2)),
            endless.enumerate(), unknown.repeat(), Dataset.range(0).repeat(), unknown.repeat(2),
            Dataset.range(5, 2**63 - 1, 10), Dataset.range(2**63 - 2),
            unknown.apply(tf.data.experimental.shuffle_and_repeat(2)),
        ]
        return Dataset.from_tensors([dataset.cardinality() for dataset in datasets])

    _case("cardinalities", lambda _: counts(Dataset.range(3).repeat(),
                                            Dataset.range(9).filter(lambda x: x > 2)))
    _case("range_to_the_last_number", lambda _: Dataset.range(2**63 - 4, 2**63 - 1).batch(2), 1)


def _add_errors():
    # What comes behind an error.
    spoilt = {"a_bad_number": b"1,2\nx,3\n4,5\n", "a_missing_field": b"1,2\n,3\n4,5\n",
              "a_short_record": b"1,2\n3\n4,5\n", "a_quote": b'1,2\n3,4"\n5,6\n'}
    for name, contents in spoilt.items():
        _case(f"csv_past_{name}", lambda files, name=name, contents=contents: Csv(
            test_file(files, f"live_past_{name}", contents),
            [tf.int32, tf.int32]).ignore_errors(), 1)
    _case("taken_past_errors", lambda _: _failing(9, 1, 2).take(4).ignore_errors(), 2)
    for at in (0, 3, 4, 5):
        _case(f"shard_past_an_error_at_{at}",
              lambda _, at=at: _failing(12, at).shard(2, 0).ignore_errors(), 2)
    for arguments in [(2, 2, 1, False), (3, 2, 1, True), (2, 4, 1, False), (2, 1, 3, False)]:
        _case(f"windows_past_errors_{'_'.join(map(str, arguments))}",
              lambda _, arguments=arguments: _failing(12, 1, 6, 11).window(*arguments).flat_map(
                  lambda window: window.batch(3)).ignore_errors(), 2)
    _case("windows_of_pairs_past_an_error", lambda _: Dataset.zip((
        Dataset.range(6), _failing(6, 4))).window(2, 1, 2).flat_map(lambda x, y: Dataset.zip((
            x.batch(2), y.batch(2)))).ignore_errors(), 1)
    for name, parts in {"alone": [(5, 2), (5, 9)], "before_the_end": [(5, 2), (2, 9)],
                        "behind_the_end": [(2, 9), (5, 2)]}.items():
        _case(f"zipped_with_an_error_{name}",
              lambda _, parts=parts: Dataset.zip(tuple(_failing(*part) for part in parts)))
    for calls in (None, 2):
        _case(f"interleaved_past_failed_calls_{calls}", lambda _, calls=calls: Dataset.range(
            6).interleave(lambda x: Dataset.range(
                x * 10 + tf.gather(np.int64([0]), x % 3 % 2), x * 10 + 3), 2, 2,
                          num_parallel_calls=calls).ignore_errors(), 3)
        _case(f"interleaved_past_errors_inside_{calls}", lambda _, calls=calls: Dataset.range(
            5).interleave(lambda x: _failing(4, 1, 3).map(lambda y: x * 10 + y), 2, 2,
                          num_parallel_calls=calls).ignore_errors(), 3)
        _case(f"interleaved_past_failed_elements_{calls}", lambda _, calls=calls: _failing(
            6, 1, 3).interleave(lambda x: Dataset.range(x * 10, x * 10 + 3), 2, 2,
                                num_parallel_calls=calls).ignore_errors(), 3)
    _case("interleaved_by_workers_past_failed_calls", lambda _: Dataset.range(6).apply(
        tf.data.experimental.parallel_interleave(lambda x: Dataset.range(
            x * 10 + tf.gather(np.int64([0]), x % 3 % 2), x * 10 + 3), 2, 2)).ignore_errors(), 3)

    def sums(x, state):
        return state + x + tf.gather(tf.zeros([1], tf.int64), x // 8 % 2)

    _case("reduced_by_groups_past_errors", lambda _: Dataset.range(20).apply(
        tf.data.experimental.group_by_reducer(lambda x: x % 3, tf.data.experimental.Reducer(
            lambda key: key * 100, lambda state, x: sums(x, state), lambda state: state))
    ).ignore_errors())


def _add_caches():
    def shuffled():
        return Dataset.range(6).shuffle(6, seed=3)

    _case("cached_and_taken_to_the_last", lambda _: shuffled().cache().take(6).repeat(3), 3)
    _case("cached_and_batched_to_the_last", lambda _: shuffled().cache().batch(3).take(2).repeat(3),
          1)
    _case("cached_with_a_wrong_cardinality", lambda _: shuffled().apply(
        tf.data.experimental.assert_cardinality(4)).cache())
    _case("cached_behind_one_of_the_same_length", lambda _: Dataset.zip((
        Dataset.range(3), Dataset.range(6).filter(lambda x: x < 3).shuffle(3, seed=3).cache())
    ).repeat(3), 2)


def _add_mixtures():
    _case("mixture_of_rounds", lambda _: Dataset.range(30).shuffle(10, seed=1).map(
        lambda x: x * 2, num_parallel_calls=2).filter(lambda x: x % 3 == 0).batch(3).prefetch(
            2).repeat(2), 3)
    _case("mixture_of_windows", lambda _: Dataset.range(6).flat_map(
        lambda x: Dataset.range(x).batch(2)).unbatch().window(3, 2).flat_map(
            lambda window: window.batch(3)).cache().repeat(2).shuffle(4, seed=9), 3)
    _case("mixture_of_pairs", lambda _: Dataset.zip(
        (Dataset.range(9).shuffle(3, seed=1), Dataset.range(9).cache().repeat(2))).interleave(
            lambda a, b: Dataset.from_tensors((a, b)).repeat(2), cycle_length=3).skip(3), 4)
    _case("mixture_of_groups", lambda _: Dataset.range(20).group_by_window(
        lambda x: x % 2, lambda _, window: window.shuffle(3, seed=4).batch(2),
        window_size=4).unbatch().scan(np.int64(0), lambda total, x: (total + x, total)))


def main(directory):
    """Writes DIRECTORY/graphs/NAME.pb for each pipeline."""
    for add in (_add_ranges, _add_slices, _add_maps, _add_interleaves, _add_order, _add_batches,
                _add_parts, _add_cardinalities, _add_errors, _add_caches, _add_files, _add_mixtures):
        add()
    for name, (make, rewind) in CASES.items():
        pipeline_recording.record(pathlib.Path(directory) / "graphs", name, make, rewind)


if __name__ == "__main__":
    main(*sys.argv[1:])
