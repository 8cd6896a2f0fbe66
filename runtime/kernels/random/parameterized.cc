// Random numbers whose distribution has a parameter for each column of the output: RandomGamma,
// StatelessRandomGammaV2, V3, RandomPoisson, RandomPoissonV2, StatelessRandomPoisson,
// StatelessRandomBinomial, StatefulRandomBinomial.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/random/generator_state.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/random/rejection_sampling.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Fills `out`, [samples..., columns...], with draw(column, n) as doubles, where n is the number of
// the draw. The draws of a column follow each other.
template <typename Draw>
absl::Status FillColumns(KernelContext& ctx, int64_t columns, Tensor* out, Draw draw) {
  if (out->num_elements() == 0) return absl::OkStatus();
  const int64_t samples = out->num_elements() / columns;
  return VisitRealType(out->dtype(), [&]<typename T>() {
    T* const to = out->data<T>();
    ctx.ParallelFor(out->num_elements(), 200, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double value = draw(i / samples, i);
        if constexpr (std::is_integral_v<T>) {
          constexpr double kLimit = static_cast<double>(std::numeric_limits<T>::max());
          to[(i % samples) * columns + i / samples] = value >= kLimit
                                                          ? std::numeric_limits<T>::max()
                                                      : value > 0 ? static_cast<T>(value)
                                                                  : T(0);
        } else {
          to[(i % samples) * columns + i / samples] = static_cast<T>(value);
        }
      }
    });
    return absl::OkStatus();
  });
}

Philox Skipped(Philox generator, uint64_t blocks) {
  generator.Skip(blocks);
  return generator;
}

// Returns the elements of a tensor of real numbers as a tensor of doubles.
absl::StatusOr<Tensor> ReadDoubles(KernelContext& ctx, const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor values, ctx.AllocateTemp(DType::kDouble, tensor.shape()));
  RETURN_IF_ERROR(VisitRealType(tensor.dtype(), [&]<typename T>() {
    const auto from = tensor.flat<T>();
    std::transform(from.begin(), from.end(), values.data<double>(),
                   [](T value) { return static_cast<double>(value); });
    return absl::OkStatus();
  }));
  return values;
}

// The largest number that the output can hold.
double LargestOf(DType dtype) {
  double largest = 0;
  VisitRealType(dtype, [&]<typename T>() {
    largest = static_cast<double>(Eigen::NumTraits<T>::highest());
    return absl::OkStatus();
  }).IgnoreError();
  return largest;
}

enum class Family { kGamma, kPoisson };

template <Family kFamily>
absl::Status FillFamily(KernelContext& ctx, const Philox& generator, const Tensor& parameters,
                        Tensor* out) {
  ASSIGN_OR_RETURN(const Tensor parameter_values, ReadDoubles(ctx, parameters));
  const double* const values = parameter_values.data<double>();
  const double largest = LargestOf(out->dtype());
  return FillColumns(ctx, parameters.num_elements(), out, [&](int64_t column, int64_t n) {
    const Philox own = Skipped(generator, kBlocksPerNumber * static_cast<uint64_t>(n));
    return kFamily == Family::kGamma ? DrawGamma(values[column], own)
                                     : DrawPoisson(values[column], largest, own);
  });
}

// Inputs: the shape of the samples, and the parameters, whose shape follows it.
template <Family kFamily>
class StatefulKernel : public OpKernel {
 public:
  explicit StatefulKernel(const KernelBuild& build) : generator_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape samples, ReadSampleShape(ctx.input(0)));
    IndexVector dims(samples.dims().begin(), samples.dims().end());
    const auto of_parameters = ctx.input(1).shape().dims();
    dims.insert(dims.end(), of_parameters.begin(), of_parameters.end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const Philox generator,
                     generator_.Reserve(ctx, ReservedBlocks(out->num_elements())));
    return FillFamily<kFamily>(ctx, generator, ctx.input(1), out);
  }

 private:
  SeededPhilox generator_;
};
REGISTER_KERNEL("RandomGamma", kCpu, StatefulKernel<Family::kGamma>);
REGISTER_KERNEL("RandomPoisson", kCpu, StatefulKernel<Family::kPoisson>);
REGISTER_KERNEL("RandomPoissonV2", kCpu, StatefulKernel<Family::kPoisson>);

