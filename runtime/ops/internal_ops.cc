// Ops that graphs as users write them do not have: the runtime, and TensorFlow's optimizer, put
// them in. Their kernels are in the families of the ops that they stand for.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

// Ends of a function body or of a pruned graph.
REGISTER_OP("_Arg").Output("output: T").Attr("T: type").Attr("index: int >= 0").Stateful()
    .FromCaller();
REGISTER_OP("_DeviceArg").Output("output: T").Attr("T: type").Attr("index: int >= 0").Stateful()
    .FromCaller();
REGISTER_OP("_Retval").Input("input: T").Attr("T: type").Attr("index: int >= 0").Stateful()
    .ComputesOnly().Routes("input");
REGISTER_OP("_DeviceRetval").Input("input: T").Attr("T: type").Attr("index: int >= 0").Stateful()
    .ComputesOnly().Routes("input");
REGISTER_OP("_ListToArray")
    .Input("input: Tin").Output("output: N * T").Attr("Tin: list(type) >= 1").Attr("T: type")
    .Attr("N: int >= 1");
REGISTER_OP("_ArrayToList")
    .Input("input: N * T").Output("output: out_types").Attr("T: type").Attr("N: int >= 1")
    .Attr("out_types: list(type) >= 1");

// Stands for a node of an op that nobody has declared; `_op` names it.
REGISTER_OP("_Unsupported")
    .Input("inputs: _inputs").Output("outputs: _outputs").Attr("_op: string")
    .Attr("_inputs: list(type)").Attr("_outputs: list(type)").ReadsOutside();

// Edges between the memory of a device and the host's; see runtime/exec/memory_copies.h. They are
// added after all passes have run.
REGISTER_OP("_CopyToHost").Input("from: T").Output("to: T").Attr("T: type");
REGISTER_OP("_CopyToDevice").Input("from: T").Output("to: T").Attr("T: type");

// Edges between devices.
REGISTER_OP("_Send")
    .Input("tensor: T").Attr("T: type").Attr("tensor_name: string").Attr("send_device: string")
    .Attr("send_device_incarnation: int").Attr("recv_device: string")
    .Attr("client_terminated: bool = false").Stateful().WritesOutside();
REGISTER_OP("_Recv")
    .Output("tensor: tensor_type").Attr("tensor_type: type").Attr("tensor_name: string")
    .Attr("send_device: string").Attr("send_device_incarnation: int").Attr("recv_device: string")
    .Attr("client_terminated: bool = false").Stateful().ReadsOutside().WritesOutside().MayWait();
REGISTER_OP("_HostSend")
    .Input("tensor: T").Attr("T: type").Attr("tensor_name: string").Attr("send_device: string")
    .Attr("send_device_incarnation: int").Attr("recv_device: string")
    .Attr("client_terminated: bool = false").Stateful().WritesOutside();
REGISTER_OP("_HostRecv")
    .Output("tensor: tensor_type").Attr("tensor_type: type").Attr("tensor_name: string")
    .Attr("send_device: string").Attr("send_device_incarnation: int").Attr("recv_device: string")
    .Attr("client_terminated: bool = false").Stateful().ReadsOutside().WritesOutside().MayWait();

// Control flow.
REGISTER_OP("_SwitchN")
    .Input("data: T").Input("output_index: int32").Output("outputs: num_outs * T")
    .Attr("num_outs: int >= 1").Attr("T: type").ControlFlow().Routes("data");
REGISTER_OP("_If")
    .Input("cond: Tcond").Input("input: Tin").Output("output: Tout").Attr("Tcond: type")
    .Attr("Tin: list(type) >= 1").Attr("Tout: list(type) >= 1").Attr("then_branch: func")
    .Attr("else_branch: func").Stateful().CallsFunctions("input");
REGISTER_OP("_While")
    .Input("input: T").Output("output: T").Attr("T: list(type) >= 0").Attr("cond: func")
    .Attr("body: func").Stateful().LoopsFunctions("input");

// Several variables at once.
REGISTER_OP("_VarHandlesOp")
    .Output("resources: N * resource").Attr("containers: list(string)")
    .Attr("shared_names: list(string)").Attr("N: int >= 0").Attr("dtypes: list(type)")
    .Attr("shapes: list(shape)").Stateful().MakesHandle();
