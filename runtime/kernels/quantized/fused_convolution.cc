// Quantised convolutions with what follows them: QuantizedConv2DWithBiasAndReluAndRequantize,
// QuantizedDepthwiseConv2DWithBias and their kin, as oneDNN computes them.
#include <limits>

#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/byte_gemm.h"
#include "runtime/kernels/primitives/byte_weights.h"
#include "runtime/kernels/quantized/byte_patches.h"
#include "runtime/kernels/quantized/fused_arguments.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

// Inputs by name: input, filter (bytes), bias (float, or sums of int32), ranges of input and
// filter, one for all or one for each output channel, and for an output of bytes its range.
// Outputs: sums of int32 or bytes, and their range. Sums of channels with ranges of their own are
// all brought to the unit of the widest one.
// Errors: INVALID_ARGUMENT for ranks, depths or sizes that do not fit; UNIMPLEMENTED for
// padding_list.
class FusedConvolutionKernel final : public OpKernel {
 public:
  explicit FusedConvolutionKernel(const KernelBuild& build)
      : kind_(absl::StrContains(build.op().name, "Depthwise") ? FilterKind::kDepthwise
                                                              : FilterKind::kGrouped),
        has_relu_(absl::StrContains(build.op().name, "Relu")),
        bias_(PositionOf(build, "bias")),
        input_range_(PositionOf(build, "min_input")),
        filter_range_(PositionOf(build, "min_filter")),
        output_range_(PositionOf(build, "min_freezed_output")),
        weights_(build, /*input=*/1, {}),
        window_(ReadConvolutionWindow(build, 2, kind_)) {
    if (!build.has_attr("padding_list")) return;
    if (build.attr<std::vector<int64_t>>("padding_list").empty()) return;
    build.Fail(absl::UnimplementedError("padding_list must be empty"));
  }

  // Depthwise filters are read as they are.
  absl::Status Prepare(const PrepareContext& /*context*/) override {
    return kind_ == FilterKind::kGrouped ? weights_.Prepare() : absl::OkStatus();
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(
        const ConvolutionShape shape,
        ConvolutionGeometry(window_, kind_, ctx.input(0).shape(), ctx.input(1).shape()));
    if (kind_ == FilterKind::kGrouped && shape.groups != 1) {
      return absl::InvalidArgumentError(absl::StrCat("the filter is for ", ctx.input(1).dim(2),
                                                     " channels, the input has ",
                                                     ctx.input(0).dim(3)));
    }
    if (ctx.input(0).dtype() == DType::kQint8) return Convolve<int8_t>(ctx, shape);
    return Convolve<uint8_t>(ctx, shape);
  }

 private:
  // What turns a sum into an element of the output.
  struct Epilogue {
    Bias bias;
    std::vector<float> scales;  // of each channel or of all; empty: none
    bool has_relu;

    template <typename T>
    T Apply(int64_t sum, int64_t channel) const {
      sum += bias[channel];
      if constexpr (sizeof(T) == 4) {
        if (has_relu) sum = std::max<int64_t>(sum, 0);
        if (scales.empty()) {
          return static_cast<T>(std::clamp<int64_t>(sum, std::numeric_limits<T>::lowest(),
                                                    std::numeric_limits<T>::max()));
        }
      }
      float scaled = static_cast<float>(sum) * scales[scales.size() == 1 ? 0 : channel];
      if (has_relu) scaled = std::max(scaled, 0.0f);
      if constexpr (sizeof(T) == 4) return Bias::RoundToInt32(scaled);
      return Saturate<T>(scaled);
    }
  };

