#include "runtime/kernels/primitives/dilation.h"

#include <algorithm>
#include <limits>

#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/wrapping.h"

namespace tessera {
namespace {

// The elements of input and filter whose sum is the maximum of an output.
template <typename T>
struct Maximum {
  T value;
  int64_t x, filter;
};

// Finds the maximum of the output's element `index`; `output` is the output's shape.
template <typename T>
Maximum<T> FindMaximum(const DilationAxis& rows, const DilationAxis& columns, const Tensor& x,
                       const Tensor& filter, const Shape& output, int64_t index) {
  const int64_t channels = x.dim(3), c = index % channels;
  const int64_t point = index / channels;
  const int64_t left = point % output.dim(2) * columns.stride - columns.pad_before;
  const int64_t row = point / output.dim(2);
  const int64_t top = row % output.dim(1) * rows.stride - rows.pad_before;
  const int64_t image = row / output.dim(1);
  const int64_t first_row = image * x.dim(1) + std::clamp<int64_t>(top, 0, x.dim(1) - 1);
  const int64_t first_column = std::clamp<int64_t>(left, 0, x.dim(2) - 1);
  const int64_t first = (first_row * x.dim(2) + first_column) * channels + c;
  Maximum<T> best{std::numeric_limits<T>::lowest(), first, c};
  for (int64_t h = 0; h < filter.dim(0); ++h) {
    const int64_t y_at = top + h * rows.rate;
    if (y_at < 0 || y_at >= x.dim(1)) continue;
    for (int64_t w = 0; w < filter.dim(1); ++w) {
      const int64_t x_at = left + w * columns.rate;
      if (x_at < 0 || x_at >= x.dim(2)) continue;
      const int64_t in = ((image * x.dim(1) + y_at) * x.dim(2) + x_at) * channels + c;
      const int64_t of_filter = (h * filter.dim(1) + w) * channels + c;
      const T value = WrappingAdd(x.data<T>()[in], filter.data<T>()[of_filter]);
      if (value > best.value) best = {value, in, of_filter};
    }
  }
  return best;
}

// Computes all channels of one output point. The result of each is that of FindMaximum().
template <typename T>
void DilatePoint(const DilationAxis& rows, const DilationAxis& columns, const Tensor& x,
                 const Tensor& filter, const Shape& output, int64_t point, T* out) {
  const int64_t channels = x.dim(3);
  const int64_t left = point % output.dim(2) * columns.stride - columns.pad_before;
  const int64_t row = point / output.dim(2);
  const int64_t top = row % output.dim(1) * rows.stride - rows.pad_before;
  const int64_t image = row / output.dim(1);
  std::fill_n(out, channels, std::numeric_limits<T>::lowest());
  for (int64_t h = 0; h < filter.dim(0); ++h) {
    const int64_t y_at = top + h * rows.rate;
    if (y_at < 0 || y_at >= x.dim(1)) continue;
    for (int64_t w = 0; w < filter.dim(1); ++w) {
      const int64_t x_at = left + w * columns.rate;
      if (x_at < 0 || x_at >= x.dim(2)) continue;
      const T* const in = x.data<T>() + ((image * x.dim(1) + y_at) * x.dim(2) + x_at) * channels;
      const T* const added = filter.data<T>() + (h * filter.dim(1) + w) * channels;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        const T value = WrappingAdd(in[c], added[c]);
        out[c] = value > out[c] ? value : out[c];
      }
    }
  }
}

absl::Status Dilate(KernelContext& ctx, const DilationAxis& rows, const DilationAxis& columns,
                    const Tensor& x, const Tensor& filter, Tensor* y) {
  return VisitRealType(x.dtype(), [&]<typename T>() {
    if (y->num_elements() == 0) return absl::OkStatus();
    const int64_t channels = x.dim(3);
    const double cost = 0.5 * static_cast<double>(filter.dim(0) * filter.dim(1) * channels);
    ctx.ParallelFor(y->num_elements() / channels, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        DilatePoint<T>(rows, columns, x, filter, y->shape(), i, y->data<T>() + i * channels);
      }
    });
    return absl::OkStatus();
  });
}

absl::Status DilateBackward(KernelContext& /*ctx*/, DilationOperand operand,
                            const DilationAxis& rows, const DilationAxis& columns, const Tensor& x,
                            const Tensor& filter, const Tensor& gradient, Tensor* output) {
  ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
  return VisitRealType(x.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < gradient.num_elements(); ++i) {
      const Maximum<T> best = FindMaximum<T>(rows, columns, x, filter, gradient.shape(), i);
      const int64_t to = operand == DilationOperand::kFilter ? best.filter : best.x;
      output->data<T>()[to] += gradient.data<T>()[i];
    }
    return absl::OkStatus();
  });
}

REGISTER_PRIMITIVE(Dilation, kCpu, Dilate);
REGISTER_PRIMITIVE(DilationGradient, kCpu, DilateBackward);

}  // namespace
}  // namespace tessera
