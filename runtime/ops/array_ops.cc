// Shapes, slices, gathers: ops that move elements.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"
#include "runtime/ops/window_shapes.h"

namespace tessera {

REGISTER_OP("BatchMatrixBandPart")
    .Input("input: T").Input("num_lower: int64").Input("num_upper: int64").Output("band: T")
    .Attr("T: type").Deprecated(14).ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BatchMatrixDiag")
    .Input("diagonal: T").Output("output: T").Attr("T: type").Deprecated(14)
    .ShapeFn(shape::MatrixDiag);
REGISTER_OP("BatchMatrixDiagPart")
    .Input("input: T").Output("diagonal: T").Attr("T: type").Deprecated(14)
    .ShapeFn(shape::MatrixDiagPart);
REGISTER_OP("BatchMatrixSetDiag")
    .Input("input: T").Input("diagonal: T").Output("output: T").Attr("T: type").Deprecated(14)
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BatchToSpace")
    .Input("input: T").Input("crops: Tidx").Output("output: T").Attr("T: type")
    .Attr("block_size: int >= 2").Attr("Tidx: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[b, h, w, d], [2, 2] -> [?, ?, ?, d]">);
REGISTER_OP("BatchToSpaceND")
    .Input("input: T").Input("block_shape: Tblock_shape").Input("crops: Tcrops")
    .Output("output: T").Attr("T: type").Attr("Tblock_shape: {int32, int64} = int32")
    .Attr("Tcrops: {int32, int64} = int32").ShapeFn(shape::SpaceToBatchND);
REGISTER_OP("Bitcast")
    .Input("input: T").Output("output: type")
    .Attr("T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, "
        "int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}")
    .Attr("type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, "
        "int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}")
    .ShapeFn(shape::Bitcast);
REGISTER_OP("BroadcastArgs")
    .Input("s0: T").Input("s1: T").Output("r0: T").Attr("T: {int32, int64} = int32")
    .ShapeFn(shape::BroadcastArgs);
REGISTER_OP("BroadcastGradientArgs")
    .Input("s0: T").Input("s1: T").Output("r0: T").Output("r1: T")
    .Attr("T: {int32, int64} = int32").ShapeFn(shape::UnknownVectors);
REGISTER_OP("BroadcastTo")
    .Input("input: T").Input("shape: Tidx").Output("output: T").Attr("T: type")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::FromShapeInput1);
REGISTER_OP("CheckNumerics")
    .Input("tensor: T").Output("output: T").Attr("T: {bfloat16, half, float, double}")
    .Attr("message: string").Stateful().ShapeFn(shape::SameAsFirstInput).Asserts();
REGISTER_OP("CheckNumericsV2")
    .Input("tensor: T").Output("output: T").Attr("T: {bfloat16, half, float, double}")
    .Attr("message: string").Stateful().ShapeFn(shape::SameAsFirstInput).Asserts();
REGISTER_OP("Concat")
    .Input("concat_dim: int32").Input("values: N * T").Output("output: T").Attr("N: int >= 2")
    .Attr("T: type").ShapeFn(shape::Concat);
REGISTER_OP("ConcatOffset")
    .Input("concat_dim: int32").Input("shape: N * shape_type").Output("offset: N * shape_type")
    .Attr("N: int >= 2").Attr("shape_type: {int32, int64} = int32").ShapeFn(shape::ConcatOffset);
REGISTER_OP("ConcatV2")
    .Input("values: N * T").Input("axis: Tidx").Output("output: T").Attr("N: int >= 2")
    .Attr("T: type").Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::Concat);
REGISTER_OP("ConjugateTranspose")
    .Input("x: T").Input("perm: Tperm").Output("y: T").Attr("T: type")
    .Attr("Tperm: {int32, int64} = int32").ShapeFn(shape::Transpose);
REGISTER_OP("Const")
    .Output("output: dtype").Attr("value: tensor").Attr("dtype: type").ShapeFn(shape::Const);
