#include "runtime/kernels/primitives/convolution.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/amx_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/convolution_chunks.h"
#include "runtime/kernels/primitives/cpu/convolution_layout.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/depthwise_convolution.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/gemv.h"
#include "runtime/kernels/primitives/cpu/implicit_gemm.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/onednn_product.h"
#include "runtime/kernels/primitives/cpu/post_op_rows.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"
#include "runtime/kernels/primitives/cpu/stepwise_depthwise.h"
#include "runtime/kernels/primitives/cpu/winograd.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/plan_cache.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using dnnl::memory;

// ---- float, by oneDNN ----

memory::desc OfFloat(memory::desc layout) { return layout; }

// `of_type` converts a layout to the element type of the product.
std::shared_ptr<const onednn::Product> MakeProduct(const ConvolutionShape& shape,
                                                   const PostOps& post_ops,
                                                   memory::desc (*of_type)(memory::desc)) {
  const memory::desc source = of_type(DataLayout(shape, shape.in_channels, shape.input));
  const memory::desc filter = of_type(FilterLayout(shape));
  const memory::desc output = of_type(DataLayout(shape, shape.out_channels, shape.output));
  const memory::desc any_filter(filter.dims(), filter.data_type(), memory::format_tag::any);
  const memory::desc bias =
      post_ops.bias ? memory::desc({shape.out_channels}, filter.data_type(), memory::format_tag::a)
                    : memory::desc();
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source, any_filter,
      bias, output, Dims(shape.strides), Dims(shape.dilations, -1), Dims(shape.pad_before),
      Dims(shape.pad_after));
  return onednn::MakeProduct<dnnl::convolution_forward>(
      {desc, onednn::Attributes(post_ops), onednn::Engine()}, filter);
}

absl::StatusOr<std::shared_ptr<const onednn::Product>> ProductFor(const ConvolutionShape& shape,
                                                                  const PostOps& post_ops) {
  static auto* const products = new onednn::PrimitiveCache<onednn::Product>(1024);
  const onednn::OneThread one_thread;
  return products->Get(onednn::AddTo(ConvolutionKey(shape), post_ops),
                       [&] { return MakeProduct(shape, post_ops, OfFloat); });
}

bool IsCheap(Activation activation) {
  return IsClamp(activation) || activation == Activation::kLeakyRelu;
}

// Returns true if oneDNN's primitives compute an activation, and faster than a loop over their
// output.
bool IsFastInOneDnn(const PostOps& post_ops) {
  if (!onednn::AppliesActivation(post_ops)) return false;
  const Activation activation = post_ops.activation;
  return activation == Activation::kNone || activation == Activation::kLeakyRelu ||
         (!HasAvx512() && (activation == Activation::kElu || activation == Activation::kGeluErf));
}

// Post-ops whose activation is left to a loop over the output if `splits`. Such a loop is faster
// for most activations with an exponential than oneDNN's primitives are, which have no clamps that
// keep NaN, and Winograd's algorithm applies only clamps.
struct SplitPostOps {
  SplitPostOps(const PostOps& post_ops, bool splits) : product(post_ops) {
    if (!splits) return;
    rest = {.activation = post_ops.activation, .alpha = post_ops.alpha};
    product.activation = Activation::kNone;
  }

  PostOps product, rest;
};

// Returns the number of elements of the output.
int64_t OutputSize(const ConvolutionShape& shape) {
  int64_t size = shape.batch * shape.out_channels;
  for (int64_t d : shape.output) size *= d;
  return size;
}

int64_t FilterBytes(const ConvolutionShape& shape) {
  int64_t size = shape.in_channels / shape.groups * shape.out_channels * sizeof(float);
  for (int64_t d : shape.filter) size *= d;
  return size;
}

// Returns true if some point of the output depends on nothing but padding.
bool HasWindowOfPadding(const ConvolutionShape& shape) {
  for (size_t d = 0; d < shape.filter.size(); ++d) {
    const int64_t dilation = shape.dilations[d];
    for (int64_t i = 0; i < shape.output[d]; ++i) {
      const int64_t first = i * shape.strides[d] - shape.pad_before[d];
      const int64_t skipped = first < 0 ? (dilation - 1 - first) / dilation : 0;  // positions
      if (skipped >= shape.filter[d] || first + skipped * dilation >= shape.input[d]) return true;
    }
  }
  return false;
}

