// XLA's ops that graphs for CPUs carry.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/ops/array_shapes.h"

namespace tessera {

#define TESSERA_XLA_TYPES                                                                       \
  "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "     \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}"

REGISTER_OP("XlaGather")
    .Input("operand: T").Input("start_indices: Tindices").Input("slice_sizes: Tindices")
    .Output("output: T").Attr("dimension_numbers: string").Attr("indices_are_sorted: bool")
    .Attr(TESSERA_XLA_TYPES).Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::Unknown);
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
REGISTER_OP("XlaReduceWindow")
    .Input("input: T").Input("init_value: T").Input("window_dimensions: Tindices")
    .Input("window_strides: Tindices").Input("base_dilations: Tindices")
    .Input("window_dilations: Tindices").Input("padding: Tindices").Output("output: T")
    .Attr(TESSERA_XLA_TYPES).Attr("Tindices: {int32, int64}").Attr("computation: func")
    .ShapeFn(shape::Unknown);
REGISTER_OP("XlaReplicaId").Output("id: int32")
    .ShapeFn(shape::Unknown);
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
REGISTER_OP("XlaSharding")
    .Input("input: T").Output("output: T").Attr("T: type").Attr("sharding: string = ''")
    .Attr("unspecified_dims: list(int) = []").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("XlaSort")
    .Input("input: T").Output("output: T").Attr("T: type").ShapeFn(shape::SameAsFirstInput);
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

#undef TESSERA_XLA_TYPES

}  // namespace tessera