REGISTER_OP("Copy")
    .Input("input: T").Output("output: T").Attr("T: type").Attr("tensor_name: string = ''")
    .Attr("debug_ops_spec: list(string) = []").AllowsUninitializedInput()
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CopyHost")
    .Input("input: T").Output("output: T").Attr("T: type").Attr("tensor_name: string = ''")
    .Attr("debug_ops_spec: list(string) = []").AllowsUninitializedInput()
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DebugGradientIdentity")
    .Input("input: T").Output("output: T").Attr("T: type").AllowsUninitializedInput()
    .Forwards("input").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DebugGradientRefIdentity")
    .Input("input: Ref(T)").Output("output: Ref(T)").Attr("T: type").AllowsUninitializedInput()
    .ShapeFn(shape::SameAsFirstInput).Forwards("input");
REGISTER_OP("DeepCopy")
    .Input("x: T").Output("y: T").Attr("T: type").Stateful().ShapeFn(shape::SameAsFirstInput)
    .ComputesOnly();
REGISTER_OP("DepthToSpace")
    .Input("input: T").Output("output: T").Attr("T: type").Attr("block_size: int >= 2")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'").ShapeFn(shape::SpaceToDepth);
REGISTER_OP("Diag")
    .Input("diagonal: T").Output("output: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*s] -> [*s, *s]">);
REGISTER_OP("DiagPart")
    .Input("input: T").Output("diagonal: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .ShapeFn(shape::DiagPart);
REGISTER_OP("Empty")
    .Input("shape: int32").Output("output: dtype").Attr("dtype: type").Attr("init: bool = false")
    .Stateful().ShapeFn(shape::FromShapeInput0).ComputesOnly();
REGISTER_OP("EnsureShape")
    .Input("input: T").Output("output: T").Attr("shape: shape").Attr("T: type")
    .ShapeFn(shape::EnsureShape);
REGISTER_OP("ExpandDims")
    .Input("input: T").Input("dim: Tdim").Output("output: T").Attr("T: type")
    .Attr("Tdim: {int32, int64} = int32").ShapeFn(shape::ExpandDims);
REGISTER_OP("ExtractVolumePatches")
    .Input("input: T").Output("patches: T").Attr("ksizes: list(int) >= 5")
    .Attr("strides: list(int) >= 5")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("padding: {'SAME', 'VALID'}").ShapeFn(shape::ExtractPatches);
REGISTER_OP("Fill")
    .Input("dims: index_type").Input("value: T").Output("output: T").Attr("T: type")
    .Attr("index_type: {int32, int64} = int32").ShapeFn(shape::FromShapeInput0);
REGISTER_OP("Gather")
    .Input("params: Tparams").Input("indices: Tindices").Output("output: Tparams")
    .Attr("validate_indices: bool = true").Attr("Tparams: type").Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::Gather);
REGISTER_OP("GatherNd")
    .Input("params: Tparams").Input("indices: Tindices").Output("output: Tparams")
    .Attr("Tparams: type").Attr("Tindices: {int16, int32, int64}")
    .Attr("bad_indices_policy: string = ''").ShapeFn(shape::GatherNd);
REGISTER_OP("GatherV2")
    .Input("params: Tparams").Input("indices: Tindices").Input("axis: Taxis")
    .Output("output: Tparams").Attr("batch_dims: int = 0").Attr("Tparams: type")
    .Attr("Tindices: {int16, int32, int64}").Attr("Taxis: {int32, int64}").ShapeFn(shape::Gather);
REGISTER_OP("GuaranteeConst")
    .Input("input: T").Output("output: T").Attr("T: type").Stateful()
    .ShapeFn(shape::SameAsFirstInput).ComputesOnly().Forwards("input");
REGISTER_OP("HostConst")
    .Output("output: dtype").Attr("value: tensor").Attr("dtype: type").ShapeFn(shape::Const);
REGISTER_OP("Identity")
    .Input("input: T").Output("output: T").Attr("T: type").ShapeFn(shape::SameAsFirstInput)
    .Forwards("input");