// Inputs: the shape of the output, the seed or key, counter and algorithm, and the parameters.
template <Family kFamily>
class StatelessKernel : public OpKernel {
 public:
  explicit StatelessKernel(const KernelBuild& build) : has_key_(build.num_inputs() == 5) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& parameters = ctx.input(ctx.num_inputs() - 1);
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(0)));
    if (shape.num_elements() > 0) RETURN_IF_ERROR(CheckEndsWith(shape, parameters.shape()));
    ASSIGN_OR_RETURN(const Philox generator,
                     has_key_ ? GeneratorFromKey(ctx.input(1), ctx.input(2), ctx.input(3))
                              : GeneratorFromSeed(ctx.input(1)));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, shape));
    return FillFamily<kFamily>(ctx, generator, parameters, out);
  }

 private:
  const bool has_key_;
};
REGISTER_KERNEL("StatelessRandomGammaV2", kCpu, StatelessKernel<Family::kGamma>);
REGISTER_KERNEL("StatelessRandomGammaV3", kCpu, StatelessKernel<Family::kGamma>);
REGISTER_KERNEL("StatelessRandomPoisson", kCpu, StatelessKernel<Family::kPoisson>);

// Draws of binomial distributions, for counts and probabilities that are broadcast.
class BinomialDraw {
 public:
  // Reads the shape of the output from `shape_input`, counts from `counts_input` and probabilities
  // from the input after it. Errors: INVALID_ARGUMENT for shapes that do not fit; those of
  // allocating the output.
  static absl::StatusOr<BinomialDraw> Read(KernelContext& ctx, int shape_input, int counts_input) {
    BinomialDraw draw;
    draw.counts_ = ctx.input(counts_input).shape();
    draw.probabilities_ = ctx.input(counts_input + 1).shape();
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(shape_input), "shape"));
    ASSIGN_OR_RETURN(draw.columns_, BroadcastShape(draw.counts_, draw.probabilities_));
    RETURN_IF_ERROR(CheckEndsWith(shape, draw.columns_));
    ASSIGN_OR_RETURN(draw.count_, ReadDoubles(ctx, ctx.input(counts_input)));
    ASSIGN_OR_RETURN(draw.p_, ReadDoubles(ctx, ctx.input(counts_input + 1)));
    ASSIGN_OR_RETURN(draw.out_, ctx.AllocateOutput(0, shape));
    return draw;
  }

  int64_t columns() const { return columns_.num_elements(); }
  int64_t samples() const { return columns() == 0 ? 0 : out_->num_elements() / columns(); }

  absl::Status Fill(KernelContext& ctx, const Philox& generator) const {
    const double* const counts = count_.data<double>();
    const double* const probabilities = p_.data<double>();
    return FillColumns(ctx, columns(), out_, [&](int64_t column, int64_t n) {
      const double trials = counts[BroadcastSource(column, counts_, columns_)];
      const double chance = probabilities[BroadcastSource(column, probabilities_, columns_)];
      const uint64_t blocks = BlocksPerBinomial(trials, chance) * static_cast<uint64_t>(n);
      return DrawBinomial(trials, chance, Skipped(generator, blocks));
    });
  }

 private:
  Shape counts_, probabilities_, columns_;
  Tensor count_, p_;
  Tensor* out_ = nullptr;
};

// Inputs: the shape of the output, the seed, counts and probabilities.
class BinomialKernel : public OpKernel {
 public:
  explicit BinomialKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const BinomialDraw draw, BinomialDraw::Read(ctx, 0, 2));
    ASSIGN_OR_RETURN(const Philox generator, GeneratorFromSeed(ctx.input(1)));
    return draw.Fill(ctx, generator);
  }
};
REGISTER_KERNEL("StatelessRandomBinomial", kCpu, BinomialKernel);

// Inputs: the variable of the generator, the algorithm, the shape of the output, counts and
// probabilities.
class StatefulBinomialKernel : public OpKernel {
 public:
  explicit StatefulBinomialKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    // Unlike other generators, this one takes no other number than that of Philox.
    ASSIGN_OR_RETURN(const int64_t algorithm, ReadIntegerOfScalar(ctx.input(1), "algorithm"));
    if (algorithm != kPhilox) return UnknownAlgorithm(algorithm);
    ASSIGN_OR_RETURN(const BinomialDraw draw, BinomialDraw::Read(ctx, 2, 3));
    // As many as TensorFlow leaves out.
    const int64_t numbers = draw.columns() * 200 * (draw.samples() + 3) / 4;
    ASSIGN_OR_RETURN(const Philox generator, ReserveFromVariable(ctx, ReservedBlocks(numbers)));
    return draw.Fill(ctx, generator);
  }
};
REGISTER_KERNEL("StatefulRandomBinomial", kCpu, StatefulBinomialKernel)
    .TypeConstraint("T", {DType::kHalf, DType::kFloat, DType::kDouble});

}  // namespace
}  // namespace tessera
