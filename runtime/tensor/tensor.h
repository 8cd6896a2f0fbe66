// Tensor: a dtype, a shape, and a share in a buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// An n-dimensional row-major array. Copies and slices share the buffer, so a kernel writes only
// into a buffer that nobody else holds (see CanWriteInPlace()).
//
//   ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(DType::kFloat, {2, 3}));
//   for (float& x : t.flat<float>()) x = 1;
//   Tensor row = t.SubSlice(1);  // shape [3], same memory
//
// Elements of string, resource and variant tensors are constructed C++ objects. A default-built
// tensor has no value: its dtype is kInvalid, and it has no elements.
// As thread-safe as a plain value: threads may share the buffer through copies, not one object.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  // A tensor that was moved from has no value.
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

  // Returns a tensor with a new buffer. Trivially copyable elements are uninitialised; strings,
  // handles and variants are empty.
  // Errors: RESOURCE_EXHAUSTED, also when the size in bytes overflows; INVALID_ARGUMENT for
  // kInvalid.
  static absl::StatusOr<Tensor> Allocate(DType dtype, const Shape& shape,
                                         Allocator* allocator = HeapAllocator());
  // Turns this tensor into what Allocate() returns, which saves moving it here. After an error the
  // tensor has no value.
  absl::Status Reallocate(DType dtype, const Shape& shape, Allocator* allocator);
  // Returns a tensor whose elements have all bits zero; strings are empty.
  static absl::StatusOr<Tensor> Zeros(DType dtype, const Shape& shape,
                                      Allocator* allocator = HeapAllocator());
  // Returns a view of `buffer` that starts at byte `offset`. Requires a trivially copyable dtype,
  // the alignment of the element type, and that the elements fit.
  static Tensor View(DType dtype, const Shape& shape, IntrusivePtr<Buffer> buffer,
                     size_t offset = 0);

  // Small tensors from values. They abort when memory runs out. `Scalar("abc")` makes a string.
  template <typename T>
  static Tensor Scalar(T value);
  static Tensor Scalar(const char* value) { return Scalar(std::string(value)); }
  template <typename T>
  static Tensor Vector(absl::Span<const T> values);
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return Vector(absl::Span<const T>(values.begin(), values.size()));
  }
  // Takes row-major `values`. Requires as many as the shape has elements.
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
  // The size of the elements in bytes. Strings count as objects, without their contents.
  size_t size_bytes() const { return static_cast<size_t>(num_elements()) * DTypeSize(dtype_); }
  // size_bytes() plus the bytes that strings hold on the heap.
  size_t total_bytes() const;

  // The bytes, for the host to access. Here and in all accessors below, a debug build aborts if the
  // host may not access them: see MemoryKind.
  const char* raw() const {
    CheckHostAccess();
    return data_;
  }
  char* mutable_raw() {
    CheckHostAccess();
    return data_;
  }
  // The address of the bytes in memory of any kind, for devices and copies.
  char* address() const { return data_; }
  // The kind of memory that holds the bytes; kHost for tensors without elements.
  MemoryKind memory_kind() const { return buffer_ ? buffer_->memory_kind() : MemoryKind::kHost; }

  // All elements in row-major order. Aborts unless dtype() == DTypeOf<T>.
  template <typename T>
  absl::Span<const T> flat() const {
    // Braces would make an initializer list of two values if T is bool.
    return absl::Span<const T>(data<T>(), static_cast<size_t>(num_elements()));
  }
  template <typename T>
  absl::Span<T> flat() {
    return absl::Span<T>(data<T>(), static_cast<size_t>(num_elements()));
  }
  // A pointer to the elements. Aborts unless dtype() == DTypeOf<T>.
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
  // The first element. Requires num_elements() >= 1.
  template <typename T>
  const T& scalar() const {
    return flat<T>()[0];
  }
  template <typename T>
  T& scalar() {
    return flat<T>()[0];
  }

  // Returns the same elements under another shape. Errors: INVALID_ARGUMENT if the numbers of
  // elements differ.
  absl::StatusOr<Tensor> Reshaped(const Shape& shape) const;
  // Gives this tensor another shape. Requires as many elements as there are now.
  void Reshape(const Shape& shape);
  // Returns the same bytes under another dtype of the same element size. Requires trivially
  // copyable dtypes.
  Tensor Bitcast(DType dtype, const Shape& shape) const;
  // Returns rows [begin, end) of the first dimension, which share the buffer.
  // Requires rank() >= 1 and 0 <= begin <= end <= dim(0).
  Tensor Slice(int64_t begin, int64_t end) const;
  // Returns row i without the first dimension, which shares the buffer.
  Tensor SubSlice(int64_t i) const;
  // Returns a copy, made by the host, in a new buffer. Requires that the host may access the memory
  // of both.
  absl::StatusOr<Tensor> DeepCopy(Allocator* allocator = HeapAllocator()) const;

  // Returns whether this object is the only owner of a writable buffer.
  bool CanWriteInPlace() const { return buffer_ && buffer_->writable() && buffer_->HasOneOwner(); }
  bool SharesBufferWith(const Tensor& other) const { return buffer_ == other.buffer_; }
  const IntrusivePtr<Buffer>& buffer() const { return buffer_; }
  bool IsAligned() const { return reinterpret_cast<uintptr_t>(data_) % kBufferAlignment == 0; }

  // Returns "float[2,2] [[1 2] [3 4]]", cut after `max_elements`.
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
  Shape shape_{Shape::NoValue()};
  IntrusivePtr<Buffer> buffer_;
  char* data_ = nullptr;
};

// Returns the elements of an int32 or int64 tensor, and nothing for other dtypes.
std::optional<std::vector<int64_t>> IntElements(const Tensor& tensor);

// Returns element i as Tensor::ToString() prints it.
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
