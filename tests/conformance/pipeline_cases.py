"""Pipelines of tf.data whose elements TensorFlow records; see pipeline_recording."""

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops

from conformance import pipeline_file_cases, pipeline_raw_cases, pipeline_recording

Dataset = tf.data.Dataset
_CASES = {}
_case = pipeline_recording.names_in(_CASES)


# ---- elements by position ----


@_case(rewind=3)
def range_down(_):
    return Dataset.range(10, -8, -3)


@_case
def range_of_floats(_):
    return Dataset.range(4, output_type=tf.float32)


@_case(rewind=2)
def slices_of_a_nest(_):
    slices = {"a": np.arange(6).reshape(3, 2), "b": np.array(["x", "y", "z"])}
    return Dataset.from_tensor_slices(slices)


@_case
def slices_of_different_lengths(_):
    return Dataset.zip((Dataset.range(5), Dataset.range(100, 103)))


@_case(rewind=2)
def take_skip_shard(_):
    return Dataset.range(20).skip(3).take(12).shard(4, 2)


@_case
def take_all(_):
    return Dataset.range(3).take(-1)


@_case
def skip_all(_):
    return Dataset.range(3).skip(-1)


@_case(rewind=4)
def repeat_thrice(_):
    return Dataset.range(3).repeat(3)


@_case
def repeat_of_nothing(_):
    return Dataset.range(0).repeat()


@_case
def repeat_for_ever(_):
    return Dataset.range(2).repeat().take(5)


@_case(rewind=3)
def concatenated(_):
    return Dataset.range(2).concatenate(Dataset.range(10, 13))


# ---- functions ----


@_case(rewind=2)
def map_with_a_captured_value(_):
    offset = tf.constant(100, tf.int64)
    return Dataset.range(4).map(lambda x: (x * x + offset, tf.cast(x, tf.float32) / 2))


@_case(rewind=2)
def map_in_parallel(_):
    return Dataset.range(8).map(lambda x: x * 3, num_parallel_calls=4)


@_case
def map_in_parallel_as_many_as_fit(_):
    return Dataset.range(8).map(
        lambda x: x - 1, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )


@_case
def map_with_an_error(_):
    return Dataset.range(3, -3, -1).map(
        lambda x: tf.debugging.check_numerics(1 / tf.cast(x, tf.float32), "no")
    )


@_case
def map_with_an_error_in_parallel(_):
    return Dataset.range(3, -3, -1).map(
        lambda x: tf.debugging.check_numerics(1 / tf.cast(x, tf.float32), "no"),
        num_parallel_calls=2,
    )


@_case
def map_with_errors_ignored(_):
    return (
        Dataset.range(3, -3, -1)
        .map(lambda x: tf.debugging.check_numerics(1 / tf.cast(x, tf.float32), "no"))
        .ignore_errors()
    )


@_case(rewind=2)
def filtered(_):
    return Dataset.range(12).filter(lambda x: x % 3 == 1)


@_case
def taken_while(_):
    return Dataset.range(12).take_while(lambda x: x < 4)


@_case(rewind=3)
def flat_map(_):
    return Dataset.range(5).flat_map(Dataset.range)


@_case(rewind=5)
def interleaved(_):
    return Dataset.range(1, 6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=2, block_length=2
    )


@_case
def interleaved_in_parallel(_):
    return Dataset.range(1, 6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x),
        cycle_length=3,
        num_parallel_calls=2,
        deterministic=True,
    )


@_case(rewind=3)
def scanned(_):
    return Dataset.range(1, 7).scan(
        tf.constant(0, tf.int64), lambda total, x: (total + x, (total, x))
    )


@_case
def reduced(_):
    total = Dataset.range(10).reduce(tf.constant(0, tf.int64), lambda a, b: a + b)
    return Dataset.from_tensors(total)


@_case
def single_element(_):
    return Dataset.from_tensors(Dataset.range(4).batch(4).get_single_element())


@_case
def single_element_of_two(_):
    return Dataset.from_tensors(Dataset.range(2).get_single_element())


# ---- batches ----


@_case(rewind=2)
def batches(_):
    return Dataset.range(10).map(lambda x: (x, tf.strings.as_string(x))).batch(4)


@_case
def batches_without_remainder(_):
    return Dataset.range(10).batch(4, drop_remainder=True)


@_case
def batches_in_parallel(_):
    return Dataset.range(10).batch(4, num_parallel_calls=2)


@_case
def batch_of_different_shapes(_):
    return Dataset.range(1, 5).map(lambda x: tf.fill([x], x)).batch(2)


@_case
def batch_of_nothing(_):
    return Dataset.range(4).batch(0)


@_case(rewind=1)
def padded_batches(_):
    return (
        Dataset.range(1, 8)
        .map(lambda x: (tf.fill([x], x), tf.fill([2, x], tf.strings.as_string(x))))
        .padded_batch(3, padded_shapes=([None], [3, None]), padding_values=(np.int64(-1), "-"))
    )


@_case
def padded_too_small(_):
    return Dataset.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(2, padded_shapes=[2])


