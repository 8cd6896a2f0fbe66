// Arithmetic on quantised numbers of a range: QuantizedMatMul, QuantizedRelu, QuantizedRelu6,
// Requantize, RequantizationRange, QuantizeDownAndShrinkRange.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/byte_gemm.h"
#include "runtime/kernels/primitives/byte_weights.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/quantized/quantized_type.h"

namespace tessera {
namespace {

class QuantizedMatMulKernel : public OpKernel {
 public:
  explicit QuantizedMatMulKernel(const KernelBuild& build)
      : transpose_a_(build.attr<bool>("transpose_a")),
        transpose_b_(build.attr<bool>("transpose_b")),
        weights_(build, /*input=*/1,
                 {.transposed = transpose_b_, .sums = ByteWeights::Sums::kOfColumns}) {}

  absl::Status Prepare(const PrepareContext& /*context*/) override { return weights_.Prepare(); }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    RETURN_IF_ERROR(CheckMatrices(a, transpose_a_, b, transpose_b_));
    const bool is_signed = b.dtype() == DType::kQint8;
    if (a.dtype() == DType::kQint8) {
      return is_signed ? Multiply<int8_t, int8_t>(ctx) : Multiply<int8_t, uint8_t>(ctx);
    }
    return is_signed ? Multiply<uint8_t, int8_t>(ctx) : Multiply<uint8_t, uint8_t>(ctx);
  }

 private:
  template <typename A, typename B>
  absl::Status Multiply(KernelContext& ctx) const {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    // TensorFlow takes vectors of one element for all ends but the first.
    if (!ctx.input(2).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("min_a must be a scalar, has shape ", ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const auto range_a, ReadRange<A>(ctx, 2, RangeEnds::kSingle));
    ASSIGN_OR_RETURN(const auto range_b, ReadRange<B>(ctx, 4, RangeEnds::kSingle));
    if (range_a.min == range_a.max || range_b.min == range_b.max) {
      return absl::InvalidArgumentError("max_a and max_b must be larger than min_a and min_b");
    }
    const int64_t m = a.dim(transpose_a_ ? 1 : 0), k = a.dim(transpose_a_ ? 0 : 1);
    const int64_t n = b.dim(transpose_b_ ? 0 : 1);
    const int64_t a_row = transpose_a_ ? 1 : k, a_column = transpose_a_ ? m : 1;
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, Shape{m, n}));
    RETURN_IF_ERROR(SetRange(ctx, 1, ProductRange(range_a, range_b)));
    if (y->num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const PackedBytes packed, weights_.Get(ctx));
    const ByteMatrix& right = packed.matrix;
    const int64_t row_size = right.row_size();
    // The sum of (a - zero_a) * (b - zero_b) from that of a * b and the sums of each side's bytes.
    // It wraps, as TensorFlow's does.
    const uint32_t zero_a = static_cast<uint32_t>(range_a.Unclamped(0)) + kUnsignedShift<A>;
    const uint32_t zero_b = static_cast<uint32_t>(range_b.Unclamped(0)) + kSignedShift<B>;
    const int32_t* const of_columns = packed.sums.data<int32_t>();
    int32_t* const out = MutableStored<int32_t>(y);
    ctx.ParallelFor(m, right.RowNanoseconds(), [&](int64_t begin, int64_t end) {
      constexpr int64_t kRowsAtOnce = 24;
      std::vector<uint8_t> rows(kRowsAtOnce * row_size);
      uint32_t row_sums[kRowsAtOnce];
      for (; begin < end; begin += kRowsAtOnce) {
        const int64_t count = std::min(kRowsAtOnce, end - begin);
        for (int64_t i = 0; i < count; ++i) {
          row_sums[i] = CopyUnsigned(Stored<A>(a) + (begin + i) * a_row, k, a_column,
                                     rows.data() + i * row_size);
        }
        right.Multiply(rows.data(), count, out + begin * n, n);
        for (int64_t i = 0; i < count; ++i) {
          int32_t* const to = out + (begin + i) * n;
          const uint32_t constant = zero_b * (zero_a * static_cast<uint32_t>(k) - row_sums[i]);
          for (int64_t j = 0; j < n; ++j) {
            to[j] = static_cast<int32_t>(static_cast<uint32_t>(to[j]) + constant -
                                         zero_a * static_cast<uint32_t>(of_columns[j]));
          }
        }
      }
    });
    return absl::OkStatus();
  }

  const bool transpose_a_, transpose_b_;
  ByteWeights weights_;
};
REGISTER_KERNEL("QuantizedMatMul", kCpu, QuantizedMatMulKernel)
    .TypeConstraint("T1", {DType::kQuint8, DType::kQint8})
    .TypeConstraint("T2", {DType::kQuint8, DType::kQint8})
    .TypeConstraint("Toutput", {DType::kQint32});