// Adds the bias to the output of a convolution.
void AddBias(const ConvolutionShape& shape, const float* bias, float* output) {
  int64_t points = shape.batch;
  for (int64_t d : shape.output) points *= d;
  if (!shape.channels_first) {
    for (int64_t i = 0; i < points; ++i) {
      StartSums({.bias = true, .add = true}, bias, shape.out_channels,
                output + i * shape.out_channels);
    }
    return;
  }
  const int64_t plane = points / shape.batch;
  for (int64_t i = 0; i < points * shape.out_channels; ++i) {
    output[i] += bias[i / plane % shape.out_channels];
  }
}

// A convolution in chunks that oneDNN computes.
struct OneDnnConvolution {
  struct Chunk {
    ConvolutionChunk range;
    std::shared_ptr<const onednn::Product> product;
  };
  std::vector<Chunk> chunks;
  double nanoseconds = 0;         // the time of one chunk
  bool starts_with_bias = false;  // the bias is added to the output before the product is
  PostOps rest;                   // an activation that is applied to the output of each chunk
};

// Splits the convolution for `threads` threads, as NumPoolThreads() counts them.
absl::StatusOr<OneDnnConvolution> SplitForOneDnn(const ConvolutionShape& shape,
                                                 const PostOps& post_ops, int threads,
                                                 Numerics numerics) {
  const MachineSpeeds& speeds = SpeedsForCpu();
  const double nanoseconds =
      FlopsOf(shape) / (shape.groups > 1 ? speeds.depthwise_flops : speeds.fma_flops);
  SplitPostOps split(post_ops, !IsFastInOneDnn(post_ops));
  // oneDNN leaves out the bias where it has only padding to multiply, but sums to add to.
  const bool starts_with_bias = post_ops.bias && post_ops.add && HasWindowOfPadding(shape);
  if (starts_with_bias) split.product.bias = false;
  int64_t count = NumChunks(threads, std::numeric_limits<int64_t>::max(), nanoseconds);
  // A chunk is so small that its output is still in the second-level cache when its activations are
  // computed, but for clamps, which take less time than reading a large filter for each chunk. A
  // plan holds the shape of each chunk, so that large batches have larger chunks.
  if (split.rest.activation != Activation::kNone &&
      (!IsClamp(split.rest.activation) || FilterBytes(shape) <= speeds.cache_bytes / 2)) {
    constexpr int64_t kMaxChunks = 256;
    const int64_t bytes = OutputSize(shape) * static_cast<int64_t>(sizeof(float));
    count = std::max(count, std::min(bytes / (speeds.cache_bytes / 4), kMaxChunks));
  }
  // Without AVX-512 oneDNN may add up another order of terms in a part of an image than in the
  // whole image.
  if (numerics == Numerics::kStrict && !speeds.has_avx512) count = std::min(count, shape.batch);
  OneDnnConvolution result{.starts_with_bias = starts_with_bias, .rest = split.rest};
  for (ConvolutionChunk& range : SplitConvolution(shape, count)) {
    ASSIGN_OR_RETURN(auto product, ProductFor(range.shape, split.product));
    result.chunks.push_back({std::move(range), std::move(product)});
  }
  result.nanoseconds = nanoseconds / result.chunks.size();
  return result;
}

// The operands and the output of a convolution whose filter is packed. `packed` is not null.
struct Operands {
  const float* input;
  const ScaledWeights& filter;
  const Tensor* bias;  // null if there is none
  PackedWeights* packed;
  float* output;
  int64_t input_size = 0, output_size = 0;  // elements

  const float* bias_data() const { return bias == nullptr ? nullptr : bias->data<float>(); }
};

