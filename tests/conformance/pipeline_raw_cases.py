"""Pipelines of datasets that tf.data has no method for; see pipeline_recording."""

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops

from conformance import pipeline_recording
from conformance.pipeline_file_cases import test_file, unused_path

Dataset = tf.data.Dataset
raw = tf.raw_ops
CASES = {}
_case = pipeline_recording.names_in(CASES)
_NUMBER = tf.TensorSpec([], tf.int64)
_BATCH = tf.TensorSpec([None], tf.int64)


def _made(op, spec, *, of=None, **inputs):
    """The dataset that an op gives, over dataset `of` if there is one."""
    if of is not None:
        inputs["input_dataset"] = of._variant_tensor
    flat = tf.nest.flatten(spec)
    names = op.__kwdefaults__ or op.__wrapped__.__code__.co_varnames
    if "output_types" in names:
        inputs["output_types"] = [component.dtype for component in flat]
        inputs["output_shapes"] = [component.shape for component in flat]
    return dataset_ops._VariantDataset(op(**inputs), spec)


def _sliding(size, shift=1, stride=1, **attrs):
    return _made(
        raw.SlidingWindowDataset,
        _BATCH,
        of=Dataset.range(7),
        window_size=size,
        window_shift=shift,
        window_stride=stride,
        **attrs,
    )


@_case
def sliding_windows(_):
    return _sliding(3, shift=2)


@_case
def sliding_windows_with_a_remainder(_):
    return _sliding(2, stride=3, drop_remainder=False)


@_case
def sliding_windows_larger_than_the_dataset(_):
    return _sliding(30)


@_case
def sliding_windows_of_nothing(_):
    return _sliding(0)


def _rebatched(batch, replicas):
    batches = Dataset.range(10).batch(batch) if batch else Dataset.range(10)
    return _made(raw.RebatchDataset, _BATCH, of=batches, num_replicas=replicas)


@_case(rewind=3)
def batches_in_even_parts(_):
    return _rebatched(4, 2)


@_case(rewind=3)
def batches_in_uneven_parts(_):
    return _rebatched(5, 4)


@_case
def batches_in_no_parts(_):
    return _rebatched(5, 0)


@_case
def scalars_in_parts(_):
    return _rebatched(0, 2)


def _rows_of_different_lengths():
    return Dataset.range(5).map(tf.range)


def _sparse_batches(row_shape):
    sparse = _made(
        raw.DenseToSparseBatchDataset,
        tf.SparseTensorSpec([None, None], tf.int64),
        of=_rows_of_different_lengths(),
        batch_size=2,
        row_shape=np.int64(row_shape),
        output_types=[tf.int64],
        output_shapes=[[None, None]],
    )
    return sparse.map(lambda batch: (batch.indices, batch.values, batch.dense_shape))


@_case
def sparse_batches(_):
    return _sparse_batches([6])


@_case
def sparse_batches_as_large_as_needed(_):
    return _sparse_batches([-1])


@_case
def sparse_batches_too_small(_):
    return _sparse_batches([1])


@_case
def sparse_batches_of_another_rank(_):
    return _sparse_batches([6, 6])


def _sharded(workers, index, policy):
    return _made(
        raw.AutoShardDataset,
        _NUMBER,
        of=Dataset.range(7),
        num_workers=workers,
        index=index,
        auto_shard_policy=policy,
    )


@_case
def sharded_by_itself(_):
    return _sharded(3, 1, 0)


@_case
def sharded_by_elements(_):
    return _sharded(3, 2, 2)


@_case
def sharded_not_at_all(_):
    return _sharded(3, 1, -1)


@_case
def sharded_beyond_the_workers(_):
    return _sharded(2, 2, 0)


@_case
def matching_files(files):
    for name in ("matching_b", "matching_a"):
        test_file(files, name, b"")
    patterns = ["/tmp/tessera_pipeline_matching_b", "/tmp/tessera_pipeline_matching_?"]
    return _made(raw.MatchingFilesDataset, tf.TensorSpec([], tf.string), patterns=patterns)


@_case
def matching_files_missing(_):
    pattern = "/tmp/tessera_pipeline_missing*"
    return _made(raw.MatchingFilesDataset, tf.TensorSpec([], tf.string), patterns=pattern)


@_case
def window_of_tensors(_):
    spec = (_BATCH, tf.TensorSpec([], tf.float32))
    inputs = [np.int64([1, 2]), np.float32(3), np.int64([4, 5]), np.float32(6)]
    return _made(raw.WindowOp, spec, inputs=inputs)