REGISTER_OP("IdentityN")
    .Input("input: T").Output("output: T").Attr("T: list(type) >= 1").ShapeFn(shape::SameAsInputs)
    .Forwards("input");
REGISTER_OP("ImmutableConst")
    .Output("tensor: dtype").Attr("dtype: type").Attr("shape: shape")
    .Attr("memory_region_name: string").ReadsOutside().ShapeFn(shape::FromShapeAttr);
REGISTER_OP("InplaceAdd")
    .Input("x: T").Input("i: int32").Input("v: T").Output("y: T").Attr("T: type")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("InplaceSub")
    .Input("x: T").Input("i: int32").Input("v: T").Output("y: T").Attr("T: type")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("InplaceUpdate")
    .Input("x: T").Input("i: int32").Input("v: T").Output("y: T").Attr("T: type")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("InvertPermutation")
    .Input("x: T").Output("y: T").Attr("T: {int32, int64} = int32")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ListDiff")
    .Input("x: T").Input("y: T").Output("out: T").Output("idx: out_idx").Attr("T: type")
    .Attr("out_idx: {int32, int64} = int32").ShapeFn(shape::UnknownVectors);
REGISTER_OP("LowerBound")
    .Input("sorted_inputs: T").Input("values: T").Output("output: out_type").Attr("T: type")
    .Attr("out_type: {int32, int64} = int32").ShapeFn(shape::Spec<"[r, ?], [r, v] -> [r, v]">);
REGISTER_OP("MatrixBandPart")
    .Input("input: T").Input("num_lower: Tindex").Input("num_upper: Tindex").Output("band: T")
    .Attr("T: type").Attr("Tindex: {int32, int64} = int64").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MatrixDiag")
    .Input("diagonal: T").Output("output: T").Attr("T: type").ShapeFn(shape::MatrixDiag);
REGISTER_OP("MatrixDiagPart")
    .Input("input: T").Output("diagonal: T").Attr("T: type").ShapeFn(shape::MatrixDiagPart);
REGISTER_OP("MatrixDiagPartV2")
    .Input("input: T").Input("k: int32").Input("padding_value: T").Output("diagonal: T")
    .Attr("T: type").ShapeFn(shape::MatrixDiagPartV2);
