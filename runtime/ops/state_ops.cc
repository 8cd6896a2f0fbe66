// Variables.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"

namespace tessera {

REGISTER_OP("Assign")
    .Input("ref: Ref(T)").Input("value: T").Output("output_ref: Ref(T)").Attr("T: type")
    .Attr("validate_shape: bool = true").Attr("use_locking: bool = true")
    .AllowsUninitializedInput().Writes("ref").ShapeFn(shape::SameAsSecondInput);
REGISTER_OP("AssignAdd")
    .Input("ref: Ref(T)").Input("value: T").Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("ref").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("AssignAddVariableOp")
    .Input("resource: resource").Input("value: dtype").Attr("dtype: type").Stateful()
    .Writes("resource");
REGISTER_OP("AssignSub")
    .Input("ref: Ref(T)").Input("value: T").Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("ref").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("AssignSubVariableOp")
    .Input("resource: resource").Input("value: dtype").Attr("dtype: type").Stateful()
    .Writes("resource");
REGISTER_OP("AssignVariableOp")
    .Input("resource: resource").Input("value: dtype").Attr("dtype: type")
    .Attr("validate_shape: bool = false").Stateful().Writes("resource");
REGISTER_OP("CountUpTo")
    .Input("ref: Ref(T)").Output("output: T").Attr("limit: int").Attr("T: {int32, int64}")
    .Writes("ref").ShapeFn(shape::Scalar);
REGISTER_OP("DestroyResourceOp")
    .Input("resource: resource").Attr("ignore_lookup_error: bool = true").Stateful()
    .Writes("resource");
REGISTER_OP("DestroyTemporaryVariable")
    .Input("ref: Ref(T)").Output("value: T").Attr("T: type").Attr("var_name: string")
    .Writes("ref").OwnedByStep().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DisableCopyOnRead")
    .Input("resource: resource").Stateful().Reads("resource");
REGISTER_OP("IsResourceHandleRefCounting")
    .Input("handle: resource").Output("result: bool").Stateful().Reads("handle")
    .ShapeFn(shape::Scalar);
REGISTER_OP("IsVariableInitialized")
    .Input("ref: Ref(dtype)").Output("is_initialized: bool").Attr("dtype: type")
    .AllowsUninitializedInput().Reads("ref").ShapeFn(shape::Scalar);
REGISTER_OP("MakeWeakResourceHandle")
    .Input("handle: resource").Output("dup: resource").Stateful().Forwards("handle")
    .ComputesOnly()
    .ShapeFn(shape::Scalar);
REGISTER_OP("ReadVariableOp")
    .Input("resource: resource").Output("value: dtype").Attr("dtype: type").Stateful()
    .Reads("resource").ShapeFn(shape::Unknown);
REGISTER_OP("ResourceCountUpTo")
    .Input("resource: resource").Output("output: T").Attr("limit: int").Attr("T: {int32, int64}")
    .Stateful().Writes("resource").ShapeFn(shape::Scalar);
REGISTER_OP("ResourceGather")
    .Input("resource: resource").Input("indices: Tindices").Output("output: dtype")
    .Attr("batch_dims: int = 0").Attr("validate_indices: bool = true").Attr("dtype: type")
    .Attr("Tindices: {int32, int64}").Stateful().Reads("resource").ShapeFn(shape::Unknown);
REGISTER_OP("ResourceGatherNd")
    .Input("resource: resource").Input("indices: Tindices").Output("output: dtype")
    .Attr("dtype: type").Attr("Tindices: {int32, int64}").Stateful().Reads("resource")
    .ShapeFn(shape::Unknown);
REGISTER_OP("ResourceScatterAdd")
    .Input("resource: resource").Input("indices: Tindices").Input("updates: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Stateful().Writes("resource");
REGISTER_OP("ResourceScatterDiv")
    .Input("resource: resource").Input("indices: Tindices").Input("updates: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Stateful().Writes("resource");
REGISTER_OP("ResourceScatterMax")
    .Input("resource: resource").Input("indices: Tindices").Input("updates: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Stateful().Writes("resource");
REGISTER_OP("ResourceScatterMin")
    .Input("resource: resource").Input("indices: Tindices").Input("updates: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Stateful().Writes("resource");
REGISTER_OP("ResourceScatterMul")
    .Input("resource: resource").Input("indices: Tindices").Input("updates: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Stateful().Writes("resource");
REGISTER_OP("ResourceScatterNdAdd")
    .Input("ref: resource").Input("indices: Tindices").Input("updates: T").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = true")
    .Attr("bad_indices_policy: string = ''").Stateful().Writes("ref");
REGISTER_OP("ResourceScatterNdMax")
    .Input("ref: resource").Input("indices: Tindices").Input("updates: T").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = true")
    .Attr("bad_indices_policy: string = ''").Stateful().Writes("ref");
REGISTER_OP("ResourceScatterNdMin")
    .Input("ref: resource").Input("indices: Tindices").Input("updates: T").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = true")
    .Attr("bad_indices_policy: string = ''").Stateful().Writes("ref");
REGISTER_OP("ResourceScatterNdSub")
    .Input("ref: resource").Input("indices: Tindices").Input("updates: T").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = true")
    .Attr("bad_indices_policy: string = ''").Stateful().Writes("ref");
REGISTER_OP("ResourceScatterNdUpdate")
    .Input("ref: resource").Input("indices: Tindices").Input("updates: T").Attr("T: type")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = true")
    .Attr("bad_indices_policy: string = ''").Stateful().Writes("ref");
REGISTER_OP("ResourceScatterSub")
    .Input("resource: resource").Input("indices: Tindices").Input("updates: dtype")
    .Attr("dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Stateful().Writes("resource");
REGISTER_OP("ResourceScatterUpdate")
    .Input("resource: resource").Input("indices: Tindices").Input("updates: dtype")
    .Attr("dtype: type").Attr("Tindices: {int32, int64}").Stateful().Writes("resource");
REGISTER_OP("ResourceStridedSliceAssign")
    .Input("ref: resource").Input("begin: Index").Input("end: Index").Input("strides: Index")
    .Input("value: T").Attr("T: type").Attr("Index: {int32, int64}").Attr("begin_mask: int = 0")
    .Attr("end_mask: int = 0").Attr("ellipsis_mask: int = 0").Attr("new_axis_mask: int = 0")
    .Attr("shrink_axis_mask: int = 0").Stateful().Writes("ref");
REGISTER_OP("ScatterAdd")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterDiv")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterMax")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)").Attr("T: {half, bfloat16, float, double, int32, int64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterMin")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)").Attr("T: {half, bfloat16, float, double, int32, int64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterMul")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterNdAdd")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("bad_indices_policy: string = ''").Writes("ref").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterNdMax")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("bad_indices_policy: string = ''").Writes("ref").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterNdMin")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("bad_indices_policy: string = ''").Writes("ref").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterNdSub")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("bad_indices_policy: string = ''").Writes("ref").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterNdUpdate")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)").Attr("T: type").Attr("Tindices: {int32, int64}")
    .Attr("use_locking: bool = true").Attr("bad_indices_policy: string = ''").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterSub")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterUpdate")
    .Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T")
    .Output("output_ref: Ref(T)").Attr("T: type").Attr("Tindices: {int32, int64}")
    .Attr("use_locking: bool = true").Writes("ref").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StridedSliceAssign")
    .Input("ref: Ref(T)").Input("begin: Index").Input("end: Index").Input("strides: Index")
    .Input("value: T").Output("output_ref: Ref(T)").Attr("T: type").Attr("Index: {int32, int64}")
    .Attr("begin_mask: int = 0").Attr("end_mask: int = 0").Attr("ellipsis_mask: int = 0")
    .Attr("new_axis_mask: int = 0").Attr("shrink_axis_mask: int = 0").Writes("ref")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TemporaryVariable")
    .Output("ref: Ref(dtype)").Attr("shape: shape").Attr("dtype: type")
    .Attr("var_name: string = ''").Stateful().MakesResource().OwnedByStep()
    .ShapeFn(shape::FromShapeAttr);
REGISTER_OP("VarHandleOp")
    .Output("resource: resource").Attr("container: string = ''").Attr("shared_name: string = ''")
    .Attr("debug_name: string = ''").Attr("dtype: type").Attr("shape: shape")
    .Attr("allowed_devices: list(string) = []").Stateful().MakesHandle().ShapeFn(shape::Scalar);
REGISTER_OP("VarIsInitializedOp")
    .Input("resource: resource").Output("is_initialized: bool").Stateful().Reads("resource")
    .ShapeFn(shape::Scalar);
REGISTER_OP("Variable")
    .Output("ref: Ref(dtype)").Attr("shape: shape").Attr("dtype: type")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::FromShapeAttr);
REGISTER_OP("VariableShape")
    .Input("input: resource").Output("output: out_type").Attr("out_type: {int32, int64} = int32")
    .Stateful().Reads("input").ShapeFn(shape::Spec<"_ -> [?]">);
REGISTER_OP("VariableV2")
    .Output("ref: Ref(dtype)").Attr("shape: shape").Attr("dtype: type")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::FromShapeAttr);

}  // namespace tessera
