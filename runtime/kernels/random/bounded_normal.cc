// Normal numbers between bounds: ParameterizedTruncatedNormal,
// StatelessParameterizedTruncatedNormal.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/random_distributions.h"
#include "runtime/kernels/random/philox_generator.h"

namespace tessera {
namespace {

// A number is taken as it is after so many that were refused.
constexpr int kMaxTries = 1000;

// Draws one number after the other from N(mean, stddev) between minval and maxval, by rejection
// from the proposal that suits the bounds best (C. Robert, Simulation of truncated normal
// variables, 1995). T is the type that TensorFlow computes in.
template <typename T>
class BoundedNormal {
 public:
  // Requires stddev > 0, minval < maxval and one finite bound.
  BoundedNormal(T mean, T stddev, T minval, T maxval) : mean_(mean), stddev_(stddev) {
    // One-sided bounds become lower ones, and bounds below the mean are mirrored.
    if ((std::isinf(static_cast<float>(minval)) && minval < T(0)) || maxval < mean) {
      std::swap(minval, maxval);
      stddev_ = -stddev_;
    }
    low_ = (minval - mean_) / stddev_;
    high_ = (maxval - mean_) / stddev_;
    const T root = Eigen::numext::sqrt(low_ * low_ + T(4));
    const T cutoff =
        T(2) * Eigen::numext::exp(T(0.5) + (low_ * (low_ - root)) / T(4)) / (low_ + root);
    const T kInside(1.3);  // deviations from which the normal proposal is best
    if ((low_ < -kInside && high_ >= T(0)) || (high_ > kInside && low_ <= T(0))) {
      proposal_ = Proposal::kNormal;
    } else {
      proposal_ = high_ - low_ < cutoff ? Proposal::kUniform : Proposal::kExponential;
    }
    alpha_ = (low_ + root) / T(2);
  }

  // Calls emit(number) until it returns false.
  template <typename Emit>
  void Draw(Philox& generator, Emit emit) const {
    int tries = 0;
    while (true) {
      T candidates[kPerBlock<T>];
      bool accepted[kPerBlock<T>];
      const int count = Propose(generator, candidates, accepted);
      for (int i = 0; i < count; ++i) {
        if (accepted[i] || (tries + 1 >= kMaxTries)) {
          if (!emit(candidates[i] * stddev_ + mean_)) return;
          tries = 0;
        } else {
          ++tries;
        }
      }
    }
  }

 private:
  enum class Proposal { kNormal, kUniform, kExponential };

  int Propose(Philox& generator, T* candidates, bool* accepted) const {
    constexpr int kCount = kPerBlock<T>;
    if (proposal_ == Proposal::kNormal) {
      Normal<T>()(generator.Next(), candidates);
      for (int i = 0; i < kCount; ++i) {
        accepted[i] = candidates[i] >= low_ && candidates[i] <= high_;
      }
      return kCount;
    }
    T first[kCount];
    UniformReal<T>()(generator.Next(), first);
    if (proposal_ == Proposal::kUniform) {
      T second[kCount];
      UniformReal<T>()(generator.Next(), second);
      const T plus = low_ < T(0) ? T(0) : low_ * low_;
      for (int i = 0; i < kCount; ++i) {
        candidates[i] = first[i] * (high_ - low_) + low_;
        const T g = (plus - candidates[i] * candidates[i]) / T(2);
        accepted[i] = second[i] <= Eigen::numext::exp(g);
      }
      return kCount;
    }
    for (int i = 0; i < kCount / 2; ++i) {
      candidates[i] = -Eigen::numext::log(first[2 * i]) / alpha_ + low_;
      const T x = low_ < alpha_ ? alpha_ - candidates[i] : low_ - alpha_;
      accepted[i] = first[2 * i + 1] <= Eigen::numext::exp(-x * x / T(2)) && candidates[i] < high_;
    }
    return kCount / 2;
  }

  T mean_, stddev_, low_, high_, alpha_;
  Proposal proposal_;
};

// The four parameter inputs from input `first` on.
template <typename T>
struct Parameters {
  T mean, stddev, minval, maxval;

  // Errors: INVALID_ARGUMENT for what BoundedNormal cannot draw from.
  absl::Status Check() const {
    const bool bounded = Eigen::numext::isfinite(minval) || Eigen::numext::isfinite(maxval);
    if (stddev > T(0) && minval < maxval && bounded) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid parameters: stddev ", static_cast<float>(stddev),
                     " must be positive and minval ", static_cast<float>(minval), " below maxval ",
                     static_cast<float>(maxval), ", one of them finite"));
  }
};

