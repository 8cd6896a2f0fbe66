// Tensor lists and maps.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

REGISTER_OP("EmptyTensorList")
    .Input("element_shape: shape_type").Input("max_num_elements: int32").Output("handle: variant")
    .Attr("element_dtype: type").Attr("shape_type: {int32, int64}").ShapeFn(shape::Scalar);
REGISTER_OP("EmptyTensorMap")
    .Output("handle: variant").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListConcat")
    .Input("input_handle: variant").Output("tensor: element_dtype").Output("lengths: int64")
    .Attr("element_dtype: type").Attr("element_shape: shape = <unknown>")
    .ShapeFn(shape::Spec<"[] -> _, [?]">);
REGISTER_OP("TensorListConcatLists")
    .Input("input_a: variant").Input("input_b: variant").Output("output: variant")
    .Attr("element_dtype: type").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TensorListConcatV2")
    .Input("input_handle: variant").Input("element_shape: shape_type")
    .Input("leading_dims: int64").Output("tensor: element_dtype").Output("lengths: int64")
    .Attr("element_dtype: type").Attr("shape_type: {int32, int64}")
    .ShapeFn(shape::Spec<"[], _, _ -> _, [?]">);
REGISTER_OP("TensorListElementShape")
    .Input("input_handle: variant").Output("element_shape: shape_type")
    .Attr("shape_type: {int32, int64}").ShapeFn(shape::Unknown);
REGISTER_OP("TensorListFromTensor")
    .Input("tensor: element_dtype").Input("element_shape: shape_type")
    .Output("output_handle: variant").Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListGather")
    .Input("input_handle: variant").Input("indices: int32").Input("element_shape: int32")
    .Output("values: element_dtype").Attr("element_dtype: type")
    .ShapeFn(shape::Spec<"[], [n], _ -> [n, <2>]">);
REGISTER_OP("TensorListGetItem")
    .Input("input_handle: variant").Input("index: int32").Input("element_shape: Tshape")
    .Output("item: element_dtype").Attr("element_dtype: type")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(shape::Spec<"[], [], _ -> [<2>]">);
REGISTER_OP("TensorListLength")
    .Input("input_handle: variant").Output("length: int32").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListPopBack")
    .Input("input_handle: variant").Input("element_shape: int32").Output("output_handle: variant")
    .Output("tensor: element_dtype").Attr("element_dtype: type")
    .ShapeFn(shape::Spec<"[], _ -> [], [<1>]">);
REGISTER_OP("TensorListPushBack")
    .Input("input_handle: variant").Input("tensor: element_dtype")
    .Output("output_handle: variant").Attr("element_dtype: type").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListPushBackBatch")
    .Input("input_handles: variant").Input("tensor: element_dtype")
    .Output("output_handles: variant").Attr("element_dtype: type").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TensorListReserve")
    .Input("element_shape: shape_type").Input("num_elements: int32").Output("handle: variant")
    .Attr("element_dtype: type").Attr("shape_type: {int32, int64}").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListResize")
    .Input("input_handle: variant").Input("size: int32").Output("output_handle: variant")
    .ShapeFn(shape::Scalar);
REGISTER_OP("TensorListScatter")
    .Input("tensor: element_dtype").Input("indices: int32").Input("element_shape: shape_type")
    .Output("output_handle: variant").Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListScatterIntoExistingList")
    .Input("input_handle: variant").Input("tensor: element_dtype").Input("indices: int32")
    .Output("output_handle: variant").Attr("element_dtype: type").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListScatterV2")
    .Input("tensor: element_dtype").Input("indices: int32").Input("element_shape: shape_type")
    .Input("num_elements: int32").Output("output_handle: variant").Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListSetItem")
    .Input("input_handle: variant").Input("index: int32").Input("item: element_dtype")
    .Output("output_handle: variant").Attr("element_dtype: type")
    .Attr("resize_if_index_out_of_bounds: bool = false").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListSplit")
    .Input("tensor: element_dtype").Input("element_shape: shape_type").Input("lengths: int64")
    .Output("output_handle: variant").Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}").ShapeFn(shape::Scalar);
REGISTER_OP("TensorListStack")
    .Input("input_handle: variant").Input("element_shape: int32").Output("tensor: element_dtype")
    .Attr("element_dtype: type").Attr("num_elements: int = -1")
    .ShapeFn(shape::Spec<"[], _ -> [@num_elements, <1>]">);
REGISTER_OP("TensorMapErase")
    .Input("input_handle: variant").Input("key: key_dtype").Output("output_handle: variant")
    .Attr("key_dtype: type").Attr("value_dtype: type").ShapeFn(shape::Scalar);
REGISTER_OP("TensorMapHasKey")
    .Input("input_handle: variant").Input("key: key_dtype").Output("has_key: bool")
    .Attr("key_dtype: type").ShapeFn(shape::Scalar);
REGISTER_OP("TensorMapInsert")
    .Input("input_handle: variant").Input("key: key_dtype").Input("value: value_dtype")
    .Output("output_handle: variant").Attr("key_dtype: type").Attr("value_dtype: type")
    .ShapeFn(shape::Scalar);
REGISTER_OP("TensorMapLookup")
    .Input("input_handle: variant").Input("key: key_dtype").Output("value: value_dtype")
    .Attr("key_dtype: type").Attr("value_dtype: type").ShapeFn(shape::Unknown);
REGISTER_OP("TensorMapSize")
    .Input("input_handle: variant").Output("size: int32").ShapeFn(shape::Scalar);
REGISTER_OP("TensorMapStackKeys")
    .Input("input_handle: variant").Output("keys: key_dtype").Attr("key_dtype: type")
    .ShapeFn(shape::Spec<"_ -> _">);

}  // namespace tessera
