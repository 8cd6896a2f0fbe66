// Shape, whose dimensions are all known, and PartialShape, whose rank or dimensions may be unknown.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tessera {

inline constexpr int kMaxRank = 254;

// The dimensions of a tensor. Each is at least 0, and their product fits in int64. A scalar has
// rank 0. A value type; up to six dimensions are stored inline.
class Shape {
 public:
  // The shape of a scalar.
  Shape() = default;
  Shape(const Shape&) = default;
  Shape(Shape&&) noexcept = default;
  // InlinedVector assigns one element at a time; its copy and its move take all bytes at once.
  Shape& operator=(const Shape& other) { return *this = Shape(other); }
  Shape& operator=(Shape&&) noexcept = default;
  // For shapes known to be valid: literals, and what was computed from valid shapes without growth.
  Shape(std::initializer_list<int64_t> dims)
      : Shape(absl::Span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) { Recount(); }

  // For dimensions that come from outside the program.
  // Errors: INVALID_ARGUMENT if one is negative, if the product overflows, or if there are more
  // than kMaxRank of them.
  static absl::StatusOr<Shape> Make(absl::Span<const int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  int64_t operator[](int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return dims_.empty(); }
  bool IsVector() const { return dims_.size() == 1; }
  bool IsMatrix() const { return dims_.size() == 2; }

  void AddDim(int64_t size);
  void InsertDim(int i, int64_t size);
  void RemoveDim(int i);
  void SetDim(int i, int64_t size);

  // Returns the shape as TensorFlow prints it: "[2,3]", and "[]" for a scalar.
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    const int64_t* const x = a.dims_.data();
    const int64_t* const y = b.dims_.data();
    const int rank = a.rank();
    if (rank != b.rank()) return false;
    for (int i = 0; i < rank; ++i) {
      if (x[i] != y[i]) return false;
    }
    return true;
  }

 private:
  friend class Tensor;
  // The shape [0] of a tensor that has no value. Many tensors start as one, so nothing is counted.
  struct NoValue {};
  explicit Shape(NoValue) : dims_(1), num_elements_(0) {}

  void Recount();

  absl::InlinedVector<int64_t, 6> dims_;
  int64_t num_elements_ = 1;
};

// A shape as far as it is known before a run: the rank may be unknown, and unknown dimensions are
// -1. A value type.
class PartialShape {
 public:
  // A shape of unknown rank.
  PartialShape() = default;
  PartialShape(std::initializer_list<int64_t> dims)
      : PartialShape(absl::Span<const int64_t>(dims.begin(), dims.size())) {}
  explicit PartialShape(absl::Span<const int64_t> dims)
      : known_rank_(true), dims_(dims.begin(), dims.end()) {}
  explicit PartialShape(const Shape& shape) : PartialShape(shape.dims()) {}
  static PartialShape UnknownOfRank(int rank) {
    return PartialShape(absl::InlinedVector<int64_t, 6>(rank, -1));
  }

  bool known_rank() const { return known_rank_; }
  int rank() const { return known_rank_ ? static_cast<int>(dims_.size()) : -1; }
  // Returns -1 if the dimension is unknown. Requires known_rank().
  int64_t dim(int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  void set_dim(int i, int64_t size) { dims_[i] = size; }
  void AddDim(int64_t size) { dims_.push_back(size); }
  bool IsFullyDefined() const;
  // Requires IsFullyDefined().
  absl::StatusOr<Shape> AsShape() const { return Shape::Make(dims_); }

  // Returns whether some shape agrees with both.
  bool IsCompatibleWith(const PartialShape& other) const;
  bool IsCompatibleWith(const Shape& other) const { return IsCompatibleWith(PartialShape(other)); }
  // Returns what is known from either shape. Errors: INVALID_ARGUMENT if they are incompatible.
  absl::StatusOr<PartialShape> MergeWith(const PartialShape& other) const;

  // Returns "[?,3]", or "<unknown>" if the rank is unknown.
  std::string ToString() const;

  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }

 private:
  bool known_rank_ = false;
  absl::InlinedVector<int64_t, 6> dims_;
};

// Returns a * b, or -1 if the product overflows or either factor is negative.
int64_t MultiplyWithoutOverflow(int64_t a, int64_t b);

}  // namespace tessera