absl::Status ConvolveOneDnn(KernelContext& ctx, const OneDnnConvolution& convolution,
                            const Operands& o) {
  const auto& chunks = convolution.chunks;
  return ForEachChunk(ctx, chunks.size(), convolution.nanoseconds, [&](int64_t i) -> absl::Status {
    const auto& [range, product] = chunks[i];
    float* const output = o.output + range.output_offset;
    if (convolution.starts_with_bias) AddBias(range.shape, o.bias_data(), output);
    RETURN_IF_ERROR(
        onednn::RunProduct(ctx, *product, o.input + range.input_offset, o.filter, o.packed,
                           convolution.starts_with_bias ? nullptr : o.bias_data(), output));
    FinishSums(convolution.rest, OutputSize(range.shape), output);
    return absl::OkStatus();
  });
}

absl::Status ConvolveOneDnn(KernelContext& ctx, const ConvolutionShape& shape,
                            const PostOps& post_ops, const Operands& o) {
  ASSIGN_OR_RETURN(const OneDnnConvolution convolution,
                   SplitForOneDnn(shape, post_ops, NumPoolThreads(ctx), Numerics::kFast));
  return ConvolveOneDnn(ctx, convolution, o);
}

// ---- float, by the algorithm that the planner chooses ----

// A plan to compute convolutions of one shape.
struct ConvolutionPlan {
  bool IsFor(const ConvolutionShape& other, const PostOps& other_post_ops,
             bool other_has_constant_filter, int other_threads) const {
    return threads == other_threads && has_constant_filter == other_has_constant_filter &&
           shape == other && post_ops == other_post_ops;
  }

  ConvolutionShape shape;
  PostOps post_ops;
  bool has_constant_filter = false;
  int threads = 0;  // see NumPoolThreads()

  ProductAlgorithm algorithm = ProductAlgorithm::kOneDnn;
  OneDnnConvolution onednn;  // for kOneDnn
  ConvolutionShape points;   // for implicit GEMM and kGemv
};

absl::StatusOr<ConvolutionPlan> MakePlan(const ConvolutionShape& shape, const PostOps& post_ops,
                                         bool has_constant_filter, int threads, Numerics numerics) {
  ConvolutionPlan plan{.shape = shape,
                       .post_ops = post_ops,
                       .has_constant_filter = has_constant_filter,
                       .threads = threads};
  // The errors of Winograd's algorithm are small compared to the largest sum, but not compared to
  // the sigmoid of this sum.
  const bool saturates =
      post_ops.activation == Activation::kSigmoid || post_ops.activation == Activation::kTanh;
  const Activation activation =
      saturates || IsCheap(post_ops.activation) ? post_ops.activation : Activation::kNone;
  plan.algorithm = PlanConvolution({.dtype = DType::kFloat,
                                    .shape = shape,
                                    .activation = activation,
                                    .has_constant_filter = has_constant_filter},
                                   {SpeedsForCpu(), std::max(threads, 1), numerics});
  if (plan.algorithm == ProductAlgorithm::kOneDnn) {
    ASSIGN_OR_RETURN(plan.onednn, SplitForOneDnn(shape, post_ops, threads, numerics));
  } else {
    plan.points = AsPoints(shape);
  }
  return plan;
}

// Returns the filter in its own layout. If it has a scale, the result is a copy that `o.packed`
// keeps.
absl::StatusOr<Tensor> ScaledFilter(KernelContext& ctx, const Operands& o) {
  if (o.filter.scale == nullptr) return o.filter.values;
  const auto copy = [&](const Tensor& values) -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor result,
                     Tensor::Allocate(DType::kFloat, o.filter.values.shape(), WeightsAllocator()));
    std::memcpy(result.data<float>(), values.raw(), result.size_bytes());
    return result;
  };
  return o.packed->Get(ctx, o.filter, {.kind = PackedFormat::Kind::kPlain}, copy);
}

