// Control flow and calls.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"

namespace tessera {

REGISTER_OP("Assert")
    .Input("condition: bool").Input("data: T").Attr("T: list(type) >= 1")
    .Attr("summarize: int = 3").Stateful().Asserts();
REGISTER_OP("Case")
    .Input("branch_index: int32").Input("input: Tin").Output("output: Tout")
    .Attr("Tin: list(type) >= 0").Attr("Tout: list(type) >= 0").Attr("branches: list(func) >= 1")
    .Attr("output_shapes: list(shape) = []").Stateful().CallsFunctions("input")
    .ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("ControlTrigger").ControlFlow();
REGISTER_OP("DeviceIndex")
    .Output("index: int32").Attr("device_names: list(string)").Stateful().ComputesOnly()
    .ShapeFn(shape::Scalar);
REGISTER_OP("EagerPyFunc")
    .Input("input: Tin").Output("output: Tout").Attr("token: string")
    .Attr("is_async: bool = false").Attr("Tin: list(type) >= 0").Attr("Tout: list(type) >= 0")
    .Stateful().ReadsOutside().WritesOutside().ShapeFn(shape::Unknown);
REGISTER_OP("Enter")
    .Input("data: T").Output("output: T").Attr("T: type").Attr("frame_name: string")
    .Attr("is_constant: bool = false").Attr("parallel_iterations: int = 10")
    .ControlFlow().Routes("data").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Exit")
    .Input("data: T").Output("output: T").Attr("T: type").ControlFlow().Routes("data")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FakeParam")
    .Output("output: dtype").Attr("dtype: type").Attr("shape: shape").ShapeFn(shape::FromShapeAttr);
// The body's first argument is the number, which stands where `delta` does.
REGISTER_OP("For")
    .Input("start: int32").Input("limit: int32").Input("delta: int32").Input("input: T")
    .Output("output: T").Attr("T: list(type) >= 0").Attr("body: func").LoopsFunctions("delta")
    .ShapeFn(shape::Unknown);
REGISTER_OP("If")
    .Input("cond: Tcond").Input("input: Tin").Output("output: Tout").Attr("Tcond: type")
    .Attr("Tin: list(type) >= 0").Attr("Tout: list(type) >= 0").Attr("then_branch: func")
    .Attr("else_branch: func").Attr("output_shapes: list(shape) = []").Stateful()
    .CallsFunctions("input").ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("LoopCond")
    .Input("input: bool").Output("output: bool").ControlFlow().Routes("input")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MapDefun")
    .Input("arguments: Targuments").Input("captured_inputs: Tcaptured")
    .Output("output: output_types").Attr("Targuments: list(type) >= 1")
    .Attr("Tcaptured: list(type) >= 0 = []").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("f: func")
    .Attr("max_intra_op_parallelism: int = 1").ShapeFn(shape::Unknown);
REGISTER_OP("Merge")
    .Input("inputs: N * T").Output("output: T").Output("value_index: int32").Attr("T: type")
    .Attr("N: int >= 1").ControlFlow().Routes("inputs").ShapeFn(shape::Spec<"_... -> _, []">);
REGISTER_OP("NextIteration")
    .Input("data: T").Output("output: T").Attr("T: type").ControlFlow().Routes("data")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("NoOp");
REGISTER_OP("PartitionedCall")
    .Input("args: Tin").Output("output: Tout").Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0").Attr("f: func").Attr("config: string = ''")
    .Attr("config_proto: string = ''").Attr("executor_type: string = ''").CallsFunctions("args")
    .ShapeFn(shape::Unknown);
REGISTER_OP("Print")
    .Input("input: T").Input("data: U").Output("output: T").Attr("T: type")
    .Attr("U: list(type) >= 0").Attr("message: string = ''").Attr("first_n: int = -1")
    .Attr("summarize: int = 3").Stateful().WritesOutside().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("PrintV2")
    .Input("input: string").Attr("output_stream: string = 'stderr'").Attr("end: string = '\n'")
    .Stateful().WritesOutside();
REGISTER_OP("Recv")
    .Output("tensor: tensor_type").Attr("tensor_type: type").Attr("tensor_name: string")
    .Attr("send_device: string").Attr("send_device_incarnation: int").Attr("recv_device: string")
    .Attr("client_terminated: bool = false").Stateful().ReadsOutside().WritesOutside().MayWait()
    .ShapeFn(shape::Unknown);
REGISTER_OP("RefEnter")
    .Input("data: Ref(T)").Output("output: Ref(T)").Attr("T: type").Attr("frame_name: string")
    .Attr("is_constant: bool = false").Attr("parallel_iterations: int = 10")
    .ControlFlow().Routes("data").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RefExit")
    .Input("data: Ref(T)").Output("output: Ref(T)").Attr("T: type").ControlFlow().Routes("data")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RefMerge")
    .Input("inputs: Ref(N * T)").Output("output: Ref(T)").Output("value_index: int32")
    .Attr("T: type").Attr("N: int >= 1").ControlFlow().Routes("inputs")
    .ShapeFn(shape::Spec<"_... -> _, []">);
REGISTER_OP("RefNextIteration")
    .Input("data: Ref(T)").Output("output: Ref(T)").Attr("T: type").ControlFlow().Routes("data")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RefSelect")
    .Input("index: int32").Input("inputs: Ref(N * T)").Output("output: Ref(T)").Attr("T: type")
    .Attr("N: int >= 1").Routes("inputs").ShapeFn(shape::Unknown);
REGISTER_OP("RefSwitch")
    .Input("data: Ref(T)").Input("pred: bool").Output("output_false: Ref(T)")
    .Output("output_true: Ref(T)").Attr("T: type").AllowsUninitializedInput()
    .ControlFlow().Routes("data").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RemoteCall")
    .Input("target: string").Input("args: Tin").Output("output: Tout")
    .Attr("Tin: list(type) >= 1").Attr("Tout: list(type) >= 1").Attr("f: func").Stateful()
    .CallsFunctions("args").ShapeFn(shape::Unknown);
REGISTER_OP("Send")
    .Input("tensor: T").Attr("T: type").Attr("tensor_name: string").Attr("send_device: string")
    .Attr("send_device_incarnation: int").Attr("recv_device: string")
    .Attr("client_terminated: bool = false").Stateful().WritesOutside();
REGISTER_OP("StatefulPartitionedCall")
    .Input("args: Tin").Output("output: Tout").Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0").Attr("f: func").Attr("config: string = ''")
    .Attr("config_proto: string = ''").Attr("executor_type: string = ''").Stateful()
    .CallsFunctions("args").ShapeFn(shape::Unknown);
REGISTER_OP("StatelessCase")
    .Input("branch_index: int32").Input("input: Tin").Output("output: Tout")
    .Attr("Tin: list(type) >= 0").Attr("Tout: list(type) >= 0").Attr("branches: list(func) >= 1")
    .Attr("output_shapes: list(shape) = []").CallsFunctions("input")
    .ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("StatelessIf")
    .Input("cond: Tcond").Input("input: Tin").Output("output: Tout").Attr("Tcond: type")
    .Attr("Tin: list(type) >= 0").Attr("Tout: list(type) >= 0").Attr("then_branch: func")
    .Attr("else_branch: func").Attr("output_shapes: list(shape) = []").CallsFunctions("input")
    .ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("StatelessWhile")
    .Input("input: T").Output("output: T").Attr("T: list(type) >= 0").Attr("cond: func")
    .Attr("body: func").Attr("output_shapes: list(shape) = []")
    .Attr("parallel_iterations: int = 10").LoopsFunctions("input").ShapeFn(shape::OutputShapesAttr);
REGISTER_OP("Switch")
    .Input("data: T").Input("pred: bool").Output("output_false: T").Output("output_true: T")
    .Attr("T: type").ControlFlow().Routes("data").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SymbolicGradient")
    .Input("input: Tin").Output("output: Tout").Attr("Tin: list(type) >= 1")
    .Attr("Tout: list(type) >= 1").Attr("f: func").ShapeFn(shape::Unknown);
REGISTER_OP("Timestamp")
    .Output("ts: double").Stateful().ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("While")
    .Input("input: T").Output("output: T").Attr("T: list(type) >= 0").Attr("cond: func")
    .Attr("body: func").Attr("output_shapes: list(shape) = []")
    .Attr("parallel_iterations: int = 10").Stateful().LoopsFunctions("input")
    .ShapeFn(shape::OutputShapesAttr);

}  // namespace tessera
