// Convolutions by the graph interface of cuDNN 9.
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/kernels/primitives/cuda/copy.h"
#include "runtime/kernels/primitives/cuda/cudnn_convolution.h"
#include "runtime/kernels/primitives/cuda/math_mode.h"
#include "runtime/kernels/primitives/cuda/product_library.h"

namespace tessera::cuda {
namespace {

std::optional<cudnnDataType_t> DataTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return CUDNN_DATA_FLOAT;
    case DType::kHalf:
      return CUDNN_DATA_HALF;
    case DType::kBfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return std::nullopt;
  }
}

// True if the engine of a configuration rounds floats to fewer bits.
absl::StatusOr<bool> UsesTensorCores(const Cudnn& cudnn, const Descriptor& configuration) {
  ASSIGN_OR_RETURN(Descriptor engine, Descriptor::Make(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t handle = engine.handle();
  RETURN_IF_ERROR(configuration
                      .Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           absl::MakeSpan(&handle, 1))
                      .status());
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  ASSIGN_OR_RETURN(const int64_t count,
                   engine.Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                              absl::MakeSpan(notes)));
  for (int64_t i = 0; i < count; ++i) {
    if (notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return true;
  }
  return false;
}

// The first execution plan that cuDNN's heuristics propose and that fits the workspace; none if
// there is none.
absl::StatusOr<std::optional<Descriptor>> ChoosePlan(const Cudnn& cudnn, cudnnHandle_t handle,
                                                     const Operations& operations, bool exact,
                                                     size_t workspace_size) {
  ASSIGN_OR_RETURN(Descriptor graph,
                   Descriptor::Make(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle));
  RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                            absl::MakeConstSpan(operations.handles)));
  if (graph.TryFinalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    ASSIGN_OR_RETURN(Descriptor heuristics,
                     Descriptor::Make(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
    RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
    RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
    if (heuristics.TryFinalize() != CUDNN_STATUS_SUCCESS) continue;
    constexpr int kMaxConfigurations = 16;
    std::vector<Descriptor> configurations;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (int i = 0; i < kMaxConfigurations; ++i) {
      ASSIGN_OR_RETURN(Descriptor configuration,
                       Descriptor::Make(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      handles.push_back(configuration.handle());
      configurations.push_back(std::move(configuration));
    }
    ASSIGN_OR_RETURN(const int64_t count,
                     heuristics.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    absl::MakeSpan(handles)));
    for (int64_t i = 0; i < std::min<int64_t>(count, kMaxConfigurations); ++i) {
      if (exact) {
        ASSIGN_OR_RETURN(const bool rounds, UsesTensorCores(cudnn, configurations[i]));
        if (rounds) continue;
      }
      ASSIGN_OR_RETURN(Descriptor plan,
                       Descriptor::Make(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
      RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle));
      RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[i]));
      if (plan.TryFinalize() != CUDNN_STATUS_SUCCESS) continue;
      int64_t needed = 0;
      RETURN_IF_ERROR(plan.Get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                               absl::MakeSpan(&needed, 1))
                          .status());
      if (needed <= static_cast<int64_t>(workspace_size)) return plan;
    }
  }
  return std::nullopt;
}

// The tensors of a graph: their names and where they lie.
struct Bindings {
  std::vector<int64_t> ids;
  std::vector<const void*> data;

  void Add(TensorId id, const void* address) {
    ids.push_back(id);
    data.push_back(address);
  }
};

absl::Status Execute(const Cudnn& cudnn, cudnnHandle_t handle, const Descriptor& plan,
                     CudaStream::Workspace workspace, const Bindings& bindings) {
  ASSIGN_OR_RETURN(Descriptor pack, Descriptor::Make(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                           absl::MakeConstSpan(bindings.data)));
  RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                           absl::MakeConstSpan(bindings.ids)));
  RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace.data));
  RETURN_IF_ERROR(pack.Finalize("the operands of a convolution"));
  return CudnnStatus(cudnn, cudnn.cudnnBackendExecute(handle, plan.handle(), pack.handle()),
                     "a convolution");
}

// The plans of one device, which belong to its stream's handle; the stream's library_mu() guards
// them.
struct Plans {
  static constexpr size_t kMaxPlans = 512;
  // Without a descriptor: cuDNN does not take the problem.
  absl::flat_hash_map<Problem, std::optional<Descriptor>> by_problem;
};
std::shared_ptr<Plans> PlansOf(const Device& device) {
  // Lives of devices whose plans are kept. Those of more are made anew.
  constexpr size_t kMaxDevices = 64;
  static absl::Mutex mu(absl::kConstInit);
  static auto* const plans = new absl::flat_hash_map<uint64_t, std::shared_ptr<Plans>>;
  absl::MutexLock lock(&mu);
  if (plans->size() > kMaxDevices) plans->clear();
  std::shared_ptr<Plans>& entry = (*plans)[device.incarnation()];
  if (entry == nullptr) entry = std::make_shared<Plans>();
  return entry;
}

