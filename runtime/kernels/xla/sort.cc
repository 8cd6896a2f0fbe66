// Sorting: XlaSort and XlaKeyValueSort by value, XlaVariadicSort by any comparator.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/xla/element_function.h"

namespace tessera {
namespace {

// Where the lines along one dimension of a tensor lie.
struct Lines {
  int64_t length = 1;
  int64_t stride = 1;
  int64_t count = 1;

  Lines(const Shape& shape, int dimension) : length(shape.dim(dimension)) {
    for (int d = dimension + 1; d < shape.rank(); ++d) stride *= shape.dim(d);
    count = length == 0 ? 0 : shape.num_elements() / length;
  }
  int64_t Position(int64_t line, int64_t i) const {
    return line / stride * stride * length + line % stride + i * stride;
  }
};

// Writes the elements of each line of input i to output i in the order `order`, which has the lines
// one after another.
absl::Status Reorder(KernelContext& ctx, int i, const Lines& lines,
                     const std::vector<int64_t>& order) {
  const Tensor& input = ctx.input(i);
  ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, input.shape()));
  if (input.num_elements() == 0) return absl::OkStatus();
  const size_t size = DTypeSize(input.dtype());
  char* const out = output->mutable_raw();
  for (int64_t line = 0; line < lines.count; ++line) {
    for (int64_t n = 0; n < lines.length; ++n) {
      const int64_t from = lines.Position(line, order[line * lines.length + n]);
      CopyElements(input.dtype(), input.raw() + from * size, out + lines.Position(line, n) * size,
                   1);
    }
  }
  return absl::OkStatus();
}

// Sorts by a comparator, by Batcher's odd-even merge network: all comparisons of a stage of it are
// one call. Ties are broken by position, so that it is stable.
class VariadicSortKernel final : public OpKernel {
 public:
  explicit VariadicSortKernel(const KernelBuild& build) : comparator_(build, "comparator") {}

  absl::Status Compute(KernelContext& ctx) override {
    const int count = ctx.num_outputs();
    const Shape& shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(const auto dimension, ReadInts(ctx.input(count), 1, "dimension"));
    if (dimension[0] < -shape.rank() || dimension[0] >= shape.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", dimension[0], " is not one of shape ", shape.ToString()));
    }
    for (int i = 1; i < count; ++i) {
      if (ctx.input(i).shape() != shape) {
        return absl::InvalidArgumentError("the inputs differ in shape");
      }
    }
    const Lines lines(shape, static_cast<int>((dimension[0] + shape.rank()) % shape.rank()));
    std::vector<int64_t> order(lines.count * lines.length);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i) % lines.length;
    const int64_t n = lines.count == 0 ? 0 : lines.length;
    for (int64_t p = 1; p < n; p *= 2) {
      for (int64_t k = p; k >= 1; k /= 2) {
        std::vector<int64_t> places;  // of the first of each pair
        for (int64_t j = k % p; j + k < n; j += 2 * k) {
          for (int64_t i = j; i < std::min(j + k, n - k); ++i) {
            if (i / (2 * p) == (i + k) / (2 * p)) places.push_back(i);
          }
        }
        RETURN_IF_ERROR(SortPairs(ctx, lines, places, k, &order));
      }
    }
    for (int i = 0; i < count; ++i) RETURN_IF_ERROR(Reorder(ctx, i, lines, order));
    return absl::OkStatus();
  }

 private:
  // Exchanges the elements at `places` with those `distance` behind them where these come first.
  absl::Status SortPairs(KernelContext& ctx, const Lines& lines, const std::vector<int64_t>& places,
                         int64_t distance, std::vector<int64_t>* order) const {
    if (places.empty() || lines.count == 0) return absl::OkStatus();
    std::vector<int64_t> first, second;
    for (int64_t line = 0; line < lines.count; ++line) {
      for (int64_t place : places) {
        const int64_t* const at = order->data() + line * lines.length + place;
        first.push_back(lines.Position(line, at[0]));
        second.push_back(lines.Position(line, at[distance]));
      }
    }
    std::vector<Tensor> forward, backward, is_before, is_behind;
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor a, Pick(ctx, ctx.input(i), first));
      ASSIGN_OR_RETURN(Tensor b, Pick(ctx, ctx.input(i), second));
      forward.insert(forward.end(), {a, b});
      backward.insert(backward.end(), {b, a});
    }
    RETURN_IF_ERROR(comparator_.Apply(ctx, forward, {DType::kBool}, &is_before));
    RETURN_IF_ERROR(comparator_.Apply(ctx, backward, {DType::kBool}, &is_behind));
    size_t pair = 0;
    for (int64_t line = 0; line < lines.count; ++line) {
      for (int64_t place : places) {
        int64_t* const at = order->data() + line * lines.length + place;
        const bool is_tie = is_before[0].flat<bool>()[pair] == is_behind[0].flat<bool>()[pair];
        if (is_tie ? at[distance] < at[0] : is_behind[0].flat<bool>()[pair]) {
          std::swap(at[0], at[distance]);
        }
        ++pair;
      }
    }
    return absl::OkStatus();
  }

  const ElementFunction comparator_;
};
REGISTER_KERNEL("XlaVariadicSort", kCpu, VariadicSortKernel);