absl::Status ConvolveFloat(KernelContext& ctx, const ConvolutionPlan& plan, const Operands& o) {
  const ConvolutionShape& shape = plan.shape;
  const PostOps& post_ops = plan.post_ops;
  switch (plan.algorithm) {
    case ProductAlgorithm::kWinograd2:
    case ProductAlgorithm::kWinograd4: {
      const int tile = plan.algorithm == ProductAlgorithm::kWinograd2 ? 2 : 4;
      const SplitPostOps split(post_ops, !IsCheap(post_ops.activation));
      RETURN_IF_ERROR(
          ConvolveWinograd(ctx, shape, tile, split.product, o.input, o.filter, o.bias, o.packed,
                           o.output, [&] { return ConvolveOneDnn(ctx, shape, split.product, o); }));
      if (split.rest.activation == Activation::kNone) return absl::OkStatus();
      constexpr double kNanosecondsAnElement = 0.2;
      ctx.ParallelFor(o.output_size, kNanosecondsAnElement, [&](int64_t begin, int64_t end) {
        FinishSums(split.rest, end - begin, o.output + begin);
      });
      return absl::OkStatus();
    }
    case ProductAlgorithm::kFmaGemm:
    case ProductAlgorithm::kAmxGemm:
    case ProductAlgorithm::kStrassen: {
      const int64_t in = o.input_size / plan.points.batch;
      const int64_t out = o.output_size / plan.points.batch;
      const auto fallback = [&](KernelContext& ctx, int64_t first, int64_t count) {
        ConvolutionShape some = plan.points;
        some.batch = count;
        Operands operands = o;
        operands.input += first * in;
        operands.output += first * out;
        return ConvolveOneDnn(ctx, some, post_ops, operands);
      };
      const gemm::MicroKernel& kernel = plan.algorithm == ProductAlgorithm::kAmxGemm
                                            ? gemm::AmxMicroKernel()
                                            : gemm::FmaMicroKernel();
      if (IsPointwise(plan.points)) {
        const GemmArguments product{.m = plan.points.batch,
                                    .n = shape.out_channels,
                                    .k = shape.in_channels,
                                    .post_ops = post_ops,
                                    .a = o.input,
                                    .b = o.filter,
                                    .bias = o.bias_data(),
                                    .packed = o.packed,
                                    .output = o.output};
        return plan.algorithm == ProductAlgorithm::kStrassen
                   ? StrassenMatMul(ctx, product, fallback)
                   : BlockedMatMul(ctx, kernel, product, fallback);
      }
      return ConvolveByImplicitGemm(ctx, kernel, plan.points, post_ops, o.input, o.filter,
                                    o.bias_data(), o.packed, o.output, fallback);
    }
    case ProductAlgorithm::kDepthwise: {
      ASSIGN_OR_RETURN(const Tensor filter, ScaledFilter(ctx, o));
      return ConvolveDepthwise(ctx, shape, post_ops, o.input, filter.data<float>(), o.bias_data(),
                               o.output);
    }
    case ProductAlgorithm::kGemv: {
      ASSIGN_OR_RETURN(const Tensor filter, ScaledFilter(ctx, o));
      return Gemv(ctx, plan.points.batch, shape.out_channels, shape.in_channels,
                  /*transpose_b=*/false, post_ops, o.input, filter.data<float>(), o.bias_data(),
                  o.output);
    }
    default:
      return ConvolveOneDnn(ctx, plan.onednn, o);
  }
}

// ---- bfloat16, by oneDNN ----

memory::desc OfBfloat16(memory::desc layout) {
  layout.data.data_type = dnnl_bf16;
  return layout;
}

absl::StatusOr<std::shared_ptr<const onednn::Product>> Bfloat16ProductFor(
    const ConvolutionShape& shape, const PostOps& post_ops) {
  static auto* const products = new onednn::PrimitiveCache<onednn::Product>(1024);
  const onednn::OneThread one_thread;
  return products->Get(onednn::AddTo(ConvolutionKey(shape), post_ops),
                       [&] { return MakeProduct(shape, post_ops, OfBfloat16); });
}

// The layouts and products that oneDNN uses for one element type.
struct ElementProducts {
  memory::desc (*of_type)(memory::desc);
  absl::StatusOr<std::shared_ptr<const onednn::Product>> (*product_for)(const ConvolutionShape&,
                                                                        const PostOps&);
};

