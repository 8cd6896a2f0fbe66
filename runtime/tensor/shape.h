// Shape (all dimensions known) and PartialShape (rank or dimensions may be unknown).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tessera {

inline constexpr int kMaxRank = 254;

// The dimensions of a tensor, each >= 0, whose product fits in int64. A scalar has rank 0.
// A value type; six dimensions are stored inline.
class Shape {
 public:
  Shape() = default;
  // For shapes known to be valid (computed from valid ones without growth, or literals).
  Shape(std::initializer_list<int64_t> dims)
      : Shape(absl::Span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) { Recount(); }

  // For dimensions that come from outside.
  // Errors: INVALID_ARGUMENT if one is negative, the product overflows, or there are over kMaxRank.
  static absl::StatusOr<Shape> Make(absl::Span<const int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  int64_t operator[](int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return dims_.empty(); }
  bool IsVector() const { return dims_.size() == 1; }
  bool IsMatrix() const { return dims_.size() == 2; }

  void AddDim(int64_t size) { InsertDim(rank(), size); }
  void InsertDim(int i, int64_t size);
  void RemoveDim(int i);
  void SetDim(int i, int64_t size);

  // "[2,3]", "[]" for a scalar: TensorFlow's form.
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b) { return a.dims_ == b.dims_; }

 private:
  void Recount();

  absl::InlinedVector<int64_t, 6> dims_;
  int64_t num_elements_ = 1;
};

// A shape as far as it is known before a run: rank unknown, or some dimensions -1. A value type.
class PartialShape {
 public:
  // Unknown rank.
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
  // -1 if unknown. Requires known_rank().
  int64_t dim(int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  void set_dim(int i, int64_t size) { dims_[i] = size; }
  void AddDim(int64_t size) { dims_.push_back(size); }
  bool IsFullyDefined() const;
  // Requires IsFullyDefined().
  absl::StatusOr<Shape> AsShape() const { return Shape::Make(dims_); }

  // True if some shape fits both.
  bool IsCompatibleWith(const PartialShape& other) const;
  bool IsCompatibleWith(const Shape& other) const { return IsCompatibleWith(PartialShape(other)); }
  // What is known from either. Errors: INVALID_ARGUMENT if they are incompatible.
  absl::StatusOr<PartialShape> MergeWith(const PartialShape& other) const;

  // "[?,3]", "<unknown>".
  std::string ToString() const;

  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }

 private:
  bool known_rank_ = false;
  absl::InlinedVector<int64_t, 6> dims_;
};

// a * b, or -1 if it overflows or either is negative.
int64_t MultiplyWithoutOverflow(int64_t a, int64_t b);

}  // namespace tessera
