// Elementwise math, reductions, matrix products.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"
#include "runtime/ops/matrix_shapes.h"

namespace tessera {

REGISTER_OP("Abs")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("AccumulateNV2")
    .Input("inputs: N * T").Output("sum: T").Attr("N: int >= 1")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("shape: shape").Commutative().Aggregate().ShapeFn(shape::Spec<"[*s]... -> [*s]">);
REGISTER_OP("Acos")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Acosh")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Add")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
        "complex128, string}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("AddN")
    .Input("inputs: N * T").Output("sum: T").Attr("N: int >= 1")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, variant}")
    .Commutative().Aggregate().ShapeFn(shape::Spec<"[*s]... -> [*s]">);
REGISTER_OP("AddV2")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, "
        "int32, int64, complex64, complex128}")
    .Commutative().Aggregate().ShapeFn(shape::Broadcast);
REGISTER_OP("Angle")
    .Input("input: T").Output("output: Tout").Attr("T: {complex64, complex128} = complex64")
    .Attr("Tout: {float, double} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApproximateEqual")
    .Input("x: T").Input("y: T").Output("z: bool")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("tolerance: float = 9.99999975e-06").Commutative()
    .ShapeFn(shape::Spec<"[*s], [*s] -> [*s]">);
REGISTER_OP("Asin")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Asinh")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Atan")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Atan2")
    .Input("y: T").Input("x: T").Output("z: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Atanh")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BatchMatMul")
    .Input("x: T").Input("y: T").Output("output: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .Attr("adj_x: bool = false").Attr("adj_y: bool = false").Attr("grad_x: bool = false")
    .Attr("grad_y: bool = false").ShapeFn(shape::BatchMatMul);
REGISTER_OP("BatchMatMulV2")
    .Input("x: T").Input("y: T").Output("output: T")
    .Attr("T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, complex64, complex128}")
    .Attr("adj_x: bool = false").Attr("adj_y: bool = false").Attr("grad_x: bool = false")
    .Attr("grad_y: bool = false").ShapeFn(shape::BatchMatMul);
REGISTER_OP("BatchMatMulV3")
    .Input("x: Ta").Input("y: Tb").Output("output: Tout")
    .Attr("Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
        "complex128}")
    .Attr("Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
        "complex128}")
    .Attr("Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}")
    .Attr("adj_x: bool = false").Attr("adj_y: bool = false").Attr("grad_x: bool = false")
    .Attr("grad_y: bool = false").ShapeFn(shape::BatchMatMul);
REGISTER_OP("BesselI0")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselI0e")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselI1")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselI1e")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselJ0")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselJ1")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselK0")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselK0e")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselK1")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselK1e")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselY0")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BesselY1")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Betainc")
    .Input("a: T").Input("b: T").Input("x: T").Output("z: T").Attr("T: {float, double}")
    .ShapeFn(shape::BroadcastAll);
REGISTER_OP("BitwiseAnd")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}").Commutative()
    .ShapeFn(shape::Broadcast);
REGISTER_OP("BitwiseOr")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}").Commutative()
    .ShapeFn(shape::Broadcast);
REGISTER_OP("BitwiseXor")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}").Commutative()
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Cast")
    .Input("x: SrcT").Output("y: DstT").Attr("SrcT: type").Attr("DstT: type")
    .Attr("Truncate: bool = false").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Ceil")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ClipByValue")
    .Input("t: T").Input("clip_value_min: T").Input("clip_value_max: T").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Complex")
    .Input("real: T").Input("imag: T").Output("out: Tout").Attr("T: {float, double} = float")
    .Attr("Tout: {complex64, complex128} = complex64").ShapeFn(shape::Broadcast);
REGISTER_OP("ComplexAbs")
    .Input("x: T").Output("y: Tout").Attr("T: {complex64, complex128} = complex64")
    .Attr("Tout: {float, double} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Conj")
    .Input("input: T").Output("output: T").Attr("T: {complex64, complex128, variant} = complex64")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Cos")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Cosh")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Cross")
    .Input("a: T").Input("b: T").Output("product: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::Spec<"[*s, 3], [*s, 3] -> [*s, 3]">);
REGISTER_OP("Dawsn")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Digamma")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Div")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, "
        "uint64, int64, complex64, complex128}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("DivNoNan")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {half, float, bfloat16, double, complex64, complex128}").ShapeFn(shape::Broadcast);
REGISTER_OP("Equal")
    .Input("x: T").Input("y: T").Output("z: bool").Attr("T: type")
    .Attr("incompatible_shape_error: bool = true").Commutative().ShapeFn(shape::Broadcast);
REGISTER_OP("Erf")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Erfc")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Erfinv")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Exp")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Expint")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Expm1")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Floor")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FloorDiv")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, "
        "uint64, int64, complex64, complex128}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("FloorMod")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, "
        "double}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("FresnelCos")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FresnelSin")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Greater")
    .Input("x: T").Input("y: T").Output("z: bool")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("GreaterEqual")
    .Input("x: T").Input("y: T").Output("z: bool")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Igamma")
    .Input("a: T").Input("x: T").Output("z: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("IgammaGradA")
    .Input("a: T").Input("x: T").Output("z: T").Attr("T: {float, double}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Igammac")
    .Input("a: T").Input("x: T").Output("z: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Imag")
    .Input("input: T").Output("output: Tout").Attr("T: {complex64, complex128} = complex64")
    .Attr("Tout: {float, double} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Inv")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("InvGrad")
    .Input("y: T").Input("dy: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Invert")
    .Input("x: T").Output("y: T")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("IsBoostedTreesEnsembleInitialized")
    .Input("tree_ensemble_handle: resource").Output("is_initialized: bool").Stateful()
    .Reads("tree_ensemble_handle").ShapeFn(shape::Scalar);
REGISTER_OP("IsFinite")
    .Input("x: T").Output("y: bool").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("IsInf")
    .Input("x: T").Output("y: bool").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("IsNan")
    .Input("x: T").Output("y: bool").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LeftShift")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Less")
    .Input("x: T").Input("y: T").Output("z: bool")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("LessEqual")
    .Input("x: T").Input("y: T").Output("z: bool")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Lgamma")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LinSpace")
    .Input("start: T").Input("stop: T").Input("num: Tidx").Output("output: T")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[], [], [] -> [$2]">);
