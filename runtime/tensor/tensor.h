// Tensor: dtype, shape, and a share in a buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// An n-dimensional row-major array. Copies and slices share the buffer; a kernel writes only into
// buffers that nobody else holds (see CanWriteInPlace()).
//
//   ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(DType::kFloat, {2, 3}));
//   for (float& x : t.flat<float>()) x = 1;
//   Tensor row = t.SubSlice(1);  // shape [3], same memory
//
// Elements of string, resource and variant tensors are constructed C++ objects. A default-built
// tensor has dtype kInvalid and no elements: "no value".
// As thread-safe as a plain value: share copies, not the object.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  // What is moved from has no value afterwards.
  Tensor(Tensor&& other) noexcept
      : dtype_(std::exchange(other.dtype_, DType::kInvalid)),
        shape_(std::move(other.shape_)),
        buffer_(std::move(other.buffer_)),
        data_(std::exchange(other.data_, nullptr)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    if (this == &other) return *this;
    dtype_ = std::exchange(other.dtype_, DType::kInvalid);
    shape_ = std::move(other.shape_);
    buffer_ = std::move(other.buffer_);
    data_ = std::exchange(other.data_, nullptr);
    return *this;
  }
  ~Tensor() = default;

  // Trivially copyable elements are uninitialised; strings, handles and variants are empty.
  // Errors: RESOURCE_EXHAUSTED, also when the size in bytes overflows; INVALID_ARGUMENT for
  // kInvalid.
  static absl::StatusOr<Tensor> Allocate(DType dtype, const Shape& shape,
                                         Allocator* allocator = HeapAllocator());
  // All bits zero (empty strings).
  static absl::StatusOr<Tensor> Zeros(DType dtype, const Shape& shape,
                                      Allocator* allocator = HeapAllocator());
  // Views `buffer` from `offset` bytes on. Requires a trivially copyable dtype, alignment of the
  // element type, and that the elements fit.
  static Tensor View(DType dtype, const Shape& shape, IntrusivePtr<Buffer> buffer,
                     size_t offset = 0);

  // Small tensors from values; abort when memory is out. `Scalar("abc")` makes a string.
  template <typename T>
  static Tensor Scalar(T value);
  static Tensor Scalar(const char* value) { return Scalar(std::string(value)); }
  template <typename T>
  static Tensor Vector(absl::Span<const T> values);
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return Vector(absl::Span<const T>(values.begin(), values.size()));
  }
  // Row-major `values`; requires as many as the shape has elements.
  template <typename T>
  static Tensor Of(const Shape& shape, absl::Span<const T> values);
  template <typename T>
  static Tensor Of(const Shape& shape, std::initializer_list<T> values) {
    return Of(shape, absl::Span<const T>(values.begin(), values.size()));
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int i) const { return shape_.dim(i); }
  int64_t num_elements() const { return has_value() ? shape_.num_elements() : 0; }
  bool has_value() const { return dtype_ != DType::kInvalid; }
  // Bytes of the elements (of the string objects themselves, not of their contents).
  size_t size_bytes() const { return static_cast<size_t>(num_elements()) * DTypeSize(dtype_); }
  // size_bytes() plus what strings hold on the heap.
  size_t total_bytes() const;

  // The bytes, for the host. As with all accessors below, a debug build aborts if the host may not
  // touch them: see MemoryKind.
  const char* raw() const {
    CheckHostAccess();
    return data_;
  }
  char* mutable_raw() {
    CheckHostAccess();
    return data_;
  }
  // The address of the bytes in whatever memory they lie; for devices and copies.
  char* address() const { return data_; }
  // Where the bytes lie. kHost for tensors without elements, which have none.
  MemoryKind memory_kind() const { return buffer_ ? buffer_->memory_kind() : MemoryKind::kHost; }

  // All elements in row-major order. Requires dtype() == DTypeOf<T> (checked).
  template <typename T>
  absl::Span<const T> flat() const {
    // Not in braces: of bool, they would make a list of two values.
    return absl::Span<const T>(data<T>(), static_cast<size_t>(num_elements()));
  }
  template <typename T>
  absl::Span<T> flat() {
    return absl::Span<T>(data<T>(), static_cast<size_t>(num_elements()));
  }
  // Pointer to the elements, same requirement.
  template <typename T>
  const T* data() const {
    CheckType(DTypeOf<T>);
    CheckHostAccess();
    return reinterpret_cast<const T*>(data_);
  }
  template <typename T>
  T* data() {
    CheckType(DTypeOf<T>);
    CheckHostAccess();
    return reinterpret_cast<T*>(data_);
  }
  // The one element. Requires num_elements() >= 1.
  template <typename T>
  const T& scalar() const {
    return flat<T>()[0];
  }
  template <typename T>
  T& scalar() {
    return flat<T>()[0];
  }

  // Same elements under another shape. Errors: INVALID_ARGUMENT if the counts differ.
  absl::StatusOr<Tensor> Reshaped(const Shape& shape) const;
  // Same bytes under another dtype of the same element size. Requires trivially copyable types.
  Tensor Bitcast(DType dtype, const Shape& shape) const;
  // Rows [begin, end) of the first dimension, sharing the buffer.
  // Requires rank() >= 1 and 0 <= begin <= end <= dim(0).
  Tensor Slice(int64_t begin, int64_t end) const;
  // Row i without the first dimension, sharing the buffer.
  Tensor SubSlice(int64_t i) const;
  // A copy in a buffer of its own, which the host makes. Requires memory that the host may touch, here
  // and from `allocator`.
  absl::StatusOr<Tensor> DeepCopy(Allocator* allocator = HeapAllocator()) const;

  // True if this object is the only holder of a writable buffer.
  bool CanWriteInPlace() const { return buffer_ && buffer_->writable() && buffer_->HasOneOwner(); }
  bool SharesBufferWith(const Tensor& other) const { return buffer_ == other.buffer_; }
  const IntrusivePtr<Buffer>& buffer() const { return buffer_; }
  bool IsAligned() const { return reinterpret_cast<uintptr_t>(data_) % kBufferAlignment == 0; }

  // "float[2,2] [[1 2] [3 4]]", cut after `max_elements`.
  std::string ToString(int max_elements = 16) const;

 private:
  void CheckType(DType expected) const {
    if (dtype_ != expected) [[unlikely]]
      FailTypeCheck(expected);
  }
  [[noreturn]] void FailTypeCheck(DType expected) const;
  void CheckHostAccess() const {
#ifndef NDEBUG
    if (buffer_) static_cast<void>(buffer_->data());
#endif
  }

  DType dtype_ = DType::kInvalid;
  Shape shape_{0};
  IntrusivePtr<Buffer> buffer_;
  char* data_ = nullptr;
};

// Element i printed the way ToString() does.
std::string ElementToString(const Tensor& tensor, int64_t i);

template <typename T>
Tensor Tensor::Of(const Shape& shape, absl::Span<const T> values) {
  Tensor t = Allocate(DTypeOf<T>, shape).value();
  std::copy(values.begin(), values.end(), t.flat<T>().begin());
  return t;
}
template <typename T>
Tensor Tensor::Scalar(T value) {
  Tensor t = Allocate(DTypeOf<T>, {}).value();
  t.flat<T>()[0] = std::move(value);
  return t;
}
template <typename T>
Tensor Tensor::Vector(absl::Span<const T> values) {
  return Of(Shape{static_cast<int64_t>(values.size())}, values);
}

}  // namespace tessera
