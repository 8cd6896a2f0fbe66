// Discrete Fourier transforms of the inner one to three dimensions: FFT, IFFT, RFFT, IRFFT and
// their 2D and 3D kin.
#include <complex>
#include <memory>

#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/fourier.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

using Sizes = absl::InlinedVector<int64_t, 3>;

int64_t Product(const Sizes& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

// Where lines begin in row-major blocks of `sizes`: lines along the last dimension, of which each
// block has as many as the product of `rows`, whose dimensions are those before it.
LineOffsets RowOffsets(const Sizes& sizes, const Sizes& rows) {
  LineOffsets offsets;
  int64_t stride = sizes.back();
  for (size_t d = sizes.size() - 1, i = 0; d-- > 0; ++i) {
    offsets.extents[i] = rows[d];
    offsets.strides[i] = stride;
    stride *= sizes[d];
  }
  offsets.outer = stride;
  return offsets;
}

// One op. Real transforms take the lengths of the inner dimensions, to which their input is cut, as
// second input; of the last dimension's spectrum they hold the first half. Errors: INVALID_ARGUMENT
// for too few dimensions, or lengths that are not as many, negative, or more than the input has; a
// dimension without elements counts as zeros.
class FftKernel : public OpKernel {
 public:
  explicit FftKernel(const KernelBuild& build)
      : num_dims_(absl::StrContains(build.op().name, "2D")   ? 2
                  : absl::StrContains(build.op().name, "3D") ? 3
                                                             : 1),
        inverse_(absl::StartsWith(build.op().name, "I")),
        real_(absl::StrContains(build.op().name, "RFFT")),
        copy_(build),
        fill_(build),
        transform_(Primitive<FourierTransform>(build)()) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() < num_dims_) {
      return absl::InvalidArgumentError(absl::StrCat("the input must have at least ", num_dims_,
                                                     " dimensions, has shape ",
                                                     x.shape().ToString()));
    }
    Transform t;
    const int outer = x.rank() - num_dims_;
    for (int d = outer; d < x.rank(); ++d) t.in_sizes.push_back(x.dim(d));
    t.lengths = t.in_sizes;
    if (real_) RETURN_IF_ERROR(ReadLengths(ctx.input(1), &t.lengths));
    t.spectrum = t.lengths;
    if (real_ && t.lengths.back() > 0) t.spectrum.back() = t.lengths.back() / 2 + 1;
    for (int i = 0; i < num_dims_; ++i) {
      const int64_t needed = (inverse_ ? t.spectrum : t.lengths)[i];
      if (t.in_sizes[i] > 0 && t.in_sizes[i] < needed) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", outer + i, " of the input, ",
                                                       x.shape().ToString(), ", must be at least ",
                                                       needed));
      }
    }
    t.out_sizes = real_ && !inverse_ ? t.spectrum : t.lengths;
    Shape shape = x.shape();
    for (int i = 0; i < num_dims_; ++i) shape.SetDim(outer + i, t.out_sizes[i]);
    ASSIGN_OR_RETURN(const Shape checked, Shape::Make(shape.dims()));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, checked));
    if (y->num_elements() == 0) return absl::OkStatus();
    if (x.num_elements() == 0) return fill_(ctx, nullptr, y);
    const bool narrow = DTypeSize(x.dtype()) == (real_ && !inverse_ ? 4 : 8);
    return narrow ? Run<float>(ctx, t, x, y) : Run<double>(ctx, t, x, y);
  }

 private:
  struct Transform {
    Sizes in_sizes, out_sizes;
    Sizes lengths;   // of the transform
    Sizes spectrum;  // of the complex block: half as long for real ones
  };

  absl::Status ReadLengths(const Tensor& input, Sizes* lengths) const {
    if (!(input.shape() == Shape{num_dims_})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'fft_length' must have ", num_dims_, " elements, has shape ", input.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector given, ReadIndexVector(input, "fft_length"));
    for (int i = 0; i < num_dims_; ++i) {
      if (given[i] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("'fft_length' must not be negative, has ", given[i]));
      }
      (*lengths)[i] = given[i];
    }
    return absl::OkStatus();
  }

  // The last dimension of a forward transform comes first, and that of an inverse one of real
  // numbers last, so that the others have half the lines.
  template <typename T>
  absl::Status Run(KernelContext& ctx, const Transform& t, const Tensor& x, Tensor* y) {
    const int64_t batch = y->num_elements() / Product(t.out_sizes);
    if (!real_ || !inverse_) {
      RETURN_IF_ERROR(TransformRows<T>(ctx, t.in_sizes, x, t.lengths, batch, y, t.out_sizes));
      return TransformColumns<T>(ctx, t.spectrum, batch, y);
    }
    if (num_dims_ == 1) {
      return TransformRows<T>(ctx, t.in_sizes, x, t.lengths, batch, y, t.out_sizes);
    }
    ASSIGN_OR_RETURN(Tensor spectrum,
                     ctx.AllocateTemp(x.dtype(), Shape{batch, Product(t.spectrum)}));
    RETURN_IF_ERROR(CopyCommon(ctx, t, x, batch, &spectrum));
    RETURN_IF_ERROR(TransformColumns<T>(ctx, t.spectrum, batch, &spectrum));
    return TransformRows<T>(ctx, t.spectrum, spectrum, t.lengths, batch, y, t.out_sizes);
  }

  // Copies the part of each block of the input that the transform reads.
  absl::Status CopyCommon(KernelContext& ctx, const Transform& t, const Tensor& x, int64_t batch,
                          Tensor* to) const {
    absl::InlinedVector<int64_t, 4> dims{batch};
    dims.insert(dims.end(), t.spectrum.begin(), t.spectrum.end());
    absl::InlinedVector<int64_t, 4> from_strides(dims.size()), to_strides(dims.size());
    int64_t from_stride = 1, to_stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      from_strides[d] = from_stride;
      to_strides[d] = to_stride;
      if (d == 0) break;
      from_stride *= t.in_sizes[d - 1];
      to_stride *= t.spectrum[d - 1];
    }
    return copy_(ctx, dims, x, {from_strides}, to, {to_strides});
  }

  // Transforms along the last dimension, from blocks of `from_sizes` to blocks of `to_sizes`.
  template <typename T>
  absl::Status TransformRows(KernelContext& ctx, const Sizes& from_sizes, const Tensor& from,
                             const Sizes& lengths, int64_t batch, Tensor* to,
                             const Sizes& to_sizes) {
    return transform_->Run(ctx,
                           FourierLines<T>{.kind = !real_     ? FourierKind::kComplex
                                                   : inverse_ ? FourierKind::kComplexToReal
                                                              : FourierKind::kRealToComplex,
                                           .inverse = inverse_,
                                           .length = lengths.back(),
                                           .count = batch * Product(to_sizes) / to_sizes.back(),
                                           .from_offset = RowOffsets(from_sizes, to_sizes),
                                           .to_offset = RowOffsets(to_sizes, to_sizes),
                                           .from = reinterpret_cast<const T*>(from.address()),
                                           .to = reinterpret_cast<T*>(to->address())});
  }

  // Transforms blocks of complex numbers in place along all dimensions but the last.
  template <typename T>
  absl::Status TransformColumns(KernelContext& ctx, const Sizes& sizes, int64_t batch,
                                Tensor* block) {
    int64_t stride = sizes.back();
    for (size_t d = sizes.size() - 1; d-- > 0; stride *= sizes[d]) {
      const int64_t length = sizes[d];
      const LineOffsets offset{.extents = {stride, 1}, .strides = {1, 0}, .outer = stride * length};
      RETURN_IF_ERROR(
          transform_->Run(ctx, FourierLines<T>{.inverse = inverse_,
                                               .length = length,
                                               .count = batch * Product(sizes) / length,
                                               .from_offset = offset,
                                               .to_offset = offset,
                                               .adjacent = stride,
                                               .stride = stride,
                                               .from = reinterpret_cast<const T*>(block->address()),
                                               .to = reinterpret_cast<T*>(block->address())}));
    }
    return absl::OkStatus();
  }

  const int num_dims_;
  const bool inverse_, real_;
  const Primitive<StridedCopy> copy_;
  const Primitive<Fill> fill_;
  const std::unique_ptr<FourierTransform> transform_;
};
constexpr KernelDevices::Predicate kFourierDevices = DevicesOf<FourierTransform, StridedCopy, Fill>;
REGISTER_KERNEL("FFT", kFourierDevices, FftKernel);
REGISTER_KERNEL("FFT2D", kFourierDevices, FftKernel);
REGISTER_KERNEL("FFT3D", kFourierDevices, FftKernel);
REGISTER_KERNEL("IFFT", kFourierDevices, FftKernel);
REGISTER_KERNEL("IFFT2D", kFourierDevices, FftKernel);
REGISTER_KERNEL("IFFT3D", kFourierDevices, FftKernel);
// Both types in the same precision.
#define REGISTER_REAL_FFT(name)                         \
  REGISTER_KERNEL(name, kFourierDevices, FftKernel)     \
      .TypeConstraint<float>("Treal")                   \
      .TypeConstraint<std::complex<float>>("Tcomplex")  \
      .HostMemory("fft_length");                        \
  REGISTER_KERNEL(name, kFourierDevices, FftKernel)     \
      .TypeConstraint<double>("Treal")                  \
      .TypeConstraint<std::complex<double>>("Tcomplex") \
      .HostMemory("fft_length")
REGISTER_REAL_FFT("RFFT");
REGISTER_REAL_FFT("RFFT2D");
REGISTER_REAL_FFT("RFFT3D");
REGISTER_REAL_FFT("IRFFT");
REGISTER_REAL_FFT("IRFFT2D");
REGISTER_REAL_FFT("IRFFT3D");

}  // namespace
}  // namespace tessera