// Returns a number that orders as element i of a real tensor does: for floats the total order of
// IEEE 754, with -NaN first and NaN last.
uint64_t OrderKey(const Tensor& tensor, int64_t i) {
  const size_t size = DTypeSize(tensor.dtype());
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.raw() + i * size, size);
  const uint64_t sign = uint64_t{1} << (8 * size - 1);
  const uint64_t mask = sign | (sign - 1);
  const DType dtype = tensor.dtype();
  const bool is_unsigned = IsUnsigned(dtype) || dtype == DType::kBool || dtype == DType::kQuint8 ||
                           dtype == DType::kQuint16;
  if (is_unsigned) return bits;
  if (!IsFloating(dtype)) return bits ^ sign;
  return bits & sign ? ~bits & mask : bits | sign;
}

// Sorts along the last dimension by the first input; the others follow it. Errors: UNIMPLEMENTED
// for complex numbers, unless there is nothing to sort.
class SortKernel final : public OpKernel {
 public:
  explicit SortKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& keys = ctx.input(0);
    if (ctx.num_inputs() == 2 && ctx.input(1).shape() != keys.shape()) {
      return absl::InvalidArgumentError("keys and values differ in shape");
    }
    // XLA takes scalars with values only.
    if (keys.rank() == 0 && ctx.num_inputs() == 1) {
      return absl::InvalidArgumentError("a scalar cannot be sorted");
    }
    const Shape shape = keys.rank() == 0 ? Shape{1} : keys.shape();
    const Lines lines(shape, shape.rank() - 1);
    const DType dtype = keys.dtype();
    const bool is_ordered =
        IsInteger(dtype) || IsFloating(dtype) || IsQuantized(dtype) || dtype == DType::kBool;
    if (!is_ordered && lines.length > 1 && keys.num_elements() > 0) {
      return absl::UnimplementedError(
          absl::StrCat("elements of ", DTypeName(dtype), " have no order"));
    }
    std::vector<int64_t> order(lines.count * lines.length);
    for (int64_t line = 0; line < lines.count; ++line) {
      const auto begin = order.begin() + line * lines.length;
      std::iota(begin, begin + lines.length, 0);
      if (lines.length <= 1) continue;
      std::stable_sort(begin, begin + lines.length, [&](int64_t a, int64_t b) {
        return OrderKey(keys, lines.Position(line, a)) < OrderKey(keys, lines.Position(line, b));
      });
    }
    for (int i = 0; i < ctx.num_inputs(); ++i) RETURN_IF_ERROR(Reorder(ctx, i, lines, order));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("XlaSort", kCpu, SortKernel);
REGISTER_KERNEL("XlaKeyValueSort", kCpu, SortKernel);

}  // namespace
}  // namespace tessera