// A convolution whose filter is reordered into oneDNN's layout in each run. Elements have type T.
template <typename T>
absl::Status ConvolveAndReorder(KernelContext& ctx, const ConvolutionShape& shape,
                                const PostOps& post_ops, const ElementProducts& products,
                                const Tensor& input, const Tensor& filter, const Tensor* bias,
                                Tensor* output) {
  const double nanoseconds = FlopsOf(shape) / SpeedsForCpu().fma_flops;
  const int64_t count =
      NumChunks(NumPoolThreads(ctx), std::numeric_limits<int64_t>::max(), nanoseconds);
  const std::vector<ConvolutionChunk> chunks = SplitConvolution(shape, count);
  const memory::desc plain = products.of_type(FilterLayout(shape));
  return ForEachChunk(
      ctx, chunks.size(), nanoseconds / chunks.size(), [&](int64_t i) -> absl::Status {
        const ConvolutionChunk& chunk = chunks[i];
        ASSIGN_OR_RETURN(const auto product, products.product_for(chunk.shape, post_ops));
        const memory::desc& wanted = product->weights.wanted();
        ASSIGN_OR_RETURN(
            const Tensor weights,
            ctx.AllocateTemp(DType::kUint8, {static_cast<int64_t>(wanted.get_size())}));
        RETURN_IF_ERROR(onednn::Reorder(plain, filter.raw(), wanted, weights.raw()));
        T* const out = output->data<T>() + chunk.output_offset;
        RETURN_IF_ERROR(onednn::RunProduct(ctx, *product, input.data<T>() + chunk.input_offset,
                                           weights.raw(), bias == nullptr ? nullptr : bias->raw(),
                                           out));
        if constexpr (std::is_same_v<T, float>) {
          if (onednn::AppliesActivation(post_ops)) return absl::OkStatus();
          FinishSums(post_ops, OutputSize(chunk.shape), out);
        } else {
          ClampBfloat16(post_ops, OutputSize(chunk.shape), reinterpret_cast<uint16_t*>(out));
        }
        return absl::OkStatus();
      });
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

// ---- half and bfloat16: sums are of float, and rounded once, but for depthwise ones of half ----

// Returns true for a type whose convolutions are computed in float. oneDNN has products of
// bfloat16.
bool IsWidened(DType dtype) {
  return IsNarrowFloat(dtype) && !(dtype == DType::kBfloat16 && HasAvx512());
}

// Calls `convolve` with the input, the bias (null if there is none) and the output as float.
template <typename Convolve>
absl::Status ConvolveWidened(KernelContext& ctx, const Tensor& input, const Tensor* bias,
                             Tensor* output, Convolve convolve) {
  Allocator* const allocator = ctx.host_allocator();
  ASSIGN_OR_RETURN(const Tensor wide_input, WidenToFloat(input, allocator));
  ASSIGN_OR_RETURN(Tensor wide_output, WidenToFloat(*output, allocator));  // holds the addend
  Tensor wide_bias;
  if (bias != nullptr) {
    ASSIGN_OR_RETURN(wide_bias, WidenToFloat(*bias, allocator));
  }
  RETURN_IF_ERROR(convolve(wide_input, bias == nullptr ? nullptr : &wide_bias, &wide_output));
  NarrowFromFloat(wide_output, output);
  return absl::OkStatus();
}

absl::Status ConvolveNarrow(KernelContext& ctx, const ConvolutionShape& shape,
                            const PostOps& post_ops, const Tensor& input, const Tensor& filter,
                            const Tensor* bias, Tensor* output) {
  if (!IsWidened(input.dtype())) {
    return ConvolveAndReorder<Eigen::bfloat16>(
        ctx, shape, post_ops, {OfBfloat16, Bfloat16ProductFor}, input, filter, bias, output);
  }
  if (input.dtype() == DType::kHalf && IsStepwiseDepthwise(shape) && post_ops == PostOps()) {
    return StepwiseDepthwise(ctx, shape, input, filter, output);
  }
  ASSIGN_OR_RETURN(const Tensor wide_filter, WidenToFloat(filter, ctx.host_allocator()));
  return ConvolveWidened(
      ctx, input, bias, output, [&](const Tensor& input, const Tensor* bias, Tensor* output) {
        return ConvolveAndReorder<float>(ctx, shape, post_ops, {OfFloat, ProductFor}, input,
                                         wide_filter, bias, output);
      });
}

// Does what Convolution::Run() does for an addend that is in `output` already. `bias` is null
// unless post_ops.bias. If `packed` is not null the filter is constant, and packed once. Keeps its
// plans.
absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const Tensor* bias,
                      PackedWeights* packed, Tensor* output, Numerics numerics,
                      PlanCache<ConvolutionPlan>& plans) {
  if (output->num_elements() == 0) return absl::OkStatus();
  const bool is_empty = input.num_elements() == 0 || filter.values.num_elements() == 0;
  if (IsNarrowFloat(input.dtype()) && numerics == Numerics::kFast && !is_empty) {
    return ConvolveNarrow(ctx, shape, post_ops, input, filter.values, bias, output);
  }
  if (input.dtype() != DType::kFloat || is_empty) {
    return VisitRealType(input.dtype(), [&]<typename T>() {
      ConvolvePlain<T>(ctx, shape, post_ops, input.data<T>(), filter.values.data<T>(),
                       bias ? bias->data<T>() : nullptr, output->data<T>());
      return absl::OkStatus();
    });
  }
  const bool is_constant = packed != nullptr;
  PackedWeights for_this_run;
  const Operands operands{.input = input.data<float>(),
                          .filter = filter,
                          .bias = bias,
                          .packed = is_constant ? packed : &for_this_run,
                          .output = output->data<float>(),
                          .input_size = input.num_elements(),
                          .output_size = output->num_elements()};
  const int threads = NumPoolThreads(ctx);
  if (const auto* plan = plans.Find(shape, post_ops, is_constant, threads)) {
    return ConvolveFloat(ctx, *plan, operands);
  }
  ASSIGN_OR_RETURN(const ConvolutionPlan plan,
                   MakePlan(shape, post_ops, is_constant, threads, numerics));
  plans.Insert(plan);
  return ConvolveFloat(ctx, plan, operands);
}

