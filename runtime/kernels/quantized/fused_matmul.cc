// Quantised matrix products with what follows them: QuantizedMatMulWithBias and its kin, as oneDNN
// computes them.
#include <limits>

#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/byte_gemm.h"
#include "runtime/kernels/primitives/byte_weights.h"
#include "runtime/kernels/quantized/fused_arguments.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Inputs by name: a (quint8), b (qint8), bias (float, or sums of int32), ranges of a and b, and for
// an output that is no sum its range.
// Outputs: sums of int32, bytes or floats, and, but for floats, their range.
// Errors: INVALID_ARGUMENT for shapes that do not fit.
class FusedMatMulKernel final : public OpKernel {
 public:
  explicit FusedMatMulKernel(const KernelBuild& build)
      : transpose_a_(build.attr<bool>("transpose_a")),
        transpose_b_(build.attr<bool>("transpose_b")),
        has_relu_(absl::StrContains(build.op().name, "Relu")),
        range_a_(PositionOf(build, "min_a")),
        range_b_(PositionOf(build, "min_b")),
        output_range_(PositionOf(build, "min_freezed_output")),
        // TensorFlow takes notice of the mode where the output is float, and nowhere else.
        from_minimum_(build.attr<std::string>("input_quant_mode") == "MIN_FIRST" ||
                      build.output_types()[0] != DType::kFloat),
        weights_(build, /*input=*/1, {.transposed = transpose_b_, .sums = SumsFor(from_minimum_)}) {
  }

