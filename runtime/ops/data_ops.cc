// Datasets made of other datasets.
#include "runtime/framework/op.h"

namespace tessera {

REGISTER_OP("BatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("BatchDatasetV2")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("drop_remainder: bool")
    .Output("handle: variant").Attr("parallel_copy: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("CacheDataset")
    .Input("input_dataset: variant").Input("filename: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("CacheDatasetV2")
    .Input("input_dataset: variant").Input("filename: string").Input("cache: resource")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .Writes("cache");
REGISTER_OP("ConcatenateDataset")
    .Input("input_dataset: variant").Input("another_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("FilterDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Output("handle: variant").Attr("predicate: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("FlatMapDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("InterleaveDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64").Output("handle: variant")
    .Attr("f: func").Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''");
REGISTER_OP("MapDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("use_inter_op_parallelism: bool = true").Attr("preserve_cardinality: bool = false")
    .Attr("force_synchronous: bool = false").Attr("metadata: string = ''");
REGISTER_OP("ModelDataset")
    .Input("input_dataset: variant").Output("handle: variant").Attr("algorithm: int = 0")
    .Attr("cpu_budget: int = 0").Attr("ram_budget: int = 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1");
REGISTER_OP("NonSerializableDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1");
REGISTER_OP("OptimizeDataset")
    .Input("input_dataset: variant").Input("optimizations: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("optimization_configs: list(string) = []");
REGISTER_OP("OptionsDataset")
    .Input("input_dataset: variant").Output("handle: variant").Attr("serialized_options: string")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("PaddedBatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("padded_shapes: N * int64")
    .Input("padding_values: Toutput_types").Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1").Attr("metadata: string = ''");
REGISTER_OP("PaddedBatchDatasetV2")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("padded_shapes: N * int64")
    .Input("padding_values: Toutput_types").Input("drop_remainder: bool")
    .Output("handle: variant").Attr("parallel_copy: bool = false")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1").Attr("metadata: string = ''");
REGISTER_OP("ParallelBatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("num_parallel_calls: int64")
    .Input("drop_remainder: bool").Output("handle: variant").Attr("parallel_copy: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("deterministic: string = 'default'").Attr("metadata: string = ''");
REGISTER_OP("ParallelFilterDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int64").Output("handle: variant").Attr("predicate: func")
    .Attr("deterministic: string = 'default'").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("ParallelInterleaveDatasetV4")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64")
    .Input("buffer_output_elements: int64").Input("prefetch_input_elements: int64")
    .Input("num_parallel_calls: int64").Output("handle: variant").Attr("f: func")
    .Attr("deterministic: string = 'default'").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("ParallelMapDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int32").Output("handle: variant").Attr("f: func")
    .Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("use_inter_op_parallelism: bool = true")
    .Attr("sloppy: bool = false").Attr("preserve_cardinality: bool = false")
    .Attr("metadata: string = ''");
REGISTER_OP("ParallelMapDatasetV2")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int64").Output("handle: variant").Attr("f: func")
    .Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("use_inter_op_parallelism: bool = true")
    .Attr("deterministic: string = 'default'").Attr("preserve_cardinality: bool = false")
    .Attr("use_unbounded_threadpool: bool = false").Attr("metadata: string = ''");
REGISTER_OP("PrefetchDataset")
    .Input("input_dataset: variant").Input("buffer_size: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("slack_period: int = 0").Attr("legacy_autotune: bool = true")
    .Attr("buffer_size_min: int = 0").Attr("metadata: string = ''");
REGISTER_OP("RepeatDataset")
    .Input("input_dataset: variant").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("ScanDataset")
    .Input("input_dataset: variant").Input("initial_state: Tstate")
    .Input("other_arguments: Targuments").Output("handle: variant").Attr("f: func")
    .Attr("Tstate: list(type) >= 1").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("preserve_cardinality: bool = false").Attr("use_default_device: bool = true")
    .Attr("metadata: string = ''");
REGISTER_OP("ShardDataset")
    .Input("input_dataset: variant").Input("num_shards: int64").Input("index: int64")
    .Output("handle: variant").Attr("require_non_empty: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("ShuffleAndRepeatDataset")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("reshuffle_each_iteration: bool = true").Attr("metadata: string = ''");
REGISTER_OP("ShuffleAndRepeatDatasetV2")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Input("count: int64").Input("seed_generator: resource")
    .Output("handle: variant").Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().Writes("seed_generator");
REGISTER_OP("ShuffleDataset")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Output("handle: variant").Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("ShuffleDatasetV2")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed_generator: resource")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .Writes("seed_generator");
REGISTER_OP("ShuffleDatasetV3")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Input("seed_generator: resource").Output("handle: variant")
    .Attr("reshuffle_each_iteration: bool = true").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .Writes("seed_generator");
REGISTER_OP("SkipDataset")
    .Input("input_dataset: variant").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("TakeDataset")
    .Input("input_dataset: variant").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("TakeWhileDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments").Output("handle: variant")
    .Attr("predicate: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("UnwrapDatasetVariant")
    .Input("input_handle: variant").Output("output_handle: variant");
REGISTER_OP("WindowDataset")
    .Input("input_dataset: variant").Input("size: int64").Input("shift: int64")
    .Input("stride: int64").Input("drop_remainder: bool").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''");
REGISTER_OP("ZipDataset")
    .Input("input_datasets: N * variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1").Attr("metadata: string = ''");

}  // namespace tessera