REGISTER_OP("_ReadVariablesOp")
    .Input("resources: N * resource").Output("values: dtypes").Attr("N: int >= 0")
    .Attr("dtypes: list(type) >= 1").Stateful().Reads("resources");

// One op with what follows it. `fused_ops` says what: "BiasAdd" or "FusedBatchNorm", then "Add", and
// an activation such as "Relu"; `args` are bias, or scale, offset, mean and variance, then what is
// added. The last input of _FusedConv2D, which only this runtime has, multiplies the filter's
// channels as in _ScaleWeights.
REGISTER_OP("_FusedMatMul")
    .Input("a: T").Input("b: T").Input("args: num_args * T").Output("product: T")
    .Attr("transpose_a: bool = false").Attr("transpose_b: bool = false")
    .Attr("T: {bfloat16, half, float}").Attr("num_args: int >= 0")
    .Attr("fused_ops: list(string) = []").Attr("epsilon: float = 0.0001")
    .Attr("leakyrelu_alpha: float = 0.2");
REGISTER_OP("_FusedBatchMatMulV2")
    .Input("x: T").Input("y: T").Input("args: num_args * T").Output("output: T")
    .Attr("adj_x: bool = false").Attr("adj_y: bool = false")
    .Attr("T: {bfloat16, half, float}").Attr("num_args: int >= 0")
    .Attr("fused_ops: list(string) = []").Attr("leakyrelu_alpha: float = 0.2");
REGISTER_OP("_FusedConv2D")
    .Input("input: T").Input("filter: T").Input("args: TArgs")
    .Input("host_args: num_host_args * float").Input("scale: num_scales * double")
    .Output("output: T").Attr("T: {half, float, double, int8, qint8}")
    .Attr("TArgs: list(type) >= 0").Attr("num_args: int >= 0")
    .Attr("num_host_args: int >= 0 = 0").Attr("num_scales: int >= 0 = 0")
    .Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}").Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
    .Attr("filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'")
    .Attr("dilations: list(int) = [1, 1, 1, 1]").Attr("use_cudnn_on_gpu: bool = true")
    .Attr("fused_ops: list(string) = []").Attr("epsilon: float = 0.0001")
    .Attr("leakyrelu_alpha: float = 0.2");
