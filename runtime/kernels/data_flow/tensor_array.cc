#include "runtime/kernels/data_flow/tensor_array.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/element_memory.h"

namespace tessera {
namespace {

// More than any loop collects; what asks for more is a mistake or an attack.
constexpr int64_t kMaxSize = int64_t{1} << 25;

absl::Status CheckSize(int64_t size) {
  if (size < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor array cannot have ", size, " elements"));
  }
  if (size > kMaxSize) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor array of ", size, " elements is more than the limit of ", kMaxSize));
  }
  return absl::OkStatus();
}

// Puts dimensions before those of a shape, if these are known.
PartialShape Prepended(const Shape& outer, const PartialShape& inner) {
  if (!inner.known_rank()) return inner;
  PartialShape joined{outer};
  for (const int64_t dim : inner.dims()) joined.AddDim(dim);
  return joined;
}

}  // namespace

absl::StatusOr<IntrusivePtr<TensorArray>> TensorArray::Make(const Options& options, int64_t size) {
  RETURN_IF_ERROR(CheckSize(size));
  IntrusivePtr<TensorArray> array(new TensorArray(options));
  absl::MutexLock lock(&array->mu_);
  array->elements_.resize(size);
  return array;
}

absl::Status TensorArray::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return absl::InvalidArgumentError("the tensor array was closed");
}

absl::StatusOr<int64_t> TensorArray::size() const {
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(CheckOpen());
  return static_cast<int64_t>(elements_.size());
}

absl::StatusOr<PartialShape> TensorArray::NarrowElementShape(const PartialShape& shape) {
  absl::MutexLock lock(&mu_);
  ASSIGN_OR_RETURN(options_.element_shape, options_.element_shape.MergeWith(shape));
  return options_.element_shape;
}

absl::Status TensorArray::Write(KernelContext& ctx, AddN::Function* add_n, int64_t index,
                                Tensor value) {
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(CheckOpen());
  const int64_t size = static_cast<int64_t>(elements_.size());
  if (index < 0 || (index >= size && !options_.dynamic_size)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write to index ", index,
                                                   " of a tensor array of ", size,
                                                   " elements that does not grow"));
  }
  if (value.dtype() != dtype_ || !options_.element_shape.IsCompatibleWith(value.shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", DTypeName(value.dtype()), value.shape().ToString(),
                     " does not fit into a tensor array of ", DTypeName(dtype_),
                     options_.element_shape.ToString()));
  }
  if (index >= size) {
    RETURN_IF_ERROR(CheckSize(index + 1));
    elements_.resize(index + 1);
  }
  Element& element = elements_[index];
  if (element.read) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write to index ", index, ": it was read already"));
  }
  if (element.written && !options_.accumulate) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write to index ", index, ": it was written already"));
  }
  if (options_.identical_element_shapes) {
    ASSIGN_OR_RETURN(options_.element_shape,
                     options_.element_shape.MergeWith(PartialShape(value.shape())));
  }
  element.shape = PartialShape(value.shape());
  if (element.written && element.value.has_value()) {
    Tensor& sum = element.value;
    if (!(sum.shape() == value.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients of one element have different shapes: ", sum.shape().ToString(),
                       " and ", value.shape().ToString()));
    }
    ASSIGN_OR_RETURN(sum, AddElements(ctx, add_n, std::exchange(sum, Tensor()), value));
    return absl::OkStatus();
  }
  element.value = std::move(value);
  element.written = true;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> TensorArray::Read(KernelContext& ctx, int64_t index) {
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(CheckOpen());
  const int64_t size = static_cast<int64_t>(elements_.size());
  if (index < 0 || (index >= size && !options_.accumulate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read index ", index, " of a tensor array of ", size, " elements"));
  }
  // No gradient has reached what lies behind the end.
  Element beyond;
  Element& element = index < size ? elements_[index] : beyond;
  if (element.cleared) {
    return absl::InvalidArgumentError(
        absl::StrCat("index ", index,
                     " was read already, which dropped it: set clear_after_read to "
                     "false to read it twice"));
  }
  if (!element.value.has_value()) {
    ASSIGN_OR_RETURN(const PartialShape shape, element.shape.MergeWith(options_.element_shape));
    if (!shape.IsFullyDefined()) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot read index ", index,
                       ": it was never written, and the shape of zeros "
                       "in its place is only known as ",
                       shape.ToString()));
    }
    ASSIGN_OR_RETURN(const Shape full, shape.AsShape());
    ASSIGN_OR_RETURN(element.value, ZerosOf(ctx, dtype_, full));
  }
  element.read = true;
  if (!options_.clear_after_read) return element.value;
  element.cleared = true;
  Tensor value = std::move(element.value);
  element.value = Tensor();
  return value;
}

absl::StatusOr<IntrusivePtr<TensorArray>> TensorArray::Gradient(const std::string& source,
                                                                const Shape& outer) {
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(CheckOpen());
  IntrusivePtr<TensorArray>& gradient = gradients_[source];
  if (gradient) return gradient;
  options_.dynamic_size = false;
  Options options = options_;
  options.element_shape = Prepended(outer, options.element_shape);
  options.clear_after_read = true;
  options.accumulate = true;
  ASSIGN_OR_RETURN(gradient, Make(options, static_cast<int64_t>(elements_.size())));
  absl::MutexLock gradient_lock(&gradient->mu_);
  for (size_t i = 0; i < elements_.size(); ++i) {
    gradient->elements_[i].shape = Prepended(outer, elements_[i].shape);
  }
  return gradient;
}

void TensorArray::Close() {
  std::vector<Element> doomed;  // dies after the lock is dropped
  absl::MutexLock lock(&mu_);
  closed_ = true;
  doomed.swap(elements_);
}

std::string TensorArray::DebugString() const {
  absl::MutexLock lock(&mu_);
  return absl::StrCat("tensor array of ", elements_.size(), " ", DTypeName(dtype_),
                      options_.element_shape.ToString());
}

}  // namespace tessera