  absl::Status Prepare(const PrepareContext& /*context*/) override { return weights_.Prepare(); }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    RETURN_IF_ERROR(CheckMatrices(a, transpose_a_, b, transpose_b_));
    const int64_t m = a.dim(transpose_a_ ? 1 : 0), n = b.dim(transpose_b_ ? 0 : 1);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, Shape{m, n}));
    if (y->num_elements() == 0) return ReadEpilogue(ctx, nullptr, n, y->dtype()).status();
    // The depth of weights without columns may be larger than any memory, so that only weights that
    // are multiplied by are packed.
    ASSIGN_OR_RETURN(const PackedBytes packed, weights_.Get(ctx));
    const int32_t* const sums = from_minimum_ ? packed.sums.data<int32_t>() : nullptr;
    ASSIGN_OR_RETURN(const Epilogue epilogue, ReadEpilogue(ctx, sums, n, y->dtype()));
    switch (y->dtype()) {
      case DType::kFloat:
        return Multiply<float>(ctx, packed.matrix, epilogue, y);
      case DType::kQuint8:
        return Multiply<uint8_t>(ctx, packed.matrix, epilogue, y);
      default:
        return Multiply<int32_t>(ctx, packed.matrix, epilogue, y);
    }
  }

 private:
  struct Epilogue {
    Bias bias;
    float scale = 1;
    bool has_relu = false;
    std::vector<float> addends;  // after scaling, instead of a bias: for floats alone

    template <typename T>
    T Apply(int64_t sum, int64_t column) const {
      sum += bias[column];
      if (has_relu) sum = std::max<int64_t>(sum, 0);
      if constexpr (std::is_same_v<T, int32_t>) {
        return static_cast<T>(std::clamp<int64_t>(sum, std::numeric_limits<T>::lowest(),
                                                  std::numeric_limits<T>::max()));
      } else if constexpr (std::is_same_v<T, float>) {
        return static_cast<float>(sum) * scale + (addends.empty() ? 0.0f : addends[column]);
      } else {
        return Saturate<T>(static_cast<float>(sum) * scale);
      }
    }
  };

  static ByteWeights::Sums SumsFor(bool from_minimum) {
    return from_minimum ? ByteWeights::Sums::kOfColumns : ByteWeights::Sums::kNone;
  }

  // `sums` are those of the n columns of the weights, or null if they are not needed.
  absl::StatusOr<Epilogue> ReadEpilogue(KernelContext& ctx, const int32_t* sums, int64_t n,
                                        DType out) const {
    ASSIGN_OR_RETURN(const float min_a, ReadNumber(ctx, range_a_));
    ASSIGN_OR_RETURN(const float max_a, ReadNumber(ctx, range_a_ + 1));
    ASSIGN_OR_RETURN(const float min_b, ReadNumber(ctx, range_b_));
    ASSIGN_OR_RETURN(const float max_b, ReadNumber(ctx, range_b_ + 1));
    const float width_a = from_minimum_ ? max_a - min_a : LargerEnd(min_a, max_a);
    const float width_b = LargerEnd(min_b, max_b);
    // TensorFlow adds what the minimum of `a` is worth to a bias of float, before it scales it; the
    // numbers agree with floats only where the minimum is 0.
    std::vector<float> offsets;
    if (sums != nullptr) {
      const float zero = 255.0f * min_a / (max_a - min_a);
      for (int64_t column = 0; column < n; ++column) {
        offsets.push_back(static_cast<float>(sums[column]) * zero);
      }
    }
    Epilogue epilogue{.has_relu = has_relu_};
    const float unit = 255.0f * 127.0f / (width_a * width_b);
    ASSIGN_OR_RETURN(epilogue.bias, Bias::Make(ctx.input(2), n, {unit}, offsets));
    if (out == DType::kFloat && ctx.input(2).dtype() == DType::kFloat) {
      epilogue.bias = Bias();
      for (int64_t column = 0; column < n; ++column) {
        epilogue.addends.push_back(ctx.input(2).data<float>()[column] +
                                   (offsets.empty() ? 0.0f : offsets[column]));
      }
    }
    const float level = width_a * width_b / (255.0f * 127.0f);
    if (out == DType::kQint32) {
      const float sum_level = (max_a - min_a) / 255.0f * ((max_b - min_b) / 254.0f);
      RETURN_IF_ERROR(
          SetOutputs(ctx, sum_level * static_cast<float>(std::numeric_limits<int32_t>::lowest()),
                     sum_level * static_cast<float>(std::numeric_limits<int32_t>::max())));
      return epilogue;
    }
    ASSIGN_OR_RETURN(const float min_out, ReadNumber(ctx, output_range_));
    ASSIGN_OR_RETURN(const float max_out, ReadNumber(ctx, output_range_ + 1));
    epilogue.scale = level;
    if (out == DType::kFloat) return epilogue;
    epilogue.scale *= 255.0f / LargerEnd(min_out, max_out);
    RETURN_IF_ERROR(SetOutputs(ctx, min_out, max_out));
    return epilogue;
  }

  static absl::Status SetOutputs(KernelContext& ctx, float min, float max) {
    RETURN_IF_ERROR(SetScalarOutput<float>(ctx, 1, min));
    return SetScalarOutput<float>(ctx, 2, max);
  }

  // Sums are those of int32, as oneDNN's are.
  template <typename T>
  absl::Status Multiply(KernelContext& ctx, const ByteMatrix& b, const Epilogue& epilogue,
                        Tensor* y) const {
    const uint8_t* const a = Stored<uint8_t>(ctx.input(0));
    const int64_t k = ctx.input(0).dim(transpose_a_ ? 0 : 1), n = y->dim(1);
    const int64_t row_step = transpose_a_ ? 1 : k, step = transpose_a_ ? y->dim(0) : 1;
    T* const out = MutableStored<T>(y);
    ctx.ParallelFor(y->dim(0), b.RowNanoseconds(), [&](int64_t begin, int64_t end) {
      constexpr int64_t kRowsAtOnce = 24;
      std::vector<uint8_t> rows(kRowsAtOnce * b.row_size());
      std::vector<int32_t> sums(kRowsAtOnce * n);
      for (; begin < end; begin += kRowsAtOnce) {
        const int64_t count = std::min(kRowsAtOnce, end - begin);
        for (int64_t i = 0; i < count; ++i) {
          CopyUnsigned(a + (begin + i) * row_step, k, step, rows.data() + i * b.row_size());
        }
        b.Multiply(rows.data(), count, sums.data(), n);
        for (int64_t i = 0; i < count * n; ++i) {
          out[begin * n + i] = epilogue.template Apply<T>(sums[i], i % n);
        }
      }
    });
    return absl::OkStatus();
  }

  const bool transpose_a_, transpose_b_, has_relu_;
  const int range_a_, range_b_, output_range_;
  const bool from_minimum_;
  ByteWeights weights_;
};

#define REGISTER_FUSED_MATMUL(op, out)         \
  REGISTER_KERNEL(op, kCpu, FusedMatMulKernel) \
      .TypeConstraint("T1", {DType::kQuint8})  \
      .TypeConstraint("T2", {DType::kQint8})   \
      .TypeConstraint("Toutput", {out})

REGISTER_FUSED_MATMUL("QuantizedMatMulWithBias", DType::kQint32);
REGISTER_FUSED_MATMUL("QuantizedMatMulWithBiasAndRelu", DType::kQint32);
REGISTER_FUSED_MATMUL("QuantizedMatMulWithBiasAndRequantize", DType::kQuint8);
REGISTER_FUSED_MATMUL("QuantizedMatMulWithBiasAndReluAndRequantize", DType::kQuint8);
REGISTER_FUSED_MATMUL("QuantizedMatMulWithBiasAndDequantize", DType::kFloat);

}  // namespace
}  // namespace tessera
