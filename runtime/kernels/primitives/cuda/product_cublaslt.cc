#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/kernels/primitives/cuda/cublaslt_plan.h"
#include "runtime/kernels/primitives/cuda/math_mode.h"
#include "runtime/kernels/primitives/cuda/product_library.h"

namespace tessera::cuda {
namespace {

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
  absl::flat_hash_map<Product, std::unique_ptr<ProductPlan>> plans ABSL_GUARDED_BY(mu);
  // So many shapes are kept; a kernel that sees more starts anew.
  static constexpr size_t kMaxPlans = 256;

  // Null if the library does not take the product. Valid until the next call.
  absl::StatusOr<ProductPlan*> Get(const CublasLt& lt, const Product& product, const Types& types,
                                   const Scales& scales, cublasLtHandle_t handle,
                                   size_t workspace_size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    auto it = plans.find(product);
    if (it == plans.end()) {
      if (plans.size() >= kMaxPlans) plans.clear();
      auto plan = std::make_unique<ProductPlan>(lt);
      RETURN_IF_ERROR(plan->Describe(product, types, scales));
      ASSIGN_OR_RETURN(const bool found, plan->ChooseAlgorithm(product, handle, workspace_size));
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
                  AlignmentOf({a.address(), b.address(), output->address(),
                               bias == nullptr ? nullptr : bias->address()},
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
  ASSIGN_OR_RETURN(ProductPlan * plan,
                   plans_->Get(*lt, product, *types, Scales(), handle, workspace.size));
  if (plan == nullptr) return Made::kNothing;
  char* to = output->address();
  for (const auto& begin : split.begins) {
    RETURN_IF_ERROR(plan->Run(product, handle, workspace.data, workspace.size, stream.cuda(),
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
  product.alignment = AlignmentOf({a.values.address(), b.values.address(), output->address(),
                                   product.bias ? bias->address() : nullptr},
                                  static_cast<uint64_t>(shape.k));
  product.is_e4m3 = true;
  const Scales scales{a.scale.address(), b.scale.address()};

  CudaStream& stream = CudaStream::Of(ctx);
  absl::MutexLock lock(&stream.library_mu());
  absl::MutexLock plans_lock(&plans_->mu);
  ASSIGN_OR_RETURN(const cublasLtHandle_t handle, stream.cublaslt_handle());
  ASSIGN_OR_RETURN(const CudaStream::Workspace workspace, stream.workspace());
  ASSIGN_OR_RETURN(ProductPlan * plan,
                   plans_->Get(*lt, product, *types, scales, handle, workspace.size));
  if (plan == nullptr) return Made::kNothing;
  RETURN_IF_ERROR(before());
  RETURN_IF_ERROR(plan->Run(product, handle, workspace.data, workspace.size, stream.cuda(),
                            a.values.address(), b.values.address(), scales,
                            product.bias ? bias->address() : nullptr, output->address()));
  if (!has_epilogue) return Made::kWithoutBias;
  return has_activation ? Made::kAll : Made::kWithoutActivation;
}

}  // namespace tessera::cuda
