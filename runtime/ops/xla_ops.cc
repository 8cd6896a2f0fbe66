// XLA's ops that graphs for CPUs carry.
#include "runtime/base/status.h"
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"
#include "runtime/ops/matrix_shapes.h"

namespace tessera {

#define TESSERA_XLA_TYPES                                                                       \
  "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "     \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}"

#define TESSERA_XLA_NUMBERS                                                                 \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "    \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"

namespace {

// The state with its shape, and the bits with the shape that is asked for.
absl::Status RandomBits(ShapeContext& c) {
  c.set_output(0, c.input(1));
  ASSIGN_OR_RETURN(PartialShape bits, c.ShapeInput(2));
  c.set_output(1, std::move(bits));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("XlaBroadcastHelper")
    .Input("lhs: T").Input("rhs: T").Input("broadcast_dims: Tindices").Output("lhs_output: T")
    .Output("rhs_output: T").Attr("T: " TESSERA_XLA_NUMBERS).Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaConv")
    .Input("lhs: T").Input("rhs: T").Input("window_strides: Tindices").Input("padding: Tindices")
    .Input("lhs_dilation: Tindices").Input("rhs_dilation: Tindices")
    .Input("feature_group_count: Tindices").Output("output: T").Attr("T: " TESSERA_XLA_NUMBERS)
    .Attr("Tindices: {int32, int64}").Attr("dimension_numbers: string")
    .Attr("precision_config: string").ShapeFn(shape::SameRankAsFirstInput);
REGISTER_OP("XlaConvV2")
    .Input("lhs: LhsT").Input("rhs: RhsT").Input("window_strides: Tindices")
    .Input("padding: Tindices").Input("lhs_dilation: Tindices").Input("rhs_dilation: Tindices")
    .Input("feature_group_count: Tindices").Output("output: preferred_element_type")
    .Attr("LhsT: " TESSERA_XLA_NUMBERS).Attr("RhsT: " TESSERA_XLA_NUMBERS)
    .Attr("Tindices: {int32, int64}").Attr("dimension_numbers: string")
    .Attr("precision_config: string").Attr("preferred_element_type: " TESSERA_XLA_NUMBERS)
    .Attr("batch_group_count: int = 1").ShapeFn(shape::SameRankAsFirstInput);
REGISTER_OP("XlaDequantize")
    .Input("input: uint32").Output("output: bfloat16").Attr("min_range: float")
    .Attr("max_range: float").Attr("mode: string").Attr("transpose_output: bool").Stateful()
    .ComputesOnly().ShapeFn(shape::SameRankAsFirstInput);
REGISTER_OP("XlaDot")
    .Input("lhs: T").Input("rhs: T").Output("output: T").Attr("T: " TESSERA_XLA_NUMBERS)
    .Attr("dimension_numbers: string").Attr("precision_config: string").ShapeFn(shape::Unknown);
REGISTER_OP("XlaDotV2")
    .Input("lhs: LhsT").Input("rhs: RhsT").Output("output: preferred_element_type")
    .Attr("LhsT: " TESSERA_XLA_NUMBERS).Attr("RhsT: " TESSERA_XLA_NUMBERS)
    .Attr("dimension_numbers: string").Attr("precision_config: string")
    .Attr("preferred_element_type: " TESSERA_XLA_NUMBERS).ShapeFn(shape::Unknown);
REGISTER_OP("XlaEinsum")
    .Input("a: T").Input("b: T").Output("product: T").Attr("equation: string")
    .Attr("T: {complex64, bfloat16, float}").ShapeFn(shape::Einsum);
REGISTER_OP("XlaGather")
    .Input("operand: T").Input("start_indices: Tindices").Input("slice_sizes: Tindices")
    .Output("output: T").Attr("dimension_numbers: string").Attr("indices_are_sorted: bool")
    .Attr(TESSERA_XLA_TYPES).Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaIf")
    .Input("cond: Tcond").Input("inputs: Tin").Output("output: Tout").Attr("Tcond: type")
    .Attr("then_branch: func").Attr("else_branch: func").Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0").Stateful().CallsFunctions("inputs").ShapeFn(shape::Unknown);
REGISTER_OP("XlaKeyValueSort")
    .Input("keys: K").Input("values: V").Output("sorted_keys: K").Output("sorted_values: V")
    .Attr("K: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
          "uint64}")
    .Attr("V: type")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaOptimizationBarrier")
    .Input("input: T").Output("output: T").Attr("T: list(type) >= 0")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaPad")
    .Input("input: T").Input("padding_value: T").Input("padding_low: Tindices")
    .Input("padding_high: Tindices").Input("padding_interior: Tindices").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaReduce")
    .Input("input: T").Input("init_value: T").Output("output: T").Attr(TESSERA_XLA_TYPES)
    .Attr("dimensions_to_reduce: list(int)").Attr("reducer: func")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaReducePrecision")
    .Input("operand: T").Output("output: T").Attr("T: {bfloat16, half, float, double}")
    .Attr("exponent_bits: int").Attr("mantissa_bits: int").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("XlaReduceWindow")
    .Input("input: T").Input("init_value: T").Input("window_dimensions: Tindices")
    .Input("window_strides: Tindices").Input("base_dilations: Tindices")
    .Input("window_dilations: Tindices").Input("padding: Tindices").Output("output: T")
    .Attr(TESSERA_XLA_TYPES).Attr("Tindices: {int32, int64}").Attr("computation: func")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaReplicaId").Output("id: int32")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaRngBitGenerator")
    .Input("algorithm: int32").Input("initial_state: uint64").Input("shape: Tshape")
    .Output("output_key: uint64").Output("output: dtype")
    .Attr("dtype: {uint8, int8, int32, int64, uint32, uint64} = uint64")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(RandomBits);
REGISTER_OP("XlaScatter")
    .Input("operand: T").Input("scatter_indices: Tindices").Input("updates: T")
    .Output("output: T").Attr("update_computation: func").Attr("dimension_numbers: string")
    .Attr("indices_are_sorted: bool").Attr(TESSERA_XLA_TYPES).Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("XlaSelectAndScatter")
    .Input("operand: T").Input("window_dimensions: Tindices").Input("window_strides: Tindices")
    .Input("padding: Tindices").Input("source: T").Input("init_value: T").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
          "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("select: func").Attr("scatter: func")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("XlaSelfAdjointEig")
    .Input("a: T").Output("w: T").Output("v: T").Attr("lower: bool").Attr("max_iter: int")
    .Attr("epsilon: float").Attr("T: " TESSERA_XLA_NUMBERS)
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m], [*b, m, m]">);
REGISTER_OP("XlaSharding")
    .Input("input: T").Output("output: T").Attr("T: type").Attr("sharding: string = ''")
    .Attr("unspecified_dims: list(int) = []").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("XlaSort")
    .Input("input: T").Output("output: T").Attr("T: type").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("XlaSvd")
    .Input("a: T").Output("s: T").Output("u: T").Output("v: T").Attr("max_iter: int")
    .Attr("epsilon: float").Attr("precision_config: string").Attr("T: " TESSERA_XLA_NUMBERS)
    .ShapeFn(shape::Spec<"[*b, m, n] -> [*b, ?], [*b, m, m], [*b, n, n]">);
REGISTER_OP("XlaVariadicReduce")
    .Input("input: N * T").Input("init_value: N * T").Output("output: N * T")
    .Attr("N: int >= 1").Attr(TESSERA_XLA_TYPES).Attr("dimensions_to_reduce: list(int)")
    .Attr("reducer: func")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaVariadicReduceV2")
    .Input("inputs: T").Input("init_values: T").Output("outputs: T")
    .Attr("T: list(type) >= 1").Attr("dimensions_to_reduce: list(int)").Attr("reducer: func")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaVariadicSort")
    .Input("inputs: T").Input("dimension: int32").Output("outputs: T")
    .Attr("T: list(type) >= 1").Attr("comparator: func").Attr("is_stable: bool")
    .ShapeFn(shape::Unknown);

REGISTER_OP("XlaWhile")
    .Input("input: T").Output("output: T").Attr("T: list(type) >= 0").Attr("cond: func")
    .Attr("body: func").Stateful().LoopsFunctions("input").ShapeFn(shape::Unknown);

#undef TESSERA_XLA_NUMBERS
#undef TESSERA_XLA_TYPES

}  // namespace tessera