REGISTER_OP("MatrixDiagPartV3")
    .Input("input: T").Input("k: int32").Input("padding_value: T").Output("diagonal: T")
    .Attr("T: type")
    .Attr("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
    .ShapeFn(shape::MatrixDiagPartV2);
REGISTER_OP("MatrixDiagV2")
    .Input("diagonal: T").Input("k: int32").Input("num_rows: int32").Input("num_cols: int32")
    .Input("padding_value: T").Output("output: T").Attr("T: type").ShapeFn(shape::MatrixDiagV2);
REGISTER_OP("MatrixDiagV3")
    .Input("diagonal: T").Input("k: int32").Input("num_rows: int32").Input("num_cols: int32")
    .Input("padding_value: T").Output("output: T").Attr("T: type")
    .Attr("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
    .ShapeFn(shape::MatrixDiagV2);
REGISTER_OP("MatrixSetDiag")
    .Input("input: T").Input("diagonal: T").Output("output: T").Attr("T: type")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MatrixSetDiagV2")
    .Input("input: T").Input("diagonal: T").Input("k: int32").Output("output: T").Attr("T: type")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MatrixSetDiagV3")
    .Input("input: T").Input("diagonal: T").Input("k: int32").Output("output: T").Attr("T: type")
    .Attr("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MirrorPad")
    .Input("input: T").Input("paddings: Tpaddings").Output("output: T").Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = int32").Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .ShapeFn(shape::Pad);
REGISTER_OP("MirrorPadGrad")
    .Input("input: T").Input("paddings: Tpaddings").Output("output: T").Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = int32").Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .ShapeFn(shape::SameRankAsFirstInput);
REGISTER_OP("OneHot")
    .Input("indices: TI").Input("depth: int32").Input("on_value: T").Input("off_value: T")
    .Output("output: T").Attr("axis: int = -1").Attr("T: type")
    .Attr("TI: {uint8, int8, int32, int64} = int64").ShapeFn(shape::OneHot);
REGISTER_OP("OnesLike")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, "
        "uint64, complex64, complex128, bool}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Pack")
    .Input("values: N * T").Output("output: T").Attr("N: int >= 1").Attr("T: type")
    .Attr("axis: int = 0").ShapeFn(shape::Pack);
REGISTER_OP("Pad")
    .Input("input: T").Input("paddings: Tpaddings").Output("output: T").Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = int32").ShapeFn(shape::Pad);
REGISTER_OP("PadV2")
    .Input("input: T").Input("paddings: Tpaddings").Input("constant_values: T")
    .Output("output: T").Attr("T: type").Attr("Tpaddings: {int32, int64} = int32")
    .ShapeFn(shape::Pad);
REGISTER_OP("ParallelConcat")
    .Input("values: N * T").Output("output: T").Attr("N: int >= 1").Attr("T: type")
    .Attr("shape: shape").ShapeFn(shape::FromShapeAttr);
// They read the outside, since whether they fail depends on the feeds: edges from them matter.
REGISTER_OP("Placeholder")
    .Output("output: dtype").Attr("dtype: type").Attr("shape: shape = <unknown>")
    .ShapeFn(shape::FromShapeAttr).FromCaller().ReadsOutside();
REGISTER_OP("PlaceholderV2")
    .Output("output: dtype").Attr("dtype: type").Attr("shape: shape").Deprecated(23)
    .ShapeFn(shape::FromShapeAttr).FromCaller().ReadsOutside();
REGISTER_OP("PlaceholderWithDefault")
    .Input("input: dtype").Output("output: dtype").Attr("dtype: type").Attr("shape: shape")
    .ShapeFn(shape::FromShapeAttr).FromCaller().ReadsOutside();
REGISTER_OP("PreventGradient")
    .Input("input: T").Output("output: T").Attr("T: type").Attr("message: string = ''")
    .ShapeFn(shape::SameAsFirstInput).Forwards("input");
REGISTER_OP("Rank")
    .Input("input: T").Output("output: int32").Attr("T: type").ShapeFn(shape::Scalar);
REGISTER_OP("RefIdentity")
    .Input("input: Ref(T)").Output("output: Ref(T)").Attr("T: type").AllowsUninitializedInput()
    .ShapeFn(shape::SameAsFirstInput).Forwards("input");
REGISTER_OP("Reshape")
    .Input("tensor: T").Input("shape: Tshape").Output("output: T").Attr("T: type")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(shape::Reshape);
REGISTER_OP("Reverse")
    .Input("tensor: T").Input("dims: bool").Output("output: T")
    .Attr("T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, "
        "float, double, complex64, complex128, string}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ReverseSequence")
    .Input("input: T").Input("seq_lengths: Tlen").Output("output: T").Attr("seq_dim: int")
    .Attr("batch_dim: int = 0").Attr("T: type").Attr("Tlen: {int32, int64} = int64")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ReverseV2")
    .Input("tensor: T").Input("axis: Tidx").Output("output: T")
    .Attr("Tidx: {int32, int64} = int32")
    .Attr("T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, "
        "float, double, complex64, complex128, string}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Roll")
    .Input("input: T").Input("shift: Tshift").Input("axis: Taxis").Output("output: T")
    .Attr("T: type").Attr("Tshift: {int32, int64}").Attr("Taxis: {int32, int64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ScatterNd")
    .Input("indices: Tindices").Input("updates: T").Input("shape: Tindices").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int16, int32, int64}")
    .Attr("bad_indices_policy: string = ''").ShapeFn(shape::FromShapeInput2);
REGISTER_OP("ScatterNdNonAliasingAdd")
    .Input("input: T").Input("indices: Tindices").Input("updates: T").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}")
    .Attr("Tindices: {int32, int64}").Attr("bad_indices_policy: string = ''")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Shape")
    .Input("input: T").Output("output: out_type").Attr("T: type")
    .Attr("out_type: {int32, int64} = int32").ShapeFn(shape::RankVectors);
