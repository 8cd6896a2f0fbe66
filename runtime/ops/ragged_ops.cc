// Ragged tensors.
#include "runtime/base/status.h"
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/component_shapes.h"

namespace tessera {
namespace {

// A scalar, or with `batched_input` a variant for each row.
absl::Status RaggedToVariantShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool batched, c.attr<bool>("batched_input"));
  if (!batched) return shape::Scalar(c);
  ASSIGN_OR_RETURN(const int64_t ragged_rank, c.attr<int64_t>("RAGGED_RANK"));
  const PartialShape& rows = c.input(0);
  int64_t count = -1;
  if (rows.known_rank() && rows.rank() > 0 && rows.dim(0) >= 0) {
    count = ragged_rank > 0 ? rows.dim(0) - 1 : rows.dim(0);
  }
  c.set_output(0, PartialShape{count});
  return absl::OkStatus();
}

absl::Status ShapeFromInput2(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeInput(2));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("CompositeTensorVariantFromComponents")
    .Input("components: Tcomponents").Output("encoded: variant").Attr("metadata: string")
    .Attr("Tcomponents: list(type) >= 0").ShapeFn(shape::Scalar);
REGISTER_OP("CompositeTensorVariantToComponents")
    .Input("encoded: variant").Output("components: Tcomponents").Attr("metadata: string")
    .Attr("Tcomponents: list(type) >= 0").ShapeFn(shape::Unknown);
REGISTER_OP("RaggedBincount")
    .Input("splits: int64").Input("values: Tidx").Input("size: Tidx").Input("weights: T")
    .Output("output: T").Attr("Tidx: {int32, int64}").Attr("T: {int32, int64, float, double}")
    .Attr("binary_output: bool = false").ShapeFn(shape::Spec<"[?], [?], [], _ -> [?, $2]">);
REGISTER_OP("RaggedCountSparseOutput")
    .Input("splits: int64").Input("values: T").Input("weights: output_type")
    .Output("output_indices: int64").Output("output_values: output_type")
    .Output("output_dense_shape: int64").Attr("T: {int32, int64}")
    .Attr("minlength: int >= -1 = -1").Attr("maxlength: int >= -1 = -1")
    .Attr("binary_output: bool").Attr("output_type: {int32, int64, float, double}")
    .ShapeFn(shape::Spec<"[?], [?], _ -> [n, 2], [n], [2]">);
REGISTER_OP("RaggedCross")
    .Input("ragged_values: ragged_values_types").Input("ragged_row_splits: ragged_splits_types")
    .Input("sparse_indices: Nsparse * int64").Input("sparse_values: sparse_values_types")
    .Input("sparse_shape: Nsparse * int64").Input("dense_inputs: dense_types")
    .Output("output_values: out_values_type").Output("output_row_splits: out_row_splits_type")
    .Attr("Nsparse: int >= 0").Attr("input_order: string").Attr("hashed_output: bool")
    .Attr("num_buckets: int >= 0").Attr("hash_key: int")
    .Attr("ragged_values_types: list({int64, string}) >= 0")
    .Attr("ragged_splits_types: list({int32, int64}) >= 0")
    .Attr("sparse_values_types: list({int64, string}) >= 0")
    .Attr("dense_types: list({int64, string}) >= 0").Attr("out_values_type: {int64, string}")
    .Attr("out_row_splits_type: {int32, int64}").ShapeFn(shape::Spec<"_... -> [?], [?]">);
REGISTER_OP("RaggedFillEmptyRows")
    .Input("value_rowids: int64").Input("values: T").Input("nrows: int64")
    .Input("default_value: T").Output("output_value_rowids: int64").Output("output_values: T")
    .Output("empty_row_indicator: bool").Output("reverse_index_map: int64").Attr("T: type")
    .ShapeFn(shape::Spec<"[n], [n], [], [] -> [m], [m], [$2], [n]">);
REGISTER_OP("RaggedFillEmptyRowsGrad")
    .Input("reverse_index_map: int64").Input("grad_values: T").Output("d_values: T")
    .Output("d_default_value: T").Attr("T: type").ShapeFn(shape::Spec<"[n], [?] -> [n], []">);
REGISTER_OP("RaggedGather")
    .Input("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits")
    .Input("params_dense_values: Tvalues").Input("indices: Tindices")
    .Output("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits")
    .Output("output_dense_values: Tvalues").Attr("Tvalues: type").Attr("Tindices: {int32, int64}")
    .Attr("Tsplits: {int32, int64} = int64").Attr("PARAMS_RAGGED_RANK: int >= 1")
    .Attr("OUTPUT_RAGGED_RANK: int >= 0").ShapeFn(shape::RaggedOutput);
REGISTER_OP("RaggedRange")
    .Input("starts: T").Input("limits: T").Input("deltas: T").Output("rt_nested_splits: Tsplits")
    .Output("rt_dense_values: T").Attr("T: {bfloat16, float, double, int32, int64} = int32")
    .Attr("Tsplits: {int32, int64} = int64").ShapeFn(shape::Spec<"_, _, _ -> [?], [?]">);
REGISTER_OP("RaggedTensorFromVariant")
    .Input("encoded_ragged: variant").Output("output_nested_splits: output_ragged_rank * Tsplits")
    .Output("output_dense_values: Tvalues").Attr("input_ragged_rank: int >= -1")
    .Attr("output_ragged_rank: int >= 0").Attr("Tvalues: type")
    .Attr("Tsplits: {int32, int64} = int64").ShapeFn(shape::RaggedOutput);
REGISTER_OP("RaggedTensorToSparse")
    .Input("rt_nested_splits: RAGGED_RANK * Tsplits").Input("rt_dense_values: T")
    .Output("sparse_indices: int64").Output("sparse_values: T")
    .Output("sparse_dense_shape: int64").Attr("RAGGED_RANK: int >= 1").Attr("T: type")
    .Attr("Tsplits: {int32, int64} = int64").ShapeFn(shape::RaggedTensorToSparse);
REGISTER_OP("RaggedTensorToTensor")
    .Input("shape: Tshape").Input("values: T").Input("default_value: T")
    .Input("row_partition_tensors: num_row_partition_tensors * Tindex").Output("result: T")
    .Attr("T: type").Attr("Tindex: {int64, int32}").Attr("Tshape: {int64, int32}")
    .Attr("num_row_partition_tensors: int >= 1").Attr("row_partition_types: list(string)")
    .ShapeFn(shape::Unknown);
REGISTER_OP("RaggedTensorToVariant")
    .Input("rt_nested_splits: RAGGED_RANK * Tsplits").Input("rt_dense_values: Tvalues")
    .Output("encoded_ragged: variant").Attr("RAGGED_RANK: int >= 0").Attr("Tvalues: type")
    .Attr("Tsplits: {int32, int64} = int64").Attr("batched_input: bool")
    .ShapeFn(RaggedToVariantShape);
REGISTER_OP("RaggedTensorToVariantGradient")
    .Input("encoded_ragged_grad: variant").Input("row_splits: Tsplits")
    .Input("dense_values_shape: int32").Output("dense_values_grad: Tvalues")
    .Attr("Tvalues: type").Attr("Tsplits: {int32, int64} = int64").ShapeFn(ShapeFromInput2);

}  // namespace tessera
