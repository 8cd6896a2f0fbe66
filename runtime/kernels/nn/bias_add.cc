// BiasAdd: a vector added along the channels, and its gradient.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// A tensor as outer x channels x inner elements.
struct ChannelView {
  int64_t outer = 1, channels = 1, inner = 1;
};

ChannelView ViewOf(const Shape& shape, bool channels_first) {
  const int channel_dim = channels_first ? 1 : shape.rank() - 1;
  ChannelView view;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < channel_dim ? view.outer : i == channel_dim ? view.channels : view.inner) *= shape.dim(i);
  }
  return view;
}

bool IsChannelsFirst(const KernelBuild& build) {
  return build.has_attr("data_format") && build.attr<std::string>("data_format") == "NCHW";
}

class BiasAddKernel : public OpKernel {
 public:
  explicit BiasAddKernel(const KernelBuild& build) : channels_first_(IsChannelsFirst(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    const Tensor bias = ctx.input(1);
    if (shape.rank() < 2 || bias.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("BiasAdd needs an input of rank 2 or more and a bias vector, has shapes ",
                       shape.ToString(), " and ", bias.shape().ToString()));
    }
    const ChannelView view = ViewOf(shape, channels_first_);
    if (bias.dim(0) != view.channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("the bias has ", bias.dim(0), " elements, the input of shape ",
                       shape.ToString(), " ", view.channels, " channels"));
    }
    const char* source = ctx.input(0).raw();  // also where the output lies if it takes the memory
    ASSIGN_OR_RETURN(Tensor* const output, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    return VisitNumericType(output->dtype(), [&]<typename T>() {
      const T* in = reinterpret_cast<const T*>(source);
      const T* b = bias.data<T>();
      T* out = output->data<T>();
      if (view.inner == 1) {
        ctx.ParallelFor(view.outer, 0.5 * view.channels, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t base = row * view.channels;
            for (int64_t c = 0; c < view.channels; ++c) out[base + c] = in[base + c] + b[c];
          }
        });
      } else {
        const int64_t rows = view.outer * view.channels;
        ctx.ParallelFor(rows, 0.5 * view.inner, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const T value = b[row % view.channels];
            const int64_t base = row * view.inner;
            for (int64_t i = 0; i < view.inner; ++i) out[base + i] = in[base + i] + value;
          }
        });
      }
      return absl::OkStatus();
    });
  }

 private:
  const bool channels_first_;
};
REGISTER_KERNEL("BiasAdd", kCpu, BiasAddKernel);
REGISTER_KERNEL("BiasAddV1", kCpu, BiasAddKernel);

// Sums over everything but the channels.
class BiasAddGradKernel : public OpKernel {
 public:
  explicit BiasAddGradKernel(const KernelBuild& build) : channels_first_(IsChannelsFirst(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& grad = ctx.input(0);
    if (grad.rank() < 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "BiasAddGrad needs an input of rank 2 or more, has shape ", grad.shape().ToString()));
    }
    const ChannelView view = ViewOf(grad.shape(), channels_first_);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, {view.channels}));
    return VisitNumericType(grad.dtype(), [&]<typename T>() {
      // Half precision sums would drown small terms.
      using Sum =
          std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>,
                             float, T>;
      std::vector<Sum> sums(view.channels, Sum(0));
      const T* in = grad.data<T>();
      for (int64_t o = 0; o < view.outer; ++o) {
        for (int64_t c = 0; c < view.channels; ++c) {
          Sum sum(0);
          for (int64_t i = 0; i < view.inner; ++i) sum += static_cast<Sum>(*in++);
          sums[c] += sum;
        }
      }
      for (int64_t c = 0; c < view.channels; ++c) output->data<T>()[c] = static_cast<T>(sums[c]);
      return absl::OkStatus();
    });
  }

 private:
  const bool channels_first_;
};
REGISTER_KERNEL("BiasAddGrad", kCpu, BiasAddGradKernel);

}  // namespace
}  // namespace tessera