@_case
def fastest_of_several_branches(_):
    factor = tf.constant(10, tf.int64)

    def branch(parallel):
        @tf.function(input_signature=[tf.TensorSpec([], tf.variant), _NUMBER])
        def made(variant, times):
            numbers = dataset_ops._VariantDataset(variant, _NUMBER)
            return numbers.map(lambda x: x * times, num_parallel_calls=parallel)._variant_tensor

        return made.get_concrete_function()

    return _made(
        raw.ChooseFastestBranchDataset,
        _NUMBER,
        of=Dataset.range(4),
        ratio_numerator=1,
        ratio_denominator=1,
        other_arguments=[factor, factor],
        num_elements_per_branch=2,
        branches=[branch(None), branch(2)],
        other_arguments_lengths=[1, 1],
    )


@_case
def snapshot_of_version_1(_):
    path = unused_path("snapshot_v1")
    numbers = Dataset.range(5).map(lambda x: x * 7)
    return _made(raw.SnapshotDataset, _NUMBER, of=numbers, path=path).repeat(2)


@_case
def elements_by_index(_):
    numbers = Dataset.range(5).map(lambda x: x * 2)._variant_tensor

    def element(index):
        return raw.GetElementAtIndex(
            dataset=numbers, index=index, output_types=[tf.int64], output_shapes=[[]]
        )[0]

    return Dataset.from_tensors((element(0), element(3)))


@_case
def element_beyond_the_end(_):
    return Dataset.from_tensors(
        raw.GetElementAtIndex(
            dataset=Dataset.range(5)._variant_tensor,
            index=5,
            output_types=[tf.int64],
            output_shapes=[[]],
        )[0]
    )


@_case
def elements_compressed(_):
    def there_and_back(x):
        packed = raw.CompressElement(components=[x, tf.strings.as_string(x)])
        return raw.UncompressElement(
            compressed=packed, output_types=[tf.int64, tf.string], output_shapes=[[], []]
        )

    return Dataset.range(3).map(there_and_back)


def _written(files, compression):
    path = unused_path(f"written_{compression or 'plain'}")
    texts = Dataset.range(5).map(tf.strings.as_string)
    files.append(
        raw.DatasetToTFRecord(
            input_dataset=texts._variant_tensor, filename=path, compression_type=compression
        )
    )
    return tf.data.TFRecordDataset(path, compression)


@_case
def written_as_records(files):
    return _written(files, "")


@_case
def written_as_compressed_records(files):
    return _written(files, "ZLIB")


@_case
def with_statistics_and_threads(_):
    numbers = Dataset.range(3)
    aggregator = raw.StatsAggregatorHandle()
    numbers = _made(raw.LatencyStatsDataset, _NUMBER, of=numbers, tag="latency")
    numbers = _made(
        raw.SetStatsAggregatorDataset,
        _NUMBER,
        of=numbers,
        stats_aggregator=aggregator,
        tag="",
        counter_prefix="",
    )
    pool = raw.ThreadPoolHandle(num_threads=2, display_name="threads")
    return _made(raw.ThreadPoolDataset, _NUMBER, of=numbers, thread_pool=pool)


def _dealt_out(shards):
    """What the shards of a multi-device iterator over range(5) get in turn."""
    types = {"output_types": [tf.int64], "output_shapes": [[]]}
    iterator = raw.MultiDeviceIterator(
        devices=["/cpu:0"] * 2, shared_name="", container="", **types
    )
    walk = raw.MultiDeviceIteratorInit(
        dataset=Dataset.range(5)._variant_tensor, multi_device_iterator=iterator, max_buffer_size=9
    )
    elements = []
    for shard in shards:
        with tf.control_dependencies(elements[-1:]):
            elements += raw.MultiDeviceIteratorGetNextFromShard(
                multi_device_iterator=iterator,
                shard_num=shard,
                incarnation_id=walk,
                **types,
            )
    return Dataset.from_tensors(tf.stack(elements))


@_case
def dealt_out(_):
    return _dealt_out([0, 1, 1, 0])


# ---- random access ----


def _shuffled(dataset, seed=3, seed2=5, reshuffle=True):
    return _made(
        raw.GlobalShuffleDataset,
        dataset.element_spec,
        of=dataset,
        seed=np.int64(seed),
        seed2=np.int64(seed2),
        seed_generator=raw.DummySeedGenerator(),
        reshuffle_each_iteration=reshuffle,
    )


@_case(rewind=4)
def shuffled_all_over(_):
    return _shuffled(Dataset.range(10)).map(lambda x: 2 * x)


@_case
def shuffled_all_over_in_each_round(_):
    return _shuffled(Dataset.range(7)).repeat(3)