@_case
def ragged_batches(_):
    return (
        Dataset.range(5)
        .map(lambda x: tf.fill([x], x))
        .ragged_batch(2)
        .map(lambda x: (x.flat_values, x.row_splits))
    )


@_case
def bucketed_by_length(_):
    return (
        Dataset.from_tensor_slices([1, 5, 2, 7, 6, 3, 1])
        .map(lambda x: tf.fill([x], x))
        .bucket_by_sequence_length(tf.size, [3, 6], [2, 2, 2])
    )


@_case(rewind=2)
def windows(_):
    return (
        Dataset.range(9)
        .window(3, shift=2, stride=2)
        .flat_map(lambda window: window.batch(3))
    )


@_case
def windows_without_remainder(_):
    return (
        Dataset.range(9)
        .window(3, shift=4, drop_remainder=True)
        .flat_map(lambda window: window.batch(3))
    )


@_case(rewind=3)
def unbatched(_):
    return Dataset.from_tensor_slices(np.arange(12).reshape(4, 3)).batch(3).unbatch()


@_case
def rebatched(_):
    return Dataset.range(11).batch(4).rebatch([3, 2], drop_remainder=False)


@_case
def rebatched_without_remainder(_):
    return Dataset.range(11).batch(4).rebatch(3, drop_remainder=True)


@_case
def grouped_by_window(_):
    return Dataset.range(10).group_by_window(
        key_func=lambda x: x % 3, reduce_func=lambda key, window: window.batch(2), window_size=2
    )


@_case
def grouped_by_reducer(_):
    reducer = tf.data.experimental.Reducer(
        lambda key: (key, tf.constant(0, tf.int64)),
        lambda state, x: (state[0], state[1] + x),
        lambda key, total: (key, total),
    )
    return Dataset.range(10).apply(
        tf.data.experimental.group_by_reducer(lambda x: (10 - x) % 3, reducer)
    )


# ---- order ----


@_case(rewind=4)
def shuffled(_):
    return Dataset.range(12).shuffle(5, seed=42)


@_case(rewind=3)
def shuffled_anew_each_time(_):
    return Dataset.range(6).shuffle(4, seed=7, reshuffle_each_iteration=True).repeat(3)


@_case
def shuffled_the_same_each_time(_):
    return Dataset.range(6).shuffle(4, seed=7, reshuffle_each_iteration=False).repeat(3)


@_case
def shuffled_by_the_seed_of_the_graph(_):
    tf.compat.v1.set_random_seed(3)
    return Dataset.range(8).shuffle(8)


@_case(rewind=4)
def shuffled_and_repeated(_):
    return Dataset.range(5).apply(tf.data.experimental.shuffle_and_repeat(3, count=3, seed=11))


@_case(rewind=2)
def random_numbers(_):
    return Dataset.random(seed=5).take(6)


@_case
def sampled(_):
    return Dataset.sample_from_datasets(
        [Dataset.range(4), Dataset.range(10, 14), Dataset.range(20, 24)],
        weights=[0.5, 0.3, 0.2],
        seed=9,
    )


@_case(rewind=2)
def chosen(_):
    choice = Dataset.from_tensor_slices(np.array([0, 1, 1, 2, 0, 2, 1], np.int64))
    return Dataset.choose_from_datasets(
        [Dataset.range(9), Dataset.range(10, 12), Dataset.range(20, 29)],
        choice,
        stop_on_empty_dataset=False,
    )


# ---- the rest ----


@_case(rewind=3)
def cached(_):
    return Dataset.range(4).map(lambda x: x + 1).cache().repeat(2)


@_case(rewind=3)
def prefetched(_):
    return Dataset.range(9).map(lambda x: x * 2).prefetch(3)


@_case
def unique(_):
    return Dataset.from_tensor_slices(["a", "b", "a", "c", "b"]).unique()


@_case
def cardinalities(_):
    ten = Dataset.range(10)
    datasets = [
        ten.batch(3),
        ten.batch(3, drop_remainder=True),
        ten.repeat(),
        ten.repeat(0),
        ten.filter(lambda x: x > 1),
        ten.repeat().take(4),
        ten.skip(4),
        ten.shard(3, 1),
        ten.window(3, 2),
        ten.concatenate(ten),
        Dataset.zip((ten, ten.repeat())),
        ten.shuffle(3),
        ten.map(lambda x: x),
        ten.cache(),
        ten.prefetch(1),
    ]
    return Dataset.from_tensors([dataset.cardinality() for dataset in datasets])


@_case
def asserted_cardinality(_):
    return Dataset.range(4).apply(tf.data.experimental.assert_cardinality(4))


@_case
def asserted_cardinality_too_large(_):
    return Dataset.range(4).apply(tf.data.experimental.assert_cardinality(5))


@_case
def with_options(_):
    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = False
    return Dataset.range(3).with_options(options)


