#include "runtime/kernels/primitives/strided_operands.h"

#include "absl/algorithm/container.h"

namespace tessera {
namespace {

// Returns the product of a stride and a size, or 0 if it overflows: it does where a shape has no
// elements, and nothing is at its strides.
int64_t NextStride(int64_t stride, int64_t size) {
  int64_t next = 0;
  return __builtin_mul_overflow(stride, size, &next) ? 0 : next;
}

}  // namespace

ByteStrides RowMajorByteStrides(const Shape& shape, int64_t element_size) {
  ByteStrides strides(shape.rank());
  int64_t stride = element_size;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride = NextStride(stride, shape.dim(i));
  }
  return strides;
}

ByteStrides BroadcastByteStrides(const Shape& shape, const Shape& result, int64_t element_size) {
  ByteStrides strides(result.rank(), 0);
  const int offset = result.rank() - shape.rank();
  int64_t stride = element_size;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape.dim(i) != 1) strides[i + offset] = stride;
    stride = NextStride(stride, shape.dim(i));
  }
  return strides;
}

void StridedOperands::Add(const void* data, absl::Span<const int64_t> strides) {
  data_[num_operands_] = const_cast<char*>(static_cast<const char*>(data));
  strides_[num_operands_].assign(strides.begin(), strides.end());
  ++num_operands_;
}

int64_t StridedOperands::num_elements() const {
  if (absl::c_linear_search(dims_, 0)) return 0;
  int64_t product = 1;
  for (const int64_t dim : dims_) product *= dim;
  return product;
}

// Works in place: `kept` counts the dimensions that stay, which are moved to the front.
void StridedOperands::Coalesce() {
  if (num_elements() == 0) {
    dims_.assign(1, 0);
    for (int o = 0; o < num_operands_; ++o) strides_[o].assign(1, 0);
    return;
  }
  int kept = 0;
  for (int d = 0; d < static_cast<int>(dims_.size()); ++d) {
    if (dims_[d] == 1) continue;
    bool merges = kept > 0;
    for (int o = 0; merges && o < num_operands_; ++o) {
      merges = strides_[o][kept - 1] == strides_[o][d] * dims_[d];
    }
    if (merges) {
      dims_[kept - 1] *= dims_[d];
    } else {
      dims_[kept] = dims_[d];
    }
    const int target = merges ? kept - 1 : kept++;
    for (int o = 0; o < num_operands_; ++o) strides_[o][target] = strides_[o][d];
  }
  dims_.resize(kept);
}

}  // namespace tessera