class CpuConvolution final : public Convolution {
 public:
  CpuConvolution(const KernelBuild& build, int filter_input)
      : numerics_(build.numerics()), filter_(build, filter_input) {}

  // Converts a constant filter whose convolutions are computed in float. Runs then pack the
  // converted filter.
  absl::Status Prepare(const PrepareContext& /*context*/, int /*out_dims*/) override {
    const Tensor* const filter = filter_.constant();
    if (filter == nullptr || filter->num_elements() == 0 || !IsWidened(filter->dtype()) ||
        numerics_ != Numerics::kFast) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(wide_filter_, WidenToFloat(*filter, WeightsAllocator()));
    return absl::OkStatus();
  }

  absl::Status Run(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                   const Tensor& input, const ScaledWeights& filter, const PostOpInputs& inputs,
                   Tensor* output) override {
    CopyAddend(inputs, output);
    if (wide_filter_.has_value() && input.num_elements() > 0 && output->num_elements() > 0) {
      return ConvolveWidened(ctx, input, inputs.bias, output,
                             [&](const Tensor& input, const Tensor* bias, Tensor* output) {
                               return Convolve(ctx, shape, post_ops, input, wide_filter_, bias,
                                               &wide_packed_, output, numerics_, plans_);
                             });
    }
    return Convolve(ctx, shape, post_ops, input, filter, inputs.bias, filter_.UseFor(ctx), output,
                    numerics_, plans_);
  }

 private:
  const Numerics numerics_;
  PackedWeights filter_;
  Tensor wide_filter_;  // without a value unless Prepare() made it
  PackedWeights wide_packed_;
  PlanCache<ConvolutionPlan> plans_;
};

std::unique_ptr<Convolution> MakeConvolution(const KernelBuild& build, int filter_input) {
  return std::make_unique<CpuConvolution>(build, filter_input);
}

REGISTER_PRIMITIVE(Convolution, kCpu, MakeConvolution);

}  // namespace
}  // namespace tessera
