// SobolSample: points of the quasi-random sequence of Sobol, with the direction numbers of Joe and
// Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008, which Boost
// has.
#include <boost/random/sobol.hpp>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Coordinates are multiples of 2^-31, as there are fewer than 2^31 points.
constexpr int kBits = 31;
using SobolEngine = boost::random::sobol_engine<uint32_t, kBits>;
// Those of TensorFlow's table, and those of Boost's.
constexpr int32_t kMaxDimensions = 21200;
constexpr int32_t kKnownDimensions = boost::random::default_sobol_table::max_dimension;

template <typename T>
void Fill(SobolEngine engine, Tensor* points) {
  constexpr T kUnit = T{1} / (int64_t{1} << kBits);
  for (T& coordinate : points->flat<T>()) coordinate = static_cast<T>(engine()) * kUnit;
}

// Inputs: the dimensions of a point, the number of points, and how many points are left out before.
// Errors: INVALID_ARGUMENT for numbers out of range; UNIMPLEMENTED for more dimensions than Boost
// knows.
class SobolSampleKernel : public OpKernel {
 public:
  explicit SobolSampleKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < 3; ++i) {
      if (!ctx.input(i).shape().IsScalar()) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a scalar, has shape ",
                                                       ctx.input(i).shape().ToString()));
      }
    }
    const auto dimensions = ctx.input(0).scalar<int32_t>();
    const auto count = ctx.input(1).scalar<int32_t>(), skip = ctx.input(2).scalar<int32_t>();
    if (dimensions < 1 || dimensions > kMaxDimensions || count < 1 || skip < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dim must be 1 to ", kMaxDimensions, ", num_results at least 1 and skip at least 0; are ",
          dimensions, ", ", count, " and ", skip));
    }
    if (count >= std::numeric_limits<int32_t>::max() - skip) {
      return absl::InvalidArgumentError(absl::StrCat(
          "num_results + skip must be less than 2^31 - 1, ", "they are ", count, " and ", skip));
    }
    if (dimensions > kKnownDimensions) {
      return absl::UnimplementedError(
          absl::StrCat("dim ", dimensions, " is not supported, at most ", kKnownDimensions, " is"));
    }
    ASSIGN_OR_RETURN(Tensor* const points, ctx.AllocateOutput(0, Shape{count, dimensions}));
    SobolEngine engine(dimensions);
    engine.seed(static_cast<uint32_t>(skip));
    if (points->dtype() == DType::kFloat) {
      Fill<float>(std::move(engine), points);
    } else {
      Fill<double>(std::move(engine), points);
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SobolSample", kCpu, SobolSampleKernel);

}  // namespace
}  // namespace tessera
