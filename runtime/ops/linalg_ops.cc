// Linear algebra.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/matrix_shapes.h"

namespace tessera {

REGISTER_OP("BandedTriangularSolve")
    .Input("matrix: T").Input("rhs: T").Output("output: T").Attr("lower: bool = true")
    .Attr("adjoint: bool = false").Attr("T: {double, float, half, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, ?, m], [*r, m, k] -> _">);
REGISTER_OP("BatchCholesky")
    .Input("input: T").Output("output: T").Attr("T: {double, float}").Deprecated(13)
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m, m]">);
REGISTER_OP("BatchMatrixDeterminant")
    .Input("input: T").Output("output: T").Attr("T: {float, double, complex64, complex128}")
    .Deprecated(13).ShapeFn(shape::Spec<"[*b, m, m] -> [*b]">);
REGISTER_OP("BatchMatrixInverse")
    .Input("input: T").Output("output: T").Attr("adjoint: bool = false")
    .Attr("T: {double, float}").Deprecated(13).ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m, m]">);
REGISTER_OP("BatchMatrixSolve")
    .Input("matrix: T").Input("rhs: T").Output("output: T").Attr("adjoint: bool = false")
    .Attr("T: {double, float}").Deprecated(13)
    .ShapeFn(shape::Spec<"[*b, m, m], [*b, m, k] -> [*b, m, k]">);
REGISTER_OP("BatchMatrixTriangularSolve")
    .Input("matrix: T").Input("rhs: T").Output("output: T").Attr("lower: bool = true")
    .Attr("adjoint: bool = false").Attr("T: {double, float}").Deprecated(13)
    .ShapeFn(shape::Spec<"[*b, m, m], [*b, m, k] -> [*b, m, k]">);
REGISTER_OP("BatchCholeskyGrad")
    .Input("l: T").Input("grad: T").Output("output: T").Attr("T: {float, double}").Deprecated(13)
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BatchMatrixSolveLs")
    .Input("matrix: T").Input("rhs: T").Input("l2_regularizer: double").Output("output: T")
    .Attr("T: {double, float}").Attr("fast: bool = true").Deprecated(13)
    .ShapeFn(shape::Spec<"[*b, m, n], [*b, m, k], [] -> [*b, n, k]">);
REGISTER_OP("BatchSelfAdjointEig")
    .Input("input: T").Output("output: T").Attr("T: {double, float}").Deprecated(11)
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, ?, m]">);
REGISTER_OP("BatchSelfAdjointEigV2")
    .Input("input: T").Output("e: T").Output("v: T").Attr("compute_v: bool = true")
    .Attr("T: {double, float}").Deprecated(13).ShapeFn(shape::Eigen);
REGISTER_OP("BatchSvd")
    .Input("input: T").Output("s: T").Output("u: T").Output("v: T")
    .Attr("compute_uv: bool = true").Attr("full_matrices: bool = false")
    .Attr("T: {double, float, complex64, complex128}").Deprecated(13).ShapeFn(shape::Svd);
REGISTER_OP("Cholesky")
    .Input("input: T").Output("output: T").Attr("T: {double, float, half, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CholeskyGrad")
    .Input("l: T").Input("grad: T").Output("output: T").Attr("T: {half, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Eig")
    .Input("input: T").Output("e: Tout").Output("v: Tout").Attr("compute_v: bool = true")
    .Attr("T: {float, double, complex64, complex128}").Attr("Tout: {complex64, complex128}")
    .ShapeFn(shape::Eigen);
REGISTER_OP("Einsum")
    .Input("inputs: N * T").Output("output: T").Attr("equation: string").Attr("N: int >= 1")
    .Attr("T: type").ShapeFn(shape::Einsum);
REGISTER_OP("LogMatrixDeterminant")
    .Input("input: T").Output("sign: T").Output("log_abs_determinant: T")
    .Attr("T: {half, float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b], [*b]">);
REGISTER_OP("Lu")
    .Input("input: T").Output("lu: T").Output("p: output_idx_type")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Attr("output_idx_type: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, m, m], [*b, m]">);
REGISTER_OP("MatrixDeterminant")
    .Input("input: T").Output("output: T").Attr("T: {half, float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b]">);
REGISTER_OP("MatrixExponential")
    .Input("input: T").Output("output: T").Attr("T: {double, float, half, complex64, complex128}")
    .Deprecated(27)
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MatrixInverse")
    .Input("input: T").Output("output: T").Attr("adjoint: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MatrixLogarithm")
    .Input("input: T").Output("output: T").Attr("T: {complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MatrixSolve")
    .Input("matrix: T").Input("rhs: T").Output("output: T").Attr("adjoint: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, m, m], [*b, m, k] -> [*b, m, k]">);
REGISTER_OP("MatrixSolveLs")
    .Input("matrix: T").Input("rhs: T").Input("l2_regularizer: double").Output("output: T")
    .Attr("T: {double, float, half, complex64, complex128}").Attr("fast: bool = true")
    .ShapeFn(shape::Spec<"[*b, m, n], [*b, m, k], [] -> [*b, n, k]">);
REGISTER_OP("MatrixSquareRoot")
    .Input("input: T").Output("output: T").Attr("T: {double, float, half, complex64, complex128}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MatrixTriangularSolve")
    .Input("matrix: T").Input("rhs: T").Output("output: T").Attr("lower: bool = true")
    .Attr("adjoint: bool = false")
    .Attr("T: {bfloat16, double, float, half, complex64, complex128}")
    .ShapeFn(shape::MatrixTriangularSolve);
REGISTER_OP("Qr")
    .Input("input: T").Output("q: T").Output("r: T").Attr("full_matrices: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}").ShapeFn(shape::Qr);
REGISTER_OP("SelfAdjointEig")
    .Input("input: T").Output("output: T").Attr("T: {double, float, half}").Deprecated(11)
    .ShapeFn(shape::Spec<"[*b, m, m] -> [*b, ?, m]">);
REGISTER_OP("SelfAdjointEigV2")
    .Input("input: T").Output("e: T").Output("v: T").Attr("compute_v: bool = true")
    .Attr("T: {double, float, half, complex64, complex128}").ShapeFn(shape::Eigen);
REGISTER_OP("Svd")
    .Input("input: T").Output("s: T").Output("u: T").Output("v: T")
    .Attr("compute_uv: bool = true").Attr("full_matrices: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}").ShapeFn(shape::Svd);
REGISTER_OP("TridiagonalMatMul")
    .Input("superdiag: T").Input("maindiag: T").Input("subdiag: T").Input("rhs: T")
    .Output("output: T").Attr("T: {double, float, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, 1, m], [*b, 1, m], [*b, 1, m], [*b, m, k] -> [*b, m, k]">);
REGISTER_OP("TridiagonalSolve")
    .Input("diagonals: T").Input("rhs: T").Output("output: T")
    .Attr("partial_pivoting: bool = true").Attr("perturb_singular: bool = false")
    .Attr("T: {double, float, complex64, complex128}")
    .ShapeFn(shape::Spec<"[*b, 3, m], [*b, m, k] -> [*b, m, k]">);

}  // namespace tessera
