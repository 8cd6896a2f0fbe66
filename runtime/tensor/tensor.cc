#include "runtime/tensor/tensor.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tessera {
namespace {

// A buffer of constructed C++ objects, in one block with their header.
template <typename T>
class ObjectBuffer final : public Buffer {
 public:
  // Returns null if memory runs out.
  static IntrusivePtr<Buffer> Create(size_t count) {
    void* block = std::malloc(kHeaderSize + count * sizeof(T));
    if (block == nullptr) return nullptr;
    T* elements = reinterpret_cast<T*>(static_cast<char*>(block) + kHeaderSize);
    std::uninitialized_value_construct_n(elements, count);
    return IntrusivePtr<Buffer>(new (block) ObjectBuffer(elements, count));
  }

 private:
  ObjectBuffer(T* elements, size_t count)
      : Buffer(reinterpret_cast<char*>(elements), count * sizeof(T), true) {}

  void Destroy() const override {
    std::destroy_n(reinterpret_cast<T*>(data()), size() / sizeof(T));
    void* const block = const_cast<ObjectBuffer*>(this);
    this->~ObjectBuffer();
    std::free(block);
  }

  static constexpr size_t kHeaderSize = (sizeof(Buffer) + 15) / 16 * 16;
  static_assert(sizeof(Buffer) <= kHeaderSize && alignof(T) <= 16);
};

// The bytes of tensors without elements, whose pointers are not null either.
alignas(kBufferAlignment) char no_elements[kBufferAlignment];

IntrusivePtr<Buffer> CreateObjects(DType dtype, size_t count) {
  switch (dtype) {
    case DType::kString:
      return ObjectBuffer<std::string>::Create(count);
    case DType::kResource:
      return ObjectBuffer<ResourceHandle>::Create(count);
    default:
      return ObjectBuffer<Variant>::Create(count);
  }
}

absl::Status OutOfMemory(DType dtype, const Shape& shape) {
  return absl::ResourceExhaustedError(
      absl::StrCat("out of memory: cannot allocate a tensor of type ", DTypeName(dtype),
                   " and shape ", shape.ToString()));
}

template <typename T>
void CopyObjects(const Tensor& from, Tensor& to) {
  std::copy_n(from.data<T>(), from.num_elements(), to.data<T>());
}

}  // namespace

absl::StatusOr<Tensor> Tensor::Allocate(DType dtype, const Shape& shape, Allocator* allocator) {
  absl::StatusOr<Tensor> result(absl::in_place);
  if (absl::Status status = result->Reallocate(dtype, shape, allocator); !status.ok()) [[unlikely]]
    return status;
  return result;
}

