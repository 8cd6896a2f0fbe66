#include "runtime/tensor/shape.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {

int64_t MultiplyWithoutOverflow(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return -1;
  return product;
}

absl::StatusOr<Shape> Shape::Make(absl::Span<const int64_t> dims) {
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return absl::InvalidArgumentError(absl::StrCat("a shape of ", dims.size(),
                                                   " dimensions is too large: at most ", kMaxRank,
                                                   " are supported"));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("shape [", absl::StrJoin(dims, ","),
                                                     "] has negative dimension ", dims[i],
                                                     " at position ", i));
    }
  }
  Shape shape(dims);
  if (shape.num_elements_ < 0) {
    return absl::InvalidArgumentError(absl::StrCat("shape [", absl::StrJoin(dims, ","),
                                                   "] has more elements than fit in 64 bits"));
  }
  return shape;
}

// An invalid shape gets -1 elements, so that no tensor of it can be allocated.
void Shape::Recount() {
  int64_t count = 1;
  for (const int64_t dim : dims_) {
    count = MultiplyWithoutOverflow(count, dim);
    if (count < 0) break;
  }
  num_elements_ = count;
}

void Shape::AddDim(int64_t size) {
  dims_.push_back(size);
  num_elements_ = MultiplyWithoutOverflow(num_elements_, size);
}

void Shape::InsertDim(int i, int64_t size) {
  dims_.insert(dims_.begin() + i, size);
  Recount();
}

void Shape::RemoveDim(int i) {
  dims_.erase(dims_.begin() + i);
  Recount();
}

void Shape::SetDim(int i, int64_t size) {
  dims_[i] = size;
  Recount();
}

std::string Shape::ToString() const { return absl::StrCat("[", absl::StrJoin(dims_, ","), "]"); }

bool PartialShape::IsFullyDefined() const {
  if (!known_rank_) return false;
  for (const int64_t dim : dims_) {
    if (dim < 0) return false;
  }
  return true;
}

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (dims_.size() != other.dims_.size()) return false;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] >= 0 && other.dims_[i] >= 0 && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

absl::StatusOr<PartialShape> PartialShape::MergeWith(const PartialShape& other) const {
  if (!IsCompatibleWith(other)) {
    return absl::InvalidArgumentError(
        absl::StrCat("shapes ", ToString(), " and ", other.ToString(), " are incompatible"));
  }
  if (!known_rank_) return other;
  PartialShape merged = *this;
  if (other.known_rank_) {
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (merged.dims_[i] < 0) merged.dims_[i] = other.dims_[i];
    }
  }
  return merged;
}

std::string PartialShape::ToString() const {
  if (!known_rank_) return "<unknown>";
  return absl::StrCat("[",
                      absl::StrJoin(dims_, ",",
                                    [](std::string* out, int64_t dim) {
                                      absl::StrAppend(out, dim < 0 ? "?" : absl::StrCat(dim));
                                    }),
                      "]");
}

}  // namespace tessera
