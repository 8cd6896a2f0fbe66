#include "runtime/kernels/primitives/cpu/convolution.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/cpu/amx_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/convolution_chunks.h"
#include "runtime/kernels/primitives/cpu/convolution_layout.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/implicit_gemm.h"
#include "runtime/kernels/primitives/cpu/onednn_weights.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"
#include "runtime/kernels/primitives/cpu/winograd.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

namespace {

using dnnl::memory;

// ---- float, by oneDNN ----

struct ConvolutionPrimitive {
  dnnl::convolution_forward::primitive_desc desc;
  dnnl::primitive primitive;
  memory::desc source, filter, output;  // the caller's layouts
};

std::shared_ptr<const ConvolutionPrimitive> MakePrimitive(const ConvolutionShape& shape,
                                                          const PostOps& post_ops) {
  auto made = std::make_shared<ConvolutionPrimitive>();
  made->source = DataLayout(shape, shape.in_channels, shape.input);
  made->filter = FilterLayout(shape);
  made->output = DataLayout(shape, shape.out_channels, shape.output);
  const memory::desc any_filter(made->filter.dims(), memory::data_type::f32,
                                memory::format_tag::any);
  const memory::desc bias =
      post_ops.bias
          ? memory::desc({shape.out_channels}, memory::data_type::f32, memory::format_tag::a)
          : memory::desc();
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, made->source,
      any_filter, bias, made->output, Dims(shape.strides), Dims(shape.dilations, -1),
      Dims(shape.pad_before), Dims(shape.pad_after));
  made->desc = dnnl::convolution_forward::primitive_desc(desc, onednn::Attributes(post_ops),
                                                         onednn::Engine());
  made->primitive = dnnl::convolution_forward(made->desc);
  return made;
}

// Runs on the calling thread alone. `input` and `output` point to the chunk's first elements.
absl::Status RunChunk(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const float* input, const ScaledWeights& filter, const Tensor* bias,
                      PackedWeights* packed, float* output) {
  static auto* const primitives = new onednn::PrimitiveCache<ConvolutionPrimitive>(1024);
  const onednn::OneThread one_thread;
  ASSIGN_OR_RETURN(const std::shared_ptr<const ConvolutionPrimitive> primitive,
                   primitives->Get(onednn::AddTo(ConvolutionKey(shape), post_ops),
                                   [&] { return MakePrimitive(shape, post_ops); }));
  const auto& desc = primitive->desc;
  try {
    dnnl::stream& stream = onednn::Stream();
    ASSIGN_OR_RETURN(
        Tensor scratch,
        ctx.AllocateTemp(DType::kUint8, {static_cast<int64_t>(desc.scratchpad_desc().get_size())}));
    ASSIGN_OR_RETURN(
        const onednn::Weights weights,
        onednn::WeightsInLayout(ctx, filter, primitive->filter, desc.weights_desc(), packed));
    std::unordered_map<int, memory> args{
        {DNNL_ARG_SRC, onednn::Wrap(primitive->source, input)},
        {DNNL_ARG_WEIGHTS, weights.memory},
        {DNNL_ARG_DST, onednn::Wrap(primitive->output, output)},
        {DNNL_ARG_SCRATCHPAD, onednn::Wrap(desc.scratchpad_desc(), scratch.raw())},
    };
    if (bias) args.emplace(DNNL_ARG_BIAS, onednn::Wrap(desc.bias_desc(), bias->raw()));
    primitive->primitive.execute(stream, args);
    stream.wait();
  } catch (const dnnl::error& e) {
    return absl::InternalError(absl::StrCat("oneDNN failed in a convolution: ", e.what()));
  }
  return absl::OkStatus();
}

double NanosecondsOf(const ConvolutionShape& shape) {
  const MachineSpeeds& speeds = SpeedsForCpu();
  return FlopsOf(shape) / (shape.groups > 1 ? speeds.depthwise_flops : speeds.fma_flops);
}

absl::Status ConvolveOneDnn(KernelContext& ctx, const ConvolutionShape& shape,
                            const PostOps& post_ops, const float* input,
                            const ScaledWeights& filter, const Tensor* bias, PackedWeights* packed,
                            float* output) {
  const double nanoseconds = NanosecondsOf(shape);
  const int64_t count = NumChunks(ctx, std::numeric_limits<int64_t>::max(), nanoseconds);
  const std::vector<ConvolutionChunk> chunks = SplitConvolution(shape, count);
  return ForEachChunk(ctx, chunks.size(), nanoseconds / chunks.size(), [&](int64_t i) {
    const ConvolutionChunk& chunk = chunks[i];
    return RunChunk(ctx, chunk.shape, post_ops, input + chunk.input_offset, filter, bias, packed,
                    output + chunk.output_offset);
  });
}

