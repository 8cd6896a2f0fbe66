// Floats as quantised numbers would show them (Jacob et al., arXiv:1712.05877): FakeQuant ops and
// their gradients.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// The range moved so that 0 is one of the quantised numbers.
struct NudgedRange {
  NudgedRange(float min, float max, float lowest, float highest)
      : scale((max - min) / (highest - lowest)), inverse((highest - lowest) / (max - min)) {
    const float zero = lowest - min / scale;
    const float nudged = zero < lowest ? lowest : zero > highest ? highest : std::round(zero);
    this->min = (lowest - nudged) * scale;
    this->max = (highest - nudged) * scale;
  }
  // The number of steps from the lowest number to `x`, and to 0, is a product with the reciprocal
  // of a step, or a quotient. Both are rounded, and then the sum is: a number in the middle of two
  // steps goes up or down by these roundings, so TensorFlow's order is kept.
  float QuantizeByProduct(float x) const {
    return Quantized((Clamped(x) - min) * inverse, std::floor(-min * inverse + 0.5f));
  }
  float QuantizeByQuotient(float x) const {
    return Quantized((Clamped(x) - min) / scale, std::floor(-min / scale + 0.5f));
  }
  // Shares of a gradient: for `x` itself, and for the ends of the range. They are factors and no
  // choice, so that a gradient that is infinite or no number leaves a NaN wherever it does not go.
  float Passes(float x) const { return x >= min && x <= max ? 1.0f : 0.0f; }
  float IsBelow(float x) const { return x < min ? 1.0f : 0.0f; }
  float IsAbove(float x) const { return x > max ? 1.0f : 0.0f; }

  const float scale, inverse;
  float min, max;

 private:
  float Clamped(float x) const { return std::max(std::min(x, max), min); }
  float Quantized(float steps, float zero) const { return std::floor(steps - zero + 0.5f) * scale; }
};

// The attributes that all have: how many quantised numbers there are.
struct Levels {
  explicit Levels(const KernelBuild& build) : lowest(build.attr<bool>("narrow_range") ? 1 : 0) {
    const int64_t bits = build.attr<int64_t>("num_bits");
    if (bits < 2 || bits > 16) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("num_bits must lie between 2 and 16, is ", bits)));
      return;
    }
    highest = static_cast<float>((1 << bits) - 1);
  }
  const float lowest;
  float highest = 1;
};

// Stores quantize(x) for each element of `x`.
template <typename Quantize>
void QuantizeAll(KernelContext& ctx, const Tensor& x, Quantize quantize, Tensor* y) {
  const float* const from = x.data<float>();
  float* const to = y->data<float>();
  ctx.ParallelFor(x.num_elements(), 0.5, [quantize, from, to](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = quantize(from[i]);
  });
}

// The range comes from attributes.
class FakeQuantArgsKernel : public OpKernel {
 public:
  explicit FakeQuantArgsKernel(const KernelBuild& build)
      : range_(Range(build)), is_gradient_(build.num_inputs() == 2) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(is_gradient_ ? 1 : 0);
    if (!(ctx.input(0).shape() == x.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients and inputs must have one shape, have ",
                       ctx.input(0).shape().ToString(), " and ", x.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    if (!is_gradient_) {
      QuantizeAll(
          ctx, x, [range = range_](float value) { return range.QuantizeByProduct(value); }, y);
      return absl::OkStatus();
    }
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      y->data<float>()[i] = ctx.input(0).data<float>()[i] * range_.Passes(x.data<float>()[i]);
    }
    return absl::OkStatus();
  }

 private:
  static NudgedRange Range(const KernelBuild& build) {
    const float min = build.attr<float>("min"), max = build.attr<float>("max");
    if (!(min < max)) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("min must be below max, they are ", min, " and ", max)));
    }
    const Levels levels(build);
    return NudgedRange(min, max, levels.lowest, levels.highest);
  }

  const NudgedRange range_;
  const bool is_gradient_;
};
REGISTER_KERNEL("FakeQuantWithMinMaxArgs", kCpu, FakeQuantArgsKernel);
REGISTER_KERNEL("FakeQuantWithMinMaxArgsGradient", kCpu, FakeQuantArgsKernel);

