// Convolutions of uniformly quantised tensors: UniformQuantizedConvolution,
// UniformQuantizedConvolutionHybrid.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/dilated_convolution.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/quantized/affine_quantization.h"
#include "tensorflow/core/util/quantization/uniform_quant_ops_attr.pb.h"

namespace tessera {
namespace {

// The attributes of a node that describe its convolution.
class UniformConvolutionAttrs {
 public:
  explicit UniformConvolutionAttrs(const KernelBuild& build)
      : padding_(build.attr<std::string>("padding")),
        explicit_padding_(build.attr<std::vector<int64_t>>("explicit_padding")) {
    attrs_.strides = build.attr<std::vector<int64_t>>("window_strides");
    attrs_.input_dilation = build.attr<std::vector<int64_t>>("lhs_dilation");
    attrs_.filter_dilation = build.attr<std::vector<int64_t>>("rhs_dilation");
    attrs_.feature_groups = build.attr<int64_t>("feature_group_count");
    attrs_.batch_groups = build.attr<int64_t>("batch_group_count");
    if (padding_ != "EXPLICIT" && padding_ != "SAME" && padding_ != "VALID") {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("padding must be EXPLICIT, SAME or VALID, is '", padding_, "'")));
    } else if (padding_ != "EXPLICIT" && !explicit_padding_.empty()) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("explicit_padding must be empty for the padding ", padding_)));
    }
    ReadDimensionNumbers<tensorflow::UniformQuantizedConvolutionDimensionNumbersAttr>(build,
                                                                                      &attrs_);
  }

  // Fills in what depends on the rank and the sizes.
  // Errors: INVALID_ARGUMENT for attributes and shapes that do not fit together.
  absl::StatusOr<ConvolutionAttrs> Fill(const Shape& lhs, const Shape& rhs) const {
    const int spatial_rank = lhs.rank() - 2;
    if (spatial_rank < 1 || rhs.rank() != lhs.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("lhs and rhs must have the same rank of at least 3, have shapes ",
                       lhs.ToString(), " and ", rhs.ToString()));
    }
    ConvolutionAttrs attrs = attrs_;
    if (attrs.input.spatial.empty()) {
      attrs.input = attrs.filter = attrs.output = ConvolutionLayout::BatchFirst(spatial_rank);
    }
    attrs.pad_before.resize(spatial_rank, 0);
    attrs.pad_after.resize(spatial_rank, 0);
    if (padding_ == "EXPLICIT") {
      if (explicit_padding_.size() != 2 * attrs.pad_before.size() ||
          std::any_of(explicit_padding_.begin(), explicit_padding_.end(),
                      [](int64_t pad) { return pad < 0; })) {
        return absl::InvalidArgumentError(absl::StrCat(
            "explicit_padding must be ", 2 * spatial_rank, " numbers that are not negative"));
      }
      for (int i = 0; i < spatial_rank; ++i) {
        attrs.pad_before[i] = explicit_padding_[2 * i];
        attrs.pad_after[i] = explicit_padding_[2 * i + 1];
      }
    }
    // Make() refuses sizes, strides and dilations that are out of range.
    RETURN_IF_ERROR(DilatedConvolution::Make(attrs, lhs, rhs).status());
    const auto at = [](const std::vector<int64_t>& values, int i) {
      return values.empty() ? 1 : values[i];
    };
    for (int i = 0; i < spatial_rank; ++i) {
      const int64_t stride = at(attrs.strides, i);
      const int64_t in = DilatedSize(lhs.dim(static_cast<int>(attrs.input.spatial[i])),
                                     at(attrs.input_dilation, i));
      const int64_t window = DilatedSize(rhs.dim(static_cast<int>(attrs.filter.spatial[i])),
                                         at(attrs.filter_dilation, i));
      if (padding_ == "SAME") {
        const int64_t out = (in + stride - 1) / stride;
        const int64_t total = std::max<int64_t>((out - 1) * stride + window - in, 0);
        attrs.pad_before[i] = total / 2;
        attrs.pad_after[i] = total - total / 2;
      } else if ((in + attrs.pad_before[i] + attrs.pad_after[i] - window + stride) / stride < 0) {
        return absl::InvalidArgumentError(absl::StrCat("the filter of shape ", rhs.ToString(),
                                                       " is larger than lhs, of shape ",
                                                       lhs.ToString()));
      }
    }
    return attrs;
  }

 private:
  ConvolutionAttrs attrs_;
  const std::string padding_;
  const std::vector<int64_t> explicit_padding_;
};