// cuDNN knows no convolutions of one dimension: a dimension of size 1 goes before it.
ConvolutionShape AtLeastTwoDimensional(ConvolutionShape shape) {
  if (shape.filter.size() != 1) return shape;
  for (SpatialDims* dims :
       {&shape.input, &shape.filter, &shape.output, &shape.strides, &shape.dilations}) {
    dims->insert(dims->begin(), 1);
  }
  shape.pad_before.insert(shape.pad_before.begin(), 0);
  shape.pad_after.insert(shape.pad_after.begin(), 0);
  return shape;
}

// Copies a filter between [rows, out_channels] and [out_channels, rows].
absl::Status TransposeFilter(KernelContext& ctx, int64_t rows, int64_t columns, const Tensor& from,
                             Tensor* to) {
  return RunStridedCopy(ctx, {columns, rows}, from, {{1, columns}}, to, {{rows, 1}});
}

// The same on the host.
template <typename T>
void TransposeOnHost(int64_t rows, int64_t columns, const Tensor& from, Tensor* to) {
  const T* const source = reinterpret_cast<const T*>(from.raw());
  T* const target = reinterpret_cast<T*>(to->mutable_raw());
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) target[c * rows + r] = source[r * columns + c];
  }
}

}  // namespace

absl::StatusOr<std::optional<Tensor>> ArrangeFilter(const Tensor& filter, int out_dims) {
  if (!DataTypeOf(filter.dtype()).has_value() || !LoadCudnn().ok()) return std::optional<Tensor>();
  int64_t columns = 1;
  for (int d = filter.rank() - out_dims; d < filter.rank(); ++d) columns *= filter.dim(d);
  const int64_t rows = filter.num_elements() / columns;
  ASSIGN_OR_RETURN(Tensor arranged, Tensor::Allocate(filter.dtype(), Shape{columns, rows},
                                                     WeightsAllocator()));
  if (filter.dtype() == DType::kFloat) {
    TransposeOnHost<float>(rows, columns, filter, &arranged);
  } else {
    TransposeOnHost<uint16_t>(rows, columns, filter, &arranged);
  }
  return std::optional<Tensor>(std::move(arranged));
}

absl::StatusOr<bool> ConvolveByLibrary(KernelContext& ctx, ConvolutionDirection direction,
                                       const ConvolutionShape& given, const Tensor& x,
                                       const LibraryFilter& filter, const Tensor& y,
                                       const PostOps& post_ops, const PostOpInputs& inputs) {
  const std::optional<cudnnDataType_t> type = DataTypeOf(x.dtype());
  if (!type.has_value()) return false;
  for (const Tensor* tensor : {&x, &y, inputs.bias, inputs.addend}) {
    if (tensor != nullptr && reinterpret_cast<uintptr_t>(tensor->address()) % kAlignment != 0) {
      return false;
    }
  }
  const Problem problem{direction, AtLeastTwoDimensional(given), x.dtype(), post_ops};
  const Tensor& values = filter.values;
  const int64_t columns = given.out_channels, rows = values.num_elements() / columns;
  const bool reads_filter = direction != ConvolutionDirection::kFilterGradient;
  const bool is_arranged = reads_filter && filter.arranged != nullptr;
  Tensor arranged;
  if (is_arranged) {
    arranged = *filter.arranged;
  } else {
    ASSIGN_OR_RETURN(arranged, ctx.AllocateTemp(values.dtype(), values.shape()));
  }

  ASSIGN_OR_RETURN(const Cudnn* cudnn, LoadCudnn());
  CudaStream& stream = CudaStream::Of(ctx);
  {
    absl::MutexLock lock(&stream.library_mu());
    ASSIGN_OR_RETURN(const cudnnHandle_t handle, stream.cudnn_handle());
    ASSIGN_OR_RETURN(const CudaStream::Workspace workspace, stream.workspace());
    const std::shared_ptr<Plans> plans = PlansOf(*ctx.device());
    auto it = plans->by_problem.find(problem);
    if (it == plans->by_problem.end()) {
      if (plans->by_problem.size() >= Plans::kMaxPlans) plans->by_problem.clear();
      ASSIGN_OR_RETURN(const Operations operations, MakeOperations(*cudnn, problem, *type));
      const bool exact = x.dtype() == DType::kFloat && !AllowsTf32();
      ASSIGN_OR_RETURN(std::optional<Descriptor> plan,
                       ChoosePlan(*cudnn, handle, operations, exact, workspace.size));
      it = plans->by_problem.emplace(problem, std::move(plan)).first;
    }
    if (!it->second.has_value()) return false;
    if (reads_filter && !is_arranged) {
      RETURN_IF_ERROR(TransposeFilter(ctx, rows, columns, values, &arranged));
    }
    Bindings bindings;
    bindings.Add(kX, x.address());
    bindings.Add(kFilter, arranged.address());
    bindings.Add(kY, y.address());
    if (post_ops.bias) bindings.Add(kBias, inputs.bias->address());
    if (post_ops.add) bindings.Add(kAddend, inputs.addend->address());
    RETURN_IF_ERROR(Execute(*cudnn, handle, *it->second, workspace, bindings));
  }
  if (!reads_filter) {
    Tensor result = values;
    RETURN_IF_ERROR(TransposeFilter(ctx, columns, rows, arranged, &result));
  }
  return true;
}

}  // namespace tessera::cuda
