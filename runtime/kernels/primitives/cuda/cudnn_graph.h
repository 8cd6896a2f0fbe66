// The descriptions of work that cuDNN 9 gets: descriptors of its graph interface. Making them needs
// the library, but no GPU.
//
//   CudnnGraph graph(cudnn);
//   ASSIGN_OR_RETURN(Descriptor x, MakeTensor(cudnn, CUDNN_DATA_HALF, kX, dims, strides));
//   ASSIGN_OR_RETURN(Descriptor operation, Descriptor::Make(cudnn, CUDNN_BACKEND_OPERATION_...));
//   RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_..., x));
//   RETURN_IF_ERROR(graph.AddOperation(std::move(operation), "an operation"));
//   graph.Keep(std::move(x));
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/tensor/dtype.h"

namespace tessera::cuda {

// Returns INTERNAL with cuDNN's text if a call failed.
absl::Status CudnnStatus(const Cudnn& cudnn, cudnnStatus_t status, absl::string_view what);

// A descriptor of the backend interface, which it destroys.
class Descriptor {
 public:
  static absl::StatusOr<Descriptor> Make(const Cudnn& cudnn, cudnnBackendDescriptorType_t type) {
    Descriptor descriptor(cudnn);
    RETURN_IF_ERROR(CudnnStatus(cudnn,
                                cudnn.cudnnBackendCreateDescriptor(type, &descriptor.handle_),
                                "cudnnBackendCreateDescriptor"));
    return descriptor;
  }
  Descriptor(Descriptor&& other) noexcept
      : cudnn_(other.cudnn_), handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(cudnn_, other.cudnn_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Descriptor() {
    if (handle_ != nullptr) cudnn_->cudnnBackendDestroyDescriptor(handle_);
  }

  cudnnBackendDescriptor_t handle() const { return handle_; }

  template <typename T>
  absl::Status Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   absl::Span<const T> values) {
    return CudnnStatus(*cudnn_,
                       cudnn_->cudnnBackendSetAttribute(
                           handle_, name, type, static_cast<int64_t>(values.size()), values.data()),
                       absl::StrCat("attribute ", static_cast<int>(name)));
  }
  template <typename T>
  absl::Status Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   const T& value) {
    return Set(name, type, absl::MakeConstSpan(&value, 1));
  }
  absl::Status Set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.handle());
  }
  absl::Status Set(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value);
  }

  // Returns cuDNN's answer, which says whether it supports what is described.
  cudnnStatus_t TryFinalize() { return cudnn_->cudnnBackendFinalize(handle_); }
  absl::Status Finalize(absl::string_view what) {
    return CudnnStatus(*cudnn_, TryFinalize(), what);
  }

  // Fills `values`, and returns how many it has set. A newer cuDNN may have more to say.
  template <typename T>
  absl::StatusOr<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              absl::Span<T> values) const {
    int64_t count = 0;
    RETURN_IF_ERROR(CudnnStatus(
        *cudnn_,
        cudnn_->cudnnBackendGetAttribute(handle_, name, type, static_cast<int64_t>(values.size()),
                                         &count, values.data()),
        absl::StrCat("attribute ", static_cast<int>(name))));
    return std::min(count, static_cast<int64_t>(values.size()));
  }

 private:
  explicit Descriptor(const Cudnn& cudnn) : cudnn_(&cudnn) {}

  const Cudnn* cudnn_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// The elements of a dtype as cuDNN computes with them; none for what its graphs do not take here.
std::optional<cudnnDataType_t> CudnnTypeOf(DType dtype);

// Tensors have numbers within a graph, by which they are bound to memory. Those from kFirstVirtual
// on are intermediate results, which have no memory.
constexpr int64_t kFirstVirtual = 100;
// The alignment of tensors in memory, in bytes.
constexpr int64_t kCudnnAlignment = 16;

// Describes a tensor in device memory, or an intermediate result.
absl::StatusOr<Descriptor> MakeTensor(const Cudnn& cudnn, cudnnDataType_t type, int64_t id,
                                      absl::Span<const int64_t> dims,
                                      absl::Span<const int64_t> strides);
// Describes a float that execution reads from host memory, as a tensor of `rank` dimensions.
absl::StatusOr<Descriptor> MakeScalar(const Cudnn& cudnn, int64_t id, int rank);

// Strides of a tensor [first, channels, spatial...] whose channels are last in memory, or before
// the spatial dimensions.
std::vector<int64_t> ImageStrides(absl::Span<const int64_t> dims, bool channels_first);

// A graph: its operations, and all descriptors that these refer to.
class CudnnGraph {
 public:
  explicit CudnnGraph(const Cudnn& cudnn) : cudnn_(&cudnn) {}

  const Cudnn& cudnn() const { return *cudnn_; }
  const std::vector<cudnnBackendDescriptor_t>& operations() const { return operations_; }

  // Keeps a descriptor as long as the graph, and returns its handle.
  cudnnBackendDescriptor_t Keep(Descriptor descriptor);
  // Finalizes an operation and appends it. Errors: INTERNAL for what cuDNN cannot describe.
  absl::Status AddOperation(Descriptor operation, absl::string_view what);
  // Appends y = mode(x), or mode(x, other) if `other` is not null. Keeps `function`, which is
  // finalized, and `y`; returns the handle of y.
  absl::StatusOr<cudnnBackendDescriptor_t> AddPointwise(Descriptor function,
                                                        cudnnBackendDescriptor_t x,
                                                        cudnnBackendDescriptor_t other,
                                                        Descriptor y);

 private:
  const Cudnn* cudnn_;
  std::vector<Descriptor> descriptors_;
  std::vector<cudnnBackendDescriptor_t> operations_;
};

// Describes a function of one or two elements that computes in float. The caller may set further
// attributes before it finalizes the descriptor.
absl::StatusOr<Descriptor> StartFunction(const Cudnn& cudnn, cudnnPointwiseMode_t mode);

}  // namespace tessera::cuda