REGISTER_OP("Log")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Log1p")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LogicalAnd")
    .Input("x: bool").Input("y: bool").Output("z: bool").Commutative().ShapeFn(shape::Broadcast);
REGISTER_OP("LogicalNot")
    .Input("x: bool").Output("y: bool").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LogicalOr")
    .Input("x: bool").Input("y: bool").Output("z: bool").Commutative().ShapeFn(shape::Broadcast);
REGISTER_OP("MatMul")
    .Input("a: T").Input("b: T").Output("product: T").Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, "
        "complex64, complex128}")
    .Attr("grad_a: bool = false").Attr("grad_b: bool = false").ShapeFn(shape::MatMul);
REGISTER_OP("Maximum")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, "
        "uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Minimum")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, "
        "uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Mod")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int32, int64, half, half, bfloat16, float, double}").ShapeFn(shape::Broadcast);
REGISTER_OP("Mul")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, "
        "uint64, int64, complex64, complex128}")
    .Commutative().ShapeFn(shape::Broadcast);
REGISTER_OP("MulNoNan")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}").ShapeFn(shape::Broadcast);
REGISTER_OP("Ndtri")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("NearestNeighbors")
    .Input("points: float").Input("centers: float").Input("k: int64")
    .Output("nearest_center_indices: int64").Output("nearest_center_distances: float")
    .ShapeFn(shape::Spec<"[n, d], [?, d], [] -> [n, ?], [n, ?]">);
REGISTER_OP("Neg")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("NextAfter")
    .Input("x1: T").Input("x2: T").Output("output: T").Attr("T: {double, float} = float")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("NotEqual")
    .Input("x: T").Input("y: T").Output("z: bool").Attr("T: type")
    .Attr("incompatible_shape_error: bool = true").Commutative().ShapeFn(shape::Broadcast);
REGISTER_OP("Polygamma")
    .Input("a: T").Input("x: T").Output("z: T").Attr("T: {float, double}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("PopulationCount")
    .Input("x: T").Output("y: uint8")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Pow")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Range")
    .Input("start: Tidx").Input("limit: Tidx").Input("delta: Tidx").Output("output: Tidx")
    .Attr("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, "
        "uint64} = int32").ShapeFn(shape::Range);
REGISTER_OP("Real")
    .Input("input: T").Output("output: Tout").Attr("T: {complex64, complex128} = complex64")
    .Attr("Tout: {float, double} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RealDiv")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, "
        "uint64, int64, complex64, complex128}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Reciprocal")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ReciprocalGrad")
    .Input("y: T").Input("dy: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RightShift")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Rint")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Round")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Rsqrt")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RsqrtGrad")
    .Input("y: T").Input("dy: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Select")
    .Input("condition: bool").Input("t: T").Input("e: T").Output("output: T").Attr("T: type")
    .ShapeFn(shape::SameAsSecondInput);
REGISTER_OP("SelectV2")
    .Input("condition: bool").Input("t: T").Input("e: T").Output("output: T").Attr("T: type")
    .ShapeFn(shape::BroadcastAll);
REGISTER_OP("Sigmoid")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SigmoidGrad")
    .Input("y: T").Input("dy: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Sign")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Sin")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Sinh")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Spence")
    .Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Sqrt")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SqrtGrad")
    .Input("y: T").Input("dy: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Square")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SquaredDifference")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}").Commutative()
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Sub")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, "
        "complex64, complex128, uint32, uint64}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("Tan")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Tanh")
    .Input("x: T").Output("y: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TanhGrad")
    .Input("y: T").Input("dy: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ToBool")
    .Input("input: T").Output("output: bool").Attr("T: type")
    .ShapeFn(shape::Scalar);
REGISTER_OP("TruncateDiv")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, "
        "uint64, int64, complex64, complex128}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("TruncateMod")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {int32, int64, bfloat16, half, float, double}").ShapeFn(shape::Broadcast);
REGISTER_OP("UniformRequantize")
    .Input("input: Tin").Input("input_scales: float").Input("input_zero_points: int32")
    .Input("output_scales: float").Input("output_zero_points: int32").Output("output: Tout")
    .Attr("Tin: {qint8, qint32}").Attr("Tout: {qint8, qint32}")
    .Attr("input_quantization_axis: int = -1").Attr("input_quantization_min_val: int")
    .Attr("input_quantization_max_val: int").Attr("output_quantization_axis: int = -1")
    .Attr("output_quantization_min_val: int").Attr("output_quantization_max_val: int")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Xdivy")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}").ShapeFn(shape::Broadcast);
REGISTER_OP("Xlog1py")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}").ShapeFn(shape::Broadcast);
REGISTER_OP("Xlogy")
    .Input("x: T").Input("y: T").Output("z: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}").ShapeFn(shape::Broadcast);
REGISTER_OP("Zeta")
    .Input("x: T").Input("q: T").Output("z: T").Attr("T: {float, double}")
    .ShapeFn(shape::Broadcast);

}  // namespace tessera
