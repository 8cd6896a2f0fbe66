#include "runtime/kernels/primitives/cuda/cublaslt_plan.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera::cuda {
namespace {

absl::Status CublasStatus(const CublasLt& lt, cublasStatus_t status, absl::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cuBLASLt, ", what, ": ", lt.cublasLtGetStatusString(status)));
}
#define RETURN_IF_CUBLAS_ERROR(lt, call) RETURN_IF_ERROR(CublasStatus(lt, (lt).call, #call))

}  // namespace

ProductPlan::~ProductPlan() {
  for (const cublasLtMatrixLayout_t layout : {a_, b_, output_}) {
    if (layout != nullptr) lt_.cublasLtMatrixLayoutDestroy(layout);
  }
  if (operation_ != nullptr) lt_.cublasLtMatmulDescDestroy(operation_);
}

absl::Status ProductPlan::Describe(const Product& p, const Types& types, const Scales& scales) {
  RETURN_IF_CUBLAS_ERROR(lt_, cublasLtMatmulDescCreate(&operation_, types.compute, types.scale));
  RETURN_IF_ERROR(SetOperation(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b, p.conjugate_b));
  RETURN_IF_ERROR(SetOperation(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a, p.conjugate_a));
  RETURN_IF_CUBLAS_ERROR(
      lt_, cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, &p.epilogue,
                                          sizeof(p.epilogue)));
  RETURN_IF_ERROR(SetScales(scales));
  RETURN_IF_ERROR(MakeLayout(types.element, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k,
                             p.batch, p.b_stride * p.n * p.k, &b_));
  RETURN_IF_ERROR(MakeLayout(types.element, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m,
                             p.batch, p.a_stride * p.m * p.k, &a_));
  return MakeLayout(types.output, p.n, p.m, p.batch, p.m * p.n, &output_);
}

absl::StatusOr<bool> ProductPlan::ChooseAlgorithm(const Product& p, cublasLtHandle_t handle,
                                                  size_t workspace_size) {
  cublasLtMatmulPreference_t preference = nullptr;
  RETURN_IF_CUBLAS_ERROR(lt_, cublasLtMatmulPreferenceCreate(&preference));
  cublasStatus_t status =
      lt_.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &workspace_size, sizeof(workspace_size));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    if (status != CUBLAS_STATUS_SUCCESS) break;
    status = lt_.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &p.alignment,
                                                      sizeof(p.alignment));
  }
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = lt_.cublasLtMatmulAlgoGetHeuristic(handle, operation_, b_, a_, output_, output_,
                                                preference, 1, &result, &found);
  }
  lt_.cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
  RETURN_IF_ERROR(CublasStatus(lt_, status, "the choice of an algorithm"));
  algorithm_ = result.algo;
  return found > 0;
}

absl::Status ProductPlan::Run(const Product& p, cublasLtHandle_t handle, void* workspace,
                              size_t workspace_size, cudaStream_t stream, const char* a,
                              const char* b, const Scales& scales, const void* bias, char* output) {
  RETURN_IF_ERROR(SetScales(scales));
  if (p.bias) {
    RETURN_IF_CUBLAS_ERROR(
        lt_, cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                            sizeof(bias)));
  }
  // One, and zero, of each scale type: the imaginary parts are zero.
  static constexpr float kFloats[] = {1, 0, 0, 0};
  static constexpr double kDoubles[] = {1, 0, 0, 0};
  const bool is_wide = p.dtype == DType::kDouble || p.dtype == DType::kComplex128;
  const void* const one = is_wide ? static_cast<const void*>(kDoubles) : kFloats;
  const void* const zero = is_wide ? static_cast<const void*>(kDoubles + 2) : kFloats + 2;
  return CublasStatus(
      lt_,
      lt_.cublasLtMatmul(handle, operation_, one, b, b_, a, a_, p.add ? one : zero, output, output_,
                         output, output_, &algorithm_, workspace, workspace_size, stream),
      "cublasLtMatmul");
}

absl::Status ProductPlan::SetOperation(cublasLtMatmulDescAttributes_t attribute, bool transpose,
                                       bool conjugate) {
  const cublasOperation_t operation = !transpose  ? CUBLAS_OP_N
                                      : conjugate ? CUBLAS_OP_C
                                                  : CUBLAS_OP_T;
  return CublasStatus(
      lt_, lt_.cublasLtMatmulDescSetAttribute(operation_, attribute, &operation, sizeof(operation)),
      "transposition");
}

// cuBLASLt's operands are ours in the other order.
absl::Status ProductPlan::SetScales(const Scales& scales) {
  if (scales.a == nullptr) return absl::OkStatus();
  RETURN_IF_CUBLAS_ERROR(
      lt_, cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                          &scales.b, sizeof(scales.b)));
  RETURN_IF_CUBLAS_ERROR(
      lt_, cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                          &scales.a, sizeof(scales.a)));
  return absl::OkStatus();
}

// A column-major matrix without gaps.
absl::Status ProductPlan::MakeLayout(cudaDataType_t type, int64_t rows, int64_t columns,
                                     int64_t batch, int64_t stride,
                                     cublasLtMatrixLayout_t* layout) {
  RETURN_IF_CUBLAS_ERROR(lt_, cublasLtMatrixLayoutCreate(layout, type, static_cast<uint64_t>(rows),
                                                         static_cast<uint64_t>(columns), rows));
  const int32_t count = static_cast<int32_t>(batch);
  RETURN_IF_CUBLAS_ERROR(
      lt_, cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                            sizeof(count)));
  RETURN_IF_CUBLAS_ERROR(
      lt_, cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                            &stride, sizeof(stride)));
  return absl::OkStatus();
}

}  // namespace tessera::cuda
