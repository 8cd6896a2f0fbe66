// Discrete Fourier transforms of the inner one to three dimensions: FFT, IFFT, RFFT, IRFFT and
// their 2D and 3D kin.
#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/fourier.h"

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
class LineOffsets {
 public:
  LineOffsets(const Sizes& sizes, const Sizes& rows) : sizes_(sizes), rows_(rows) {}

  int64_t operator()(int64_t line) const {
    int64_t offset = 0, stride = sizes_.back();
    for (size_t d = sizes_.size() - 1; d-- > 0;) {
      offset += line % rows_[d] * stride;
      line /= rows_[d];
      stride *= sizes_[d];
    }
    return offset + line * stride;
  }

 private:
  const Sizes sizes_, rows_;
};

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
    if (x.num_elements() == 0) {
      std::memset(y->mutable_raw(), 0, y->size_bytes());
      return absl::OkStatus();
    }
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
    CopyCommon(t, x.data<std::complex<T>>(), batch, spectrum.data<std::complex<T>>());
    RETURN_IF_ERROR(TransformColumns<T>(ctx, t.spectrum, batch, &spectrum));
    return TransformRows<T>(ctx, t.spectrum, spectrum, t.lengths, batch, y, t.out_sizes);
  }

  // Copies the part of each block of the input that the transform reads.
  template <typename Element>
  static void CopyCommon(const Transform& t, const Element* from, int64_t batch, Element* to) {
    const LineOffsets from_offset(t.in_sizes, t.spectrum);
    const int64_t length = t.spectrum.back(), lines = batch * Product(t.spectrum) / length;
    for (int64_t line = 0; line < lines; ++line) {
      std::copy_n(from + from_offset(line), length, to + line * length);
    }
  }

  // Transforms along the last dimension, from blocks of `from_sizes` to blocks of `to_sizes`.
  template <typename T>
  absl::Status TransformRows(KernelContext& ctx, const Sizes& from_sizes, const Tensor& from,
                             const Sizes& lengths, int64_t batch, Tensor* to,
                             const Sizes& to_sizes) {
    const LineOffsets from_offset(from_sizes, to_sizes), to_offset(to_sizes, to_sizes);
    return transform_->Run(ctx,
                           FourierLines<T>{.kind = !real_     ? FourierKind::kComplex
                                                   : inverse_ ? FourierKind::kComplexToReal
                                                              : FourierKind::kRealToComplex,
                                           .inverse = inverse_,
                                           .length = lengths.back(),
                                           .count = batch * Product(to_sizes) / to_sizes.back(),
                                           .from_offset = from_offset,
                                           .to_offset = to_offset,
                                           .from = reinterpret_cast<const T*>(from.raw()),
                                           .to = reinterpret_cast<T*>(to->mutable_raw())});
  }

  // Transforms blocks of complex numbers in place along all dimensions but the last.
  template <typename T>
  absl::Status TransformColumns(KernelContext& ctx, const Sizes& sizes, int64_t batch,
                                Tensor* block) {
    int64_t stride = sizes.back();
    for (size_t d = sizes.size() - 1; d-- > 0; stride *= sizes[d]) {
      const int64_t length = sizes[d];
      const auto offset = [&](int64_t line) {
        return line / stride * stride * length + line % stride;
      };
      RETURN_IF_ERROR(
          transform_->Run(ctx, FourierLines<T>{.inverse = inverse_,
                                               .length = length,
                                               .count = batch * Product(sizes) / length,
                                               .from_offset = offset,
                                               .to_offset = offset,
                                               .adjacent = stride,
                                               .stride = stride,
                                               .from = reinterpret_cast<const T*>(block->raw()),
                                               .to = reinterpret_cast<T*>(block->mutable_raw())}));
    }
    return absl::OkStatus();
  }

  const int num_dims_;
  const bool inverse_, real_;
  const std::unique_ptr<FourierTransform> transform_;
};
REGISTER_KERNEL("FFT", kCpu, FftKernel);
REGISTER_KERNEL("FFT2D", kCpu, FftKernel);
REGISTER_KERNEL("FFT3D", kCpu, FftKernel);
REGISTER_KERNEL("IFFT", kCpu, FftKernel);
REGISTER_KERNEL("IFFT2D", kCpu, FftKernel);
REGISTER_KERNEL("IFFT3D", kCpu, FftKernel);
// Both types in the same precision.
#define REGISTER_REAL_FFT(name)                         \
  REGISTER_KERNEL(name, kCpu, FftKernel)                \
      .TypeConstraint<float>("Treal")                   \
      .TypeConstraint<std::complex<float>>("Tcomplex")  \
      .HostMemory("fft_length");                        \
  REGISTER_KERNEL(name, kCpu, FftKernel)                \
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
