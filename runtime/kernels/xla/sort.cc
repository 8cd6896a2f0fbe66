// Sorting: XlaSort and XlaKeyValueSort by value, _SortByKey by a key of each element, and
// XlaVariadicSort by any comparator.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
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

// Writes the elements of each line of an input to an output in the order `order`, which has the
// lines one after another.
absl::Status Reorder(KernelContext& ctx, int from_input, int to_output, const Lines& lines,
                     const std::vector<int64_t>& order) {
  const Tensor& input = ctx.input(from_input);
  ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(to_output, input.shape()));
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
    for (int i = 0; i < count; ++i) RETURN_IF_ERROR(Reorder(ctx, i, i, lines, order));
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
REGISTER_KERNEL("_CapturingXlaVariadicSort", kCpu, VariadicSortKernel);

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

// Sorts one line after another. Keeps its memory.
class LineSorter {
 public:
  // Writes the positions of the elements of a line to `order`, by ascending or descending keys.
  // Equal keys keep their order.
  void Sort(const Tensor& keys, const Lines& lines, int64_t line, bool is_descending,
            int64_t* order) {
    items_.resize(lines.length);
    const uint64_t turn = is_descending ? ~uint64_t{0} : 0;
    uint64_t all = ~uint64_t{0}, any = 0;
    for (int64_t i = 0; i < lines.length; ++i) {
      const uint64_t key = OrderKey(keys, lines.Position(line, i)) ^ turn;
      items_[i] = {key, i};
      all &= key;
      any |= key;
    }
    if (lines.length < kMinRadix) {
      std::sort(items_.begin(), items_.end());
    } else {
      SortByDigits(all ^ any);
    }
    for (int64_t i = 0; i < lines.length; ++i) order[i] = items_[i].second;
  }

 private:
  using Item = std::pair<uint64_t, int64_t>;  // a key, and the position of its element
  static constexpr int kDigitBits = 11;
  // Fewer elements are sorted by comparisons.
  static constexpr int64_t kMinRadix = 2048;

  // Sorts by one digit after another, the lowest first, but for those that are the same in all
  // keys.
  void SortByDigits(uint64_t differing) {
    constexpr uint64_t kDigit = (uint64_t{1} << kDigitBits) - 1;
    spare_.resize(items_.size());
    for (int shift = 0; shift < 64; shift += kDigitBits) {
      if ((differing >> shift & kDigit) == 0) continue;
      std::array<int64_t, kDigit + 1> ends{};
      for (const Item& item : items_) ++ends[item.first >> shift & kDigit];
      int64_t end = 0;
      for (int64_t& count : ends) count = std::exchange(end, end + count);
      for (const Item& item : items_) spare_[ends[item.first >> shift & kDigit]++] = item;
      items_.swap(spare_);
    }
  }

  std::vector<Item> items_, spare_;
};

// The order of all lines, one after another.
std::vector<int64_t> OrderOf(KernelContext& ctx, const Tensor& keys, const Lines& lines,
                             bool is_descending) {
  std::vector<int64_t> order(lines.count * lines.length);
  const double cost = 20.0 * static_cast<double>(lines.length);
  ctx.ParallelFor(lines.count, cost, [&](int64_t begin, int64_t end) {
    LineSorter sorter;
    for (int64_t line = begin; line < end; ++line) {
      sorter.Sort(keys, lines, line, is_descending, order.data() + line * lines.length);
    }
  });
  return order;
}

class SortByKeyKernel final : public OpKernel {
 public:
  explicit SortByKeyKernel(const KernelBuild& build)
      : dimension_(build.attr<int64_t>("dimension")),
        is_descending_(build.attr<bool>("is_descending")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& keys = ctx.input(0);
    const int rank = keys.rank();
    if (dimension_ < -rank || dimension_ >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", dimension_, " is not one of shape ", keys.shape().ToString()));
    }
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() != keys.shape()) {
        return absl::InvalidArgumentError("the keys and the values differ in shape");
      }
    }
    const Lines lines(keys.shape(), static_cast<int>((dimension_ + rank) % rank));
    const std::vector<int64_t> order = OrderOf(ctx, keys, lines, is_descending_);
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      RETURN_IF_ERROR(Reorder(ctx, i + 1, i, lines, order));
    }
    return absl::OkStatus();
  }

 private:
  const int64_t dimension_;
  const bool is_descending_;
};
REGISTER_KERNEL("_SortByKey", kCpu, SortByKeyKernel);

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
    // A line of one element may be of any dtype.
    std::vector<int64_t> order(lines.count * lines.length, 0);
    if (lines.length > 1) order = OrderOf(ctx, keys, lines, /*is_descending=*/false);
    for (int i = 0; i < ctx.num_inputs(); ++i) RETURN_IF_ERROR(Reorder(ctx, i, i, lines, order));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("XlaSort", kCpu, SortKernel);
REGISTER_KERNEL("XlaKeyValueSort", kCpu, SortKernel);

}  // namespace
}  // namespace tessera
