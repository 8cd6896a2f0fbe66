// Discrete Fourier transforms of the inner one to three dimensions: FFT, IFFT, RFFT, IRFFT and
// their 2D and 3D kin.
#include "unsupported/Eigen/FFT"

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

// Everything is computed in double precision: float twiddle factors would cost the last digits.
using Complex = std::complex<double>;
using Sizes = absl::InlinedVector<int64_t, 3>;

int64_t Product(const Sizes& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

// Transforms lines of a row-major block along one of its axes. `fft` keeps its twiddle factors.
void TransformAxis(const Sizes& sizes, size_t axis, bool inverse, Eigen::FFT<double>& fft,
                   Complex* block) {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < sizes.size(); ++i) stride *= sizes[i];
  const int64_t length = sizes[axis], lines = Product(sizes) / length;
  std::vector<Complex> line(length), result(length);
  for (int64_t i = 0; i < lines; ++i) {
    Complex* const start = block + i / stride * stride * length + i % stride;
    for (int64_t k = 0; k < length; ++k) line[k] = start[k * stride];
    if (length == 1) continue;
    if (inverse) {
      fft.inv(result.data(), line.data(), length);
    } else {
      fft.fwd(result.data(), line.data(), length);
    }
    for (int64_t k = 0; k < length; ++k) start[k * stride] = result[k];
  }
}

// Copies the part that two blocks share, from the origin; the rest of `to` is zero.
template <typename From, typename To>
void CopyCommon(const Sizes& from_sizes, const From* from, const Sizes& to_sizes, To* to) {
  const int64_t length = to_sizes.back(), shared = std::min(length, from_sizes.back());
  const int64_t rows = Product(to_sizes) / length;
  for (int64_t row = 0; row < rows; ++row, to += length) {
    int64_t rest = row, place = 0, stride = from_sizes.back();
    bool inside = true;
    for (size_t d = to_sizes.size() - 1; d-- > 0;) {
      const int64_t at = rest % to_sizes[d];
      rest /= to_sizes[d];
      inside = inside && at < from_sizes[d];
      place += at * stride;
      stride *= from_sizes[d];
    }
    const int64_t copied = inside ? shared : 0;
    for (int64_t i = 0; i < copied; ++i) to[i] = To(from[place + i]);
    std::fill(to + copied, to + length, To(0));
  }
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
        real_(absl::StrContains(build.op().name, "RFFT")) {}

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
    if (narrow) {
      Run<float>(ctx, t, x, y);
    } else {
      Run<double>(ctx, t, x, y);
    }
    return absl::OkStatus();
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

  template <typename T>
  void Run(KernelContext& ctx, const Transform& t, const Tensor& x, Tensor* y) const {
    const int64_t in_size = Product(t.in_sizes), out_size = Product(t.out_sizes);
    const int64_t batch = y->num_elements() / out_size;
    const double cost = 20.0 * static_cast<double>(Product(t.lengths));
    ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
      Eigen::FFT<double> fft;
      std::vector<Complex> block(Product(real_ && !inverse_ ? t.lengths : t.spectrum));
      for (int64_t b = begin; b < end; ++b) {
        if (real_ && !inverse_) {
          Forward(t, x.data<T>() + b * in_size, fft, block.data(),
                  y->data<std::complex<T>>() + b * out_size);
        } else if (real_) {
          Inverse(t, x.data<std::complex<T>>() + b * in_size, fft, block.data(),
                  y->data<T>() + b * out_size);
        } else {
          CopyCommon(t.in_sizes, x.data<std::complex<T>>() + b * in_size, t.lengths, block.data());
          for (int d = num_dims_ - 1; d >= 0; --d) {
            TransformAxis(t.lengths, d, inverse_, fft, block.data());
          }
          CopyCommon(t.lengths, block.data(), t.out_sizes,
                     y->data<std::complex<T>>() + b * out_size);
        }
      }
    });
  }

  template <typename T>
  void Forward(const Transform& t, const T* x, Eigen::FFT<double>& fft, Complex* block,
               std::complex<T>* y) const {
    CopyCommon(t.in_sizes, x, t.lengths, block);
    for (int d = num_dims_ - 1; d >= 0; --d) TransformAxis(t.lengths, d, false, fft, block);
    CopyCommon(t.lengths, block, t.out_sizes, y);
  }

  template <typename T>
  void Inverse(const Transform& t, const std::complex<T>* x, Eigen::FFT<double>& fft,
               Complex* block, T* y) const {
    CopyCommon(t.in_sizes, x, t.spectrum, block);
    for (int d = 0; d + 1 < num_dims_; ++d) TransformAxis(t.spectrum, d, true, fft, block);
    // The other half of each line mirrors the first.
    const int64_t length = t.lengths.back(), half = t.spectrum.back();
    std::vector<Complex> line(length);
    for (int64_t i = 0; i < Product(t.spectrum) / half; ++i) {
      std::copy_n(block + i * half, half, line.begin());
      for (int64_t k = half; k < length; ++k) line[k] = std::conj(line[length - k]);
      TransformAxis({length}, 0, true, fft, line.data());
      for (int64_t k = 0; k < length; ++k) y[i * length + k] = static_cast<T>(line[k].real());
    }
  }

  const int num_dims_;
  const bool inverse_, real_;
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
