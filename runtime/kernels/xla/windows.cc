// XlaReduceWindow and XlaSelectAndScatter: reductions over windows, and their gradient.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/xla/element_function.h"

namespace tessera {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;

// How windows lie over an operand: all vectors have its rank.
struct WindowGeometry {
  std::vector<int64_t> operand, strides_of_operand, window, strides, base_dilations,
      window_dilations, low, high;
  std::vector<int64_t> result;

  // Computes the shape of the result. Errors: INVALID_ARGUMENT for extents that make no sense.
  absl::Status Complete(const Shape& shape) {
    const int rank = shape.rank();
    operand.assign(shape.dims().begin(), shape.dims().end());
    strides_of_operand.assign(rank, 1);
    for (int d = rank - 2; d >= 0; --d) {
      strides_of_operand[d] = strides_of_operand[d + 1] * operand[d + 1];
    }
    result.resize(rank);
    for (int d = 0; d < rank; ++d) {
      for (int64_t extent : {window[d], strides[d], base_dilations[d], window_dilations[d]}) {
        if (extent < 1 || extent > kMaxExtent) return Wrong(d);
      }
      for (int64_t padding : {low[d], high[d]}) {
        if (padding < -kMaxExtent || padding > kMaxExtent) return Wrong(d);
      }
      if ((operand[d] > 0 && operand[d] - 1 > kMaxExtent / base_dilations[d]) ||
          window[d] - 1 > kMaxExtent / window_dilations[d]) {
        return Wrong(d);
      }
      const int64_t dilated = operand[d] == 0 ? 0 : (operand[d] - 1) * base_dilations[d] + 1;
      const int64_t padded = low[d] + dilated + high[d];
      const int64_t reach = (window[d] - 1) * window_dilations[d] + 1;
      result[d] = padded < reach ? 0 : (padded - reach) / strides[d] + 1;
    }
    return Shape::Make(window).status();
  }

  static absl::Status Wrong(int d) {
    return absl::InvalidArgumentError(
        absl::StrCat("the window has no valid extent in dimension ", d));
  }

  // The elements of the operand that the windows have at `offset`, one a window; -1 for padding.
  std::vector<int64_t> ElementsAt(const std::vector<int64_t>& offset, int64_t count) const {
    std::vector<int64_t> elements;
    if (count == 0) return elements;
    elements.reserve(count);
    std::vector<int64_t> index(result.size(), 0);
    do {
      int64_t position = 0;
      for (size_t d = 0; d < result.size() && position >= 0; ++d) {
        const int64_t place = index[d] * strides[d] + offset[d] * window_dilations[d] - low[d];
        const int64_t i = place / base_dilations[d];
        const bool is_element = place >= 0 && place % base_dilations[d] == 0 && i < operand[d];
        position = is_element ? position + i * strides_of_operand[d] : -1;
      }
      elements.push_back(position);
    } while (Step(result, &index));
    return elements;
  }
};

// Splits [rank, 2] paddings.
absl::Status ReadPadding(const Tensor& padding, int rank, WindowGeometry* geometry) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, ReadInts(padding, 2 * rank, "padding"));
  for (int d = 0; d < rank; ++d) {
    geometry->low.push_back(values[2 * d]);
    geometry->high.push_back(values[2 * d + 1]);
  }
  return absl::OkStatus();
}