  template <typename In>
  absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape) const {
    ASSIGN_OR_RETURN(
        Tensor* const y,
        ctx.AllocateOutput(0, window_.MakeShape(shape.batch, shape.output, shape.out_channels)));
    ASSIGN_OR_RETURN(const Epilogue epilogue, ReadEpilogue(ctx, shape.out_channels, y->dtype()));
    switch (y->dtype()) {
      case DType::kQint8:
        return Run<In, int8_t>(ctx, shape, epilogue, y);
      case DType::kQuint8:
        return Run<In, uint8_t>(ctx, shape, epilogue, y);
      default:
        return Run<In, int32_t>(ctx, shape, epilogue, y);
    }
  }

  // Reads the ranges and sets those of the output.
  absl::StatusOr<Epilogue> ReadEpilogue(KernelContext& ctx, int64_t channels, DType out) const {
    ASSIGN_OR_RETURN(const float min_in, ReadNumber(ctx, input_range_));
    ASSIGN_OR_RETURN(const float max_in, ReadNumber(ctx, input_range_ + 1));
    ASSIGN_OR_RETURN(const std::vector<float> min_filter,
                     ReadChannels(ctx, filter_range_, channels));
    ASSIGN_OR_RETURN(const std::vector<float> max_filter,
                     ReadChannels(ctx, filter_range_ + 1, channels));
    if (min_filter.size() != max_filter.size()) {
      return absl::InvalidArgumentError("min_filter and max_filter must have the same shape");
    }
    const DType in = ctx.input(0).dtype();
    const float limit = LargestByte(in) * 127.0f;
    const float range_in = LargerEnd(min_in, max_in);
    std::vector<float> ranges, units;
    for (size_t c = 0; c < min_filter.size(); ++c) {
      ranges.push_back(LargerEnd(min_filter[c], max_filter[c]));
      units.push_back(limit / (range_in * ranges[c]));
    }
    Epilogue epilogue{.has_relu = has_relu_};
    if (bias_ >= 0) {
      ASSIGN_OR_RETURN(epilogue.bias, Bias::Make(ctx.input(bias_), channels, units));
    }
    if (out == DType::kQint32) {
      RETURN_IF_ERROR(SetSumRange(ctx, in, max_in - min_in, min_filter, max_filter));
      if (ranges.size() == 1) return epilogue;
      const float widest = *std::max_element(ranges.begin(), ranges.end());
      for (float range : ranges) epilogue.scales.push_back(range / widest);
      return epilogue;
    }
    ASSIGN_OR_RETURN(const float min_out, ReadNumber(ctx, output_range_));
    ASSIGN_OR_RETURN(const float max_out, ReadNumber(ctx, output_range_ + 1));
    for (float range : ranges) {
      epilogue.scales.push_back(LargestByte(out) * range_in * range /
                                (limit * LargerEnd(min_out, max_out)));
    }
    RETURN_IF_ERROR(SetScalarOutput<float>(ctx, 1, min_out));
    RETURN_IF_ERROR(SetScalarOutput<float>(ctx, 2, max_out));
    return epilogue;
  }

  // Sets what the lowest and the highest int32 stand for, in all channels or in each.
  absl::Status SetSumRange(KernelContext& ctx, DType in, float width_in,
                           const std::vector<float>& min_filter,
                           const std::vector<float>& max_filter) const {
    const Shape shape = ctx.input(filter_range_).shape();
    ASSIGN_OR_RETURN(Tensor* const min, ctx.AllocateOutput(1, shape));
    ASSIGN_OR_RETURN(Tensor* const max, ctx.AllocateOutput(2, shape));
    const float level_in = width_in / (in == DType::kQint8 ? 254.0f : 255.0f);
    for (size_t c = 0; c < min_filter.size(); ++c) {
      const float level = level_in * ((max_filter[c] - min_filter[c]) / 254.0f);
      min->data<float>()[c] = level * static_cast<float>(std::numeric_limits<int32_t>::lowest());
      max->data<float>()[c] = level * static_cast<float>(std::numeric_limits<int32_t>::max());
    }
    return absl::OkStatus();
  }

  template <typename In, typename Out>
  absl::Status Run(KernelContext& ctx, const ConvolutionShape& shape, const Epilogue& epilogue,
                   Tensor* y) const {
    if (y->num_elements() == 0) return absl::OkStatus();
    if (kind_ == FilterKind::kDepthwise) {
      RunDepthwise<In, Out>(ctx, shape, epilogue, y);
      return absl::OkStatus();
    }
    const BytePatches<In> patches(shape, Stored<In>(ctx.input(0)));
    ASSIGN_OR_RETURN(const PackedBytes packed, weights_.Get(ctx));
    const ByteMatrix& filter = packed.matrix;
    const int64_t out = shape.out_channels, pixels = y->num_elements() / out;
    ctx.ParallelFor(pixels, filter.RowNanoseconds(), [&](int64_t begin, int64_t end) {
      MultiplyPatches(patches, begin, end, filter, out, epilogue, MutableStored<Out>(y));
    });
    return absl::OkStatus();
  }

  // Computes output pixels [begin, end). Sums are those of int32, as oneDNN's are.
  template <typename In, typename Out>
  static void MultiplyPatches(const BytePatches<In>& patches, int64_t begin, int64_t end,
                              const ByteMatrix& filter, int64_t out, const Epilogue& epilogue,
                              Out* y) {
    const int64_t row_size = filter.row_size(), some = PatchesAtOnce(row_size);
    std::vector<uint8_t> rows(some * row_size);
    std::vector<int32_t> sums(some * out);
    std::vector<int32_t> shift(out);  // what the sums have too much
    constexpr auto kShift = static_cast<uint8_t>(kUnsignedShift<In>);
    if (kShift != 0) {
      std::fill_n(rows.begin(), patches.size(), kShift);
      filter.Multiply(rows.data(), 1, shift.data(), out);
    }
    for (; begin < end; begin += some) {
      const int64_t count = std::min(some, end - begin);
      for (int64_t i = 0; i < count; ++i) {
        uint8_t* const row = rows.data() + i * row_size;
        patches.Copy(begin + i, row, [&](int64_t position) {
          std::fill_n(row + position * patches.channels(), patches.channels(), kShift);
        });
      }
      filter.Multiply(rows.data(), count, sums.data(), out);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t o = 0; o < out; ++o) {
          const auto sum = static_cast<int32_t>(static_cast<uint32_t>(sums[i * out + o]) -
                                                static_cast<uint32_t>(shift[o]));
          y[(begin + i) * out + o] = epilogue.Apply<Out>(sum, o);
        }
      }
    }
  }

  template <typename In, typename Out>
  static void RunDepthwise(KernelContext& ctx, const ConvolutionShape& shape,
                           const Epilogue& epilogue, Tensor* y) {
    const In* const images = Stored<In>(ctx.input(0));
    const int8_t* const filter = Stored<int8_t>(ctx.input(1));
    Out* const out = MutableStored<Out>(y);
    const int64_t rows = shape.output[0], columns = shape.output[1], channels = shape.out_channels;
    const int64_t in = shape.in_channels, multiplier = in > 0 ? channels / in : 1;
    const auto row = [&](int64_t i) {
      std::vector<int32_t> sums(channels);
      const int64_t b = i / rows, top = i % rows * shape.strides[0] - shape.pad_before[0];
      for (int64_t column = 0; column < columns; ++column) {
        std::fill(sums.begin(), sums.end(), 0);
        const int64_t left = column * shape.strides[1] - shape.pad_before[1];
        for (int64_t tap = 0; tap < shape.filter[0] * shape.filter[1]; ++tap) {
          const int64_t v = top + tap / shape.filter[1] * shape.dilations[0];
          const int64_t u = left + tap % shape.filter[1] * shape.dilations[1];
          if (v < 0 || v >= shape.input[0] || u < 0 || u >= shape.input[1]) continue;
          const In* const pixel = images + ((b * shape.input[0] + v) * shape.input[1] + u) * in;
          const int8_t* const weights = filter + tap * channels;
          for (int64_t o = 0; o < channels; ++o) {
            sums[o] += int32_t{pixel[o / multiplier]} * weights[o];
          }
        }
        Out* const to = out + (i * columns + column) * channels;
        for (int64_t o = 0; o < channels; ++o) to[o] = epilogue.Apply<Out>(sums[o], o);
      }
    };
    const double cost =
        FlopsOf(shape) / static_cast<double>(std::max<int64_t>(1, shape.batch * rows));
    ctx.ParallelFor(shape.batch * rows, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) row(i);
    });
  }

  const FilterKind kind_;
  const bool has_relu_;
  const int bias_, input_range_, filter_range_, output_range_;
  ByteWeights weights_;
  const WindowAttrs window_;
};

