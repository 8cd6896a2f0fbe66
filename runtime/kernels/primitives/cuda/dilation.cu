#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/dilation.h"

namespace tessera::cuda {
namespace {

struct DilationWork {
  DilationAxis rows, columns;
  int64_t height, width, channels;      // of the input
  int64_t filter_height, filter_width;  // of the filter
  int64_t out_height, out_width;
};

// The maximum of an output element, and which elements make it.
template <typename A>
struct Maximum {
  A value;
  int64_t x, filter;
};

// Returns the element of [0, size) that is the nearest to `at`.
__device__ int64_t Clamped(int64_t at, int64_t size) {
  return at < 0 ? 0 : at < size ? at : size - 1;
}

template <typename A>
__device__ Maximum<A> FindMaximum(const DilationWork& w, int64_t i, Input<A> x, Input<A> filter) {
  const Quotient pixel = DivideIndex(i, w.channels), row = DivideIndex(pixel.quotient, w.out_width);
  const Quotient image = DivideIndex(row.quotient, w.out_height);
  const int64_t left = row.remainder * w.columns.stride - w.columns.pad_before;
  const int64_t top = image.remainder * w.rows.stride - w.rows.pad_before;
  const int64_t first_row = image.quotient * w.height + Clamped(top, w.height);
  const int64_t first = (first_row * w.width + Clamped(left, w.width)) * w.channels;
  Maximum<A> best{LeastFinite<A>(x.dtype), first + pixel.remainder, pixel.remainder};
  for (int64_t fy = 0; fy < w.filter_height; ++fy) {
    const int64_t y_at = top + fy * w.rows.rate;
    if (y_at < 0 || y_at >= w.height) continue;
    for (int64_t fx = 0; fx < w.filter_width; ++fx) {
      const int64_t x_at = left + fx * w.columns.rate;
      if (x_at < 0 || x_at >= w.width) continue;
      const int64_t in =
          ((image.quotient * w.height + y_at) * w.width + x_at) * w.channels + pixel.remainder;
      const int64_t of_filter = (fy * w.filter_width + fx) * w.channels + pixel.remainder;
      const A value = Rounded<A>(x.dtype, x[in] + filter[of_filter]);
      if (value > best.value) best = {value, in, of_filter};
    }
  }
  return best;
}

template <typename A>
__global__ void DilateElements(int64_t count, DilationWork work, Input<A> x, Input<A> filter,
                               Output<A> y) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    y.Set(i, FindMaximum(work, i, x, filter).value);
  }
}

template <typename A>
__global__ void FindMaxima(int64_t count, DilationWork work, bool of_filter, Input<A> x,
                           Input<A> filter, int64_t* places) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const Maximum<A> best = FindMaximum(work, i, x, filter);
    places[i] = of_filter ? best.filter : best.x;
  }
}

DilationWork WorkOf(const DilationAxis& rows, const DilationAxis& columns, const Tensor& x,
                    const Tensor& filter, const Shape& output) {
  return {rows,          columns,       x.dim(1),      x.dim(2),     x.dim(3),
          filter.dim(0), filter.dim(1), output.dim(1), output.dim(2)};
}

absl::Status RunDilation(KernelContext& ctx, const DilationAxis& rows, const DilationAxis& columns,
                         const Tensor& x, const Tensor& filter, Tensor* y) {
  return VisitComputeType<kReal>(x.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, y->num_elements(), DilateElements<A>, y->num_elements(),
                       WorkOf(rows, columns, x, filter, y->shape()), Input<A>(x), Input<A>(filter),
                       Output<A>(y));
  });
}
REGISTER_CUDA_PRIMITIVE(Dilation, RunDilation);

absl::Status RunDilationGradient(KernelContext& ctx, DilationOperand operand,
                                 const DilationAxis& rows, const DilationAxis& columns,
                                 const Tensor& x, const Tensor& filter, const Tensor& gradient,
                                 Tensor* output) {
  const int64_t count = gradient.num_elements();
  ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(DType::kInt64, Shape{count}));
  RETURN_IF_ERROR(VisitComputeType<kReal>(x.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, FindMaxima<A>, count,
                       WorkOf(rows, columns, x, filter, gradient.shape()),
                       operand == DilationOperand::kFilter, Input<A>(x), Input<A>(filter),
                       DataOf<int64_t>(places));
  }));
  return AddUpByPlace(ctx, places, gradient, output);
}
REGISTER_CUDA_PRIMITIVE(DilationGradient, RunDilationGradient);

}  // namespace
}  // namespace tessera::cuda