class ReduceWindowKernel final : public OpKernel {
 public:
  explicit ReduceWindowKernel(const KernelBuild& build)
      : computation_(build, "computation"), types_(build.output_types()) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.rank();
    WindowGeometry geometry;
    ASSIGN_OR_RETURN(geometry.window, ReadInts(ctx.input(2), rank, "window_dimensions"));
    ASSIGN_OR_RETURN(geometry.strides, ReadInts(ctx.input(3), rank, "window_strides"));
    ASSIGN_OR_RETURN(geometry.base_dilations, ReadInts(ctx.input(4), rank, "base_dilations"));
    ASSIGN_OR_RETURN(geometry.window_dilations, ReadInts(ctx.input(5), rank, "window_dilations"));
    RETURN_IF_ERROR(ReadPadding(ctx.input(6), rank, &geometry));
    RETURN_IF_ERROR(geometry.Complete(input.shape()));
    if (ctx.input(1).num_elements() != 1) {
      return absl::InvalidArgumentError("init_value must be a scalar");
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(geometry.result));
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor accumulated, Repeated(ctx, ctx.input(1), count));
    std::vector<int64_t> offset(rank, 0);
    std::vector<Tensor> results;
    const std::optional<WindowGeometry> padded = PaddedForDoubling(geometry, input, count);
    if (padded.has_value()) {
      ASSIGN_OR_RETURN(const Tensor values, ReduceByDoubling(ctx, geometry, *padded));
      RETURN_IF_ERROR(computation_.Apply(ctx, {accumulated, values}, types_, &results));
      CopyElements(output->dtype(), results[0].raw(), output->mutable_raw(), count);
      return absl::OkStatus();
    }
    do {
      ASSIGN_OR_RETURN(Tensor values,
                       Pick(ctx, input, geometry.ElementsAt(offset, count), &ctx.input(1)));
      RETURN_IF_ERROR(computation_.Apply(ctx, {accumulated, values}, types_, &results));
      accumulated = std::move(results[0]);
    } while (Step(geometry.window, &offset));
    CopyElements(output->dtype(), accumulated.raw(), output->mutable_raw(), count);
    return absl::OkStatus();
  }

 private:
  // Returns how the padded operand lies if large windows lie side by side, as those of cumulative
  // sums do, of which each shares all elements but one with the next.
  static std::optional<WindowGeometry> PaddedForDoubling(const WindowGeometry& geometry,
                                                         const Tensor& input, int64_t count) {
    constexpr int64_t kMinWindow = 16;
    int64_t size = 1, padded = 1;
    WindowGeometry whole = geometry;
    for (size_t d = 0; d < geometry.window.size(); ++d) {
      if (geometry.strides[d] != 1 || geometry.base_dilations[d] != 1 ||
          geometry.window_dilations[d] != 1) {
        return std::nullopt;
      }
      whole.window[d] = 1;
      size = MultiplyWithoutOverflow(size, geometry.window[d]);
      if (size < 0) return std::nullopt;
    }
    if (size < kMinWindow || !whole.Complete(input.shape()).ok()) return std::nullopt;
    for (int64_t extent : whole.result) {
      padded = MultiplyWithoutOverflow(padded, extent);
      if (padded < 0) return std::nullopt;
    }
    const bool is_small = padded / 4 <= input.num_elements() + count;
    return is_small ? std::make_optional(std::move(whole)) : std::nullopt;
  }

  // Reduces the windows of one dimension after another, without the initial value. Windows of twice
  // the length are made of two that lie behind each other.
  absl::StatusOr<Tensor> ReduceByDoubling(KernelContext& ctx, const WindowGeometry& geometry,
                                          const WindowGeometry& padded) const {
    std::vector<int64_t> extents = padded.result;
    int64_t count = 1;
    for (int64_t extent : extents) count *= extent;
    const std::vector<int64_t> start(extents.size(), 0);
    ASSIGN_OR_RETURN(Tensor values,
                     Pick(ctx, ctx.input(0), padded.ElementsAt(start, count), &ctx.input(1)));
    for (size_t d = 0; d < extents.size(); ++d) {
      int64_t inner = 1;
      for (size_t e = d + 1; e < extents.size(); ++e) inner *= extents[e];
      const int64_t window = geometry.window[d];
      Tensor windows, power = values;  // of the lengths `length` and `bit`
      int64_t length = 0;
      for (int64_t bit = 1; bit <= window; bit *= 2) {
        if ((window & bit) != 0) {
          if (length == 0) {
            windows = power;
          } else {
            ASSIGN_OR_RETURN(windows, Join(ctx, windows, extents[d] - length + 1, power,
                                           extents[d] - bit + 1, length, inner));
          }
          length += bit;
        }
        if (bit * 2 > window) break;
        const int64_t extent = extents[d] - bit + 1;
        ASSIGN_OR_RETURN(power, Join(ctx, power, extent, power, extent, bit, inner));
      }
      values = std::move(windows);
      extents[d] -= window - 1;
    }
    return values;
  }

  // Reduces the windows `first` with those of `second` that lie `distance` further along a
  // dimension, which has this many of both.
  absl::StatusOr<Tensor> Join(KernelContext& ctx, const Tensor& first, int64_t num_first,
                              const Tensor& second, int64_t num_second, int64_t distance,
                              int64_t inner) const {
    const int64_t count = std::min(num_first, num_second - distance);
    ASSIGN_OR_RETURN(const Tensor a, Part(ctx, first, num_first, 0, count, inner));
    ASSIGN_OR_RETURN(const Tensor b, Part(ctx, second, num_second, distance, count, inner));
    std::vector<Tensor> results;
    RETURN_IF_ERROR(computation_.Apply(ctx, {a, b}, types_, &results));
    return std::move(results[0]);
  }

  // Elements [begin, begin + count) along a dimension of `extent`, as a vector.
  static absl::StatusOr<Tensor> Part(KernelContext& ctx, const Tensor& values, int64_t extent,
                                     int64_t begin, int64_t count, int64_t inner) {
    const int64_t outer = values.num_elements() / (extent * inner);
    ASSIGN_OR_RETURN(Tensor part, ctx.AllocateTemp(values.dtype(), {outer * count * inner}));
    const size_t size = DTypeSize(values.dtype());
    for (int64_t o = 0; o < outer; ++o) {
      CopyElements(values.dtype(), values.raw() + (o * extent + begin) * inner * size,
                   part.mutable_raw() + o * count * inner * size, count * inner);
    }
    return part;
  }

  const ElementFunction computation_;
  const std::vector<DType> types_;
};
REGISTER_KERNEL("XlaReduceWindow", kCpu, ReduceWindowKernel);