// The range, one for all or one for each channel (the last dimension), comes from inputs; the last
// two. An input before them, if any, is the gradients of the outputs; then outputs 1 and 2 are the
// gradients of the range. A range of nothing but 0 quantises to 0, and lets gradients pass.
class FakeQuantVarsKernel : public OpKernel {
 public:
  explicit FakeQuantVarsKernel(const KernelBuild& build)
      : levels_(build),
        is_gradient_(build.num_inputs() == 4),
        per_channel_(build.op().name.find("PerChannel") != std::string::npos) {}

  absl::Status Compute(KernelContext& ctx) override {
    const int first = is_gradient_ ? 1 : 0;
    const Tensor& x = ctx.input(first);
    const Tensor& min = ctx.input(first + 1);
    const Tensor& max = ctx.input(first + 2);
    if (!(ctx.input(0).shape() == x.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients and inputs must have one shape, have ",
                       ctx.input(0).shape().ToString(), " and ", x.shape().ToString()));
    }
    if (per_channel_ && x.rank() < 1) {
      return absl::InvalidArgumentError("a scalar has no channels");
    }
    const Shape wanted = per_channel_ ? Shape{x.dim(x.rank() - 1)} : Shape();
    if (!(min.shape() == wanted) || !(max.shape() == wanted)) {
      return absl::InvalidArgumentError(
          absl::StrCat("min and max must have shape ", wanted.ToString(), ", have ",
                       min.shape().ToString(), " and ", max.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    if (is_gradient_) return Gradient(ctx, x, min, max, y);
    const int64_t channels = min.num_elements();
    for (int64_t c = 0; c < channels; ++c) {
      const float low = min.data<float>()[c], high = max.data<float>()[c];
      if (low == 0 && high == 0) {
        for (int64_t i = c; i < x.num_elements(); i += channels) y->data<float>()[i] = 0;
        continue;
      }
      const NudgedRange range(low, high, levels_.lowest, levels_.highest);
      if (!per_channel_) {
        QuantizeAll(
            ctx, x, [range](float value) { return range.QuantizeByQuotient(value); }, y);
        continue;
      }
      for (int64_t i = c; i < x.num_elements(); i += channels) {
        y->data<float>()[i] = range.QuantizeByProduct(x.data<float>()[i]);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Gradient(KernelContext& ctx, const Tensor& x, const Tensor& min, const Tensor& max,
                        Tensor* dx) const {
    const auto g = ctx.input(0).flat<float>();
    ASSIGN_OR_RETURN(Tensor * dmin, ctx.AllocateOutput(1, min.shape()));
    ASSIGN_OR_RETURN(Tensor * dmax, ctx.AllocateOutput(2, max.shape()));
    const int64_t channels = min.num_elements();
    for (int64_t c = 0; c < channels; ++c) {
      const float low = min.data<float>()[c], high = max.data<float>()[c];
      const bool all_pass = low == 0 && high == 0;
      const NudgedRange range(low, all_pass ? 1 : high, levels_.lowest, levels_.highest);
      double below = 0, above = 0;
      for (int64_t i = c; i < x.num_elements(); i += channels) {
        const float value = x.data<float>()[i];
        if (all_pass) {
          dx->data<float>()[i] = g[i];
          continue;
        }
        dx->data<float>()[i] = g[i] * range.Passes(value);
        below += g[i] * range.IsBelow(value);
        above += g[i] * range.IsAbove(value);
      }
      dmin->data<float>()[c] = static_cast<float>(below);
      dmax->data<float>()[c] = static_cast<float>(above);
    }
    return absl::OkStatus();
  }

  const Levels levels_;
  const bool is_gradient_, per_channel_;
};
REGISTER_KERNEL("FakeQuantWithMinMaxVars", kCpu, FakeQuantVarsKernel);
REGISTER_KERNEL("FakeQuantWithMinMaxVarsGradient", kCpu, FakeQuantVarsKernel);
REGISTER_KERNEL("FakeQuantWithMinMaxVarsPerChannel", kCpu, FakeQuantVarsKernel);
REGISTER_KERNEL("FakeQuantWithMinMaxVarsPerChannelGradient", kCpu, FakeQuantVarsKernel);

}  // namespace
}  // namespace tessera
