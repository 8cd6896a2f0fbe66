// XlaRngBitGenerator: random bits from a counter and a key, as XLA derives them.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/xla/threefry.h"

namespace tessera {
namespace {

// Where ThreeFry's two words of a block go: to neighbours along the first axis of even size, or
// along the longest one if all are odd.
struct PairedAxis {
  explicit PairedAxis(const Shape& shape) {
    if (shape.rank() == 0) return;
    const auto dims = shape.dims();
    const auto even = std::find_if(dims.begin(), dims.end(), [](int64_t d) { return d % 2 == 0; });
    const auto axis = even != dims.end() ? even : std::max_element(dims.begin(), dims.end());
    size = *axis;
    for (auto d = axis + 1; d != dims.end(); ++d) stride *= *d;
  }
  int64_t half() const { return (size + 1) / 2; }

  int64_t size = 1, stride = 1;
};

// Inputs: the algorithm, a state of the key and a counter of one or two numbers, and the shape.
// Outputs: the state with the counter moved on, and the bits.
// Errors: INVALID_ARGUMENT for an unknown algorithm or a state of the wrong size.
class RandomBitsKernel final : public OpKernel {
 public:
  explicit RandomBitsKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& algorithm = ctx.input(0);
    const Tensor& state = ctx.input(1);
    if (!algorithm.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the algorithm must be a scalar, has shape ", algorithm.shape().ToString()));
    }
    const int32_t number = algorithm.scalar<int32_t>();
    if (!IsPhilox(number) && number != kThreeFry) return UnknownAlgorithm(number);
    const int64_t most = IsPhilox(number) ? 3 : 2;
    if (!state.shape().IsVector() || state.dim(0) < 2 || state.dim(0) > most) {
      return absl::InvalidArgumentError(absl::StrCat("initial_state must have 2 to ", most,
                                                     " elements, has shape ",
                                                     state.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(2)));
    ASSIGN_OR_RETURN(Tensor* const next, ctx.AllocateOutput(0, state.shape()));
    ASSIGN_OR_RETURN(Tensor* const bits, ctx.AllocateOutput(1, shape));
    const auto* const from = state.data<uint64_t>();
    auto* const to = next->data<uint64_t>();
    std::copy_n(from, state.dim(0), to);
    switch (bits->dtype()) {
      case DType::kUint8:
        return Draw<uint8_t>(ctx, number, to, bits);
      case DType::kUint32:
        return Draw<uint32_t>(ctx, number, to, bits);
      default:
        return Draw<uint64_t>(ctx, number, to, bits);
    }
  }

 private:
  // `state` is moved on.
  template <typename T>
  static absl::Status Draw(KernelContext& ctx, int32_t number, uint64_t* state, Tensor* bits) {
    const int64_t count = bits->num_elements();
    if (count == 0) return absl::OkStatus();
    if (number == kThreeFry) {
      DrawThreeFry<T>(ctx, state[0], std::exchange(state[1], Advanced<T>(state[1], *bits)), bits);
      return absl::OkStatus();
    }
    constexpr int64_t kNumbers = sizeof(T) == 8 ? 2 : 4;  // in a block
    const int64_t blocks = (count + kNumbers - 1) / kNumbers;
    const bool is_wide = ctx.input(1).dim(0) == 3;
    const Philox first(state[0], state[1], is_wide ? state[2] : state[0]);
    Philox end = first;
    end.Skip(static_cast<uint64_t>(blocks));
    state[1] = end.counter_low();
    if (is_wide) state[2] = end.counter_high();
    T* const out = bits->data<T>();
    ctx.ParallelFor(blocks, 20, [&](int64_t begin, int64_t stop) {
      Philox generator = first;
      generator.Skip(static_cast<uint64_t>(begin));
      for (int64_t b = begin; b < stop; ++b) {
        const Philox::Block block = generator.Next();
        const int64_t numbers = std::min(kNumbers, count - b * kNumbers);
        for (int64_t i = 0; i < numbers; ++i) {
          if constexpr (sizeof(T) == 8) {
            out[b * 2 + i] = block[2 * i] | uint64_t{block[2 * i + 1]} << 32;
          } else {
            out[b * 4 + i] = static_cast<T>(block[i]);
          }
        }
      }
    });
    return absl::OkStatus();
  }

  // The counter after the bits.
  template <typename T>
  static uint64_t Advanced(uint64_t counter, const Tensor& bits) {
    const auto count = static_cast<uint64_t>(bits.num_elements());
    if (sizeof(T) == 8) return counter + count;
    const PairedAxis axis(bits.shape());
    return counter + count / static_cast<uint64_t>(axis.size) * static_cast<uint64_t>(axis.half());
  }

  template <typename T>
  static void DrawThreeFry(KernelContext& ctx, uint64_t key, uint64_t counter, Tensor* bits) {
    T* const out = bits->data<T>();
    const PairedAxis axis(bits->shape());
    ctx.ParallelFor(bits->num_elements(), 40, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (sizeof(T) == 8) {
          out[i] = ThreeFry(key, counter + static_cast<uint64_t>(i));
        } else {
          const int64_t inner = i % axis.stride, along = i / axis.stride % axis.size;
          const int64_t outer = i / (axis.stride * axis.size);
          const int64_t block = (outer * axis.half() + along / 2) * axis.stride + inner;
          const uint64_t pair = ThreeFry(key, counter + static_cast<uint64_t>(block));
          out[i] = static_cast<T>(along % 2 == 0 ? pair : pair >> 32);
        }
      }
    });
  }
};
REGISTER_KERNEL("XlaRngBitGenerator", kCpu, RandomBitsKernel)
    .TypeConstraint("dtype", {DType::kUint8, DType::kUint32, DType::kUint64});

}  // namespace
}  // namespace tessera
