// Ops on uniformly quantised tensors: UniformQuantize, UniformDequantize, UniformRequantize,
// UniformQuantizedClipByValue, UniformQuantizedAdd, UniformQuantizedDot, UniformQuantizedDotHybrid.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/quantized/affine_quantization.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_type.h"

namespace tessera {
namespace {

// Inputs: x, scales, zero_points.
class UniformQuantizeKernel : public OpKernel {
 public:
  explicit UniformQuantizeKernel(const KernelBuild& build) : attrs_(build, "") {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const auto q,
                     AffineQuantization::Read(ctx.input(1), ctx.input(2), attrs_, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    return VisitQuantizedType(y->dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        MutableStored<T>(y)[i] = static_cast<T>(q.Quantize(x.data<float>()[i], i));
      }
      return absl::OkStatus();
    });
  }

 private:
  const QuantizationAttrs attrs_;
};
REGISTER_KERNEL("UniformQuantize", kCpu, UniformQuantizeKernel);

class UniformDequantizeKernel : public OpKernel {
 public:
  explicit UniformDequantizeKernel(const KernelBuild& build) : attrs_(build, "") {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const auto q, AffineQuantization::ReadPositive(ctx.input(1), ctx.input(2),
                                                                    attrs_, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    return VisitQuantizedType(x.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const int64_t steps = int64_t{Stored<T>(x)[i]} - q.zero_point(i);
        y->data<float>()[i] = static_cast<float>(steps) * q.scale(i);
      }
      return absl::OkStatus();
    });
  }

 private:
  const QuantizationAttrs attrs_;
};
REGISTER_KERNEL("UniformDequantize", kCpu, UniformDequantizeKernel);

// Inputs: x, its scales and zero points, those of the output.
class UniformRequantizeKernel : public OpKernel {
 public:
  explicit UniformRequantizeKernel(const KernelBuild& build)
      : in_attrs_(build, "input_"), out_attrs_(build, "output_") {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const auto from, AffineQuantization::ReadPositive(ctx.input(1), ctx.input(2),
                                                                       in_attrs_, x.shape()));
    ASSIGN_OR_RETURN(const auto to, AffineQuantization::ReadPositive(ctx.input(3), ctx.input(4),
                                                                     out_attrs_, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    return VisitQuantizedType(x.dtype(), [&]<typename T>() {
      return VisitQuantizedType(y->dtype(), [&]<typename Out>() {
        for (int64_t i = 0; i < x.num_elements(); ++i) {
          const FixedPointMultiplier scale(static_cast<double>(from.scale(i) / to.scale(i)));
          const int64_t steps = int64_t{Stored<T>(x)[i]} - from.zero_point(i);
          MutableStored<Out>(y)[i] = static_cast<Out>(to.Clamp(scale(steps) + to.zero_point(i)));
        }
        return absl::OkStatus();
      });
    });
  }

 private:
  const QuantizationAttrs in_attrs_, out_attrs_;
};
REGISTER_KERNEL("UniformRequantize", kCpu, UniformRequantizeKernel);

// Inputs: x, the limits, scales and zero points; the limits have the shape of the scales.
class UniformClipKernel : public OpKernel {
 public:
  explicit UniformClipKernel(const KernelBuild& build) : attrs_(build, "") {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& min = ctx.input(1);
    const Tensor& max = ctx.input(2);
    const Tensor& scales = ctx.input(3);
    RETURN_IF_ERROR(AffineQuantization::Read(scales, ctx.input(4), attrs_, x.shape()).status());
    if (!(min.shape() == scales.shape()) || !(max.shape() == scales.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("min and max must have the shape of the scales, ", scales.shape().ToString(),
                       ", have ", min.shape().ToString(), " and ", max.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    int64_t inner = 1;
    for (int d = static_cast<int>(attrs_.axis) + 1; attrs_.axis >= 0 && d < x.rank(); ++d) {
      inner *= x.dim(d);
    }
    return VisitQuantizedType(x.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const int64_t slice = attrs_.axis < 0 ? 0 : i / inner % min.num_elements();
        // The upper bound holds where the bounds contradict each other.
        MutableStored<T>(y)[i] =
            std::min(std::max(Stored<T>(x)[i], Stored<T>(min)[slice]), Stored<T>(max)[slice]);
      }
      return absl::OkStatus();
    });
  }

 private:
  const QuantizationAttrs attrs_;
};
REGISTER_KERNEL("UniformQuantizedClipByValue", kCpu, UniformClipKernel);

// Adds after both sides took the scale and the zero point of the output. Shapes broadcast.
class UniformAddKernel : public OpKernel {
 public:
  explicit UniformAddKernel(const KernelBuild& build)
      : a_attrs_(build, "lhs_"), b_attrs_(build, "rhs_"), out_attrs_(build, "output_") {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(a.shape(), b.shape()));
    ASSIGN_OR_RETURN(const auto qa, AffineQuantization::ReadPositive(ctx.input(2), ctx.input(3),
                                                                     a_attrs_, a.shape()));
    ASSIGN_OR_RETURN(const auto qb, AffineQuantization::ReadPositive(ctx.input(4), ctx.input(5),
                                                                     b_attrs_, b.shape()));
    ASSIGN_OR_RETURN(const auto out, AffineQuantization::ReadPositive(ctx.input(6), ctx.input(7),
                                                                      out_attrs_, shape));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      const auto steps = [&](const Tensor& x, const AffineQuantization& q) {
        const int64_t at = BroadcastSource(i, x.shape(), shape);
        const FixedPointMultiplier scale(static_cast<double>(q.scale(at) / out.scale(i)));
        const int64_t distance = int64_t{Stored<int32_t>(x)[at]} - q.zero_point(at);
        // What lies outside of the output's range may come back into it by the other side.
        constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
        constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
        return std::clamp<int64_t>(scale(distance) + out.zero_point(i), kLowest, kHighest);
      };
      MutableStored<int32_t>(y)[i] = out.Clamp(steps(a, qa) + steps(b, qb) - out.zero_point(i));
    }
    return absl::OkStatus();
  }