absl::Status ConvolveFloat(KernelContext& ctx, ProductAlgorithm algorithm,
                           const ConvolutionShape& shape, const PostOps& post_ops,
                           const Tensor& input, const ScaledWeights& filter, const Tensor* bias,
                           PackedWeights* packed, Tensor* output) {
  const float* const from = input.data<float>();
  float* const to = output->data<float>();
  PackedWeights for_this_run;
  if (packed == nullptr) packed = &for_this_run;
  switch (algorithm) {
    case ProductAlgorithm::kWinograd2:
    case ProductAlgorithm::kWinograd4: {
      const int tile = algorithm == ProductAlgorithm::kWinograd2 ? 2 : 4;
      return ConvolveWinograd(ctx, shape, tile, post_ops, from, filter, bias, packed, to, [&] {
        return ConvolveOneDnn(ctx, shape, post_ops, from, filter, bias, packed, to);
      });
    }
    case ProductAlgorithm::kFmaGemm:
    case ProductAlgorithm::kAmxGemm: {
      const gemm::MicroKernel& kernel =
          algorithm == ProductAlgorithm::kFmaGemm ? gemm::FmaMicroKernel() : gemm::AmxMicroKernel();
      const ConvolutionShape points = AsPoints(shape);
      const int64_t in = input.num_elements() / points.batch;
      const int64_t out = output->num_elements() / points.batch;
      const auto fallback = [&](KernelContext& ctx, int64_t first, int64_t count) {
        ConvolutionShape some = points;
        some.batch = count;
        return ConvolveOneDnn(ctx, some, post_ops, from + first * in, filter, bias, packed,
                              to + first * out);
      };
      return ConvolveByImplicitGemm(ctx, kernel, points, post_ops, from, filter,
                                    bias ? bias->data<float>() : nullptr, packed, to, fallback);
    }
    default:
      return ConvolveOneDnn(ctx, shape, post_ops, from, filter, bias, packed, to);
  }
}

// ---- every other dtype: a plain loop, accumulating in double or int64 ----

template <typename T>
void ConvolvePlain(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                   const T* input, const T* filter, const T* bias, T* output) {
  using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  const DataStrides in = StridesOf(shape, shape.in_channels, shape.input);
  const DataStrides out = StridesOf(shape, shape.out_channels, shape.output);
  const int64_t group_in = shape.in_channels / shape.groups;
  const int64_t group_out = shape.out_channels / shape.groups;
  int64_t points = 1, positions = 1;
  for (int64_t d : shape.output) points *= d;
  for (int64_t d : shape.filter) positions *= d;
  const int64_t point_stride = shape.channels_first ? 1 : shape.out_channels;
  const double cost = 2.0 * positions * group_in * shape.out_channels;
  ctx.ParallelFor(shape.batch * points, cost, [&](int64_t begin, int64_t end) {
    std::vector<Sum> sums(shape.out_channels);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t image = item / points, point = item % points;
      std::fill(sums.begin(), sums.end(), Sum(0));
      ForEachKernelPosition(shape, in, point, [&](const KernelPosition& position) {
        const T* from = input + image * in.batch + position.input_offset;
        const T* weights = filter + position.index * group_in * shape.out_channels;
        for (int64_t c = 0; c < shape.in_channels; ++c) {
          const Sum x = static_cast<Sum>(from[c * in.channel]);
          const int64_t group = c / group_in;
          const T* row = weights + c % group_in * shape.out_channels + group * group_out;
          for (int64_t o = 0; o < group_out; ++o) {
            sums[group * group_out + o] += x * static_cast<Sum>(row[o]);
          }
        }
      });
      T* to = output + image * out.batch + point * point_stride;
      for (int64_t o = 0; o < shape.out_channels; ++o) {
        Sum sum = sums[o];
        if (bias) sum += static_cast<Sum>(bias[o]);
        if (post_ops.add) sum += static_cast<Sum>(to[o * out.channel]);
        if (post_ops.activation != Activation::kNone) {
          sum = static_cast<Sum>(
              Apply(post_ops.activation, post_ops.alpha, static_cast<double>(sum)));
        }
        to[o * out.channel] = static_cast<T>(sum);
      }
    }
  });
}

}  // namespace

absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const Tensor* bias,
                      PackedWeights* packed, Tensor* output, Numerics numerics) {
  if (output->num_elements() == 0) return absl::OkStatus();
  const bool is_empty = input.num_elements() == 0 || filter.values.num_elements() == 0;
  const ProductAlgorithm algorithm =
      is_empty ? ProductAlgorithm::kLoops
               : PlanConvolution({.dtype = input.dtype(),
                                  .shape = shape,
                                  .activation = post_ops.activation,
                                  .has_constant_filter = packed != nullptr},
                                 {SpeedsForCpu(), NumThreads(ctx), numerics});
  if (algorithm != ProductAlgorithm::kLoops) {
    return ConvolveFloat(ctx, algorithm, shape, post_ops, input, filter, bias, packed, output);
  }
  return VisitRealType(input.dtype(), [&]<typename T>() {
    ConvolvePlain<T>(ctx, shape, post_ops, input.data<T>(), filter.values.data<T>(),
                     bias ? bias->data<T>() : nullptr, output->data<T>());
    return absl::OkStatus();
  });
}

namespace {

class CpuConvolution final : public Convolution {
 public:
  CpuConvolution(const KernelBuild& build, int filter_input)
      : numerics_(build.numerics()), filter_(build, filter_input) {}

  absl::Status Run(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                   const Tensor& input, const ScaledWeights& filter, const PostOpInputs& inputs,
                   Tensor* output) override {
    CopyAddend(inputs, output);
    return Convolve(ctx, shape, post_ops, input, filter, inputs.bias, filter_.UseFor(ctx), output,
                    numerics_);
  }

 private:
  const Numerics numerics_;
  PackedWeights filter_;
};

std::unique_ptr<Convolution> MakeConvolution(const KernelBuild& build, int filter_input) {
  return std::make_unique<CpuConvolution>(build, filter_input);
}

REGISTER_PRIMITIVE(Convolution, kCpu, MakeConvolution);

}  // namespace
}  // namespace tessera
