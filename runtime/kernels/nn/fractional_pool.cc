// Pooling over regions of irregular size: FractionalMaxPool, FractionalAvgPool and their gradients
// (B. Graham, Fractional max-pooling, 2014).
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/wrapping.h"
#include "runtime/kernels/primitives/x86_convert.h"
#include "runtime/kernels/random/simple_random.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {
namespace {

using Sequence = std::vector<int64_t>;

// Where the regions of one dimension begin, and where the last ends: steps of floor(ratio) and one
// more, at random places. Moves the generator on.
Sequence DrawSequence(int64_t input, int64_t output, bool pseudo_random, Philox& generator) {
  SimpleRandom random(generator);
  Sequence steps(output, input / output);
  if (pseudo_random) {
    generator.Skip(1);
    const double alpha = static_cast<double>(input) / static_cast<double>(output);
    const double k = static_cast<double>(input / output);
    // Larger offsets would make the first step too long or the last too short.
    const double most =
        std::min((k + 2) / alpha - 1, static_cast<double>(input + 1 - input / output) / alpha -
                                          static_cast<double>(output - 1));
    const double u = random.Double() * most;
    int64_t begin = 1;
    for (int64_t i = 1; i <= output; ++i) {
      const int64_t end =
          i == output ? input + 1
                      : static_cast<int64_t>(std::ceil(alpha * (static_cast<double>(i) + u)));
      steps[i - 1] = end - begin;
      begin = end;
    }
  } else {
    generator.Skip((output + 3) / 4);
    for (int64_t i = 0; i < input % output; ++i) ++steps[i];
    for (int64_t i = 0; i + 1 < output; ++i) {
      std::swap(steps[i], steps[i + random.Bits32() % static_cast<uint32_t>(output - i)]);
    }
  }
  Sequence sequence(output + 1, 0);
  for (int64_t i = 0; i < output; ++i) sequence[i + 1] = sequence[i] + steps[i];
  return sequence;
}

// The regions of an image tensor [batch, rows, columns, channels].
struct Regions {
  Sequence rows, columns;
  bool overlapping;

