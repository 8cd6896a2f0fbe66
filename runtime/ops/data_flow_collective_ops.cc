// Operations in which all members of a group take part.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

REGISTER_OP("CollectiveAllToAllV2")
    .Input("input: T").Input("group_size: int32").Input("group_key: int32")
    .Input("instance_key: int32").Input("ordering_token: Nordering_token * resource")
    .Output("data: T").Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0")
    .Attr("is_stateless: bool = false").Attr("Nordering_token: int >= 0 = 0").Stateful()
    .Writes("ordering_token").ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CollectiveAllToAllV3")
    .Input("input: T").Input("communicator: resource").Input("group_assignment: int32")
    .Output("data: T").Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("timeout_seconds: float = 0").Stateful().Writes("communicator").ReadsOutside()
    .WritesOutside().MayWait().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CollectiveAssignGroupV2")
    .Input("group_assignment: int32").Input("device_index: int32").Input("base_key: int32")
    .Output("group_size: int32").Output("group_key: int32").Stateful().ComputesOnly()
    .ShapeFn(shape::Spec<"[?, ?], [], [] -> []...">);
REGISTER_OP("CollectiveBcastRecv")
    .Output("data: T").Attr("T: {bool, float, half, double, int32, int64}").Attr("group_size: int")
    .Attr("group_key: int").Attr("instance_key: int").Attr("shape: shape")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::FromShapeAttr);
REGISTER_OP("CollectiveBcastRecvV2")
    .Input("group_size: int32").Input("group_key: int32").Input("instance_key: int32")
    .Input("shape: Tshape").Output("data: T").Attr("T: {bool, float, half, double, int32, int64}")
    .Attr("Tshape: {int32, int64} = int32").Attr("communication_hint: string = 'auto'")
    .Attr("timeout_seconds: float = 0").Stateful().ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::Spec<"[], [], [], [?] -> [<3>]">);
REGISTER_OP("CollectiveBcastSend")
    .Input("input: T").Output("data: T").Attr("T: {bool, float, half, double, int32, int64}")
    .Attr("group_size: int").Attr("group_key: int").Attr("instance_key: int").Attr("shape: shape")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CollectiveBcastSendV2")
    .Input("input: T").Input("group_size: int32").Input("group_key: int32")
    .Input("instance_key: int32").Output("data: T")
    .Attr("T: {bool, float, half, double, int32, int64}")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CollectiveGather")
    .Input("input: T").Output("data: T").Attr("T: {float, half, double, int32, int64}")
    .Attr("group_size: int").Attr("group_key: int").Attr("instance_key: int").Attr("shape: shape")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::Spec<"[n, *r] -> [?, *r]">);
REGISTER_OP("CollectiveGatherV2")
    .Input("input: T").Input("group_size: int32").Input("group_key: int32")
    .Input("instance_key: int32").Input("ordering_token: Nordering_token * resource")
    .Output("data: T").Attr("T: {float, half, double, int32, int64}")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0")
    .Attr("is_stateless: bool = false").Attr("Nordering_token: int >= 0 = 0").Stateful()
    .Writes("ordering_token").ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::Spec<"[n, *r], [], [], [], _... -> [?, *r]">);
REGISTER_OP("CollectiveInitializeCommunicator")
    .Input("group_key: int32").Input("rank: int32").Input("group_size: int32")
    .Output("communicator: resource").Attr("communication_hint: string = 'auto'")
    .Attr("timeout_seconds: float = 0").Stateful().MakesResource().ReadsOutside().WritesOutside()
    .MayWait().ShapeFn(shape::Scalar);
REGISTER_OP("CollectiveReduce")
    .Input("input: T").Output("data: T").Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("group_size: int").Attr("group_key: int").Attr("instance_key: int")
    .Attr("merge_op: {'Min', 'Max', 'Mul', 'Add'}").Attr("final_op: {'Id', 'Div'}")
    .Attr("subdiv_offsets: list(int)").Attr("wait_for: list(int) = []")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0").Stateful()
    .ReadsOutside().WritesOutside().MayWait().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CollectiveReduceScatterV2")
    .Input("input: T").Input("group_size: int32").Input("group_key: int32")
    .Input("instance_key: int32").Input("ordering_token: Nordering_token * resource")
    .Output("data: T").Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("merge_op: {'Min', 'Max', 'Mul', 'Add'}").Attr("final_op: {'Id', 'Div'}")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0")
    .Attr("is_stateless: bool = false").Attr("Nordering_token: int >= 0 = 0")
    .Attr("max_subdivs_per_device: int = -1").Stateful().Writes("ordering_token").ReadsOutside()
    .WritesOutside().MayWait().ShapeFn(shape::Spec<"[n, *r], [], [], [], _... -> [?, *r]">);
REGISTER_OP("CollectiveReduceV2")
    .Input("input: T").Input("group_size: int32").Input("group_key: int32")
    .Input("instance_key: int32").Input("ordering_token: Nordering_token * resource")
    .Output("data: T").Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("merge_op: {'Min', 'Max', 'Mul', 'Add'}").Attr("final_op: {'Id', 'Div'}")
    .Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0")
    .Attr("is_stateless: bool = false").Attr("Nordering_token: int >= 0 = 0")
    .Attr("max_subdivs_per_device: int = -1").Stateful().Writes("ordering_token").ReadsOutside()
    .WritesOutside().MayWait().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CollectiveReduceV3")
    .Input("input: T").Input("communicator: resource").Input("group_assignment: int32")
    .Output("data: T").Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("reduction: {'Min', 'Max', 'Mul', 'Add'}").Attr("timeout_seconds: float = 0").Stateful()
    .Writes("communicator").ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::SameAsFirstInput);

}  // namespace tessera
