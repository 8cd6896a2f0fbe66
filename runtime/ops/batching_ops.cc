// Batching inside a graph.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {

REGISTER_OP("Batch")
    .Input("in_tensors: T").Output("batched_tensors: T").Output("batch_index: int64")
    .Output("id: int64").Attr("num_batch_threads: int").Attr("max_batch_size: int")
    .Attr("max_enqueued_batches: int = 10").Attr("batch_timeout_micros: int")
    .Attr("allowed_batch_sizes: list(int) = []").Attr("grad_timeout_micros: int")
    .Attr("container: string = ''").Attr("shared_name: string = ''")
    .Attr("batching_queue: string = ''").Attr("T: list(type) >= 1").ReadsOutside()
    .WritesOutside().MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("BatchFunction")
    .Input("in_tensors: Tin").Input("captured_tensors: Tcaptured").Output("out_tensors: Tout")
    .Attr("f: func").Attr("num_batch_threads: int").Attr("max_batch_size: int")
    .Attr("batch_timeout_micros: int").Attr("max_enqueued_batches: int = 10")
    .Attr("allowed_batch_sizes: list(int) = []").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("batching_queue: string = ''")
    .Attr("low_priority_max_batch_size: int = 0")
    .Attr("low_priority_batch_timeout_micros: int = 0")
    .Attr("low_priority_allowed_batch_sizes: list(int) = []")
    .Attr("low_priority_max_enqueued_batches: int = 0")
    .Attr("mixed_priority_policy: {'low_priority_padding_with_max_batch_size', "
        "'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', "
        "'priority_merge'} = 'low_priority_padding_with_max_batch_size'")
    .Attr("batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', "
        "'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'")
    .Attr("Tin: list(type) >= 1").Attr("Tcaptured: list(type) >= 0").Attr("Tout: list(type) >= 1")
    .Attr("enable_large_batch_splitting: bool = false").MayWait().ShapeFn(shape::Unknown);
REGISTER_OP("Unbatch")
    .Input("batched_tensor: T").Input("batch_index: int64").Input("id: int64")
    .Output("unbatched_tensor: T").Attr("timeout_micros: int").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("T: type").ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::Unknown);
REGISTER_OP("UnbatchGrad")
    .Input("original_input: T").Input("batch_index: int64").Input("grad: T").Input("id: int64")
    .Output("batched_grad: T").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Attr("T: type").ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::Unknown);

}  // namespace tessera
