// Queues, stacks, TensorArrays, partition and stitch.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/component_shapes.h"

namespace tessera {

REGISTER_OP("AccumulatorApplyGradient")
    .Input("handle: Ref(string)").Input("local_step: int64").Input("gradient: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Writes("handle");
REGISTER_OP("AccumulatorNumAccumulated")
    .Input("handle: Ref(string)").Output("num_accumulated: int32").Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("AccumulatorSetGlobalStep")
    .Input("handle: Ref(string)").Input("new_global_step: int64").Writes("handle");
REGISTER_OP("AccumulatorTakeGradient")
    .Input("handle: Ref(string)").Input("num_required: int32").Output("average: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("Barrier")
    .Output("handle: Ref(string)").Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("BarrierClose")
    .Input("handle: Ref(string)").Attr("cancel_pending_enqueues: bool = false").Writes("handle");
REGISTER_OP("BarrierIncompleteSize")
    .Input("handle: Ref(string)").Output("size: int32").Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("BarrierInsertMany")
    .Input("handle: Ref(string)").Input("keys: string").Input("values: T").Attr("T: type")
    .Attr("component_index: int").Writes("handle");
REGISTER_OP("BarrierReadySize")
    .Input("handle: Ref(string)").Output("size: int32").Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("BarrierTakeMany")
    .Input("handle: Ref(string)").Input("num_elements: int32").Output("indices: int64")
    .Output("keys: string").Output("values: component_types")
    .Attr("component_types: list(type) >= 1").Attr("allow_small_batch: bool = false")
    .Attr("wait_for_incomplete: bool = false").Attr("timeout_ms: int = -1")
    .Writes("handle").MayWait().ShapeFn(shape::Spec<"_, [] -> [n], [n], _...">);
REGISTER_OP("ConditionalAccumulator")
    .Output("handle: Ref(string)")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("shape: shape").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("ConsumeMutexLock")
    .Input("mutex_lock: variant").Stateful().WritesOutside();
REGISTER_OP("DeleteSessionTensor")
    .Input("handle: string").Stateful().WritesOutside();
REGISTER_OP("DynamicPartition")
    .Input("data: T").Input("partitions: int32").Output("outputs: num_partitions * T")
    .Attr("num_partitions: int >= 1").Attr("T: type").ShapeFn(shape::DynamicPartition);
REGISTER_OP("DynamicStitch")
    .Input("indices: N * int32").Input("data: N * T").Output("merged: T").Attr("N: int >= 1")
    .Attr("T: type").ShapeFn(shape::DynamicStitch);
REGISTER_OP("FIFOQueue")
    .Output("handle: Ref(string)").Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("FIFOQueueV2")
    .Output("handle: resource").Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("GetSessionHandle")
    .Input("value: T").Output("handle: string").Attr("T: type").Stateful().WritesOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("GetSessionHandleV2")
    .Input("value: T").Output("handle: resource").Attr("T: type").Stateful().WritesOutside()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("GetSessionTensor")
    .Input("handle: string").Output("value: dtype").Attr("dtype: type").Stateful().ReadsOutside()
    .ShapeFn(shape::Unknown);
REGISTER_OP("MapClear")
.Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().WritesOutside();
REGISTER_OP("MapIncompleteSize")
    .Output("size: int32").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("MapPeek")
    .Input("key: int64").Input("indices: int32").Output("values: dtypes").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type) >= 1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("MapSize")
    .Output("size: int32").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("MapStage")
    .Input("key: int64").Input("indices: int32").Input("values: fake_dtypes")
    .Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("fake_dtypes: list(type) >= 1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().ReadsOutside().WritesOutside().MayWait();
REGISTER_OP("MapUnstage")
    .Input("key: int64").Input("indices: int32").Output("values: dtypes")
    .Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0")
    .Attr("dtypes: list(type) >= 1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::Unknown);
REGISTER_OP("MapUnstageNoKey")
    .Input("indices: int32").Output("key: int64").Output("values: dtypes").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type) >= 1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::Spec<"_ -> [], _...">);
REGISTER_OP("MutexLock")
    .Input("mutex: resource").Output("mutex_lock: variant").Stateful().Writes("mutex").MayWait()
    .ShapeFn(shape::Scalar);
REGISTER_OP("MutexV2")
    .Output("resource: resource").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("OrderedMapClear")
.Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().WritesOutside();
REGISTER_OP("OrderedMapIncompleteSize")
    .Output("size: int32").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("OrderedMapPeek")
    .Input("key: int64").Input("indices: int32").Output("values: dtypes")
    .Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0")
    .Attr("dtypes: list(type) >= 1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().ReadsOutside().MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("OrderedMapSize")
    .Output("size: int32").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("OrderedMapStage")
    .Input("key: int64").Input("indices: int32").Input("values: fake_dtypes")
    .Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("fake_dtypes: list(type) >= 1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().ReadsOutside().WritesOutside().MayWait();
REGISTER_OP("OrderedMapUnstage")
    .Input("key: int64").Input("indices: int32").Output("values: dtypes").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type) >= 1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("OrderedMapUnstageNoKey")
    .Input("indices: int32").Output("key: int64").Output("values: dtypes").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type) >= 1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::Spec<"_ -> [], _...">);
REGISTER_OP("PaddingFIFOQueue")
    .Output("handle: Ref(string)").Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("PaddingFIFOQueueV2")
    .Output("handle: resource").Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("ParallelDynamicStitch")
    .Input("indices: N * int32").Input("data: N * T").Output("merged: T").Attr("N: int >= 1")
    .Attr("T: type").ShapeFn(shape::DynamicStitch);
REGISTER_OP("PriorityQueue")
    .Output("handle: Ref(string)").Attr("component_types: list(type) >= 0 = []")
    .Attr("shapes: list(shape) >= 0").Attr("capacity: int = -1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("PriorityQueueV2")
    .Output("handle: resource").Attr("component_types: list(type) >= 0 = []")
    .Attr("shapes: list(shape) >= 0").Attr("capacity: int = -1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("QueueClose")
    .Input("handle: Ref(string)").Attr("cancel_pending_enqueues: bool = false")
    .Writes("handle").MayWait();
REGISTER_OP("QueueCloseV2")
    .Input("handle: resource").Attr("cancel_pending_enqueues: bool = false").Stateful()
    .Writes("handle").MayWait();
REGISTER_OP("QueueDequeue")
    .Input("handle: Ref(string)").Output("components: component_types")
    .Attr("component_types: list(type) >= 1").Attr("timeout_ms: int = -1")
    .Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("QueueDequeueMany")
    .Input("handle: Ref(string)").Input("n: int32").Output("components: component_types")
    .Attr("component_types: list(type) >= 1").Attr("timeout_ms: int = -1")
    .Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("QueueDequeueManyV2")
    .Input("handle: resource").Input("n: int32").Output("components: component_types")
    .Attr("component_types: list(type) >= 1").Attr("timeout_ms: int = -1").Stateful()
    .Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("QueueDequeueUpTo")
    .Input("handle: Ref(string)").Input("n: int32").Output("components: component_types")
    .Attr("component_types: list(type) >= 1").Attr("timeout_ms: int = -1")
    .Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("QueueDequeueUpToV2")
    .Input("handle: resource").Input("n: int32").Output("components: component_types")
    .Attr("component_types: list(type) >= 1").Attr("timeout_ms: int = -1").Stateful()
    .Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("QueueDequeueV2")
    .Input("handle: resource").Output("components: component_types")
    .Attr("component_types: list(type) >= 1").Attr("timeout_ms: int = -1").Stateful()
    .Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("QueueEnqueue")
    .Input("handle: Ref(string)").Input("components: Tcomponents")
    .Attr("Tcomponents: list(type) >= 1").Attr("timeout_ms: int = -1").Writes("handle").MayWait();
REGISTER_OP("QueueEnqueueMany")
    .Input("handle: Ref(string)").Input("components: Tcomponents")
    .Attr("Tcomponents: list(type) >= 1").Attr("timeout_ms: int = -1").Writes("handle").MayWait();
REGISTER_OP("QueueEnqueueManyV2")
    .Input("handle: resource").Input("components: Tcomponents")
    .Attr("Tcomponents: list(type) >= 1").Attr("timeout_ms: int = -1").Stateful()
    .Writes("handle").MayWait();
REGISTER_OP("QueueEnqueueV2")
    .Input("handle: resource").Input("components: Tcomponents")
    .Attr("Tcomponents: list(type) >= 1").Attr("timeout_ms: int = -1").Stateful()
    .Writes("handle").MayWait();
REGISTER_OP("QueueIsClosed")
    .Input("handle: Ref(string)").Output("is_closed: bool").Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("QueueIsClosedV2")
    .Input("handle: resource").Output("is_closed: bool").Stateful().Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("QueueSize")
    .Input("handle: Ref(string)").Output("size: int32").Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("QueueSizeV2")
    .Input("handle: resource").Output("size: int32").Stateful().Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("RandomShuffleQueue")
    .Output("handle: Ref(string)").Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1")
    .Attr("min_after_dequeue: int = 0").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("RandomShuffleQueueV2")
    .Output("handle: resource").Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1")
    .Attr("min_after_dequeue: int = 0").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("ResourceAccumulatorApplyGradient")
    .Input("handle: resource").Input("local_step: int64").Input("gradient: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Stateful().Writes("handle");
REGISTER_OP("ResourceAccumulatorNumAccumulated")
    .Input("handle: resource").Output("num_accumulated: int32").Stateful().Reads("handle")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("ResourceAccumulatorSetGlobalStep")
    .Input("handle: resource").Input("new_global_step: int64").Stateful().Writes("handle");
REGISTER_OP("ResourceAccumulatorTakeGradient")
    .Input("handle: resource").Input("num_required: int32").Output("average: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Stateful().Writes("handle").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("ResourceConditionalAccumulator")
    .Output("handle: resource")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("shape: shape").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("SparseAccumulatorApplyGradient")
    .Input("handle: Ref(string)").Input("local_step: int64").Input("gradient_indices: int64")
    .Input("gradient_values: dtype").Input("gradient_shape: int64")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("has_known_shape: bool").Writes("handle");
REGISTER_OP("SparseAccumulatorTakeGradient")
    .Input("handle: Ref(string)").Input("num_required: int32").Output("indices: int64")
    .Output("values: dtype").Output("shape: int64")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Writes("handle").MayWait().ShapeFn(shape::Spec<"_, [] -> [n], _, [?]">);
REGISTER_OP("SparseConditionalAccumulator")
    .Output("handle: Ref(string)")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("shape: shape").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("Stack")
    .Output("handle: Ref(string)").Attr("elem_type: type").Attr("stack_name: string = ''")
    .Stateful().MakesResource().OwnedByStep().ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("StackClose")
    .Input("handle: Ref(string)").Writes("handle").OwnedByStep();
REGISTER_OP("StackCloseV2")
    .Input("handle: resource").Stateful().Writes("handle").OwnedByStep();
REGISTER_OP("StackPop")
    .Input("handle: Ref(string)").Output("elem: elem_type").Attr("elem_type: type")
    .Writes("handle").OwnedByStep().ShapeFn(shape::Unknown);
REGISTER_OP("StackPopV2")
    .Input("handle: resource").Output("elem: elem_type").Attr("elem_type: type").Stateful()
    .Writes("handle").OwnedByStep().ShapeFn(shape::Unknown);
REGISTER_OP("StackPush")
    .Input("handle: Ref(string)").Input("elem: T").Output("output: T").Attr("T: type")
    .Attr("swap_memory: bool = false").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [*s] -> [*s]">);
REGISTER_OP("StackPushV2")
    .Input("handle: resource").Input("elem: T").Output("output: T").Attr("T: type")
    .Attr("swap_memory: bool = false").Stateful().Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [*s] -> [*s]">);
REGISTER_OP("StackV2")
    .Input("max_size: int32").Output("handle: resource").Attr("elem_type: type")
    .Attr("stack_name: string = ''").Stateful().MakesResource().OwnedByStep()
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("Stage")
    .Input("values: dtypes").Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0")
    .Attr("dtypes: list(type) >= 1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().ReadsOutside().WritesOutside().MayWait();
REGISTER_OP("StageClear")
.Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().WritesOutside();
REGISTER_OP("StagePeek")
    .Input("index: int32").Output("values: dtypes").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type) >= 1")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("StageSize")
    .Output("size: int32").Attr("capacity: int >= 0 = 0")
    .Attr("memory_limit: int >= 0 = 0").Attr("dtypes: list(type)")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
    .ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("TensorArray")
    .Input("size: int32").Output("handle: Ref(string)").Attr("dtype: type")
    .Attr("dynamic_size: bool = false").Attr("clear_after_read: bool = true")
    .Attr("tensor_array_name: string = ''").Attr("element_shape: shape = <unknown>").Stateful()
    .MakesResource().OwnedByStep().ShapeFn(shape::Spec<"[] -> [2]">);
REGISTER_OP("TensorArrayClose")
    .Input("handle: Ref(string)").Writes("handle").OwnedByStep();
REGISTER_OP("TensorArrayCloseV2")
    .Input("handle: string").Writes("handle").OwnedByStep();
REGISTER_OP("TensorArrayCloseV3")
    .Input("handle: resource").Stateful().Writes("handle").OwnedByStep();
REGISTER_OP("TensorArrayConcat")
    .Input("handle: Ref(string)").Input("flow_in: float").Output("value: dtype")
    .Output("lengths: int64").Attr("dtype: type").Attr("element_shape_except0: shape = <unknown>")
    .Writes("handle").OwnedByStep().ShapeFn(shape::Spec<"_, [] -> _, [?]">);
REGISTER_OP("TensorArrayConcatV2")
    .Input("handle: string").Input("flow_in: float").Output("value: dtype")
    .Output("lengths: int64").Attr("dtype: type").Attr("element_shape_except0: shape = <unknown>")
    .Writes("handle").OwnedByStep().ShapeFn(shape::Spec<"_, [] -> _, [?]">);
REGISTER_OP("TensorArrayConcatV3")
    .Input("handle: resource").Input("flow_in: float").Output("value: dtype")
    .Output("lengths: int64").Attr("dtype: type").Attr("element_shape_except0: shape = <unknown>")
    .Stateful().Writes("handle").OwnedByStep().ShapeFn(shape::Spec<"_, [] -> _, [?]">);
REGISTER_OP("TensorArrayGather")
    .Input("handle: Ref(string)").Input("indices: int32").Input("flow_in: float")
    .Output("value: dtype").Attr("dtype: type").Attr("element_shape: shape = <unknown>")
    .Writes("handle").OwnedByStep().ShapeFn(shape::Unknown);
REGISTER_OP("TensorArrayGatherV2")
    .Input("handle: string").Input("indices: int32").Input("flow_in: float").Output("value: dtype")
    .Attr("dtype: type").Attr("element_shape: shape = <unknown>").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Unknown);
REGISTER_OP("TensorArrayGatherV3")
    .Input("handle: resource").Input("indices: int32").Input("flow_in: float")
    .Output("value: dtype").Attr("dtype: type").Attr("element_shape: shape = <unknown>")
    .Stateful().Writes("handle").OwnedByStep().ShapeFn(shape::Unknown);
REGISTER_OP("TensorArrayGrad")
    .Input("handle: string").Input("flow_in: float").Output("grad_handle: Ref(string)")
    .Attr("source: string").Stateful().Writes("handle").MakesResource().OwnedByStep()
    .ShapeFn(shape::Spec<"_, [] -> [2]">);
REGISTER_OP("TensorArrayGradV2")
    .Input("handle: string").Input("flow_in: float").Output("grad_handle: string")
    .Attr("source: string").Stateful().Writes("handle").MakesResource().OwnedByStep()
    .ShapeFn(shape::Spec<"_, [] -> [2]">);
REGISTER_OP("TensorArrayGradV3")
    .Input("handle: resource").Input("flow_in: float").Output("grad_handle: resource")
    .Output("flow_out: float").Attr("source: string").Stateful()
    .Writes("handle").MakesResource().OwnedByStep().ShapeFn(shape::Spec<"_, [] -> [2], []">);
REGISTER_OP("TensorArrayGradWithShape")
    .Input("handle: resource").Input("flow_in: float").Input("shape_to_prepend: int32")
    .Output("grad_handle: resource").Output("flow_out: float").Attr("source: string").Stateful()
    .Writes("handle").MakesResource().OwnedByStep().ShapeFn(shape::Scalar);
REGISTER_OP("TensorArrayPack")
    .Input("handle: Ref(string)").Input("flow_in: float").Output("value: dtype")
    .Attr("dtype: type").Attr("element_shape: shape = <unknown>").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Unknown);
REGISTER_OP("TensorArrayRead")
    .Input("handle: Ref(string)").Input("index: int32").Input("flow_in: float")
    .Output("value: dtype").Attr("dtype: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Unknown);
REGISTER_OP("TensorArrayReadV2")
    .Input("handle: string").Input("index: int32").Input("flow_in: float").Output("value: dtype")
    .Attr("dtype: type").Writes("handle").OwnedByStep().ShapeFn(shape::Unknown);
REGISTER_OP("TensorArrayReadV3")
    .Input("handle: resource").Input("index: int32").Input("flow_in: float")
    .Output("value: dtype").Attr("dtype: type").Stateful().Writes("handle").OwnedByStep()
    .ShapeFn(shape::Unknown);
REGISTER_OP("TensorArrayScatter")
    .Input("handle: Ref(string)").Input("indices: int32").Input("value: T").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [?], _, [] -> []">);
REGISTER_OP("TensorArrayScatterV2")
    .Input("handle: string").Input("indices: int32").Input("value: T").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [?], _, [] -> []">);
REGISTER_OP("TensorArrayScatterV3")
    .Input("handle: resource").Input("indices: int32").Input("value: T").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Stateful().Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [?], _, [] -> []">);
REGISTER_OP("TensorArraySize")
    .Input("handle: Ref(string)").Input("flow_in: float").Output("size: int32").Reads("handle")
    .OwnedByStep().ShapeFn(shape::Scalar);
REGISTER_OP("TensorArraySizeV2")
    .Input("handle: string").Input("flow_in: float").Output("size: int32").Reads("handle")
    .OwnedByStep().ShapeFn(shape::Scalar);
REGISTER_OP("TensorArraySizeV3")
    .Input("handle: resource").Input("flow_in: float").Output("size: int32").Stateful()
    .Reads("handle").OwnedByStep().ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("TensorArraySplit")
    .Input("handle: Ref(string)").Input("value: T").Input("lengths: int64").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, _, [?], [] -> []">);
REGISTER_OP("TensorArraySplitV2")
    .Input("handle: string").Input("value: T").Input("lengths: int64").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, _, [?], [] -> []">);
REGISTER_OP("TensorArraySplitV3")
    .Input("handle: resource").Input("value: T").Input("lengths: int64").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Stateful().ShapeFn(shape::Scalar)
    .Writes("handle").OwnedByStep();
REGISTER_OP("TensorArrayUnpack")
    .Input("handle: Ref(string)").Input("value: T").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Scalar);
REGISTER_OP("TensorArrayV2")
    .Input("size: int32").Output("handle: string").Attr("dtype: type")
    .Attr("element_shape: shape = <unknown>").Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true").Attr("tensor_array_name: string = ''").Stateful()
    .MakesResource().OwnedByStep().ShapeFn(shape::Spec<"[] -> [2]">);
REGISTER_OP("TensorArrayV3")
    .Input("size: int32").Output("handle: resource").Output("flow: float").Attr("dtype: type")
    .Attr("element_shape: shape = <unknown>").Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true").Attr("identical_element_shapes: bool = false")
    .Attr("tensor_array_name: string = ''").Stateful().MakesResource().OwnedByStep()
    .ShapeFn(shape::Spec<"[] -> [], []">);
REGISTER_OP("TensorArrayWrite")
    .Input("handle: Ref(string)").Input("index: int32").Input("value: T").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [], _, [] -> []">);
REGISTER_OP("TensorArrayWriteV2")
    .Input("handle: string").Input("index: int32").Input("value: T").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [], _, [] -> []">);
REGISTER_OP("TensorArrayWriteV3")
    .Input("handle: resource").Input("index: int32").Input("value: T").Input("flow_in: float")
    .Output("flow_out: float").Attr("T: type").Stateful().Writes("handle").OwnedByStep()
    .ShapeFn(shape::Spec<"_, [], _, [] -> []">);
REGISTER_OP("Unstage")
    .Output("values: dtypes").Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0")
    .Attr("dtypes: list(type) >= 1").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::Unknown);

}  // namespace tessera
