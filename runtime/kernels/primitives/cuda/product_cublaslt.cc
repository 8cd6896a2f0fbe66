#include <cublasLt.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/kernels/primitives/cuda/math_mode.h"
#include "runtime/kernels/primitives/cuda/product_library.h"

namespace tessera::cuda {
namespace {

absl::Status CublasStatus(const CublasLt& lt, cublasStatus_t status, absl::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cuBLASLt, ", what, ": ", lt.cublasLtGetStatusString(status)));
}
#define RETURN_IF_CUBLAS_ERROR(lt, call) RETURN_IF_ERROR(CublasStatus(lt, (lt).call, #call))

// How elements of a dtype are multiplied.
struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
  cudaDataType_t output = element;
};
std::optional<Types> TypesOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return Types{CUDA_R_32F, CUDA_R_32F,
                   AllowsTf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
    case DType::kHalf:
      return Types{CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kBfloat16:
      return Types{CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kDouble:
      return Types{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kComplex64:
      return Types{CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F};
    case DType::kComplex128:
      return Types{CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
      return std::nullopt;
  }
}

// The scales of operands of 8 bits: where they lie in device memory. Null for others.
struct Scales {
  const void *a = nullptr, *b = nullptr;
};

// One call: what an algorithm is chosen for. Matrices are row-major.
struct Product {
  DType dtype;
  int64_t m, n, k;
  bool transpose_a, transpose_b, conjugate_a, conjugate_b;
  int64_t batch, a_stride, b_stride;  // strides in matrices
  bool bias, add;
  cublasLtEpilogue_t epilogue;
  uint32_t alignment;    // of all operands, in bytes
  bool is_e4m3 = false;  // a and b are; dtype is the output's

  template <typename H>
  friend H AbslHashValue(H h, const Product& p) {
    return H::combine(std::move(h), p.dtype, p.m, p.n, p.k, p.transpose_a, p.transpose_b,
                      p.conjugate_a, p.conjugate_b, p.batch, p.a_stride, p.b_stride, p.bias, p.add,
                      static_cast<int>(p.epilogue), p.alignment, p.is_e4m3);
  }
  friend bool operator==(const Product&, const Product&) = default;
};

// The epilogue of a call, and whether the activation is in it. cuBLASLt's GELU is the one by tanh.
cublasLtEpilogue_t EpilogueOf(const PostOps& post_ops, bool bias, bool* has_activation) {
  *has_activation = true;
  switch (post_ops.activation) {
    case Activation::kNone:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::kRelu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGeluTanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      *has_activation = false;
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// The descriptors of a product, with the algorithm that the library chose. cuBLASLt's matrices are
// column-major, so that it is asked for the transpose: output^T = b^T a^T.
class Plan {
 public:
  explicit Plan(const CublasLt& lt) : lt_(lt) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    for (const cublasLtMatrixLayout_t layout : {a_, b_, output_}) {
      if (layout != nullptr) lt_.cublasLtMatrixLayoutDestroy(layout);
    }
    if (operation_ != nullptr) lt_.cublasLtMatmulDescDestroy(operation_);
  }

  // False if the library has no algorithm.
  absl::StatusOr<bool> Init(const Product& p, const Types& types, const Scales& scales,
                            cublasLtHandle_t handle, size_t workspace_size) {
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
    RETURN_IF_ERROR(MakeLayout(types.output, p.n, p.m, p.batch, p.m * p.n, &output_));
    return ChooseAlgorithm(p, handle, workspace_size);
  }

  // The caller holds the stream's library_mu().
  absl::Status Run(const Product& p, cublasLtHandle_t handle, CudaStream::Workspace workspace,
                   cudaStream_t stream, const char* a, const char* b, const Scales& scales,
                   const void* bias, char* output) {
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
    return CublasStatus(lt_,
                        lt_.cublasLtMatmul(handle, operation_, one, b, b_, a, a_,
                                           p.add ? one : zero, output, output_, output, output_,
                                           &algorithm_, workspace.data, workspace.size, stream),
                        "cublasLtMatmul");
  }

 private:
  absl::Status SetOperation(cublasLtMatmulDescAttributes_t attribute, bool transpose,
                            bool conjugate) {
    const cublasOperation_t operation = !transpose  ? CUBLAS_OP_N
                                        : conjugate ? CUBLAS_OP_C
                                                    : CUBLAS_OP_T;
    return CublasStatus(
        lt_,
        lt_.cublasLtMatmulDescSetAttribute(operation_, attribute, &operation, sizeof(operation)),
        "transposition");
  }

  // cuBLASLt's operands are ours in the other order.
  absl::Status SetScales(const Scales& scales) {
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
  absl::Status MakeLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch,
                          int64_t stride, cublasLtMatrixLayout_t* layout) {
    RETURN_IF_CUBLAS_ERROR(lt_,
                           cublasLtMatrixLayoutCreate(layout, type, static_cast<uint64_t>(rows),
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

  absl::StatusOr<bool> ChooseAlgorithm(const Product& p, cublasLtHandle_t handle,
                                       size_t workspace_size) {
    cublasLtMatmulPreference_t preference = nullptr;
    RETURN_IF_CUBLAS_ERROR(lt_, cublasLtMatmulPreferenceCreate(&preference));
    cublasStatus_t status = lt_.cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_size,
        sizeof(workspace_size));
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

  const CublasLt& lt_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, output_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

// The batch of a product as calls with one stride each: `inner` matrices a call.
struct BatchSplit {
  int64_t inner = 1, a_stride = 0, b_stride = 0;
  std::vector<std::array<int64_t, 2>> begins;  // of each call, in matrices of a and b
};
BatchSplit SplitBatch(const MatMulShape& shape) {
  BatchSplit split;
  int d = static_cast<int>(shape.batch.size()) - 1;
  for (; d >= 0; --d) {
    if (shape.batch[d] == 1) continue;
    if (split.inner == 1) {
      split.a_stride = shape.a_stride[d];
      split.b_stride = shape.b_stride[d];
    } else if (shape.a_stride[d] != split.a_stride * split.inner ||
               shape.b_stride[d] != split.b_stride * split.inner) {
      break;
    }
    split.inner *= shape.batch[d];
  }
  split.begins.push_back({0, 0});
  for (int outer = 0; outer <= d; ++outer) {
    std::vector<std::array<int64_t, 2>> next;
    for (const auto& begin : split.begins) {
      for (int64_t i = 0; i < shape.batch[outer]; ++i) {
        next.push_back(
            {begin[0] + i * shape.a_stride[outer], begin[1] + i * shape.b_stride[outer]});
      }
    }
    split.begins = std::move(next);
  }
  return split;
}

// The greatest power of two up to 256 that divides all addresses and strides.
uint32_t AlignmentOf(std::initializer_list<const void*> addresses, uint64_t strides) {
  uint64_t bits = strides;
  for (const void* address : addresses) bits |= reinterpret_cast<uintptr_t>(address);
  uint32_t alignment = 256;
  while (bits % alignment != 0) alignment /= 2;
  return alignment;
}

}  // namespace

struct LibraryMatMul::Plans {
  absl::Mutex mu;
  // Null for products that the library does not take.
  absl::flat_hash_map<Product, std::unique_ptr<Plan>> plans ABSL_GUARDED_BY(mu);
  // So many shapes are kept; a kernel that sees more starts anew.
  static constexpr size_t kMaxPlans = 256;

  // Null if the library does not take the product. Valid until the next call.
  absl::StatusOr<Plan*> Get(const CublasLt& lt, const Product& product, const Types& types,
                            const Scales& scales, cublasLtHandle_t handle, size_t workspace_size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    auto it = plans.find(product);
    if (it == plans.end()) {
      if (plans.size() >= kMaxPlans) plans.clear();
      auto plan = std::make_unique<Plan>(lt);
      ASSIGN_OR_RETURN(const bool found,
                       plan->Init(product, types, scales, handle, workspace_size));
      it = plans.emplace(product, found ? std::move(plan) : nullptr).first;
    }
    return it->second.get();
  }
};

LibraryMatMul::LibraryMatMul() : plans_(std::make_unique<Plans>()) {}
LibraryMatMul::~LibraryMatMul() = default;

absl::StatusOr<Made> LibraryMatMul::Run(KernelContext& ctx, const MatMulShape& shape,
                                        const PostOps& post_ops, const Tensor& a, const Tensor& b,
                                        const Tensor* bias, Tensor* output) {
  const std::optional<Types> types = TypesOf(a.dtype());
  if (!types.has_value()) return Made::kNothing;
  // Only transposed operands can be conjugated.
  if ((shape.conjugate_a && !shape.transpose_a) || (shape.conjugate_b && !shape.transpose_b)) {
    return Made::kNothing;
  }
  if (bias != nullptr && IsComplex(a.dtype())) return Made::kNothing;
  ASSIGN_OR_RETURN(const CublasLt* lt, LoadCublasLt());
  const BatchSplit split = SplitBatch(shape);
  const int64_t size = static_cast<int64_t>(DTypeSize(a.dtype()));
  const int64_t a_bytes = shape.m * shape.k * size, b_bytes = shape.n * shape.k * size;
  const int64_t output_bytes = shape.m * shape.n * size;
  bool has_activation;
  Product product{a.dtype(),
                  shape.m,
                  shape.n,
                  shape.k,
                  shape.transpose_a,
                  shape.transpose_b,
                  shape.conjugate_a,
                  shape.conjugate_b,
                  split.inner,
                  split.a_stride,
                  split.b_stride,
                  bias != nullptr,
                  post_ops.add,
                  EpilogueOf(post_ops, bias != nullptr, &has_activation),
                  AlignmentOf({a.address(), b.address(), output->address()},
                              static_cast<uint64_t>(a_bytes | b_bytes | output_bytes))};
  // Rows of a batch that meet the same right-hand side are rows of one product.
  if (product.b_stride == 0 && product.a_stride == 1 && !product.transpose_a) {
    product.m *= product.batch;
    product.batch = 1;
    product.a_stride = 0;
  }

  CudaStream& stream = CudaStream::Of(ctx);
  absl::MutexLock lock(&stream.library_mu());
  absl::MutexLock plans_lock(&plans_->mu);
  ASSIGN_OR_RETURN(const cublasLtHandle_t handle, stream.cublaslt_handle());
  ASSIGN_OR_RETURN(const CudaStream::Workspace workspace, stream.workspace());
  ASSIGN_OR_RETURN(Plan * plan,
                   plans_->Get(*lt, product, *types, Scales(), handle, workspace.size));
  if (plan == nullptr) return Made::kNothing;
  char* to = output->address();
  for (const auto& begin : split.begins) {
    RETURN_IF_ERROR(plan->Run(product, handle, workspace, stream.cuda(),
                              a.address() + begin[0] * a_bytes, b.address() + begin[1] * b_bytes,
                              Scales(), bias == nullptr ? nullptr : bias->address(), to));
    to += split.inner * output_bytes;
  }
  return has_activation ? Made::kAll : Made::kWithoutActivation;
}

bool MultipliesE4m3(Device* device) {
  // Since compute capability 8.9.
  constexpr int kMajor = 8, kMinor = 9;
  if (device == nullptr || device->stream() == nullptr || !AllowsFp8() || !LoadCublasLt().ok()) {
    return false;
  }
  const int gpu = static_cast<CudaStream*>(device->stream())->gpu();
  int major = 0, minor = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu) == cudaSuccess &&
         (major > kMajor || (major == kMajor && minor >= kMinor));
}

absl::StatusOr<Made> LibraryMatMul::RunE4m3(KernelContext& ctx, const MatMulShape& shape,
                                            const PostOps& post_ops, const E4m3Matrix& a,
                                            const E4m3Matrix& b, const Tensor* bias, Tensor* output,
                                            absl::FunctionRef<absl::Status()> before) {
  std::optional<Types> types = TypesOf(output->dtype());
  if (!types.has_value()) return Made::kNothing;
  types->element = CUDA_R_8F_E4M3;
  types->compute = CUBLAS_COMPUTE_32F;
  ASSIGN_OR_RETURN(const CublasLt* lt, LoadCublasLt());
  // A bias beside an output of float would have to be of bfloat16.
  const bool has_epilogue = output->dtype() != DType::kFloat;
  bool has_activation = false;
  Product product{};
  product.dtype = output->dtype();
  product.m = shape.m, product.n = shape.n, product.k = shape.k;
  product.transpose_b = true;
  product.batch = 1;
  product.bias = has_epilogue && bias != nullptr;
  product.add = post_ops.add;
  product.epilogue = has_epilogue ? EpilogueOf(post_ops, product.bias, &has_activation)
                                  : CUBLASLT_EPILOGUE_DEFAULT;
  product.alignment = AlignmentOf({a.values.address(), b.values.address(), output->address()},
                                  static_cast<uint64_t>(shape.k));
  product.is_e4m3 = true;
  const Scales scales{a.scale.address(), b.scale.address()};

  CudaStream& stream = CudaStream::Of(ctx);
  absl::MutexLock lock(&stream.library_mu());
  absl::MutexLock plans_lock(&plans_->mu);
  ASSIGN_OR_RETURN(const cublasLtHandle_t handle, stream.cublaslt_handle());
  ASSIGN_OR_RETURN(const CudaStream::Workspace workspace, stream.workspace());
  ASSIGN_OR_RETURN(Plan * plan, plans_->Get(*lt, product, *types, scales, handle, workspace.size));
  if (plan == nullptr) return Made::kNothing;
  RETURN_IF_ERROR(before());
  RETURN_IF_ERROR(plan->Run(product, handle, workspace, stream.cuda(), a.values.address(),
                            b.values.address(), scales, product.bias ? bias->address() : nullptr,
                            output->address()));
  if (!has_epilogue) return Made::kWithoutBias;
  return has_activation ? Made::kAll : Made::kWithoutActivation;
}

}  // namespace tessera::cuda