// Limits numbers from below by what stands for 0, and for Relu6 from above by what stands for 6.
template <bool kSix>
class QuantizedReluKernel : public OpKernel {
 public:
  explicit QuantizedReluKernel(const KernelBuild& build) {
    if (build.input_types()[0] != build.output_types()[0]) {
      build.Fail(absl::InvalidArgumentError("Tinput and out_type must be the same"));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    return VisitQuantizedType(x.dtype(), [&]<typename T>() -> absl::Status {
      ASSIGN_OR_RETURN(const auto range, ReadRange<T>(ctx, 1));
      ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
      const T low = range.Quantize(0);
      const T high = kSix ? range.Quantize(6) : std::numeric_limits<T>::max();
      std::transform(Stored<T>(x), Stored<T>(x) + x.num_elements(),
                     reinterpret_cast<T*>(y->mutable_raw()),
                     [&](T q) { return std::min(std::max(q, low), high); });
      return SetRange(ctx, 1, range);
    });
  }
};
REGISTER_KERNEL("QuantizedRelu", kCpu, QuantizedReluKernel<false>);
REGISTER_KERNEL("QuantizedRelu6", kCpu, QuantizedReluKernel<true>);

// From int32 of one range to bytes of another, in fixed point with 16 bits behind the point.
void RequantizeToBytes(const int32_t* from, int64_t count, const QuantizedRange<int32_t>& in,
                       const QuantizedRange<uint8_t>& out, uint8_t* to) {
  constexpr int kShift = 16;
  const float in_width = in.max - in.min, out_width = out.max - out.min;
  int64_t scale = 0, in_offset = 0, out_offset = 0;
  if (out_width != 0) {
    const float middle = static_cast<float>((in.min + in.max) / 2.0);
    const float bytes_per_unit = static_cast<float>(255.0 / out_width);
    scale = static_cast<int64_t>(255.0 * (1 << kShift) * in_width / out_width);
    in_offset = static_cast<int64_t>(middle * bytes_per_unit * (1 << kShift));
    out_offset = static_cast<int64_t>((1 << kShift) * (out.min * 255.0) / out_width);
  }
  // Offsets of ranges whose ends are far from their width wrap around.
  const uint64_t offset = static_cast<uint64_t>(in_offset) - static_cast<uint64_t>(out_offset) +
                          (uint64_t{1} << (kShift - 1));
  for (int64_t i = 0; i < count; ++i) {
    const auto scaled = static_cast<int64_t>((static_cast<__int128>(from[i]) * scale) >> 32);
    const auto fixed = static_cast<int64_t>(static_cast<uint64_t>(scaled) + offset);
    to[i] = static_cast<uint8_t>(std::clamp<int64_t>(fixed >> kShift, 0, 255));
  }
}

// The part of `range` that the numbers of a tensor use, widened to 0.
QuantizedRange<uint8_t> UsedRange(const Tensor& x, const QuantizedRange<int32_t>& range) {
  const int32_t* const q = Stored<int32_t>(x);
  int32_t low = std::numeric_limits<int32_t>::max();
  int32_t high = std::numeric_limits<int32_t>::lowest();
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    low = std::min(low, q[i]);
    high = std::max(high, q[i]);
  }
  return {std::min(0.0f, range.Dequantize(low)), range.Dequantize(high)};
}

// The same for signed bytes, by way of the number that is meant. Scales are floats, so that the
// lower end of a symmetric range lies in the middle of two bytes and is the lower one.
void RequantizeToBytes(const int32_t* from, int64_t count, const QuantizedRange<int32_t>& in,
                       const QuantizedRange<int8_t>& out, int8_t* to) {
  const double width = (out.max - out.min) * (256.0 / 255.0);
  const auto scale = static_cast<float>(width == 0 ? 0 : 256.0 / width);
  const float lowest = std::round(out.min * scale);
  std::transform(from, from + count, to, [&](int32_t q) {
    const float steps = std::round(in.Dequantize(q) * scale) - lowest - 128.0f;
    return static_cast<int8_t>(steps >= -128.0f ? std::min(steps, 127.0f) : -128.0f);
  });
}

enum class Target { kRequested, kUsed, kRangeOnly };

// Inputs: int32 numbers, their range, and for Requantize the range of the output.
template <Target kTarget, typename Byte = uint8_t>
class RequantizeKernel : public OpKernel {
 public:
  explicit RequantizeKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    constexpr RangeEnds kEnds =
        kTarget == Target::kRangeOnly ? RangeEnds::kFirst : RangeEnds::kScalar;
    ASSIGN_OR_RETURN(const auto in, ReadRange<int32_t>(ctx, 1, kEnds));
    QuantizedRange<Byte> out;
    if constexpr (kTarget == Target::kRequested) {
      ASSIGN_OR_RETURN(out, ReadRange<Byte>(ctx, 3));
      if (out.min > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("requested_output_min must be <= 0, but got ", out.min));
      }
    } else {
      out = UsedRange(x, in);
    }
    if (kTarget == Target::kRangeOnly) return SetRange(ctx, 0, out);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    RequantizeToBytes(Stored<int32_t>(x), x.num_elements(), in, out, MutableStored<Byte>(y));
    return SetRange(ctx, 1, out);
  }
};
REGISTER_KERNEL("Requantize", kCpu, RequantizeKernel<Target::kRequested>)
    .TypeConstraint("Tinput", {DType::kQint32})
    .TypeConstraint("out_type", {DType::kQuint8});
using SignedRequantizeKernel = RequantizeKernel<Target::kRequested, int8_t>;
REGISTER_KERNEL("Requantize", kCpu, SignedRequantizeKernel)
    .TypeConstraint("Tinput", {DType::kQint32})
    .TypeConstraint("out_type", {DType::kQint8});
REGISTER_KERNEL("QuantizeDownAndShrinkRange", kCpu, RequantizeKernel<Target::kUsed>)
    .TypeConstraint("Tinput", {DType::kQint32})
    .TypeConstraint("out_type", {DType::kQuint8});
REGISTER_KERNEL("RequantizationRange", kCpu, RequantizeKernel<Target::kRangeOnly>)
    .TypeConstraint("Tinput", {DType::kQint32});

}  // namespace
}  // namespace tessera