@_case(rewind=3)
def chosen_at_a_rate(_):
    input_dataset = Dataset.range(40)
    variant = tf.raw_ops.SamplingDataset(
        input_dataset=input_dataset._variant_tensor,
        rate=0.3,
        seed=tf.constant(3, tf.int64),
        seed2=tf.constant(4, tf.int64),
        output_types=[tf.int64],
        output_shapes=[[]],
    )
    return dataset_ops._VariantDataset(variant, tf.TensorSpec([], tf.int64))


@_case
def slept_over(_):
    variant = tf.raw_ops.SleepDataset(
        input_dataset=Dataset.range(3)._variant_tensor,
        sleep_microseconds=tf.constant(10, tf.int64),
        output_types=[tf.int64],
        output_shapes=[[]],
    )
    return dataset_ops._VariantDataset(variant, tf.TensorSpec([], tf.int64))


@_case
def generated(_):
    """A generator whose elements come from the state that the first function gives."""
    spec = tf.TensorSpec([], tf.int64)

    @tf.function
    def begin(unused):
        return unused + 100

    @tf.function
    def following(state):
        return Dataset.range(3).map(lambda x: x + state).take(1).get_single_element()

    variant = tf.raw_ops.GeneratorDataset(
        init_func_other_args=[tf.constant(7, tf.int64)],
        next_func_other_args=[],
        finalize_func_other_args=[],
        init_func=begin.get_concrete_function(spec),
        next_func=following.get_concrete_function(spec),
        finalize_func=begin.get_concrete_function(spec),
        output_types=[tf.int64],
        output_shapes=[[]],
    )
    return dataset_ops._VariantDataset(variant, spec).take(3)


@_case
def examples_parsed_in_batches(_):
    def example(i):
        floats = tf.train.FloatList(value=[i, i / 2])
        integers = tf.train.Int64List(value=list(range(i)))
        features = {
            "b_dense": tf.train.Feature(float_list=floats),
            "a_sparse": tf.train.Feature(int64_list=integers),
        }
        if i % 2:
            features["c_default"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"]))
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    parse = tf.data.experimental.parse_example_dataset(
        {
            "b_dense": tf.io.FixedLenFeature([2], tf.float32),
            "a_sparse": tf.io.VarLenFeature(tf.int64),
            "c_default": tf.io.FixedLenFeature([], tf.string, "none"),
        },
        num_parallel_calls=2,
    )
    parsed = Dataset.from_tensor_slices([example(i) for i in range(5)]).batch(2).apply(parse)
    return parsed.map(lambda features: (features["b_dense"], features["c_default"],
                                        tf.sparse.to_dense(features["a_sparse"])))


@_case
def ragged_features_parsed_in_batches(_):
    def example(i):
        words = tf.train.BytesList(value=[b"w%d" % k for k in range(i)])
        features = {
            "b_dense": tf.train.Feature(float_list=tf.train.FloatList(value=[i])),
            "c_ragged": tf.train.Feature(bytes_list=words),
        }
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    parse = tf.data.experimental.parse_example_dataset({
        "a_absent": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
        "b_dense": tf.io.FixedLenFeature([], tf.float32),
        "c_ragged": tf.io.RaggedFeature(tf.string),
    })
    parsed = Dataset.from_tensor_slices([example(i) for i in range(3)]).batch(2).apply(parse)
    return parsed.map(lambda features: (features["a_absent"].row_splits, features["b_dense"],
                                        features["c_ragged"].values,
                                        features["c_ragged"].row_splits))


@_case
def mapped_and_batched_with_a_remainder(_):
    def features(x):
        return x * x, tf.strings.as_string(x), tf.fill([2, 3], tf.cast(x, tf.float32))

    return Dataset.range(11).map(features, num_parallel_calls=3).batch(4)


@_case(rewind=2)
def mapped_and_batched_saved_midway(_):
    return Dataset.range(23).map(lambda x: (x, x / 2), num_parallel_calls=4).batch(5, True)


@_case
def mapped_and_batched_past_errors(_):
    checked = Dataset.range(1, 12).map(
        lambda x: tf.debugging.check_numerics(10.0 / tf.cast(x % 5, tf.float32), "zero"),
        num_parallel_calls=2,
    )
    return checked.batch(3).ignore_errors()


@_case
def mapped_and_batched_with_shapes_that_differ(_):
    return Dataset.range(4).map(lambda x: tf.range(x), num_parallel_calls=2).batch(2)


@_case
def reduced_in_a_function(_):
    """A function makes a dataset and reduces it, for each element."""

    def total(n):
        squares = Dataset.range(n).map(lambda x: x * x).filter(lambda x: x % 2 == 0)
        return squares.batch(2).reduce(tf.constant(0, tf.int64), lambda s, x: s + tf.reduce_sum(x))

    return Dataset.range(6).map(tf.function(total))


def record(directory):
    """Writes all pipelines, those of files too, below DIRECTORY and returns the paths."""
    return [
        pipeline_recording.record(directory, f"pipeline_{name}", make, rewind)
        for cases in (_CASES, pipeline_file_cases.CASES, pipeline_raw_cases.CASES)
        for name, (make, rewind) in cases.items()
    ]