REGISTER_OP("ShapeN")
    .Input("input: N * T").Output("output: N * out_type").Attr("N: int >= 1").Attr("T: type")
    .Attr("out_type: {int32, int64} = int32").ShapeFn(shape::RankVectors);
REGISTER_OP("Size")
    .Input("input: T").Output("output: out_type").Attr("T: type")
    .Attr("out_type: {int32, int64} = int32").ShapeFn(shape::Scalar);
REGISTER_OP("Slice")
    .Input("input: T").Input("begin: Index").Input("size: Index").Output("output: T")
    .Attr("T: type").Attr("Index: {int32, int64}").ShapeFn(shape::Slice);
REGISTER_OP("Snapshot")
    .Input("input: T").Output("output: T").Attr("T: type").ShapeFn(shape::SameAsFirstInput)
    .Forwards("input");
REGISTER_OP("SpaceToBatch")
    .Input("input: T").Input("paddings: Tpaddings").Output("output: T").Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = int32").Attr("block_size: int >= 2")
    .ShapeFn(shape::Spec<"[b, h, w, d], [2, 2] -> [?, ?, ?, d]">);
REGISTER_OP("SpaceToBatchND")
    .Input("input: T").Input("block_shape: Tblock_shape").Input("paddings: Tpaddings")
    .Output("output: T").Attr("T: type").Attr("Tblock_shape: {int32, int64} = int32")
    .Attr("Tpaddings: {int32, int64} = int32").ShapeFn(shape::SpaceToBatchND);
REGISTER_OP("SpaceToDepth")
    .Input("input: T").Output("output: T").Attr("T: type").Attr("block_size: int >= 2")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'").ShapeFn(shape::SpaceToDepth);
REGISTER_OP("Split")
    .Input("split_dim: int32").Input("value: T").Output("output: num_split * T")
    .Attr("num_split: int >= 1").Attr("T: type").ShapeFn(shape::Split);
REGISTER_OP("SplitV")
    .Input("value: T").Input("size_splits: Tlen").Input("split_dim: int32")
    .Output("output: num_split * T").Attr("num_split: int >= 1").Attr("T: type")
    .Attr("Tlen: {int8, int32, int64} = int64").ShapeFn(shape::SplitV);
REGISTER_OP("Squeeze")
    .Input("input: T").Output("output: T").Attr("T: type")
    .Attr("squeeze_dims: list(int) >= 0 = []").ShapeFn(shape::Squeeze);
REGISTER_OP("StopGradient")
    .Input("input: T").Output("output: T").Attr("T: type").ShapeFn(shape::SameAsFirstInput)
    .Forwards("input");
REGISTER_OP("StridedSlice")
    .Input("input: T").Input("begin: Index").Input("end: Index").Input("strides: Index")
    .Output("output: T").Attr("T: type").Attr("Index: {int16, int32, int64}")
    .Attr("begin_mask: int = 0").Attr("end_mask: int = 0").Attr("ellipsis_mask: int = 0")
    .Attr("new_axis_mask: int = 0").Attr("shrink_axis_mask: int = 0").ShapeFn(shape::StridedSlice);
REGISTER_OP("StridedSliceGrad")
    .Input("shape: Index").Input("begin: Index").Input("end: Index").Input("strides: Index")
    .Input("dy: T").Output("output: T").Attr("T: type").Attr("Index: {int32, int64}")
    .Attr("begin_mask: int = 0").Attr("end_mask: int = 0").Attr("ellipsis_mask: int = 0")
    .Attr("new_axis_mask: int = 0").Attr("shrink_axis_mask: int = 0")
    .ShapeFn(shape::FromShapeInput0);
