// XlaReduceWindow: reductions over windows.
#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/xla/combiner.h"
#include "runtime/kernels/xla/element_function.h"
#include "runtime/kernels/xla/window_geometry.h"

namespace tessera {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : a / b; }

// Windows over one dimension of an array, which has `inner` elements behind each index of it.
struct LineWindows {
  int64_t outer, extent, inner, result, window, stride, dilation, low;
};

// Reduces the elements of each window that are no padding; windows of padding alone get the
// identity.
template <typename T, typename Function>
void ReduceLines(KernelContext& ctx, const LineWindows& w, Function combine, const T* from, T* to) {
  const T identity = Function::template Identity<T>();
  if (w.inner == 1) {
    const double cost = 0.5 * static_cast<double>(w.result * w.window);
    ctx.ParallelFor(w.outer, cost, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        T* const line = to + o * w.result;
        std::fill_n(line, w.result, identity);
        for (int64_t k = 0; k < w.window; ++k) {
          const int64_t offset = k * w.dilation - w.low;
          const int64_t first = std::max<int64_t>(CeilDiv(-offset, w.stride), 0);
          const int64_t last = std::min(CeilDiv(w.extent - offset, w.stride), w.result);
          const T* const values = from + o * w.extent;
          const auto reduce = [=](auto stride) {
            for (int64_t r = first; r < last; ++r) {
              line[r] = combine(line[r], values[r * stride + offset]);
            }
          };
          // The compiler makes vectors of strides that it knows.
          if (w.stride == 1) {
            reduce(std::integral_constant<int64_t, 1>());
          } else if (w.stride == 2) {
            reduce(std::integral_constant<int64_t, 2>());
          } else {
            reduce(w.stride);
          }
        }
      }
    });
    return;
  }
  const double cost = 0.2 * static_cast<double>(w.inner * w.window);
  ctx.ParallelFor(w.outer * w.result, cost, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      T* const line = to + item * w.inner;
      const T* const values = from + item / w.result * w.extent * w.inner;
      const int64_t place = item % w.result * w.stride - w.low;
      const int64_t first = std::max<int64_t>(CeilDiv(-place, w.dilation), 0);
      const int64_t last = std::min(CeilDiv(w.extent - place, w.dilation), w.window);
      if (first >= last) std::fill_n(line, w.inner, identity);
      for (int64_t k = first; k < last; ++k) {
        const T* const row = values + (place + k * w.dilation) * w.inner;
        if (k == first) {
          std::copy_n(row, w.inner, line);
        } else {
          for (int64_t i = 0; i < w.inner; ++i) line[i] = combine(line[i], row[i]);
        }
      }
    }
  });
}