absl::Status Tensor::Reallocate(DType dtype, const Shape& shape, Allocator* allocator) {
  dtype_ = DType::kInvalid;
  buffer_.reset();
  const size_t element_size = DTypeSize(dtype);
  if (element_size == 0) [[unlikely]] {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot allocate a tensor of type ", DTypeName(dtype)));
  }
  const int64_t count = shape.num_elements();
  size_t bytes;
  if (count < 0 || __builtin_mul_overflow(static_cast<size_t>(count), element_size, &bytes) ||
      bytes > static_cast<size_t>(PTRDIFF_MAX)) [[unlikely]] {
    return OutOfMemory(dtype, shape);
  }
  data_ = no_elements;
  if (bytes > 0) {
    if (!IsTriviallyCopyable(dtype)) {
      buffer_ = CreateObjects(dtype, static_cast<size_t>(count));
    } else if (allocator == HeapAllocator()) {
      buffer_ = AllocateHeapBuffer(bytes);  // the usual case, without a virtual call
    } else {
      ASSIGN_OR_RETURN(buffer_, allocator->Allocate(bytes));
    }
    if (!buffer_) [[unlikely]]
      return OutOfMemory(dtype, shape);
    data_ = buffer_->address();
  }
  dtype_ = dtype;
  shape_ = shape;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Tensor::Zeros(DType dtype, const Shape& shape, Allocator* allocator) {
  absl::StatusOr<Tensor> tensor = Allocate(dtype, shape, allocator);
  if (tensor.ok() && IsTriviallyCopyable(dtype)) {
    std::memset(tensor->data_, 0, tensor->size_bytes());
  }
  return tensor;
}

Tensor Tensor::View(DType dtype, const Shape& shape, IntrusivePtr<Buffer> buffer, size_t offset) {
  CHECK(IsKnown(dtype) && IsTriviallyCopyable(dtype)) << DTypeName(dtype);
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  const size_t bytes = tensor.size_bytes();
  CHECK(shape.num_elements() >= 0 && offset <= buffer->size() && bytes <= buffer->size() - offset)
      << DTypeName(dtype) << shape.ToString() << " at byte " << offset << " of " << buffer->size();
  tensor.data_ = buffer->address() + offset;
  tensor.buffer_ = std::move(buffer);
  return tensor;
}

size_t Tensor::total_bytes() const {
  size_t total = size_bytes();
  if (dtype_ != DType::kString) return total;
  for (const std::string& s : flat<std::string>()) {
    const auto* object = reinterpret_cast<const char*>(&s);
    const bool inside = s.data() >= object && s.data() < object + sizeof(std::string);
    if (!inside) total += s.capacity() + 1;
  }
  return total;
}

absl::StatusOr<Tensor> Tensor::Reshaped(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot reshape a tensor of shape ", shape_.ToString(), " (", num_elements(),
                     " elements) to ", shape.ToString(), " (", shape.num_elements(), " elements)"));
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

void Tensor::Reshape(const Shape& shape) {
  CHECK(shape.num_elements() == num_elements()) << shape_.ToString() << " as " << shape.ToString();
  shape_ = shape;
}

Tensor Tensor::Bitcast(DType dtype, const Shape& shape) const {
  CHECK(IsTriviallyCopyable(dtype_) && IsTriviallyCopyable(dtype)) << DTypeName(dtype);
  CHECK(DTypeSize(dtype) == DTypeSize(dtype_) && shape.num_elements() == num_elements())
      << DTypeName(dtype_) << shape_.ToString() << " as " << DTypeName(dtype) << shape.ToString();
  Tensor result = *this;
  result.dtype_ = dtype;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::Slice(int64_t begin, int64_t end) const {
  CHECK(rank() >= 1 && 0 <= begin && begin <= end && end <= dim(0))
      << "rows " << begin << " to " << end << " of " << shape_.ToString();
  Tensor result = *this;
  result.shape_.SetDim(0, end - begin);
  if (num_elements() > 0) {
    result.data_ += begin * static_cast<int64_t>(size_bytes() / static_cast<size_t>(dim(0)));
  }
  return result;
}

Tensor Tensor::SubSlice(int64_t i) const {
  CHECK(rank() >= 1 && 0 <= i && i < dim(0)) << "row " << i << " of " << shape_.ToString();
  Tensor result = *this;
  result.shape_.RemoveDim(0);
  result.data_ += i * static_cast<int64_t>(result.size_bytes());
  return result;
}

absl::StatusOr<Tensor> Tensor::DeepCopy(Allocator* allocator) const {
  if (!has_value()) return Tensor();
  absl::StatusOr<Tensor> copy = Allocate(dtype_, shape_, allocator);
  if (!copy.ok()) return copy;
  switch (dtype_) {
    case DType::kString:
      CopyObjects<std::string>(*this, *copy);
      break;
    case DType::kResource:
      CopyObjects<ResourceHandle>(*this, *copy);
      break;
    case DType::kVariant:
      CopyObjects<Variant>(*this, *copy);
      break;
    default:
      std::memcpy(copy->data_, data_, size_bytes());
  }
  return copy;
}

void Tensor::FailTypeCheck(DType expected) const {
  LOG(FATAL) << "tensor of type " << DTypeName(dtype_) << " and shape " << shape_.ToString()
             << " used as " << DTypeName(expected);
  std::abort();
}

std::optional<std::vector<int64_t>> IntElements(const Tensor& tensor) {
  const auto widened = [](const auto& ints) {
    return std::vector<int64_t>(ints.begin(), ints.end());
  };
  if (tensor.dtype() == DType::kInt32) return widened(tensor.flat<int32_t>());
  if (tensor.dtype() == DType::kInt64) return widened(tensor.flat<int64_t>());
  return std::nullopt;
}

}  // namespace tessera