REGISTER_OP("TensorScatterAdd")
    .Input("tensor: T").Input("indices: Tindices").Input("updates: T").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int32, int64}").Attr("bad_indices_policy: string = ''")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TensorScatterMax")
    .Input("tensor: T").Input("indices: Tindices").Input("updates: T").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int32, int64}").Attr("bad_indices_policy: string = ''")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TensorScatterMin")
    .Input("tensor: T").Input("indices: Tindices").Input("updates: T").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int32, int64}").Attr("bad_indices_policy: string = ''")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TensorScatterSub")
    .Input("tensor: T").Input("indices: Tindices").Input("updates: T").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int32, int64}").Attr("bad_indices_policy: string = ''")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TensorScatterUpdate")
    .Input("tensor: T").Input("indices: Tindices").Input("updates: T").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int16, int32, int64, uint16}")
    .Attr("bad_indices_policy: string = ''").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TensorStridedSliceUpdate")
    .Input("input: T").Input("begin: Index").Input("end: Index").Input("strides: Index")
    .Input("value: T").Output("output: T").Attr("T: type").Attr("Index: {int32, int64}")
    .Attr("begin_mask: int = 0").Attr("end_mask: int = 0").Attr("ellipsis_mask: int = 0")
    .Attr("new_axis_mask: int = 0").Attr("shrink_axis_mask: int = 0")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Tile")
    .Input("input: T").Input("multiples: Tmultiples").Output("output: T").Attr("T: type")
    .Attr("Tmultiples: {int32, int64} = int32").ShapeFn(shape::Tile);
REGISTER_OP("Transpose")
    .Input("x: T").Input("perm: Tperm").Output("y: T").Attr("T: type")
    .Attr("Tperm: {int32, int64} = int32").ShapeFn(shape::Transpose);
REGISTER_OP("Unique")
    .Input("x: T").Output("y: T").Output("idx: out_idx").Attr("T: type")
    .Attr("out_idx: {int32, int64} = int32").ShapeFn(shape::Unique);
REGISTER_OP("UniqueV2")
    .Input("x: T").Input("axis: Taxis").Output("y: T").Output("idx: out_idx").Attr("T: type")
    .Attr("Taxis: {int32, int64} = int64").Attr("out_idx: {int32, int64} = int32")
    .ShapeFn(shape::Unique);
REGISTER_OP("UniqueWithCounts")
    .Input("x: T").Output("y: T").Output("idx: out_idx").Output("count: out_idx").Attr("T: type")
    .Attr("out_idx: {int32, int64} = int32").ShapeFn(shape::Unique);
REGISTER_OP("UniqueWithCountsV2")
    .Input("x: T").Input("axis: Taxis").Output("y: T").Output("idx: out_idx")
    .Output("count: out_idx").Attr("T: type").Attr("Taxis: {int32, int64} = int64")
    .Attr("out_idx: {int32, int64} = int32").ShapeFn(shape::Unique);
REGISTER_OP("Unpack")
    .Input("value: T").Output("output: num * T").Attr("num: int >= 0").Attr("T: type")
    .Attr("axis: int = 0").ShapeFn(shape::Unpack);
REGISTER_OP("UnravelIndex")
    .Input("indices: Tidx").Input("dims: Tidx").Output("output: Tidx")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::UnravelIndex);
REGISTER_OP("UpperBound")
    .Input("sorted_inputs: T").Input("values: T").Output("output: out_type").Attr("T: type")
    .Attr("out_type: {int32, int64} = int32").ShapeFn(shape::Spec<"[r, ?], [r, v] -> [r, v]">);
REGISTER_OP("Where")
    .Input("input: T").Output("index: int64")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = bool")
    .ShapeFn(shape::Where);
REGISTER_OP("XlaDynamicSlice")
    .Input("input: T").Input("start_indices: Tindices").Input("size_indices: Tindices")
    .Output("output: T").Attr("T: type").Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::FromShapeInput2);
REGISTER_OP("XlaDynamicUpdateSlice")
    .Input("input: T").Input("update: T").Input("indices: Tindices").Output("output: T")
    .Attr("T: type").Attr("Tindices: {int32, int64}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ZerosLike")
    .Input("x: T").Output("y: T").Attr("T: type").ShapeFn(shape::SameAsFirstInput);

}  // namespace tessera