// Errors: INVALID_ARGUMENT unless the axis is -1 or the dimension of the output features.
absl::Status CheckAxis(const QuantizationAttrs& attrs, int64_t feature, absl::string_view name) {
  if (attrs.axis == -1 || attrs.axis == feature) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, "_quantization_axis must be -1 or ", feature, ", is ", attrs.axis));
}

// The quantisation of the features of a tensor that is quantised as a whole or by its features.
class FeatureQuantization {
 public:
  FeatureQuantization(const Tensor& scales, const Tensor& zero_points)
      : scales_(scales.flat<float>()),
        zero_points_(zero_points.flat<int32_t>()),
        step_(scales.shape().IsScalar() ? 0 : 1) {}
  float scale(int64_t feature) const { return scales_[feature * step_]; }
  int32_t zero_point(int64_t feature) const { return zero_points_[feature * step_]; }

 private:
  const absl::Span<const float> scales_;
  const absl::Span<const int32_t> zero_points_;
  const int64_t step_;
};

// Inputs: images and filter, their scales and zero points, those of the output.
class UniformConvolutionKernel : public OpKernel {
 public:
  explicit UniformConvolutionKernel(const KernelBuild& build)
      : attrs_(build),
        lhs_attrs_(build, "lhs_"),
        rhs_attrs_(build, "rhs_"),
        out_attrs_(build, "output_") {
    if (lhs_attrs_.axis != -1) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("lhs_quantization_axis must be -1, is ", lhs_attrs_.axis)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& lhs = ctx.input(0);
    const Tensor& rhs = ctx.input(1);
    ASSIGN_OR_RETURN(const ConvolutionAttrs attrs, attrs_.Fill(lhs.shape(), rhs.shape()));
    ASSIGN_OR_RETURN(const auto convolution,
                     DilatedConvolution::Make(attrs, lhs.shape(), rhs.shape()));
    RETURN_IF_ERROR(CheckAxis(rhs_attrs_, attrs.filter.batch, "rhs"));
    RETURN_IF_ERROR(CheckAxis(out_attrs_, attrs.output.feature, "output"));
    if (rhs_attrs_.axis == -1 && out_attrs_.axis != -1) {
      return absl::InvalidArgumentError(
          "the output must be quantised as a whole where the filter is");
    }
    RETURN_IF_ERROR(
        AffineQuantization::ReadPositive(ctx.input(2), ctx.input(3), lhs_attrs_, lhs.shape())
            .status());
    RETURN_IF_ERROR(
        AffineQuantization::ReadPositive(ctx.input(4), ctx.input(5), rhs_attrs_, rhs.shape())
            .status());
    ASSIGN_OR_RETURN(const auto clamp,
                     AffineQuantization::ReadPositive(ctx.input(6), ctx.input(7), out_attrs_,
                                                      convolution.output_shape()));
    const FeatureQuantization of_rhs(ctx.input(4), ctx.input(5));
    const FeatureQuantization of_out(ctx.input(6), ctx.input(7));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, convolution.output_shape()));
    // There may be any number of features if the batch is empty.
    if (y->num_elements() == 0) return absl::OkStatus();
    const float lhs_scale = ctx.input(2).scalar<float>();
    const int32_t lhs_zero = ctx.input(3).scalar<int32_t>();
    std::vector<FixedPointMultiplier> multipliers;
    const int64_t features = rhs.dim(static_cast<int>(attrs.filter.batch));
    for (int64_t f = 0; f < features; ++f) {
      multipliers.emplace_back(static_cast<double>(lhs_scale) *
                               static_cast<double>(of_rhs.scale(f)) /
                               static_cast<double>(of_out.scale(f)));
    }
    const auto* const x = reinterpret_cast<const int8_t*>(lhs.raw());
    const auto* const w = reinterpret_cast<const int8_t*>(rhs.raw());
    auto* const out = reinterpret_cast<int32_t*>(y->mutable_raw());
    const auto body = [&](const DilatedConvolution::Output& output) {
      const uint32_t rhs_zero = of_rhs.zero_point(output.feature);
      uint32_t sum = 0;  // wraps
      output.ForEachProduct([&](int64_t in, int64_t weight) {
        sum += (static_cast<uint32_t>(x[in]) - lhs_zero) *
               (static_cast<uint32_t>(w[weight]) - rhs_zero);
      });
      out[output.position] = clamp.Clamp(multipliers[output.feature](static_cast<int32_t>(sum)) +
                                         of_out.zero_point(output.feature));
    };
    ctx.ParallelFor(
        y->num_elements(), 2.0 * convolution.products_per_output(),
        [&](int64_t begin, int64_t end) { convolution.ForEachOutput(begin, end, body); });
    return absl::OkStatus();
  }

 private:
  const UniformConvolutionAttrs attrs_;
  const QuantizationAttrs lhs_attrs_, rhs_attrs_, out_attrs_;
};
REGISTER_KERNEL("UniformQuantizedConvolution", kCpu, UniformConvolutionKernel);