// Elements of padding have no part in a window, as in XLA on CPUs: only windows of padding alone
// are the initial value.
class ReduceWindowKernel final : public OpKernel {
 public:
  explicit ReduceWindowKernel(const KernelBuild& build)
      : combiner_(CombinerOf(build, "computation")),
        computation_(build, "computation"),
        types_(build.output_types()) {}

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
    const std::optional<WindowGeometry> padded = PaddedForDoubling(geometry, input, count);
    const bool is_long = std::any_of(geometry.window.begin(), geometry.window.end(),
                                     [](int64_t extent) { return extent > 32; });
    if (CombinesInAnyOrder(input.dtype()) && IsReducedByDimensions(geometry, input, count) &&
        !(padded.has_value() && is_long)) {
      return ReduceByDimensions(ctx, geometry, output);
    }
    ASSIGN_OR_RETURN(Tensor accumulated, Repeated(ctx, ctx.input(1), count));
    std::vector<Tensor> results;
    if (padded.has_value()) {
      ASSIGN_OR_RETURN(const Tensor identity, Identity(ctx));
      ASSIGN_OR_RETURN(const bool has_identity, IsIdentity(ctx, identity));
      if (has_identity) {
        ASSIGN_OR_RETURN(const Tensor values, ReduceByDoubling(ctx, geometry, *padded, identity));
        RETURN_IF_ERROR(computation_.Apply(ctx, {accumulated, values}, types_, &results));
        CopyElements(output->dtype(), results[0].raw(), output->mutable_raw(), count);
        return absl::OkStatus();
      }
    }
    const size_t size = DTypeSize(output->dtype());
    std::vector<int64_t> offset(rank, 0);
    do {
      const std::vector<int64_t> elements = geometry.ElementsAt(offset, count);
      ASSIGN_OR_RETURN(Tensor values, Pick(ctx, input, elements, &ctx.input(1)));
      RETURN_IF_ERROR(computation_.Apply(ctx, {accumulated, values}, types_, &results));
      for (int64_t i = 0; i < count; ++i) {
        if (elements[i] >= 0) continue;
        CopyElements(output->dtype(), accumulated.raw() + i * size,
                     results[0].mutable_raw() + i * size, 1);
      }
      accumulated = std::move(results[0]);
    } while (Step(geometry.window, &offset));
    CopyElements(output->dtype(), accumulated.raw(), output->mutable_raw(), count);
    return absl::OkStatus();
  }

 private:
  // Whether the function needs no call, and gives the same for whatever order of its operands, but
  // for the last bit. Sums of narrow floats lose more than that.
  bool CombinesInAnyOrder(DType dtype) const {
    const bool is_narrow = dtype == DType::kHalf || dtype == DType::kBfloat16;
    const bool selects = combiner_ == Combiner::kMaximum || combiner_ == Combiner::kMinimum;
    return CombinesNumbers(combiner_, dtype) && (!is_narrow || selects);
  }

  // Whether windows can be reduced in one dimension after another without much more memory than the
  // operand and the result take.
  static bool IsReducedByDimensions(const WindowGeometry& geometry, const Tensor& input,
                                    int64_t count) {
    std::vector<int64_t> extents = geometry.operand;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (geometry.base_dilations[d] != 1) return false;
      extents[d] = geometry.result[d];
      int64_t size = 1;
      for (int64_t extent : extents) {
        size = MultiplyWithoutOverflow(size, extent);
        if (size < 0) return false;
      }
      if (size / 4 > input.num_elements() + count) return false;
    }
    return true;
  }

  absl::Status ReduceByDimensions(KernelContext& ctx, const WindowGeometry& geometry,
                                  Tensor* output) const {
    return VisitCombiner(combiner_, output->dtype(), [&]<typename T>(auto combine) -> absl::Status {
      std::vector<int64_t> extents = geometry.operand;
      Tensor values = ctx.input(0);
      for (size_t d = 0; d < extents.size(); ++d) {
        LineWindows w = {.outer = 1,
                         .extent = extents[d],
                         .inner = 1,
                         .result = geometry.result[d],
                         .window = geometry.window[d],
                         .stride = geometry.strides[d],
                         .dilation = geometry.window_dilations[d],
                         .low = geometry.low[d]};
        if (w.window == 1 && w.stride == 1 && w.low == 0 && w.result == w.extent) continue;
        RETURN_IF_ERROR(ctx.CheckGoingOn());
        for (size_t e = 0; e < d; ++e) w.outer *= extents[e];
        for (size_t e = d + 1; e < extents.size(); ++e) w.inner *= extents[e];
        ASSIGN_OR_RETURN(Tensor reduced,
                         ctx.AllocateTemp(output->dtype(), {w.outer * w.result * w.inner}));
        ReduceLines(ctx, w, combine, values.flat<T>().data(), reduced.data<T>());
        values = std::move(reduced);
        extents[d] = w.result;
      }
      const T init = ctx.input(1).flat<T>()[0];
      const T* const from = values.flat<T>().data();
      T* const to = output->data<T>();
      ctx.ParallelFor(output->num_elements(), 0.3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = combine(init, from[i]);
      });
      return absl::OkStatus();
    });
  }

  // A value for padding: the identity of a function that is known, or else the initial value.
  absl::StatusOr<Tensor> Identity(KernelContext& ctx) const {
    const DType dtype = ctx.input(1).dtype();
    if (!CombinesNumbers(combiner_, dtype)) return ctx.input(1);
    ASSIGN_OR_RETURN(Tensor identity, ctx.AllocateTemp(dtype, {}));
    RETURN_IF_ERROR(VisitCombiner(combiner_, dtype, [&]<typename T>(auto combine) {
      *identity.data<T>() = decltype(combine)::template Identity<T>();
      return absl::OkStatus();
    }));
    return identity;
  }

  // Whether the function leaves the elements of the operand and `identity` itself as they are if it
  // combines them with `identity`.
  absl::StatusOr<bool> IsIdentity(KernelContext& ctx, const Tensor& identity) const {
    if (CombinesNumbers(combiner_, identity.dtype())) return true;
    std::vector<int64_t> all = {-1};
    for (int64_t i = 0; i < ctx.input(0).num_elements(); ++i) all.push_back(i);
    ASSIGN_OR_RETURN(const Tensor elements, Pick(ctx, ctx.input(0), all, &identity));
    ASSIGN_OR_RETURN(const Tensor repeated, Repeated(ctx, identity, elements.num_elements()));
    std::vector<Tensor> results;
    RETURN_IF_ERROR(computation_.Apply(ctx, {repeated, elements}, types_, &results));
    return IsTriviallyCopyable(elements.dtype()) &&
           std::memcmp(results[0].raw(), elements.raw(), elements.size_bytes()) == 0;
  }

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
                                          const WindowGeometry& padded,
                                          const Tensor& identity) const {
    std::vector<int64_t> extents = padded.result;
    int64_t count = 1;
    for (int64_t extent : extents) count *= extent;
    const std::vector<int64_t> start(extents.size(), 0);
    ASSIGN_OR_RETURN(Tensor values,
                     Pick(ctx, ctx.input(0), padded.ElementsAt(start, count), &identity));
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

  const Combiner combiner_;
  const ElementFunction computation_;
  const std::vector<DType> types_;
};
REGISTER_KERNEL("XlaReduceWindow", kCpu, ReduceWindowKernel);
REGISTER_KERNEL("_CapturingXlaReduceWindow", kCpu, ReduceWindowKernel);

}  // namespace
}  // namespace tessera