 private:
  const QuantizationAttrs a_attrs_, b_attrs_, out_attrs_;
};
REGISTER_KERNEL("UniformQuantizedAdd", kCpu, UniformAddKernel);

// Errors: INVALID_ARGUMENT unless both are matrices that can be multiplied.
absl::Status CheckProduct(const Tensor& a, const Tensor& b) {
  if (a.rank() == 2 && b.rank() == 2 && a.dim(1) == b.dim(0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("lhs and rhs must be matrices [m,k] and [k,n], have shapes ",
                   a.shape().ToString(), " and ", b.shape().ToString()));
}

// Reads the scales and zero points of the right side of a product, [k, n]. TensorFlow goes by their
// shape, not by the axis: scalars are those of the whole matrix, and vectors those of its columns.
// Errors: those of AffineQuantization::ReadPositive().
absl::StatusOr<AffineQuantization> ReadOfMatrixOrColumns(const Tensor& scales,
                                                         const Tensor& zero_points,
                                                         QuantizationAttrs attrs,
                                                         const Shape& shape) {
  attrs.axis = scales.rank() == 0 ? -1 : 1;
  return AffineQuantization::ReadPositive(scales, zero_points, attrs, shape);
}

class UniformDotKernel : public OpKernel {
 public:
  explicit UniformDotKernel(const KernelBuild& build)
      : a_attrs_(build, "lhs_"), b_attrs_(build, "rhs_"), out_attrs_(build, "output_") {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    RETURN_IF_ERROR(CheckProduct(a, b));
    const int64_t m = a.dim(0), k = a.dim(1), n = b.dim(1);
    const Shape shape{m, n};
    ASSIGN_OR_RETURN(const auto qa, AffineQuantization::ReadPositive(ctx.input(2), ctx.input(3),
                                                                     a_attrs_, a.shape()));
    ASSIGN_OR_RETURN(const auto qb,
                     ReadOfMatrixOrColumns(ctx.input(4), ctx.input(5), b_attrs_, b.shape()));
    ASSIGN_OR_RETURN(const auto out, AffineQuantization::ReadPositive(ctx.input(6), ctx.input(7),
                                                                      out_attrs_, shape));
    if (a_attrs_.axis != -1 || (b_attrs_.axis != -1 && b_attrs_.axis != 1)) {
      return absl::InvalidArgumentError(
          "lhs must be quantised as a whole, rhs as a whole or by its columns");
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    ctx.ParallelFor(m, 2.0 * static_cast<double>(k * n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t column = 0; column < n; ++column) {
          int64_t sum = 0;
          for (int64_t i = 0; i < k; ++i) {
            sum += (int64_t{Stored<int8_t>(a)[row * k + i]} - qa.zero_point(0)) *
                   (int64_t{Stored<int8_t>(b)[i * n + column]} - qb.zero_point(column));
          }
          const int64_t at = row * n + column;
          const double factor = static_cast<double>(qa.scale(0)) *
                                static_cast<double>(qb.scale(column)) /
                                static_cast<double>(out.scale(at));
          MutableStored<int32_t>(y)[at] =
              out.Clamp(FixedPointMultiplier(factor)(sum) + out.zero_point(at));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const QuantizationAttrs a_attrs_, b_attrs_, out_attrs_;
};
REGISTER_KERNEL("UniformQuantizedDot", kCpu, UniformDotKernel);

// The left side is of floats, whose rows are quantised for the product, as TensorFlow does it.
class UniformDotHybridKernel : public OpKernel {
 public:
  explicit UniformDotHybridKernel(const KernelBuild& build) : attrs_(build, "rhs_") {
    if (attrs_.axis != -1 && attrs_.axis != 1) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("rhs_quantization_axis must be -1 or 1, is ", attrs_.axis)));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    RETURN_IF_ERROR(CheckProduct(a, b));
    const int64_t m = a.dim(0), k = a.dim(1), n = b.dim(1);
    ASSIGN_OR_RETURN(const auto q,
                     ReadOfMatrixOrColumns(ctx.input(2), ctx.input(3), attrs_, b.shape()));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, Shape{m, n}));
    if (y->num_elements() == 0) return absl::OkStatus();
    ctx.ParallelFor(m, 2.0 * static_cast<double>(k * n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const DynamicQuantization left(absl::MakeConstSpan(a.data<float>() + row * k, k));
        for (int64_t column = 0; column < n; ++column) {
          int64_t sum = 0;
          for (int64_t i = 0; i < k; ++i) {
            sum += int64_t{left.numbers[i]} *
                   (int64_t{Stored<int8_t>(b)[i * n + column]} - q.zero_point(column));
          }
          y->data<float>()[row * n + column] =
              static_cast<float>(sum) * left.scale * q.scale(column);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const QuantizationAttrs attrs_;
};
REGISTER_KERNEL("UniformQuantizedDotHybrid", kCpu, UniformDotHybridKernel);

}  // namespace
}  // namespace tessera