class SelectAndScatterKernel final : public OpKernel {
 public:
  explicit SelectAndScatterKernel(const KernelBuild& build)
      : select_(build, "select"), scatter_(build, "scatter"), types_(build.output_types()) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& operand = ctx.input(0);
    const Tensor& source = ctx.input(4);
    const int rank = operand.rank();
    WindowGeometry geometry;
    ASSIGN_OR_RETURN(geometry.window, ReadInts(ctx.input(1), rank, "window_dimensions"));
    ASSIGN_OR_RETURN(geometry.strides, ReadInts(ctx.input(2), rank, "window_strides"));
    geometry.base_dilations.assign(rank, 1);
    geometry.window_dilations.assign(rank, 1);
    RETURN_IF_ERROR(ReadPadding(ctx.input(3), rank, &geometry));
    RETURN_IF_ERROR(geometry.Complete(operand.shape()));
    if (source.shape() != Shape(absl::Span<const int64_t>(geometry.result))) {
      return absl::InvalidArgumentError(absl::StrCat("source has shape ", source.shape().ToString(),
                                                     ", not one element a window"));
    }
    if (ctx.input(5).num_elements() != 1) {
      return absl::InvalidArgumentError("init_value must be a scalar");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, operand.shape()));
    if (operand.num_elements() == 0) return absl::OkStatus();
    Put(*Repeated(ctx, ctx.input(5), operand.num_elements()), Identity(operand.num_elements()),
        output);
    const int64_t count = source.num_elements();
    if (count == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<int64_t> selected, SelectElements(ctx, geometry, count));
    // Windows that have their element at one offset have different elements.
    std::vector<int64_t> offset(rank, 0);
    do {
      const std::vector<int64_t> elements = geometry.ElementsAt(offset, count);
      std::vector<int64_t> targets, sources;
      for (int64_t i = 0; i < count; ++i) {
        if (elements[i] < 0 || elements[i] != selected[i]) continue;
        targets.push_back(elements[i]);
        sources.push_back(i);
      }
      if (targets.empty()) continue;
      ASSIGN_OR_RETURN(Tensor old, Pick(ctx, *output, targets));
      ASSIGN_OR_RETURN(Tensor added, Pick(ctx, source, sources));
      std::vector<Tensor> results;
      RETURN_IF_ERROR(scatter_.Apply(ctx, {old, added}, types_, &results));
      Put(results[0], targets, output);
    } while (Step(geometry.window, &offset));
    return absl::OkStatus();
  }

 private:
  static std::vector<int64_t> Identity(int64_t count) {
    std::vector<int64_t> positions(count);
    for (int64_t i = 0; i < count; ++i) positions[i] = i;
    return positions;
  }

  // The element that `select` prefers in each window; -1 for a window of padding.
  absl::StatusOr<std::vector<int64_t>> SelectElements(KernelContext& ctx,
                                                      const WindowGeometry& geometry,
                                                      int64_t count) const {
    std::vector<int64_t> selected(count, -1);
    std::vector<int64_t> offset(geometry.window.size(), 0);
    do {
      const std::vector<int64_t> elements = geometry.ElementsAt(offset, count);
      std::vector<int64_t> windows, held, offered;
      for (int64_t i = 0; i < count; ++i) {
        if (elements[i] < 0) continue;
        if (selected[i] < 0) {
          selected[i] = elements[i];
        } else {
          windows.push_back(i);
          held.push_back(selected[i]);
          offered.push_back(elements[i]);
        }
      }
      if (windows.empty()) continue;
      ASSIGN_OR_RETURN(Tensor a, Pick(ctx, ctx.input(0), held));
      ASSIGN_OR_RETURN(Tensor b, Pick(ctx, ctx.input(0), offered));
      std::vector<Tensor> keeps;
      RETURN_IF_ERROR(select_.Apply(ctx, {a, b}, {DType::kBool}, &keeps));
      for (size_t i = 0; i < windows.size(); ++i) {
        if (!keeps[0].flat<bool>()[i]) selected[windows[i]] = offered[i];
      }
    } while (Step(geometry.window, &offset));
    return selected;
  }

  const ElementFunction select_;
  const ElementFunction scatter_;
  const std::vector<DType> types_;
};
REGISTER_KERNEL("XlaSelectAndScatter", kCpu, SelectAndScatterKernel);

}  // namespace
}  // namespace tessera
