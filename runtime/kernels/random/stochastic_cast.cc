// StochasticCastToInt: rounds up or down at random, so that the mean of many casts is the number.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/random_distributions.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Random numbers in [0, 1) of the precision of T, as many as one block of the generator gives.
template <typename T>
struct UnitBlock {
  static constexpr int kSize = sizeof(T) == 8 ? 2 : 4;
  explicit UnitBlock(const Philox::Block& bits) {
    for (int i = 0; i < kSize; ++i) {
      if constexpr (sizeof(T) == 8) {
        numbers[i] = UnitDouble(bits[2 * i], bits[2 * i + 1]);
      } else if constexpr (sizeof(T) == 4) {
        numbers[i] = UnitFloat(bits[i]);
      } else if constexpr (std::is_same_v<T, Eigen::half>) {
        numbers[i] = static_cast<T>(UnitHalf(bits[i]));
      } else {
        numbers[i] = static_cast<T>(UnitBfloat16(bits[i]));
      }
    }
  }
  T numbers[kSize];
};

// Converts as the machine does: a number beyond 32 bits becomes the lowest one.
template <typename Out, typename In>
Out Truncate(In x) {
  using Wide = std::conditional_t<sizeof(In) == 8, double, float>;
  const auto wide = static_cast<Wide>(x);
  constexpr Wide kEnd = 2147483648.0f;
  const bool fits = wide >= -kEnd && wide < kEnd;
  return static_cast<Out>(fits ? static_cast<int32_t>(wide) : std::numeric_limits<int32_t>::min());
}

// Casts elements in order. TensorFlow draws a block for each number that is not whole, and uses its
// first element alone. Where its loops are vectorised, which they are for int32, it draws one for
// each vector, whatever the numbers are, and repeats it along the vector.
template <typename In, typename Out>
class StochasticCast {
 public:
  explicit StochasticCast(const Philox& generator) : generator_(generator) {}

  void operator()(const In* x, int64_t count, Out* y) {
    int64_t i = 0;
    if constexpr (kVector > 1) {
      for (; i + kStep <= count; i += kStep) {
        for (int j = 0; j < kStep; j += kVector) CastVector(x + i + j, y + i + j);
      }
    }
    for (; i < count; ++i) y[i] = CastOne(x[i]);
  }

 private:
  // The vectors of AVX, for which TensorFlow's packages are compiled; eight int32 at a time.
  static constexpr int kStep = 8;
  static constexpr int kVector = sizeof(Out) < 4 || sizeof(In) < 4 ? 1 : 32 / sizeof(In);

  void CastVector(const In* x, Out* y) {
    const UnitBlock<In> random(generator_.Next());
    for (int i = 0; i < kVector; ++i) {
      const In unit = random.numbers[i % UnitBlock<In>::kSize];
      const In shift = x[i] < In(0) ? unit : In(1) - unit;
      const bool is_whole = std::floor(x[i]) == x[i];
      y[i] = Truncate<Out>(Clamp(x[i], is_whole ? x[i] : std::floor(x[i] + shift)));
    }
  }

  Out CastOne(In x) {
    using std::floor;
    if (!(x < Highest()) || !(x > Lowest()) || floor(x) == x) return Truncate<Out>(Clamp(x, x));
    const In unit = UnitBlock<In>(generator_.Next()).numbers[0];
    // Half precision rounds after each operation.
    return Truncate<Out>(x < In(0) ? floor(x + unit) : floor(In(x + In(1)) - unit));
  }

  static In Clamp(In x, In rounded) {
    if (x != x) return In(0);
    return x >= Highest() ? Highest() : x <= Lowest() ? Lowest() : rounded;
  }
  static In Highest() { return static_cast<In>(std::numeric_limits<Out>::max()); }
  static In Lowest() { return static_cast<In>(std::numeric_limits<Out>::min()); }

  Philox generator_;
};

// Inputs: numbers, key, counter and algorithm. TensorFlow takes the counter's first number for the
// key and the key for the upper half of the counter.
// Errors: INVALID_ARGUMENT for wrong shapes or another algorithm than Philox.
class StochasticCastKernel final : public OpKernel {
 public:
  explicit StochasticCastKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& key = ctx.input(1);
    const Tensor& counter = ctx.input(2);
    ASSIGN_OR_RETURN(const int64_t algorithm, ReadIntegerOfScalar(ctx.input(3), "alg"));
    if (!IsPhilox(algorithm)) return UnknownAlgorithm(algorithm);
    if (!(key.shape() == Shape{1}) || !counter.shape().IsVector() || counter.dim(0) < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("key must have one element and counter at least one, they have shapes ",
                       key.shape().ToString(), " and ", counter.shape().ToString()));
    }
    const Philox generator(counter.data<uint64_t>()[0], key.data<uint64_t>()[0]);
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    switch (x.dtype()) {
      case DType::kHalf:
        return Cast<Eigen::half>(generator, x, y);
      case DType::kBfloat16:
        return Cast<Eigen::bfloat16>(generator, x, y);
      case DType::kFloat:
        return Cast<float>(generator, x, y);
      default:
        return Cast<double>(generator, x, y);
    }
  }

 private:
  template <typename In>
  static absl::Status Cast(const Philox& generator, const Tensor& x, Tensor* y) {
    const auto cast = [&]<typename Out>() {
      StochasticCast<In, Out>{generator}(x.data<In>(), x.num_elements(), y->data<Out>());
      return absl::OkStatus();
    };
    if (y->dtype() == DType::kInt8) return cast.template operator()<int8_t>();
    if (y->dtype() == DType::kInt16) return cast.template operator()<int16_t>();
    return cast.template operator()<int32_t>();
  }
};
REGISTER_KERNEL("StochasticCastToInt", kCpu, StochasticCastKernel)
    .TypeConstraint("Tin", {DType::kBfloat16, DType::kDouble, DType::kFloat, DType::kHalf})
    .TypeConstraint("Tout", {DType::kInt8, DType::kInt16, DType::kInt32});

}  // namespace
}  // namespace tessera
