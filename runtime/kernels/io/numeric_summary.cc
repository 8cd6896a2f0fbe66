// DebugNumericSummaryV2: what kinds of numbers a tensor holds. tf.debugging.enable_check_numerics()
// and the second debugger put it into graphs, which may be exported with it.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// How many elements are of each kind.
struct NumberKinds {
  int64_t negative_infinite = 0, positive_infinite = 0, nan = 0;
  int64_t negative = 0, zero = 0, positive = 0;  // of the finite ones

  template <typename T>
  void Add(const Tensor& x) {
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const T value = x.data<T>()[i];
      if constexpr (!std::is_integral_v<T>) {
        const auto wide = static_cast<double>(value);
        if (!std::isfinite(wide)) {
          ++(std::isnan(wide) ? nan : wide < 0 ? negative_infinite : positive_infinite);
          continue;
        }
      }
      ++(value < T(0) ? negative : value > T(0) ? positive : zero);
    }
  }
};

// The numbers by which TensorFlow knows what is asked for.
enum class Mode : int64_t { kCurtHealth = 2, kConciseHealth, kFullHealth, kShape, kInfNan = 8 };

// Errors: UNIMPLEMENTED for another mode; INVALID_ARGUMENT for an id that the output cannot hold.
class NumericSummaryKernel : public OpKernel {
 public:
  explicit NumericSummaryKernel(const KernelBuild& build)
      : mode_(static_cast<Mode>(build.attr<int64_t>("tensor_debug_mode"))),
        id_(build.attr<int64_t>("tensor_id")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const int mantissa_bits = ctx.output_type(0) == DType::kFloat ? 24 : 53;
    if (id_ > int64_t{1} << mantissa_bits) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor_id must be at most 2^", mantissa_bits, ", is ", id_));
    }
    const Tensor& x = ctx.input(0);
    NumberKinds kinds;
    if (x.dtype() == DType::kBool) {
      kinds.Add<bool>(x);
    } else {
      RETURN_IF_ERROR(VisitRealType(x.dtype(), [&]<typename T>() {
        kinds.Add<T>(x);
        return absl::OkStatus();
      }));
    }
    ASSIGN_OR_RETURN(const std::vector<double> summary, Summarise(x, kinds));
    ASSIGN_OR_RETURN(Tensor* const y,
                     ctx.AllocateOutput(0, Shape{static_cast<int64_t>(summary.size())}));
    return VisitRealType(y->dtype(), [&]<typename T>() {
      for (size_t i = 0; i < summary.size(); ++i) y->data<T>()[i] = static_cast<T>(summary[i]);
      return absl::OkStatus();
    });
  }

 private:
  absl::StatusOr<std::vector<double>> Summarise(const Tensor& x, const NumberKinds& kinds) const {
    const auto id = static_cast<double>(id_), count = static_cast<double>(x.num_elements());
    const auto dtype = static_cast<double>(static_cast<int>(x.dtype()));
    const auto number = [](int64_t n) { return static_cast<double>(n); };
    const double low = number(kinds.negative_infinite), high = number(kinds.positive_infinite);
    const double nan = number(kinds.nan);
    switch (mode_) {
      case Mode::kCurtHealth:
        return std::vector<double>{id, low + high + nan > 0 ? 1.0 : 0.0};
      case Mode::kConciseHealth:
        return std::vector<double>{id, count, low, high, nan};
      case Mode::kFullHealth:
        return std::vector<double>{id,
                                   -1.0 /* device */,
                                   dtype,
                                   number(x.rank()),
                                   count,
                                   low,
                                   high,
                                   nan,
                                   number(kinds.negative),
                                   number(kinds.zero),
                                   number(kinds.positive)};
      case Mode::kShape: {
        // The last six dimensions.
        constexpr int kDims = 6;
        std::vector<double> shape{id, dtype, number(x.rank()), count};
        const int first = std::max(0, x.rank() - kDims);
        for (int d = first; d < first + kDims; ++d) {
          shape.push_back(d < x.rank() ? number(x.dim(d)) : 0.0);
        }
        return shape;
      }
      case Mode::kInfNan: {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        return std::vector<double>{low > 0 ? -kInfinity : 0.0, high > 0 ? kInfinity : 0.0,
                                   nan > 0 ? std::numeric_limits<double>::quiet_NaN() : 0.0};
      }
    }
    return absl::UnimplementedError(
        absl::StrCat("Unimplemented tensor debug mode: ", static_cast<int64_t>(mode_)));
  }

  const Mode mode_;
  const int64_t id_;
};
REGISTER_KERNEL("DebugNumericSummaryV2", kCpu, NumericSummaryKernel)
    .TypeConstraint("T", {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble,
                          DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8,
                          DType::kUint16, DType::kUint32, DType::kUint64, DType::kBool});

}  // namespace
}  // namespace tessera