  int64_t height() const { return static_cast<int64_t>(rows.size()) - 1; }
  int64_t width() const { return static_cast<int64_t>(columns.size()) - 1; }
  // Calls visit(output, inputs) for each region of each image: the position of its first channel in
  // the output, and those of the first channels of its points.
  template <typename Visit>
  void ForEach(const Shape& input, Visit visit) const {
    const int64_t height_in = input.dim(1), width_in = input.dim(2), channels = input.dim(3);
    std::vector<int64_t> points;
    int64_t output = 0;
    for (int64_t b = 0; b < input.dim(0); ++b) {
      for (int64_t r = 0; r < height(); ++r) {
        const int64_t row_end = std::min(rows[r + 1] + (overlapping ? 1 : 0), height_in);
        for (int64_t c = 0; c < width(); ++c, output += channels) {
          const int64_t column_end = std::min(columns[c + 1] + (overlapping ? 1 : 0), width_in);
          points.clear();
          for (int64_t y = rows[r]; y < row_end; ++y) {
            for (int64_t x = columns[c]; x < column_end; ++x) {
              points.push_back(((b * height_in + y) * width_in + x) * channels);
            }
          }
          visit(output, points);
        }
      }
    }
  }
};

// Outputs the pooled images and the sequences that were drawn.
template <bool kMax>
class FractionalPoolKernel : public OpKernel {
 public:
  explicit FractionalPoolKernel(const KernelBuild& build)
      : ratio_(build.attr<std::vector<float>>("pooling_ratio")),
        pseudo_random_(build.attr<bool>("pseudo_random")),
        overlapping_(build.attr<bool>("overlapping")),
        deterministic_(build.attr<bool>("deterministic")),
        seed_(build.attr<int64_t>("seed")),
        seed2_(build.attr<int64_t>("seed2")) {
    if (ratio_.size() != 4) {
      build.Fail(absl::InvalidArgumentError("pooling_ratio field must specify 4 dimensions"));
    } else if (ratio_[0] != 1 || ratio_[3] != 1) {
      build.Fail(absl::UnimplementedError(
          "Fractional pooling is not yet supported on the batch nor channel dimension."));
    } else if (!(ratio_[1] >= 1) || !(ratio_[2] >= 1)) {
      build.Fail(absl::InvalidArgumentError("pooling_ratio cannot be smaller than 1"));
    }
    if (!deterministic_ && (seed_ != 0 || seed2_ != 0)) {
      build.Fail(
          absl::InvalidArgumentError("Both seed and seed2 should be 0 if deterministic is false."));
    }
    if (deterministic_ && seed_ == 0 && seed2_ == 0) RandomSeeds(&seed_, &seed2_);
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("value must be 4-dimensional, has shape ", x.shape().ToString()));
    }
    int64_t size[4];
    for (int d = 0; d < 4; ++d) {
      // Large sizes are rounded as floats.
      const float pooled = std::floor(static_cast<float>(x.dim(d)) / ratio_[d]);
      size[d] = std::min(static_cast<int64_t>(pooled), x.dim(d));
      if (size[d] < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("Pooling ratio is higher than input dimension size for dimension ", d,
                         ". Input dim size: ", x.dim(d), " pooling ratio: ", ratio_[d]));
      }
    }
    int64_t seed = seed_, seed2 = seed2_;
    if (!deterministic_) RandomSeeds(&seed, &seed2);
    Philox generator(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
    Regions regions;
    regions.overlapping = overlapping_;
    regions.rows = DrawSequence(x.dim(1), size[1], pseudo_random_, generator);
    regions.columns = DrawSequence(x.dim(2), size[2], pseudo_random_, generator);
    ASSIGN_OR_RETURN(Tensor* const y,
                     ctx.AllocateOutput(0, Shape{x.dim(0), size[1], size[2], x.dim(3)}));
    RETURN_IF_ERROR(SetVectorOutput(ctx, 1, absl::MakeConstSpan(regions.rows)));
    RETURN_IF_ERROR(SetVectorOutput(ctx, 2, absl::MakeConstSpan(regions.columns)));
    return VisitRealType(x.dtype(), [&]<typename T>() {
      regions.ForEach(x.shape(), [&](int64_t output, const std::vector<int64_t>& points) {
        const int64_t channels = x.dim(3);
        T* const out = y->data<T>() + output;
        std::copy_n(x.data<T>() + points[0], channels, out);
        for (size_t i = 1; i < points.size(); ++i) {
          const T* const in = x.data<T>() + points[i];
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) {
            if constexpr (kMax) {
              out[c] = out[c] < in[c] ? in[c] : out[c];
            } else {
              out[c] = WrappingAdd(out[c], in[c]);
            }
          }
        }
        if constexpr (!kMax) {
          const T count = static_cast<T>(points.size());
          for (int64_t c = 0; c < channels; ++c) out[c] = static_cast<T>(out[c] / count);
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  static void RandomSeeds(int64_t* seed, int64_t* seed2) {
    std::random_device device;
    *seed = static_cast<int64_t>(device() | uint64_t{device()} << 32);
    *seed2 = static_cast<int64_t>(device() | uint64_t{device()} << 32);
  }

  const std::vector<float> ratio_;
  const bool pseudo_random_, overlapping_, deterministic_;
  int64_t seed_, seed2_;
};
REGISTER_KERNEL("FractionalMaxPool", kCpu, FractionalPoolKernel<true>);
REGISTER_KERNEL("FractionalAvgPool", kCpu, FractionalPoolKernel<false>);

// Inputs: for Max the images and what was pooled, for Avg the shape of the images; then the
// gradient and the sequences.
template <bool kMax>
class FractionalPoolGradKernel : public OpKernel {
 public:
  explicit FractionalPoolGradKernel(const KernelBuild& build)
      : overlapping_(build.attr<bool>("overlapping")) {}

  absl::Status Compute(KernelContext& ctx) override {
    constexpr int kGradient = kMax ? 2 : 1;
    Shape shape = ctx.input(0).shape();
    if (!kMax) {
      ASSIGN_OR_RETURN(shape, ReadShape(ctx.input(0), "orig_input_tensor_shape"));
    }
    const Tensor& gradient = ctx.input(kGradient);
    if (shape.rank() != 4 || gradient.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input and out_backprop must be 4-dimensional, have shapes ",
                       shape.ToString(), " and ", gradient.shape().ToString()));
    }
    if (shape.num_elements() == 0 || gradient.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input and out_backprop must not be empty, have shapes ",
                       shape.ToString(), " and ", gradient.shape().ToString()));
    }
    Regions regions;
    regions.overlapping = overlapping_;
    ASSIGN_OR_RETURN(regions.rows, ReadSequence(ctx.input(kGradient + 1), shape.dim(1)));
    ASSIGN_OR_RETURN(regions.columns, ReadSequence(ctx.input(kGradient + 2), shape.dim(2)));
    const Shape expected{shape.dim(0), regions.height(), regions.width(), shape.dim(3)};
    if (!(gradient.shape() == expected) || (kMax && !(ctx.input(1).shape() == expected))) {
      return absl::InvalidArgumentError(absl::StrCat("out_backprop and the output must have shape ",
                                                     expected.ToString(), "; out_backprop has ",
                                                     gradient.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    return VisitRealType(gradient.dtype(), [&]<typename T>() -> absl::Status {
      if (kMax && !AreMaxima<T>(ctx.input(0), ctx.input(1), regions)) {
        return absl::InvalidArgumentError("orig_output is not what orig_input is pooled to");
      }
      return Scatter<T>(ctx, ctx.input(0), gradient, regions, y);
    });
  }

 private:
  // Errors: INVALID_ARGUMENT unless the sequence rises within [0, size].
  static absl::StatusOr<Sequence> ReadSequence(const Tensor& tensor, int64_t size) {
    if (tensor.rank() != 1 || tensor.dim(0) < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a pooling sequence must be a vector with elements, has shape ",
                       tensor.shape().ToString()));
    }
    const auto values = tensor.flat<int64_t>();
    Sequence sequence(values.begin(), values.end());
    for (size_t i = 0; i < sequence.size(); ++i) {
      if (sequence[i] < 0 || sequence[i] > size || (i > 0 && sequence[i] <= sequence[i - 1])) {
        return absl::InvalidArgumentError(absl::StrCat("pooling sequence[", i, "] = ", sequence[i],
                                                       ": it must rise within [0, ", size, "]"));
      }
    }
    return sequence;
  }

  // Returns whether `output` has the maximum of each region of `input`.
  template <typename T>
  static bool AreMaxima(const Tensor& input, const Tensor& output, const Regions& regions) {
    bool equal = true;
    regions.ForEach(input.shape(), [&](int64_t at, const std::vector<int64_t>& points) {
      for (int64_t c = 0; c < input.dim(3); ++c) {
        equal = equal && output.data<T>()[at + c] == input.data<T>()[Best<T>(input, points, c) + c];
      }
    });
    return equal;
  }

  // Returns the point whose channel `c` is the largest.
  template <typename T>
  static int64_t Best(const Tensor& input, const std::vector<int64_t>& points, int64_t c) {
    const T* const from = input.data<T>() + c;
    return *std::max_element(points.begin(), points.end(),
                             [&](int64_t a, int64_t b) { return from[a] < from[b]; });
  }

  template <typename T>
  static absl::Status Scatter(KernelContext& ctx, const Tensor& input, const Tensor& gradient,
                              const Regions& regions, Tensor* y) {
    // TensorFlow adds up averages in double, integers too.
    using Sum = std::conditional_t<kMax, T, double>;
    ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DTypeOf<Sum>, y->shape()));
    Sum* const sums = scratch.data<Sum>();
    std::fill_n(sums, y->num_elements(), Sum(0));
    const int64_t channels = y->dim(3);
    regions.ForEach(y->shape(), [&](int64_t output, const std::vector<int64_t>& points) {
      for (int64_t c = 0; c < channels; ++c) {
        const T value = gradient.data<T>()[output + c];
        if constexpr (kMax) {
          const int64_t best = Best<T>(input, points, c);
          sums[best + c] = static_cast<T>(sums[best + c] + value);
        } else {
          const double share = static_cast<double>(value) / static_cast<double>(points.size());
          for (const int64_t point : points) sums[point + c] += share;
        }
      }
    });
    std::transform(sums, sums + y->num_elements(), y->data<T>(),
                   [](Sum sum) { return ConvertAsX86<T>(sum); });
    return absl::OkStatus();
  }

  const bool overlapping_;
};
REGISTER_KERNEL("FractionalMaxPoolGrad", kCpu, FractionalPoolGradKernel<true>);
REGISTER_KERNEL("FractionalAvgPoolGrad", kCpu, FractionalPoolGradKernel<false>);

}  // namespace
}  // namespace tessera