@_case
def shuffled_all_over_in_the_same_way(_):
    return _shuffled(Dataset.range(7), reshuffle=False).repeat(3)


@_case
def a_single_element_shuffled(_):
    return _shuffled(Dataset.range(1))


@_case
def transformations_shuffled(_):
    """What has random access in TensorFlow, in one pipeline."""
    numbers = Dataset.range(30).take(20).skip(3).map(lambda x: x * x)
    slices = Dataset.from_tensor_slices(np.arange(100, 106))
    return _shuffled(numbers.concatenate(slices).prefetch(2).batch(3, drop_remainder=True))


@_case
def batches_of_a_map_are_not_shuffled(_):
    """Map and batch are one dataset in TensorFlow as well, and this has no random access."""
    return _shuffled(Dataset.range(10).map(lambda x: x * x, 2).batch(4, drop_remainder=True))


@_case
def batches_with_a_remainder_are_not_shuffled(_):
    return _shuffled(Dataset.range(10).batch(4))


@_case
def pairs_shuffled(_):
    return _shuffled(Dataset.zip(Dataset.range(5), Dataset.from_tensor_slices(list("abcdefg"))))


@_case
def rounds_shuffled(_):
    return _shuffled(Dataset.range(4).repeat(2))


@_case
def shards_shuffled(_):
    return _shuffled(Dataset.range(10).shard(3, 1))


@_case
def a_filter_is_not_shuffled(_):
    return _shuffled(Dataset.range(9).filter(lambda x: x > 2))


@_case
def nothing_is_not_shuffled(_):
    return _shuffled(Dataset.range(0))


@_case
def what_never_ends_is_not_shuffled(_):
    return _shuffled(Dataset.range(3).repeat())


_ROWS = np.array([2, 0, 3, 1])


def _flat_by_index(cardinality, dtype=tf.int64, place=None):
    """Rows [n, n, ...] of different lengths, one after another, by the ends of the elements."""
    ends = np.cumsum(_ROWS)

    def map_func(n):
        return tf.fill([tf.gather(tf.constant(_ROWS), n)], n)

    def index_map(i):
        element = tf.searchsorted(tf.constant(ends), [i], side="right")[0]
        start = tf.gather(tf.constant(ends - _ROWS), element)
        return tf.cast(element, dtype), tf.cast(i - start, dtype)

    function = tf.function(map_func).get_concrete_function(_NUMBER)
    index_function = tf.function(place or index_map).get_concrete_function(_NUMBER)
    return _made(
        raw.IndexFlatMapDataset,
        _NUMBER,
        of=Dataset.range(len(_ROWS)),
        map_func_other_args=[],
        index_map_func_other_args=[],
        output_cardinality=np.int64(cardinality),
        map_func=function,
        index_map_func=index_function,
    )


@_case
def flat_by_index_shuffled(_):
    return _shuffled(_flat_by_index(6))


@_case
def flat_by_index_of_unknown_size_is_not_shuffled(_):
    return _shuffled(_flat_by_index(-2))


@_case
def flat_by_index_of_floats(_):
    return _flat_by_index(6, tf.float32)


def _weighted(*weighted_inputs):
    inputs = [dataset for dataset, _ in weighted_inputs]
    return _made(
        raw.WeightedFlatMapDataset,
        inputs[0].element_spec,
        input_datasets=[dataset._variant_tensor for dataset in inputs],
        weights=[np.float64(weight) for _, weight in weighted_inputs],
    )


def _from(start, count):
    return Dataset.range(start, start + count)


@_case(rewind=5)
def flat_by_weight(_):
    return _weighted((_from(0, 100), 0.2), (_from(100, 100), 0.3), (_from(200, 10), 0.5))


@_case
def flat_by_weight_shuffled(_):
    return _shuffled(_weighted((_from(0, 5), 1), (_from(100, 5), 2), (_from(200, 9), 0.5)))


@_case
def flat_by_weight_of_nothing(_):
    return _weighted((_from(0, 5), 1), (_from(100, 0), 2))


@_case
def flat_by_no_weight(_):
    return _weighted((_from(0, 5), 1), (_from(100, 4), 0))


@_case
def flat_by_weight_of_what_never_ends(_):
    return _weighted((_from(0, 5), 1), (_from(100, 4).repeat(), 1))


@_case
def flat_by_weight_of_unknown_size(_):
    return _weighted((_from(0, 5), 1), (_from(100, 4).filter(lambda x: x > 0), 1))


@_case
def flat_by_weight_of_other_dtypes(_):
    return _weighted((_from(0, 5), 1), (Dataset.from_tensors(1.0), 1))