// Inputs: shape, and parameters that are scalars or have one element for each row of the output.
class ParameterizedTruncatedNormalKernel : public OpKernel {
 public:
  explicit ParameterizedTruncatedNormalKernel(const KernelBuild& build) : generator_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(0)));
    if (shape.rank() < 1) return absl::InvalidArgumentError("Shape tensor must not be empty");
    bool one_for_all = true;
    for (int i = 1; i <= 4; ++i) {
      const Tensor& parameter = ctx.input(i);
      const int64_t count = parameter.num_elements();
      if (parameter.rank() > 1 || (count != 1 && count != shape.dim(0))) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameters must be scalars or vectors of 1 or ", shape.dim(0),
                         " elements; one has shape ", parameter.shape().ToString()));
      }
      one_for_all = one_for_all && parameter.rank() == 0;
    }
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, shape));
    const int64_t total = out->num_elements();
    if (total == 0) return absl::OkStatus();
    // TensorFlow cuts outputs into batches of 100 if all parameters are scalars.
    const int64_t per_batch = one_for_all ? 100 : total / shape.dim(0);
    const int64_t batches = (total + per_batch - 1) / per_batch;
    ASSIGN_OR_RETURN(Philox generator,
                     generator_.Reserve(ctx, batches * 2 * kMaxTries * (per_batch + 3) / 4));
    return VisitRealType(out->dtype(), [&]<typename T>() -> absl::Status {
      if constexpr (std::is_integral_v<T>) {
        return absl::InternalError("no distribution of integers");
      } else {
        for (int64_t b = 0; b < batches; ++b) {
          auto get = [&](int i) {
            return ctx.input(i).data<T>()[ctx.input(i).num_elements() == 1 ? 0 : b];
          };
          const Parameters<T> p = {get(1), get(2), get(3), get(4)};
          RETURN_IF_ERROR(p.Check());
          const int64_t end = std::min((b + 1) * per_batch, total);
          int64_t next = b * per_batch;
          BoundedNormal<T>(p.mean, p.stddev, p.minval, p.maxval).Draw(generator, [&](T value) {
            out->data<T>()[next] = value;
            return ++next < end;
          });
        }
        return absl::OkStatus();
      }
    });
  }

 private:
  SeededPhilox generator_;
};
REGISTER_KERNEL("ParameterizedTruncatedNormal", kCpu, ParameterizedTruncatedNormalKernel);

// Inputs: the shape of the output, the seed, and parameters whose common shape it ends with.
class StatelessParameterizedTruncatedNormalKernel : public OpKernel {
 public:
  explicit StatelessParameterizedTruncatedNormalKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(0)));
    Shape columns = ctx.input(2).shape();
    for (int i = 3; i < 6; ++i) {
      ASSIGN_OR_RETURN(columns, BroadcastShape(columns, ctx.input(i).shape()));
    }
    RETURN_IF_ERROR(CheckEndsWith(shape, columns));
    ASSIGN_OR_RETURN(Philox generator, GeneratorFromSeed(ctx.input(1)));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, shape));
    const int64_t total = out->num_elements(), count = columns.num_elements();
    if (total == 0) return absl::OkStatus();
    return VisitRealType(out->dtype(), [&]<typename T>() -> absl::Status {
      if constexpr (std::is_integral_v<T>) {
        return absl::InternalError("no distribution of integers");
      } else {
        for (int64_t column = 0; column < count; ++column) {
          auto get = [&](int i) {
            return ctx.input(i).data<T>()[BroadcastSource(column, ctx.input(i).shape(), columns)];
          };
          const Parameters<T> p = {get(2), get(3), get(4), get(5)};
          RETURN_IF_ERROR(p.Check());
          int64_t next = column;
          BoundedNormal<T>(p.mean, p.stddev, p.minval, p.maxval).Draw(generator, [&](T value) {
            out->data<T>()[next] = value;
            next += count;
            return next < total;
          });
        }
        return absl::OkStatus();
      }
    });
  }
};
REGISTER_KERNEL("StatelessParameterizedTruncatedNormal", kCpu,
                StatelessParameterizedTruncatedNormalKernel);

}  // namespace
}  // namespace tessera
