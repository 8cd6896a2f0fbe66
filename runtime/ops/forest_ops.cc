// The ops of TensorFlow Decision Forests and of ydf (the packages tensorflow-decision-forests and
// ydf-tf).
#include "runtime/base/status.h"
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace {

absl::Status Predictions(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t width, c.attr<int64_t>("dense_output_dim"));
  c.set_output(0, PartialShape{-1, width});
  return absl::OkStatus();
}

absl::Status Leaves(ShapeContext& c) {
  c.set_output(0, PartialShape{-1, -1});
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("SimpleMLCreateModelResource")
    .Output("model_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("SimpleMLLoadModelFromPath")
    .Input("path: string").Attr("model_identifier: string").Stateful().ReadsOutside()
    .WritesOutside();
REGISTER_OP("SimpleMLLoadModelFromPathWithHandle")
    .Input("model_handle: resource").Input("path: string").Attr("output_types: list(string) = []")
    .Attr("file_prefix: string = ''").Attr("allow_slow_inference: bool = true").Stateful()
    .Writes("model_handle").ReadsOutside();
REGISTER_OP("SimpleMLInferenceOp")
    .Input("numerical_features: float").Input("boolean_features: float")
    .Input("categorical_int_features: int32").Input("categorical_set_int_features_values: int32")
    .Input("categorical_set_int_features_row_splits_dim_1: int64")
    .Input("categorical_set_int_features_row_splits_dim_2: int64")
    .Output("dense_predictions: float").Output("dense_col_representation: string")
    .Attr("model_identifier: string").Attr("dense_output_dim: int >= 1").Stateful().ReadsOutside()
    .ShapeFn(Predictions);
REGISTER_OP("SimpleMLInferenceOpWithHandle")
    .Input("numerical_features: float").Input("boolean_features: float")
    .Input("categorical_int_features: int32").Input("categorical_set_int_features_values: int32")
    .Input("categorical_set_int_features_row_splits_dim_1: int64")
    .Input("categorical_set_int_features_row_splits_dim_2: int64").Input("model_handle: resource")
    .Output("dense_predictions: float").Output("dense_col_representation: string")
    .Attr("dense_output_dim: int >= 1").Stateful().Reads("model_handle").ShapeFn(Predictions);
REGISTER_OP("SimpleMLInferenceLeafIndexOpWithHandle")
    .Input("numerical_features: float").Input("boolean_features: float")
    .Input("categorical_int_features: int32").Input("categorical_set_int_features_values: int32")
    .Input("categorical_set_int_features_row_splits_dim_1: int64")
    .Input("categorical_set_int_features_row_splits_dim_2: int64").Input("model_handle: resource")
    .Output("leaves: int32").Stateful().Reads("model_handle").ShapeFn(Leaves);

}  // namespace tessera
