// Iterators, optionals, what iterators share, and other ops on datasets that give no dataset.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"

namespace tessera {

REGISTER_OP("AnonymousIterator")
    .Output("handle: resource").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousIteratorV2")
    .Output("handle: resource").Output("deleter: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousIteratorV3")
    .Output("handle: resource").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousMemoryCache")
    .Output("handle: resource").Output("deleter: variant").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousMultiDeviceIterator")
    .Output("handle: resource").Output("deleter: variant").Attr("devices: list(string) >= 1")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousMultiDeviceIteratorV3")
    .Output("handle: resource").Attr("devices: list(string) >= 1")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousRandomSeedGenerator")
    .Input("seed: int64").Input("seed2: int64").Output("handle: resource")
    .Output("deleter: variant").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousSeedGenerator")
    .Input("seed: int64").Input("seed2: int64").Input("reshuffle: bool").Output("handle: resource")
    .Output("deleter: variant").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("CompressElement")
    .Input("components: input_types").Output("compressed: variant")
    .Attr("input_types: list(type) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("DatasetCardinality")
    .Input("input_dataset: variant").Output("cardinality: int64")
    .Attr("cardinality_options: string = ''").ShapeFn(shape::Scalar);
REGISTER_OP("DatasetToSingleElement")
    .Input("dataset: variant").Output("components: output_types")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().ReadsOutside().WritesOutside()
    .ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("DatasetToTFRecord")
    .Input("input_dataset: variant").Input("filename: string").Input("compression_type: string")
    .Stateful().ReadsOutside().WritesOutside();
REGISTER_OP("DeleteIterator")
    .Input("handle: resource").Input("deleter: variant").Stateful().Writes("handle");
REGISTER_OP("DeleteMemoryCache")
    .Input("handle: resource").Input("deleter: variant").Stateful().Writes("handle");
REGISTER_OP("DeleteMultiDeviceIterator")
    .Input("multi_device_iterator: resource").Input("iterators: N * resource")
    .Input("deleter: variant").Attr("N: int >= 0").Stateful().Writes("multi_device_iterator")
    .Reads("iterators");
REGISTER_OP("DeleteRandomSeedGenerator")
    .Input("handle: resource").Input("deleter: variant").Stateful().Writes("handle");
REGISTER_OP("DeleteSeedGenerator")
    .Input("handle: resource").Input("deleter: variant").Stateful().Writes("handle");
REGISTER_OP("DeserializeIterator")
    .Input("resource_handle: resource").Input("serialized: variant").Stateful()
    .Writes("resource_handle").ReadsOutside();
REGISTER_OP("DummyMemoryCache")
    .Output("handle: resource").Stateful().MakesHandle().ShapeFn(shape::Scalar);
REGISTER_OP("DummySeedGenerator")
    .Output("handle: resource").Stateful().MakesHandle().ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalDatasetCardinality")
    .Input("input_dataset: variant").Output("cardinality: int64").ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalDatasetToTFRecord")
    .Input("input_dataset: variant").Input("filename: string").Input("compression_type: string")
    .Stateful().ReadsOutside().WritesOutside();
REGISTER_OP("ExperimentalIteratorGetDevice")
    .Input("resource: resource").Output("device: string").Stateful().Reads("resource")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalStatsAggregatorHandle")
    .Output("handle: resource").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalStatsAggregatorSummary")
    .Input("iterator: resource").Output("summary: string").Stateful().Reads("iterator")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalThreadPoolHandle")
    .Output("handle: resource").Attr("num_threads: int").Attr("max_intra_op_parallelism: int = 1")
    .Attr("display_name: string").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("GetElementAtIndex")
    .Input("dataset: variant").Input("index: int64").Output("components: output_types")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").ReadsOutside()
    .WritesOutside().ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("GetOptions")
    .Input("input_dataset: variant").Output("serialized_options: string").ShapeFn(shape::Scalar);
REGISTER_OP("Iterator")
    .Output("handle: resource").Attr("shared_name: string").Attr("container: string")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("IteratorFromStringHandle")
    .Input("string_handle: string").Output("resource_handle: resource")
    .Attr("output_types: list(type) >= 0 = []").Attr("output_shapes: list(shape) >= 0 = []")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("IteratorFromStringHandleV2")
    .Input("string_handle: string").Output("resource_handle: resource")
    .Attr("output_types: list(type) >= 0 = []").Attr("output_shapes: list(shape) >= 0 = []")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("IteratorGetDevice")
    .Input("resource: resource").Output("device: string").Stateful().Reads("resource")
    .ShapeFn(shape::Scalar);
REGISTER_OP("IteratorGetNext")
    .Input("iterator: resource").Output("components: output_types")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .Writes("iterator").ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("IteratorGetNextAsOptional")
    .Input("iterator: resource").Output("optional: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().Writes("iterator").ReadsOutside()
    .WritesOutside().MayWait().ShapeFn(shape::Scalar);
REGISTER_OP("IteratorGetNextSync")
    .Input("iterator: resource").Output("components: output_types")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .Writes("iterator").ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("IteratorToStringHandle")
    .Input("resource_handle: resource").Output("string_handle: string").Stateful()
    .Reads("resource_handle").ShapeFn(shape::Scalar);
REGISTER_OP("IteratorV2")
    .Output("handle: resource").Attr("shared_name: string").Attr("container: string")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("MakeIterator")
    .Input("dataset: variant").Input("iterator: resource").Stateful().Writes("iterator");
REGISTER_OP("MultiDeviceIterator")
    .Output("handle: resource").Attr("devices: list(string) >= 1").Attr("shared_name: string")
    .Attr("container: string").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("MultiDeviceIteratorFromStringHandle")
    .Input("string_handle: string").Output("multi_device_iterator: resource")
    .Attr("output_types: list(type) >= 0 = []").Attr("output_shapes: list(shape) >= 0 = []")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("MultiDeviceIteratorGetNextFromShard")
    .Input("multi_device_iterator: resource").Input("shard_num: int32")
    .Input("incarnation_id: int64").Output("components: output_types")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .Writes("multi_device_iterator").ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("MultiDeviceIteratorInit")
    .Input("dataset: variant").Input("multi_device_iterator: resource")
    .Input("max_buffer_size: int64").Output("incarnation_id: int64").Stateful()
    .Writes("multi_device_iterator").ShapeFn(shape::Scalar);
REGISTER_OP("MultiDeviceIteratorToStringHandle")
    .Input("multi_device_iterator: resource").Output("string_handle: string").Stateful()
    .Reads("multi_device_iterator").ShapeFn(shape::Scalar);
REGISTER_OP("OneShotIterator")
    .Output("handle: resource").Attr("dataset_factory: func")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("OptionalFromValue")
    .Input("components: Toutput_types").Output("optional: variant")
    .Attr("Toutput_types: list(type) >= 1").ShapeFn(shape::Scalar);
REGISTER_OP("OptionalGetValue")
    .Input("optional: variant").Output("components: output_types")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("OptionalHasValue")
    .Input("optional: variant").Output("has_value: bool").ShapeFn(shape::Scalar);
REGISTER_OP("OptionalNone")
    .Output("optional: variant").ShapeFn(shape::Scalar);
REGISTER_OP("ReduceDataset")
    .Input("input_dataset: variant").Input("initial_state: Tstate")
    .Input("other_arguments: Targuments").Output("components: output_types").Attr("f: func")
    .Attr("Tstate: list(type) >= 1").Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("use_inter_op_parallelism: bool = true").Attr("metadata: string = ''").Stateful()
    .ReadsOutside().WritesOutside().ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("SaveDataset")
    .Input("input_dataset: variant").Input("path: string")
    .Input("shard_func_other_args: Tshard_func_args").Attr("compression: string = ''")
    .Attr("shard_func: func").Attr("use_shard_func: bool = true")
    .Attr("Tshard_func_args: list(type) >= 0").Stateful().ReadsOutside().WritesOutside();
REGISTER_OP("SerializeIterator")
    .Input("resource_handle: resource").Output("serialized: variant")
    .Attr("external_state_policy: int = 0").Stateful().Reads("resource_handle")
    .ShapeFn(shape::Spec<"_ -> [?]">);
REGISTER_OP("StatsAggregatorHandle")
    .Output("handle: resource").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("StatsAggregatorHandleV2")
    .Output("handle: resource").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("StatsAggregatorSetSummaryWriter")
    .Input("stats_aggregator: resource").Input("summary: resource").Stateful()
    .Writes("stats_aggregator").Reads("summary");
REGISTER_OP("StatsAggregatorSummary")
    .Input("iterator: resource").Output("summary: string").Stateful().Reads("iterator")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ThreadPoolHandle")
    .Output("handle: resource").Attr("num_threads: int").Attr("max_intra_op_parallelism: int = 1")
    .Attr("display_name: string").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("UncompressElement")
    .Input("compressed: variant").Output("components: output_types")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("WrapDatasetVariant")
    .Input("input_handle: variant").Output("output_handle: variant").ShapeFn(shape::Scalar);

}  // namespace tessera
