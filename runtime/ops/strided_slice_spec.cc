#include "runtime/ops/strided_slice_spec.h"

#include <algorithm>
#include <bit>

#include "runtime/base/status.h"

namespace tessera {
namespace {

// One entry a dimension of the sliced tensor, ellipsis expanded.
struct DimRequest {
  int64_t begin = 0, end = 0, stride = 1;
  bool open_begin = true, open_end = true, shrink = false;
};
// Entries of the result's shape: a dimension of the sliced tensor, or a new one.
constexpr int kNewAxis = -1;

void Append(int64_t begin, int64_t stride, int64_t size, StridedSliceSpec* spec) {
  spec->begin.push_back(begin);
  spec->strides.push_back(stride);
  spec->sizes.push_back(size);
}

absl::Status ResolveDim(const DimRequest& request, int d, int64_t size, StridedSliceSpec* spec) {
  if (request.stride == 0) {
    return absl::InvalidArgumentError(absl::StrCat("strides of dimension ", d, " must not be 0"));
  }
  if (request.shrink) {
    if (request.stride < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", d, " is indexed, not ranged: its stride must be positive"));
    }
    const int64_t index = request.begin < 0 && size >= 0 ? size + request.begin : request.begin;
    if (size >= 0 && (index < 0 || index >= size)) {
      return absl::InvalidArgumentError(absl::StrCat("slice index ", request.begin,
                                                     " of dimension ", d,
                                                     " is out of bounds: its size is ", size));
    }
    Append(index, 1, 1, spec);
    return absl::OkStatus();
  }
  if (size < 0) {
    Append(request.begin, request.stride, -1, spec);
    return absl::OkStatus();
  }
  // A backward slice runs from the last element down to before the first.
  const bool forward = request.stride > 0;
  const int64_t low = forward ? 0 : -1;
  const int64_t high = forward ? size : size - 1;
  auto resolve = [&](int64_t x) { return std::clamp(x < 0 ? size + x : x, low, high); };
  const int64_t begin = request.open_begin ? (forward ? low : high) : resolve(request.begin);
  const int64_t end = request.open_end ? (forward ? high : low) : resolve(request.end);
  const int64_t span = end - begin;
  int64_t count = 0;
  if (span != 0 && (span < 0) == (request.stride < 0)) {
    count = span / request.stride + (span % request.stride != 0);
  }
  Append(begin, request.stride, count, spec);
  return absl::OkStatus();
}

// The strides of a shape without elements, which might overflow, are 0.
StridedSliceSpec::Vector RowMajor(const Shape& shape) {
  StridedSliceSpec::Vector strides(shape.rank());
  if (shape.num_elements() == 0) return strides;
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= shape.dim(d);
  }
  return strides;
}

}  // namespace

absl::StatusOr<StridedSliceMasks> StridedSliceMasks::FromAttrs(const AttrMap& attrs) {
  StridedSliceMasks masks;
  ASSIGN_OR_RETURN(masks.begin, GetAttr<int64_t>(attrs, "begin_mask"));
  ASSIGN_OR_RETURN(masks.end, GetAttr<int64_t>(attrs, "end_mask"));
  ASSIGN_OR_RETURN(masks.ellipsis, GetAttr<int64_t>(attrs, "ellipsis_mask"));
  ASSIGN_OR_RETURN(masks.new_axis, GetAttr<int64_t>(attrs, "new_axis_mask"));
  ASSIGN_OR_RETURN(masks.shrink_axis, GetAttr<int64_t>(attrs, "shrink_axis_mask"));
  return masks;
}

absl::StatusOr<StridedSliceSpec> StridedSliceSpec::Make(const PartialShape& input,
                                                        absl::Span<const int64_t> begin,
                                                        absl::Span<const int64_t> end,
                                                        absl::Span<const int64_t> strides,
                                                        const StridedSliceMasks& masks) {
  const int entries = static_cast<int>(begin.size());
  if (end.size() != begin.size() || strides.size() != begin.size() || entries >= 32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "begin, end and strides must have one length below 32, have ", begin.size(), ", ",
        end.size(), " and ", strides.size()));
  }
  if (std::popcount(static_cast<uint64_t>(masks.ellipsis)) > 1) {
    return absl::InvalidArgumentError("a slice can hold one ellipsis only");
  }
  auto bit = [](int64_t mask, int i) { return (mask >> i & 1) != 0; };
  int ellipsis = entries;  // none stands for one at the end
  int taken = 0;           // entries that each speak of one input dimension
  for (int i = 0; i < entries; ++i) {
    if (bit(masks.ellipsis, i)) {
      ellipsis = i;
    } else if (!bit(masks.new_axis, i)) {
      ++taken;
    }
  }
  if (taken > input.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("the slice indexes ", taken,
                                                   " dimensions, the tensor of shape ",
                                                   input.ToString(), " has fewer"));
  }

  absl::InlinedVector<DimRequest, 8> requests;
  absl::InlinedVector<int, 8> result_dims;
  auto expand_ellipsis = [&] {
    for (int n = input.rank() - taken; n > 0; --n) {
      result_dims.push_back(static_cast<int>(requests.size()));
      requests.emplace_back();
    }
  };
  for (int i = 0; i < entries; ++i) {
    if (i == ellipsis) {
      expand_ellipsis();
    } else if (bit(masks.new_axis, i)) {
      result_dims.push_back(kNewAxis);
    } else {
      const bool shrink = bit(masks.shrink_axis, i);
      if (!shrink) result_dims.push_back(static_cast<int>(requests.size()));
      requests.push_back(
          {begin[i], end[i], strides[i], bit(masks.begin, i), bit(masks.end, i), shrink});
    }
  }
  if (ellipsis == entries) expand_ellipsis();

  StridedSliceSpec spec;
  for (int d = 0; d < input.rank(); ++d) {
    RETURN_IF_ERROR(ResolveDim(requests[d], d, input.dim(d), &spec));
  }
  Vector dims;
  for (int d : result_dims) dims.push_back(d == kNewAxis ? 1 : spec.sizes[d]);
  spec.shape = PartialShape(absl::Span<const int64_t>(dims));
  return spec;
}

bool StridedSliceSpec::IsContiguous(const Shape& input) const {
  bool takes_several = false;  // elements of a dimension further out: those within must be whole
  for (int d = 0; d < input.rank(); ++d) {
    if (strides[d] != 1 && sizes[d] > 1) return false;
    if (takes_several && sizes[d] != input.dim(d)) return false;
    takes_several = takes_several || sizes[d] != 1;
  }
  return true;
}

int64_t StridedSliceSpec::Offset(const Shape& input) const {
  int64_t offset = 0;
  const Vector row_major = RowMajor(input);
  for (int d = 0; d < input.rank(); ++d) offset += begin[d] * row_major[d];
  return offset;
}

StridedSliceSpec::Vector StridedSliceSpec::ElementStrides(const Shape& input) const {
  Vector result = RowMajor(input);
  for (int d = 0; d < input.rank(); ++d) {
    // A lone element needs no step, and a huge one would overflow.
    result[d] = sizes[d] > 1 ? result[d] * strides[d] : 0;
  }
  return result;
}

}  // namespace tessera
