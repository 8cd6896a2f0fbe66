// What cuDNN 9 is told of a convolution: descriptors of its graph interface. Making them needs the
// library, but no GPU.
#pragma once

#include <cudnn.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cuda/product_library.h"
#include "runtime/kernels/primitives/post_ops.h"

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

  // Returns cuDNN's answer, which says whether it supports what is described.
  cudnnStatus_t TryFinalize() { return cudnn_->cudnnBackendFinalize(handle_); }
  absl::Status Finalize(absl::string_view what) {
    return CudnnStatus(*cudnn_, TryFinalize(), what);
  }

  // Fills `values`, and returns how many there are.
  template <typename T>
  absl::StatusOr<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              absl::Span<T> values) const {
    int64_t count = 0;
    RETURN_IF_ERROR(CudnnStatus(
        *cudnn_,
        cudnn_->cudnnBackendGetAttribute(handle_, name, type, static_cast<int64_t>(values.size()),
                                         &count, values.data()),
        absl::StrCat("attribute ", static_cast<int>(name))));
    return count;
  }

 private:
  explicit Descriptor(const Cudnn& cudnn) : cudnn_(&cudnn) {}

  const Cudnn* cudnn_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// Names of the tensors within a graph. Those from kFirstVirtual on stay inside of it.
enum TensorId : int64_t { kX = 1, kFilter, kY, kBias, kAddend, kFirstVirtual };
constexpr int64_t kAlignment = 16;

// A convolution of tensors of one dtype: what plans are made for.
struct Problem {
  ConvolutionDirection direction;
  ConvolutionShape shape;
  DType dtype;
  PostOps post_ops = PostOps();  // of a forward convolution

  friend bool operator==(const Problem&, const Problem&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Problem& p) {
    const ConvolutionShape& s = p.shape;
    return H::combine(std::move(h), static_cast<int>(p.direction), p.dtype, s.batch, s.in_channels,
                      s.out_channels, s.groups, s.input, s.filter, s.output, s.strides, s.dilations,
                      s.pad_before, s.pad_after, s.channels_first, p.post_ops.bias, p.post_ops.add,
                      static_cast<int>(p.post_ops.activation), p.post_ops.alpha);
  }
};

// The descriptors of a problem that need no GPU: the operations of a graph, and what they refer to.
struct Operations {
  std::vector<cudnnBackendDescriptor_t> handles;
  std::vector<Descriptor> descriptors;
};

// The convolution, then the addend, the bias and the activation. Errors: INTERNAL for what cuDNN
// cannot describe.
absl::StatusOr<Operations> MakeOperations(const Cudnn& cudnn, const Problem& problem,
                                          cudnnDataType_t type);

}  // namespace tessera::cuda