// Inputs and outputs of the dtypes that TensorFlow registers.
#define REGISTER_FUSED_CONVOLUTION(op, out, ...)    \
  REGISTER_KERNEL(op, kCpu, FusedConvolutionKernel) \
      .TypeConstraint("Tinput", {__VA_ARGS__})      \
      .TypeConstraint("Tfilter", {DType::kQint8})   \
      .TypeConstraint("out_type", {out})

constexpr DType kSums = DType::kQint32, kSigned = DType::kQint8, kUnsigned = DType::kQuint8;

REGISTER_FUSED_CONVOLUTION("QuantizedConv2DAndRelu", kSums, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedConv2DAndReluAndRequantize", kUnsigned, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedConv2DAndRequantize", kSigned, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedConv2DPerChannel", kSums, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedConv2DWithBias", kSums, kSigned, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedConv2DWithBiasAndRelu", kSums, kSigned, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedConv2DWithBiasAndReluAndRequantize", kUnsigned, kSigned,
                           kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedConv2DWithBiasAndRequantize", kSigned, kSigned, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedDepthwiseConv2D", kSums, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedDepthwiseConv2DWithBias", kSums, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedDepthwiseConv2DWithBiasAndRelu", kSums, kUnsigned);
REGISTER_FUSED_CONVOLUTION("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", kUnsigned,
                           kUnsigned);

}  // namespace
}  // namespace tessera