// The images are floats, and each of the batch is quantised by itself.
class UniformConvolutionHybridKernel : public OpKernel {
 public:
  explicit UniformConvolutionHybridKernel(const KernelBuild& build)
      : attrs_(build), rhs_attrs_(build, "rhs_") {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& lhs = ctx.input(0);
    const Tensor& rhs = ctx.input(1);
    ASSIGN_OR_RETURN(ConvolutionAttrs attrs, attrs_.Fill(lhs.shape(), rhs.shape()));
    RETURN_IF_ERROR(CheckAxis(rhs_attrs_, attrs.filter.batch, "rhs"));
    RETURN_IF_ERROR(
        AffineQuantization::ReadPositive(ctx.input(2), ctx.input(3), rhs_attrs_, rhs.shape())
            .status());
    ASSIGN_OR_RETURN(const auto convolution,
                     DilatedConvolution::Make(attrs, lhs.shape(), rhs.shape()));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, convolution.output_shape()));
    // There may be any number of images if they have no pixels.
    if (y->num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor quantized, ctx.AllocateTemp(DType::kInt16, lhs.shape()));
    const std::vector<float> scales =
        QuantizeBatch(lhs, static_cast<int>(attrs.input.batch), quantized);
    const FeatureQuantization of_rhs(ctx.input(2), ctx.input(3));
    const int16_t* const x = quantized.data<int16_t>();
    const auto* const w = reinterpret_cast<const int8_t*>(rhs.raw());
    float* const out = y->data<float>();
    const auto body = [&](const DilatedConvolution::Output& output) {
      const uint32_t zero = of_rhs.zero_point(output.feature);
      uint32_t sum = 0;  // wraps
      output.ForEachProduct([&](int64_t in, int64_t weight) {
        sum += static_cast<uint32_t>(x[in]) * (static_cast<uint32_t>(w[weight]) - zero);
      });
      out[output.position] = static_cast<float>(static_cast<int32_t>(sum)) * scales[output.batch] *
                             of_rhs.scale(output.feature);
    };
    ctx.ParallelFor(
        y->num_elements(), 2.0 * convolution.products_per_output(),
        [&](int64_t begin, int64_t end) { convolution.ForEachOutput(begin, end, body); });
    return absl::OkStatus();
  }

 private:
  // Quantises each slice along the dimension `axis` by itself, and returns the scales.
  static std::vector<float> QuantizeBatch(const Tensor& lhs, int axis, Tensor quantized) {
    const int64_t batch = lhs.dim(axis);
    const int64_t outer = DimProduct(lhs.shape(), 0, axis);
    const int64_t inner = DimProduct(lhs.shape(), axis + 1, lhs.rank());
    std::vector<float> scales, slice(outer * inner);
    for (int64_t b = 0; b < batch; ++b) {
      const auto start = [&](int64_t o) { return (o * batch + b) * inner; };
      for (int64_t o = 0; o < outer; ++o) {
        std::copy_n(lhs.data<float>() + start(o), inner, slice.begin() + o * inner);
      }
      const DynamicQuantization q(slice);
      for (int64_t o = 0; o < outer; ++o) {
        std::copy_n(q.numbers.begin() + o * inner, inner, quantized.data<int16_t>() + start(o));
      }
      scales.push_back(q.scale);
    }
    return scales;
  }

  const UniformConvolutionAttrs attrs_;
  const QuantizationAttrs rhs_attrs_;
};
REGISTER_KERNEL("UniformQuantizedConvolutionHybrid", kCpu, UniformConvolutionHybridKernel);

}  // namespace
}  // namespace tessera
