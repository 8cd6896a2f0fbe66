// Datasets made of other datasets.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {

REGISTER_OP("AssertCardinalityDataset")
    .Input("input_dataset: variant").Input("cardinality: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
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
REGISTER_OP("ChooseFastestDataset")
    .Input("input_datasets: N * variant").Output("handle: variant").Attr("N: int >= 2")
    .Attr("num_experiments: int").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("ConcatenateDataset")
    .Input("input_dataset: variant").Input("another_dataset: variant").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("DirectedInterleaveDataset")
    .Input("selector_input_dataset: variant").Input("data_input_datasets: N * variant")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("N: int >= 1")
    .Attr("stop_on_empty_dataset: bool = false").ShapeFn(shape::Scalar);
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
REGISTER_OP("ExperimentalScanDataset")
    .Input("input_dataset: variant").Input("initial_state: Tstate")
    .Input("other_arguments: Targuments").Output("handle: variant").Attr("f: func")
    .Attr("Tstate: list(type) >= 1").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("preserve_cardinality: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalSleepDataset")
    .Input("input_dataset: variant").Input("sleep_microseconds: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalTakeWhileDataset")
    .Input("input_dataset: variant").Input("other_arguments: Targuments").Output("handle: variant")
    .Attr("predicate: func").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::Scalar);
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
