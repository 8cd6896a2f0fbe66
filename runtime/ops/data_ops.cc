// Datasets made of other datasets.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {

REGISTER_OP("AssertCardinalityDataset")
    .Input("input_dataset: variant").Input("cardinality: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("AssertNextDataset")
    .Input("input_dataset: variant").Input("transformations: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("AssertPrevDataset")
    .Input("input_dataset: variant").Input("transformations: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("AutoShardDataset")
    .Input("input_dataset: variant").Input("num_workers: int64").Input("index: int64")
    .Output("handle: variant").Attr("auto_shard_policy: int = 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("num_replicas: int = 0").ShapeFn(shape::Scalar);
REGISTER_OP("BatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("BatchDatasetV2")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("drop_remainder: bool")
    .Output("handle: variant").Attr("parallel_copy: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("BytesProducedStatsDataset")
    .Input("input_dataset: variant").Input("tag: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("CacheDataset")
    .Input("input_dataset: variant").Input("filename: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("CacheDatasetV2")
    .Input("input_dataset: variant").Input("filename: string").Input("cache: resource")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .Writes("cache").ShapeFn(shape::Scalar);
REGISTER_OP("ChooseFastestBranchDataset")
    .Input("input_dataset: variant").Input("ratio_numerator: int64")
    .Input("ratio_denominator: int64").Input("other_arguments: Targuments")
    .Output("handle: variant").Attr("Targuments: list(type) >= 0")
    .Attr("num_elements_per_branch: int >= 1").Attr("branches: list(func) >= 1")
    .Attr("other_arguments_lengths: list(int) >= 1").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ChooseFastestDataset")
    .Input("input_datasets: N * variant").Output("handle: variant").Attr("N: int >= 2")
    .Attr("num_experiments: int").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ConcatenateDataset")
    .Input("input_dataset: variant").Input("another_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("DenseToSparseBatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("row_shape: int64")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("DirectedInterleaveDataset")
    .Input("selector_input_dataset: variant").Input("data_input_datasets: N * variant")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("N: int >= 1")
    .Attr("stop_on_empty_dataset: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalAssertNextDataset")
    .Input("input_dataset: variant").Input("transformations: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalAutoShardDataset")
    .Input("input_dataset: variant").Input("num_workers: int64").Input("index: int64")
    .Output("handle: variant").Attr("auto_shard_policy: int = 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalBytesProducedStatsDataset")
    .Input("input_dataset: variant").Input("tag: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalChooseFastestDataset")
    .Input("input_datasets: N * variant").Output("handle: variant").Attr("N: int >= 2")
    .Attr("num_experiments: int").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalDenseToSparseBatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("row_shape: int64")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalDirectedInterleaveDataset")
    .Input("selector_input_dataset: variant").Input("data_input_datasets: N * variant")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("N: int >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalGroupByReducerDataset")
    .Input("input_dataset: variant").Input("key_func_other_arguments: Tkey_func_other_arguments")
    .Input("init_func_other_arguments: Tinit_func_other_arguments")
    .Input("reduce_func_other_arguments: Treduce_func_other_arguments")
    .Input("finalize_func_other_arguments: Tfinalize_func_other_arguments")
    .Output("handle: variant").Attr("key_func: func").Attr("init_func: func")
    .Attr("reduce_func: func").Attr("finalize_func: func")
    .Attr("Tkey_func_other_arguments: list(type) >= 0")
    .Attr("Tinit_func_other_arguments: list(type) >= 0")
    .Attr("Treduce_func_other_arguments: list(type) >= 0")
    .Attr("Tfinalize_func_other_arguments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().ComputesOnly().ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalGroupByWindowDataset")
    .Input("input_dataset: variant").Input("key_func_other_arguments: Tkey_func_other_arguments")
    .Input("reduce_func_other_arguments: Treduce_func_other_arguments")
    .Input("window_size_func_other_arguments: Twindow_size_func_other_arguments")
    .Output("handle: variant").Attr("key_func: func").Attr("reduce_func: func")
    .Attr("window_size_func: func").Attr("Tkey_func_other_arguments: list(type) >= 0")
    .Attr("Treduce_func_other_arguments: list(type) >= 0")
    .Attr("Twindow_size_func_other_arguments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalIgnoreErrorsDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("log_warning: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalLatencyStatsDataset")
    .Input("input_dataset: variant").Input("tag: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalMapAndBatchDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("batch_size: int64").Input("num_parallel_calls: int64").Input("drop_remainder: bool")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("preserve_cardinality: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalMaxIntraOpParallelismDataset")
    .Input("input_dataset: variant").Input("max_intra_op_parallelism: int64")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalNonSerializableDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalParallelInterleaveDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64").Input("sloppy: bool")
    .Input("buffer_output_elements: int64").Input("prefetch_input_elements: int64")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalParseExampleDataset")
    .Input("input_dataset: variant").Input("num_parallel_calls: int64")
    .Input("dense_defaults: Tdense").Output("handle: variant")
    .Attr("sparse_keys: list(string) >= 0").Attr("dense_keys: list(string) >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("Tdense: list({float, int64, string}) >= 0").Attr("dense_shapes: list(shape) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("sloppy: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalPrivateThreadPoolDataset")
    .Input("input_dataset: variant").Input("num_threads: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalRebatchDataset")
    .Input("input_dataset: variant").Input("num_replicas: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("use_fallback: bool = true").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalScanDataset")
    .Input("input_dataset: variant").Input("initial_state: Tstate")
    .Input("other_arguments: Targuments").Output("handle: variant").Attr("f: func")
    .Attr("Tstate: list(type) >= 1").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("preserve_cardinality: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalSetStatsAggregatorDataset")
    .Input("input_dataset: variant").Input("stats_aggregator: resource").Input("tag: string")
    .Input("counter_prefix: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .Reads("stats_aggregator").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalSleepDataset")
    .Input("input_dataset: variant").Input("sleep_microseconds: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalSlidingWindowDataset")
    .Input("input_dataset: variant").Input("window_size: int64").Input("window_shift: int64")
    .Input("window_stride: int64").Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalTakeWhileDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments").Output("handle: variant")
    .Attr("predicate: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalThreadPoolDataset")
    .Input("input_dataset: variant").Input("thread_pool: resource").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .Reads("thread_pool").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalUnbatchDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalUniqueDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("FilterDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Output("handle: variant").Attr("predicate: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("FinalizeDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("has_captured_ref: bool = false").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("FlatMapDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("GlobalShuffleDataset")
    .Input("input_dataset: variant").Input("seed: int64").Input("seed2: int64")
    .Input("seed_generator: resource").Output("handle: variant")
    .Attr("reshuffle_each_iteration: bool = true").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .Writes("seed_generator").ShapeFn(shape::Scalar);
REGISTER_OP("GroupByReducerDataset")
    .Input("input_dataset: variant").Input("key_func_other_arguments: Tkey_func_other_arguments")
    .Input("init_func_other_arguments: Tinit_func_other_arguments")
    .Input("reduce_func_other_arguments: Treduce_func_other_arguments")
    .Input("finalize_func_other_arguments: Tfinalize_func_other_arguments")
    .Output("handle: variant").Attr("key_func: func").Attr("init_func: func")
    .Attr("reduce_func: func").Attr("finalize_func: func")
    .Attr("Tkey_func_other_arguments: list(type) >= 0")
    .Attr("Tinit_func_other_arguments: list(type) >= 0")
    .Attr("Treduce_func_other_arguments: list(type) >= 0")
    .Attr("Tfinalize_func_other_arguments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().ComputesOnly().ShapeFn(shape::Scalar);
REGISTER_OP("GroupByWindowDataset")
    .Input("input_dataset: variant").Input("key_func_other_arguments: Tkey_func_other_arguments")
    .Input("reduce_func_other_arguments: Treduce_func_other_arguments")
    .Input("window_size_func_other_arguments: Twindow_size_func_other_arguments")
    .Output("handle: variant").Attr("key_func: func").Attr("reduce_func: func")
    .Attr("window_size_func: func").Attr("Tkey_func_other_arguments: list(type) >= 0")
    .Attr("Treduce_func_other_arguments: list(type) >= 0")
    .Attr("Twindow_size_func_other_arguments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("IgnoreErrorsDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("log_warning: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("IndexFlatMapDataset")
    .Input("input_dataset: variant").Input("map_func_other_args: Tmap_func_args")
    .Input("index_map_func_other_args: Tindex_map_func_args").Input("output_cardinality: int64")
    .Output("handle: variant").Attr("map_func: func").Attr("index_map_func: func")
    .Attr("Tmap_func_args: list(type) >= 0").Attr("Tindex_map_func_args: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("InterleaveDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64").Output("handle: variant")
    .Attr("f: func").Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("LatencyStatsDataset")
    .Input("input_dataset: variant").Input("tag: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("LegacyParallelInterleaveDatasetV2")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64")
    .Input("buffer_output_elements: int64").Input("prefetch_input_elements: int64")
    .Output("handle: variant").Attr("f: func").Attr("deterministic: string = 'default'")
    .Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("MapAndBatchDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("batch_size: int64").Input("num_parallel_calls: int64").Input("drop_remainder: bool")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("preserve_cardinality: bool = false").Attr("metadata: string = ''")
    .ShapeFn(shape::Scalar);
REGISTER_OP("MapDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("use_inter_op_parallelism: bool = true").Attr("preserve_cardinality: bool = false")
    .Attr("force_synchronous: bool = false").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("MaxIntraOpParallelismDataset")
    .Input("input_dataset: variant").Input("max_intra_op_parallelism: int64")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ModelDataset")
    .Input("input_dataset: variant").Output("handle: variant").Attr("algorithm: int = 0")
    .Attr("cpu_budget: int = 0").Attr("ram_budget: int = 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("NonSerializableDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("OptimizeDataset")
    .Input("input_dataset: variant").Input("optimizations: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("optimization_configs: list(string) = []").ShapeFn(shape::Scalar);
REGISTER_OP("OptimizeDatasetV2")
    .Input("input_dataset: variant").Input("optimizations_enabled: string")
    .Input("optimizations_disabled: string").Input("optimizations_default: string")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("optimization_configs: list(string) = []")
    .ShapeFn(shape::Scalar);
REGISTER_OP("OptionsDataset")
    .Input("input_dataset: variant").Output("handle: variant").Attr("serialized_options: string")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("PaddedBatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("padded_shapes: N * int64")
    .Input("padding_values: Toutput_types").Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("PaddedBatchDatasetV2")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("padded_shapes: N * int64")
    .Input("padding_values: Toutput_types").Input("drop_remainder: bool")
    .Output("handle: variant").Attr("parallel_copy: bool = false")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelBatchDataset")
    .Input("input_dataset: variant").Input("batch_size: int64").Input("num_parallel_calls: int64")
    .Input("drop_remainder: bool").Output("handle: variant").Attr("parallel_copy: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("deterministic: string = 'default'").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelFilterDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int64").Output("handle: variant").Attr("predicate: func")
    .Attr("deterministic: string = 'default'").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelInterleaveDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64").Input("sloppy: bool")
    .Input("buffer_output_elements: int64").Input("prefetch_input_elements: int64")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelInterleaveDatasetV2")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64").Input("num_parallel_calls: int64")
    .Output("handle: variant").Attr("f: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("sloppy: bool = false").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelInterleaveDatasetV3")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64").Input("num_parallel_calls: int64")
    .Output("handle: variant").Attr("f: func").Attr("deterministic: string = 'default'")
    .Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelInterleaveDatasetV4")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("cycle_length: int64").Input("block_length: int64")
    .Input("buffer_output_elements: int64").Input("prefetch_input_elements: int64")
    .Input("num_parallel_calls: int64").Output("handle: variant").Attr("f: func")
    .Attr("deterministic: string = 'default'").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelMapDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int32").Output("handle: variant").Attr("f: func")
    .Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("use_inter_op_parallelism: bool = true")
    .Attr("sloppy: bool = false").Attr("preserve_cardinality: bool = false")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ParallelMapDatasetV2")
    .Input("input_dataset: variant").Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int64").Output("handle: variant").Attr("f: func")
    .Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("use_inter_op_parallelism: bool = true")
    .Attr("deterministic: string = 'default'").Attr("preserve_cardinality: bool = false")
    .Attr("use_unbounded_threadpool: bool = false").Attr("metadata: string = ''")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ParseExampleDataset")
    .Input("input_dataset: variant").Input("num_parallel_calls: int64")
    .Input("dense_defaults: Tdense").Output("handle: variant")
    .Attr("sparse_keys: list(string) >= 0").Attr("dense_keys: list(string) >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("Tdense: list({float, int64, string}) >= 0").Attr("dense_shapes: list(shape) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("sloppy: bool = false").Attr("ragged_keys: list(string) >= 0 = []")
    .Attr("ragged_value_types: list({float, int64, string}) >= 0 = []")
    .Attr("ragged_split_types: list({int32, int64}) >= 0 = []").ShapeFn(shape::Scalar);
REGISTER_OP("ParseExampleDatasetV2")
    .Input("input_dataset: variant").Input("num_parallel_calls: int64")
    .Input("dense_defaults: Tdense").Output("handle: variant")
    .Attr("sparse_keys: list(string) >= 0").Attr("dense_keys: list(string) >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("Tdense: list({float, int64, string}) >= 0").Attr("dense_shapes: list(shape) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("deterministic: string = 'default'").Attr("ragged_keys: list(string) >= 0 = []")
    .Attr("ragged_value_types: list({float, int64, string}) >= 0 = []")
    .Attr("ragged_split_types: list({int32, int64}) >= 0 = []").ShapeFn(shape::Scalar);
REGISTER_OP("PrefetchDataset")
    .Input("input_dataset: variant").Input("buffer_size: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("slack_period: int = 0").Attr("legacy_autotune: bool = true")
    .Attr("buffer_size_min: int = 0").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("PrivateThreadPoolDataset")
    .Input("input_dataset: variant").Input("num_threads: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("RebatchDataset")
    .Input("input_dataset: variant").Input("num_replicas: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("use_fallback: bool = true").ShapeFn(shape::Scalar);
REGISTER_OP("RebatchDatasetV2")
    .Input("input_dataset: variant").Input("batch_sizes: int64").Input("drop_remainder: bool")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("RepeatDataset")
    .Input("input_dataset: variant").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("RewriteDataset")
    .Input("input_dataset: variant").Input("rewrite_name: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("SamplingDataset")
    .Input("input_dataset: variant").Input("rate: float").Input("seed: int64").Input("seed2: int64")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("SaveDatasetV2")
    .Input("input_dataset: variant").Input("path: string")
    .Input("shard_func_other_args: Tshard_func_args").Output("handle: variant")
    .Attr("compression: string = ''").Attr("shard_func: func").Attr("use_shard_func: bool = true")
    .Attr("Tshard_func_args: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().ReadsOutside().WritesOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("ScanDataset")
    .Input("input_dataset: variant").Input("initial_state: Tstate")
    .Input("other_arguments: Targuments").Output("handle: variant").Attr("f: func")
    .Attr("Tstate: list(type) >= 1").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("preserve_cardinality: bool = false").Attr("use_default_device: bool = true")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("SetStatsAggregatorDataset")
    .Input("input_dataset: variant").Input("stats_aggregator: resource").Input("tag: string")
    .Input("counter_prefix: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .Reads("stats_aggregator").ShapeFn(shape::Scalar);
REGISTER_OP("ShardDataset")
    .Input("input_dataset: variant").Input("num_shards: int64").Input("index: int64")
    .Output("handle: variant").Attr("require_non_empty: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ShuffleAndRepeatDataset")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("reshuffle_each_iteration: bool = true").Attr("metadata: string = ''")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ShuffleAndRepeatDatasetV2")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Input("count: int64").Input("seed_generator: resource")
    .Output("handle: variant").Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().Writes("seed_generator").ShapeFn(shape::Scalar);
REGISTER_OP("ShuffleDataset")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Output("handle: variant").Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ShuffleDatasetV2")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed_generator: resource")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .Writes("seed_generator").ShapeFn(shape::Scalar);
REGISTER_OP("ShuffleDatasetV3")
    .Input("input_dataset: variant").Input("buffer_size: int64").Input("seed: int64")
    .Input("seed2: int64").Input("seed_generator: resource").Output("handle: variant")
    .Attr("reshuffle_each_iteration: bool = true").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .Writes("seed_generator").ShapeFn(shape::Scalar);
REGISTER_OP("SkipDataset")
    .Input("input_dataset: variant").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("SleepDataset")
    .Input("input_dataset: variant").Input("sleep_microseconds: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("SlidingWindowDataset")
    .Input("input_dataset: variant").Input("window_size: int64").Input("window_shift: int64")
    .Input("window_stride: int64").Output("handle: variant").Attr("drop_remainder: bool = true")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("SnapshotDataset")
    .Input("input_dataset: variant").Input("path: string").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("compression: string = ''").Attr("reader_path_prefix: string = ''")
    .Attr("writer_path_prefix: string = ''").Attr("shard_size_bytes: int = 10737418240")
    .Attr("pending_snapshot_expiry_seconds: int = 86400").Attr("num_reader_threads: int = 1")
    .Attr("reader_buffer_size: int = 1").Attr("num_writer_threads: int = 1")
    .Attr("writer_buffer_size: int = 1").Attr("shuffle_on_read: bool = false")
    .Attr("seed: int = 0").Attr("seed2: int = 0").Attr("mode: string = 'auto'")
    .Attr("snapshot_name: string = ''").ReadsOutside().WritesOutside().ShapeFn(shape::Scalar);
REGISTER_OP("SnapshotDatasetV2")
    .Input("input_dataset: variant").Input("path: string")
    .Input("reader_func_other_args: Treader_func_args")
    .Input("shard_func_other_args: Tshard_func_args").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("compression: string = ''").Attr("reader_prefix: string = ''")
    .Attr("writer_prefix: string = ''").Attr("hash_valid: bool = false").Attr("hash: int = 0")
    .Attr("reader_func: func").Attr("shard_func: func").Attr("Treader_func_args: list(type) >= 0")
    .Attr("Tshard_func_args: list(type) >= 0").Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("TakeDataset")
    .Input("input_dataset: variant").Input("count: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("TakeWhileDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments").Output("handle: variant")
    .Attr("predicate: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ThreadPoolDataset")
    .Input("input_dataset: variant").Input("thread_pool: resource").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .Reads("thread_pool").ShapeFn(shape::Scalar);
REGISTER_OP("UnbatchDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("UniqueDataset")
    .Input("input_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("UnwrapDatasetVariant")
    .Input("input_handle: variant").Output("output_handle: variant").ShapeFn(shape::Scalar);
REGISTER_OP("WeightedFlatMapDataset")
    .Input("input_datasets: N * variant").Input("weights: M * double").Output("handle: variant")
    .Attr("N: int >= 2").Attr("M: int >= 2").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''")
    .ShapeFn(shape::Scalar);
REGISTER_OP("WindowDataset")
    .Input("input_dataset: variant").Input("size: int64").Input("shift: int64")
    .Input("stride: int64").Input("drop_remainder: bool").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("ZipDataset")
    .Input("input_datasets: N * variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1").Attr("metadata: string = ''").ShapeFn(shape::Scalar);

}  // namespace tessera
