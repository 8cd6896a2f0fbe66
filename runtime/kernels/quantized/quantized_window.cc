// Pools of quantised images: QuantizedMaxPool, QuantizedAvgPool.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/pool_window.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/quantized/quantized_type.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

enum class Pool { kMax, kMean };

// Inputs: images and their range, which is that of the output too.
// Errors: INVALID_ARGUMENT unless the input has four dimensions; UNIMPLEMENTED for windows over
// the batch, and over channels unless they are such as MaxPool takes.
template <Pool kPool>
class QuantizedPoolKernel : public OpKernel {
 public:
  explicit QuantizedPoolKernel(const KernelBuild& build)
      : window_(PoolWindow::FromAttrs(
            build, 2,
            kPool == Pool::kMax ? ChannelWindow::kAllowed : ChannelWindow::kRefusedLate)) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 4-dimensional, has shape ", x.shape().ToString()));
    }
    return VisitQuantizedType(x.dtype(), [&]<typename T>() { return PoolAll<T>(ctx); });
  }

 private:
  template <typename T>
  absl::Status PoolAll(KernelContext& ctx) const {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const auto range, ReadRange<T>(ctx, 1));
    if (kPool == Pool::kMax && window_.reaches_over_channels()) {
      RETURN_IF_ERROR(MaxOfChannels<T>(ctx));
      return SetRange(ctx, 1, range);
    }
    ASSIGN_OR_RETURN(const PoolShape pool, window_.Geometry(x.shape()));
    // The first spatial dimension of a PoolShape is that of volumes.
    const int64_t out_rows = pool.output[1], out_columns = pool.output[2];
    const int64_t channels = x.dim(3);
    ASSIGN_OR_RETURN(Tensor* const y,
                     ctx.AllocateOutput(0, Shape{x.dim(0), out_rows, out_columns, channels}));
    T* to = MutableStored<T>(y);
    for (int64_t i = 0; i < y->num_elements(); ++i) {
      const int64_t c = i % channels, column = i / channels % out_columns;
      const int64_t row = i / channels / out_columns % out_rows;
      const int64_t b = i / channels / out_columns / out_rows;
      const int64_t top = row * pool.stride[1] - pool.pad[1];
      const int64_t left = column * pool.stride[2] - pool.pad[2];
      int32_t largest = std::numeric_limits<T>::lowest(), sum = 0, count = 0;
      for (int64_t v = std::max<int64_t>(0, top); v < std::min(x.dim(1), top + pool.window[1]);
           ++v) {
        for (int64_t u = std::max<int64_t>(0, left); u < std::min(x.dim(2), left + pool.window[2]);
             ++u) {
          const int32_t q = Stored<T>(x)[((b * x.dim(1) + v) * x.dim(2) + u) * channels + c];
          largest = std::max(largest, q);
          sum += q;
          ++count;
        }
      }
      // The mean is cut off towards 0, as TensorFlow's is.
      to[i] = static_cast<T>(kPool == Pool::kMax ? largest : sum / std::max(count, 1));
    }
    return SetRange(ctx, 1, range);
  }

  template <typename T>
  absl::Status MaxOfChannels(KernelContext& ctx) const {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckChannelWindow(window_, x.shape()));
    Shape shape = x.shape();
    shape.SetDim(3, x.dim(3) / window_.ksize[3]);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < y->num_elements(); ++i) {
      const T* const from = Stored<T>(x) + i * window_.ksize[3];
      MutableStored<T>(y)[i] = *std::max_element(from, from + window_.ksize[3]);
    }
    return absl::OkStatus();
  }

  const PoolWindow window_;
};
REGISTER_KERNEL("QuantizedMaxPool", kCpu, QuantizedPoolKernel<Pool::kMax>)
    .TypeConstraint("T", {DType::kQint8, DType::kQuint8});
REGISTER_KERNEL("QuantizedAvgPool", kCpu, QuantizedPoolKernel<Pool::kMean>)
    .TypeConstraint("T", {DType::kQint8, DType::kQuint8});

}  // namespace
}  // namespace tessera