REGISTER_OP("_FusedDepthwiseConv2dNative")
    .Input("input: T").Input("filter: T").Input("args: num_args * T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("num_args: int >= 0")
    .Attr("strides: list(int)").Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("dilations: list(int) = [1, 1, 1, 1]")
    .Attr("fused_ops: list(string) = []").Attr("epsilon: float = 0.0001")
    .Attr("leakyrelu_alpha: float = 0.2");
REGISTER_OP("_FusedBatchNormEx")
    .Input("x: T").Input("scale: U").Input("offset: U").Input("mean: U").Input("variance: U")
    .Input("side_input: num_side_inputs * T").Output("y: T").Output("batch_mean: U")
    .Output("batch_variance: U").Output("reserve_space_1: U").Output("reserve_space_2: U")
    .Output("reserve_space_3: U").Attr("T: {half, float, bfloat16}").Attr("U: {float}")
    .Attr("epsilon: float = 0.0001").Attr("exponential_avg_factor: float = 1.0")
    .Attr("num_side_inputs: int >= 0 = 0").Attr("activation_mode: string = 'Identity'")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("is_training: bool = true");

// What the passes of this runtime make of patterns; see runtime/optimize.
REGISTER_OP("_Gelu")
    .Input("x: T").Output("y: T").Attr("T: {float}").Attr("approximate: bool = false");
// Each weight times the element of `scale` that belongs to its channel; channels are the last
// dimension, or the last few. Products of double are rounded once.
REGISTER_OP("_ScaleWeights")
    .Input("weights: T").Input("scale: double").Output("scaled: T").Attr("T: {float}");
// Over the last dimension of x, or of x + addend, which `axis` names: -1, or the rank less one.
REGISTER_OP("_LayerNorm")
    .Input("x: T").Input("gamma: T").Input("beta: T").Input("addend: num_addends * T")
    .Output("y: T").Attr("T: {float}").Attr("num_addends: int >= 0 = 0").Attr("epsilon: float")
    .Attr("axis: int = -1");
// softmax(scale * query * key^T + masks) * value, all of rank 4: [batch, heads, tokens, features] if
// heads_first says so of query, key, value and output in turn, else [batch, tokens, heads,
// features]. `masked` takes the place of scores where `keep` is false. Scores [batch, heads,
// queries, keys], masks and `keep` broadcast to each other as in AddV2, but a vector `keep` names
// images if `keeps_images`; so do, if `broadcasts`, batch and heads of query, key and value.
REGISTER_OP("_Attention")
    .Input("query: T").Input("key: T").Input("value: T").Input("mask: num_masks * Tmask")
    .Input("keep: num_keeps * bool").Output("output: T").Attr("T: {half, bfloat16, float}")
    .Attr("Tmask: {half, bfloat16, float} = DT_FLOAT")
    .Attr("num_masks: int >= 0 = 0").Attr("num_keeps: int >= 0 = 0").Attr("scale: float = 1.0")
    .Attr("masked: float = 0.0").Attr("keeps_images: bool = false")
    .Attr("broadcasts: bool = false").Attr("heads_first: list(bool)");
// A depthwise convolution, a pointwise one after it and, if `expand_ops` is not empty, one before it,
// each with what its `fused_ops` would say: a bias, then Relu or Relu6 or nothing; "Add" among
// project_ops adds `input`. Filters and biases are those of the layers in their order; the window's
// attributes are the depthwise convolution's.
REGISTER_OP("_SeparableBlock")
    .Input("input: T").Input("filters: num_layers * T").Input("biases: num_layers * T")
    .Output("output: T").Attr("T: {float}").Attr("num_layers: int >= 2")
    .Attr("strides: list(int)").Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []").Attr("dilations: list(int) = [1, 1, 1, 1]")
    .Attr("expand_ops: list(string) = []").Attr("depthwise_ops: list(string)")
    .Attr("project_ops: list(string)");
// The sum, broadcast as by AddV2, of scales[i] * Gather(tables[i], indices[i]) and of all addends.
// Tables are matrices of as many columns. `gathers` names the nodes that looked up before, which an
// index out of range is blamed on.
REGISTER_OP("_EmbeddingSum")
    .Input("tables: num_tables * T").Input("indices: Tindices").Input("addends: num_addends * T")
    .Output("sum: T").Attr("T: {float}").Attr("num_tables: int >= 1")
    .Attr("Tindices: list({int32, int64}) >= 1").Attr("num_addends: int >= 0 = 0")
    .Attr("scales: list(float)").Attr("gathers: list(string)");

// A loop of an LSTM or a GRU over a sequence; see runtime/kernels/nn/fused_loop.h. `gates` says where
// the gates stand in the columns of the weights: input, forget, cell, output; or update, reset,
// candidate. The states are h and c, or h alone.
REGISTER_OP("_LstmLoop")
    .Input("x: T").Input("kernel: num_kernels * T").Input("bias: num_biases * T")
    .Input("recurrent: T").Input("states: num_states * T").Input("limits: num_limits * int32")
    .Input("size: int32").Output("y: T").Output("last_states: num_states * T").Attr("T: {float}")
    .Attr("num_kernels: int >= 0").Attr("num_biases: int >= 0").Attr("num_states: int = 2")
    .Attr("num_limits: int >= 1").Attr("gates: list(int)").Attr("forget_bias: float = 0.0")
    .Attr("last_only: bool = false");
REGISTER_OP("_GruLoop")
    .Input("x: T").Input("kernel: num_kernels * T").Input("bias: num_biases * T")
    .Input("recurrent: T").Input("recurrent_bias: num_recurrent_biases * T")
    .Input("states: num_states * T").Input("limits: num_limits * int32").Input("size: int32")
    .Output("y: T").Output("last_states: num_states * T").Attr("T: {float}")
    .Attr("num_kernels: int >= 0").Attr("num_biases: int >= 0")
    .Attr("num_recurrent_biases: int >= 0").Attr("num_states: int = 1")
    .Attr("num_limits: int >= 1").Attr("gates: list(int)").Attr("last_only: bool = false");

// The loop of an LSTM over products with the input, [time, batch, 4 * units], and its gradient. What
// the gradient needs of each step is [steps, batch, ...]; of `x` it needs the shape.
REGISTER_OP("_LstmTraining")
    .Input("x: T").Input("recurrent: T").Input("h: T").Input("c: T")
    .Input("limits: num_limits * int32").Output("activated: T").Output("cs: T")
    .Output("tanh_cs: T").Output("hs: T").Output("last_h: T").Output("last_c: T")
    .Attr("T: {float}").Attr("num_limits: int >= 1").Attr("gates: list(int)")
    .Attr("forget_bias: float = 0.0");
REGISTER_OP("_LstmGradient")
    .Input("recurrent: T").Input("h: T").Input("c: T").Input("activated: T").Input("cs: T")
    .Input("tanh_cs: T").Input("hs: T").Input("d_last_h: T").Input("d_last_c: T")
    .Output("d_x: T").Output("d_recurrent: T").Output("d_h: T").Output("d_c: T")
    .Attr("T: {float}").Attr("gates: list(int)");

// Steps of elementwise functions, made in as few sweeps over memory as their shapes allow. `views`
// has four numbers a view: an input and the part that is read of it, as Split makes it: axis, part,
// number of parts (1: all of it). Value i is view i, or, after the views, the result of a step.
// Each step calls ops[i], an elementwise op without attributes, a SelectV2 or an AddN of two, for the
// next of `operands`, which are values, in the place of the node names[i]. Bools are given from step
// to step alone. `joins` has two numbers an
// output: how many of the next `results`, which are values of steps, are joined by ConcatV2, and
// along which axis.
REGISTER_OP("_FusedElementwise")
    .Input("x: num_inputs * T").Output("y: num_outputs * T").Attr("T: {float}")
    .Attr("num_inputs: int >= 1").Attr("num_outputs: int >= 1").Attr("ops: list(string) >= 1")
    .Attr("names: list(string) >= 1").Attr("operands: list(int) >= 1")
    .Attr("views: list(int) >= 4").Attr("results: list(int) >= 1").Attr("joins: list(int) >= 2");

// Sorts lines along a dimension, which may count from the end, by their keys in the total order of
// IEEE 754; equal keys keep their order. A comparator of StableHLO that compares a key of one
// element with that of another becomes this.
REGISTER_OP("_SortByKey")
    .Input("keys: K").Input("values: T").Output("sorted: T")
    .Attr("K: {half, bfloat16, float, double, int8, uint8, int16, uint16, int32, uint32, int64, "
          "uint64, bool}")
    .Attr("T: list(type) >= 1").Attr("dimension: int").Attr("is_descending: bool = false");

// The ops of XLA that call functions of scalars, with the `captured` values as further arguments of
// all these functions. Regions of StableHLO that use values from outside become such functions.
REGISTER_OP("_CapturingXlaReduceWindow")
    .Input("input: T").Input("init_value: T").Input("window_dimensions: Tindices")
    .Input("window_strides: Tindices").Input("base_dilations: Tindices")
    .Input("window_dilations: Tindices").Input("padding: Tindices")
    .Input("captured: Tcaptured").Output("output: T").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("Tcaptured: list(type) >= 1")
    .Attr("computation: func");
REGISTER_OP("_CapturingXlaScatter")
    .Input("operand: T").Input("scatter_indices: Tindices").Input("updates: T")
    .Input("captured: Tcaptured").Output("output: T").Attr("update_computation: func")
    .Attr("dimension_numbers: string").Attr("indices_are_sorted: bool").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("Tcaptured: list(type) >= 1");
REGISTER_OP("_CapturingXlaSelectAndScatter")
    .Input("operand: T").Input("window_dimensions: Tindices").Input("window_strides: Tindices")
    .Input("padding: Tindices").Input("source: T").Input("init_value: T")
    .Input("captured: Tcaptured").Output("output: T").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("Tcaptured: list(type) >= 1").Attr("select: func")
    .Attr("scatter: func");
REGISTER_OP("_CapturingXlaVariadicReduceV2")
    .Input("inputs: T").Input("init_values: T").Input("captured: Tcaptured").Output("outputs: T")
    .Attr("T: list(type) >= 1").Attr("Tcaptured: list(type) >= 1")
    .Attr("dimensions_to_reduce: list(int)").Attr("reducer: func");
REGISTER_OP("_CapturingXlaVariadicSort")
    .Input("inputs: T").Input("dimension: int32").Input("captured: Tcaptured")
    .Output("outputs: T").Attr("T: list(type) >= 1").Attr("Tcaptured: list(type) >= 1")
    .Attr("comparator: func").Attr("is_stable: bool");

// Integers whose order is the total order of the floats.
REGISTER_OP("_OrderKey")
    .Input("x: T").Output("key: K").Attr("T: {float, double}").Attr("K: {int32, int64}")
    .ShapeFn(shape::SameAsFirstInput);

// Routines of LAPACK, by their names without the letter of the dtype, as StableHLO modules call them.
// None fails for matrices without a decomposition. Factors are packed into one matrix as LAPACK packs
// them: `tau` has the factors of the Householder reflections, whose vectors stand below the upper
// factor of _LapackGeqrf, the Hessenberg matrix of _LapackGehrd or the tridiagonal one of
// _LapackSytrd, which reads the lower triangle. _LapackOrgqr gives the product of reflections.
// `pivots` and `info` of _LapackGetrf count from 1: row i was exchanged with row pivots[i], and
// pivot `info` is the first one that is zero, if it is not 0 itself.
REGISTER_OP("_LapackGetrf")
    .Input("a: T").Output("lu: T").Output("pivots: int32").Output("info: int32")
    .Attr("T: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, n] -> [*b, m, n], [*b, ?], [*b]">);
REGISTER_OP("_LapackGeqrf")
    .Input("a: T").Output("qr: T").Output("tau: T")
    .Attr("T: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, n] -> [*b, m, n], [*b, ?]">);
REGISTER_OP("_LapackGehrd")
    .Input("a: T").Output("h: T").Output("tau: T")
    .Attr("T: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m, m], [*b, ?]">);
REGISTER_OP("_LapackSytrd")
    .Input("a: T").Output("t: T").Output("tau: T")
    .Attr("T: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m, m], [*b, ?]">);
REGISTER_OP("_LapackOrgqr")
    .Input("a: T").Input("tau: T").Output("q: T")
    .Attr("T: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, n], [*b, k] -> [*b, m, n]">);
// Eigenvalues, and eigenvectors in columns; zeros in their place if they are not computed.
REGISTER_OP("_LapackGeev")
    .Input("a: T").Output("w: Tout").Output("vl: Tout").Output("vr: Tout")
    .Attr("compute_left: bool").Attr("compute_right: bool")
    .Attr("T: {float, double, complex64, complex128}").Attr("Tout: {complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m], [*b, m, m], [*b, m, m]">);
// A Schur form, its vectors, and the eigenvalues.
REGISTER_OP("_LapackGees")
    .Input("a: T").Output("t: T").Output("vs: T").Output("w: Tout")
    .Attr("T: {float, double, complex64, complex128}").Attr("Tout: {complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m, m], [*b, m, m], [*b, m]">);

// Left in graphs that TensorFlow's optimizer has written.
REGISTER_OP("_UnaryOpsComposition")
    .Input("x: T").Output("y: T").Attr("T: {float, half, double}").Attr("op_names: list(string)");
REGISTER_OP("_TensorToHashBucketFast")
    .Input("input: T").Output("output: int64")
    .Attr("T: {int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
    .Attr("num_buckets: int >= 1");
REGISTER_OP("_HostCast")
    .Input("x: SrcT").Output("y: DstT").Attr("SrcT: type").Attr("DstT: type")
    .Attr("Truncate: bool = false");
REGISTER_OP("_EagerConst").Input("input: T").Output("output: T").Attr("T: type").Forwards("input");
REGISTER_OP("_ParallelConcatStart")
    .Output("output: dtype").Attr("shape: shape").Attr("dtype: type").Stateful().ComputesOnly();
REGISTER_OP("_ParallelConcatUpdate")
    .Input("value: T").Input("update: T").Output("output: T").Attr("T: type").Attr("loc: int");

}  // namespace tessera
