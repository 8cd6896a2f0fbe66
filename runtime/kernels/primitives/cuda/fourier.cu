// Discrete Fourier transforms. Lines whose length is a power of two go through Stockham's passes,
// which keep the order of the elements; lines that fit stay in shared memory meanwhile. Other
// lengths are Bluestein's: a convolution with a chirp, by transforms of a power of two.
#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/fourier.h"

namespace tessera::cuda {
namespace {

// A complex number. Its product does not look for infinities, as that of the standard library does.
template <typename T>
struct Number {
  T re, im;
  __device__ friend Number operator+(Number a, Number b) { return {a.re + b.re, a.im + b.im}; }
  __device__ friend Number operator-(Number a, Number b) { return {a.re - b.re, a.im - b.im}; }
  __device__ friend Number operator*(Number a, Number b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  __device__ Number Conjugate() const { return {re, -im}; }
};

// exp(-i pi x), rounded once.
template <typename T>
__device__ Number<T> Root(double x) {
  constexpr double kPi = 3.14159265358979323846;
  return {static_cast<T>(cos(kPi * x)), static_cast<T>(-sin(kPi * x))};
}

// Root `k` of `length`: exp(-2 pi i k / length), for k < length / 2.
template <typename T>
__global__ void MakeRoots(int64_t length, Number<T>* roots) {
  for (int64_t k = FirstItem(); k < length / 2; k += ItemStep()) {
    roots[k] = Root<T>(2.0 * static_cast<double>(k) / static_cast<double>(length));
  }
}

// exp(-i pi k^2 / length).
template <typename T>
__global__ void MakeChirp(int64_t length, Number<T>* chirp) {
  for (int64_t k = FirstItem(); k < length; k += ItemStep()) {
    // k^2 modulo 2 * length, without overflow for lengths below 2^31.
    const uint64_t square = static_cast<uint64_t>(k) * static_cast<uint64_t>(k);
    chirp[k] = Root<T>(static_cast<double>(square % (2 * static_cast<uint64_t>(length))) /
                       static_cast<double>(length));
  }
}

// What a convolution with the conjugated chirp is multiplied by, before its transform.
template <typename T>
__global__ void MakeFilter(int64_t padded, int64_t length, const Number<T>* chirp,
                           Number<T>* filter) {
  for (int64_t k = FirstItem(); k < padded; k += ItemStep()) {
    const int64_t distance = k < padded - k ? k : padded - k;
    filter[k] = distance < length ? chirp[distance].Conjugate() : Number<T>{0, 0};
  }
}

// The lines in the tensors of the caller.
template <typename T>
struct Lines {
  FourierKind kind;
  bool inverse;
  int64_t length, count, stride;
  LineOffsets from_offset, to_offset;
  const T* from;
  T* to;

  __device__ Number<T> Load(int64_t line, int64_t k) const {
    const int64_t begin = from_offset(line);
    if (kind == FourierKind::kRealToComplex) return {from[begin + k], 0};
    if (kind == FourierKind::kComplex) return LoadComplex(begin + k * stride);
    // The second half of the spectrum of real numbers is the mirrored first one.
    const int64_t mirrored = length - k;
    if (k == 0 || k == mirrored) return {LoadComplex(begin + k).re, 0};
    return k < mirrored ? LoadComplex(begin + k) : LoadComplex(begin + mirrored).Conjugate();
  }
  __device__ void Store(int64_t line, int64_t k, Number<T> value) const {
    if (kind == FourierKind::kRealToComplex && k > length / 2) return;
    if (inverse) {
      const T scale = static_cast<T>(length);
      value = {value.re / scale, value.im / scale};
    }
    const int64_t begin = to_offset(line);
    if (kind == FourierKind::kComplexToReal) {
      to[begin + k] = value.re;
      return;
    }
    const int64_t at = 2 * (begin + k * stride);
    to[at] = value.re;
    to[at + 1] = value.im;
  }

 private:
  __device__ Number<T> LoadComplex(int64_t at) const { return {from[2 * at], from[2 * at + 1]}; }
};

// The backward transform is the forward one of the conjugated input, conjugated.
template <typename T>
__global__ void LoadLines(int64_t padded, Lines<T> lines, const Number<T>* chirp, Number<T>* work) {
  for (int64_t i = FirstItem(); i < lines.count * padded; i += ItemStep()) {
    const int64_t line = i / padded, k = i % padded;
    Number<T> value{0, 0};
    if (k < lines.length) {
      value = lines.Load(line, k);
      if (lines.inverse) value = value.Conjugate();
      if (chirp != nullptr) value = value * chirp[k];
    }
    work[i] = value;
  }
}

// With a chirp, `work` holds conjugates of the convolution times `padded`.
template <typename T>
__global__ void StoreLines(int64_t padded, Lines<T> lines, const Number<T>* chirp,
                           const Number<T>* work) {
  for (int64_t i = FirstItem(); i < lines.count * lines.length; i += ItemStep()) {
    const int64_t line = i / lines.length, k = i % lines.length;
    Number<T> value = work[line * padded + k];
    if (chirp != nullptr) {
      const T scale = static_cast<T>(padded);
      value = Number<T>{value.re / scale, -value.im / scale} * chirp[k];
    }
    lines.Store(line, k, lines.inverse ? value.Conjugate() : value);
  }
}

// Multiplies by the filter's transform, and conjugates: the forward transform that follows is then
// a backward one.
template <typename T>
__global__ void ApplyFilter(int64_t count, int64_t padded, const Number<T>* filter,
                            Number<T>* work) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    work[i] = (work[i] * filter[i % padded]).Conjugate();
  }
}

// Butterfly number i of a pass from runs of `run` elements to twice as long ones.
template <typename T>
__device__ void Butterfly(int64_t i, int64_t length, int64_t run, const Number<T>* roots,
                          const Number<T>* from, Number<T>* to) {
  const int64_t place = i % run, p = i / run;
  const Number<T> a = from[i], b = from[i + length / 2];
  to[2 * run * p + place] = a + b;
  to[2 * run * p + run + place] = (a - b) * roots[run * p];
}

// Elements of a line that is transformed in shared memory, at most.
template <typename T>
constexpr int64_t kSharedLength = int64_t{16384} / static_cast<int64_t>(sizeof(Number<T>));

template <typename T>
__global__ void TransformShared(int64_t lines, int64_t length, const Number<T>* roots,
                                Number<T>* work) {
  __shared__ double memory[2 * 16384 / sizeof(double)];
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    Number<T>* from = reinterpret_cast<Number<T>*>(memory);
    Number<T>* to = from + kSharedLength<T>;
    Number<T>* const global = work + line * length;
    for (int64_t k = threadIdx.x; k < length; k += blockDim.x) from[k] = global[k];
    __syncthreads();
    for (int64_t run = 1; run < length; run *= 2) {
      for (int64_t i = threadIdx.x; i < length / 2; i += blockDim.x) {
        Butterfly(i, length, run, roots, from, to);
      }
      __syncthreads();
      Number<T>* const done = from;
      from = to;
      to = done;
    }
    for (int64_t k = threadIdx.x; k < length; k += blockDim.x) global[k] = from[k];
    __syncthreads();  // before the next line is loaded
  }
}

template <typename T>
__global__ void TransformPass(int64_t butterflies, int64_t length, int64_t run,
                              const Number<T>* roots, const Number<T>* from, Number<T>* to) {
  for (int64_t n = FirstItem(); n < butterflies; n += ItemStep()) {
    const int64_t line = n / (length / 2);
    Butterfly(n % (length / 2), length, run, roots, from + line * length, to + line * length);
  }
}

template <typename T>
absl::StatusOr<Tensor> AllocateNumbers(KernelContext& ctx, int64_t count) {
  return ctx.AllocateTemp(DTypeOf<T>, Shape{count, 2});
}

// Transforms lines of `length`, a power of two, one after the other in *work.
template <typename T>
absl::Status TransformPowers(KernelContext& ctx, int64_t lines, int64_t length,
                             const Number<T>* roots, Tensor* work) {
  if (length == 1) return absl::OkStatus();
  if (length <= kSharedLength<T>) {
    return LaunchBlocks(ctx, lines, TransformShared<T>, lines, length, roots,
                        DataOf<Number<T>>(*work));
  }
  ASSIGN_OR_RETURN(Tensor other, AllocateNumbers<T>(ctx, lines * length));
  const int64_t butterflies = lines * length / 2;
  for (int64_t run = 1; run < length; run *= 2) {
    RETURN_IF_ERROR(LaunchItems(ctx, butterflies, TransformPass<T>, butterflies, length, run, roots,
                                DataOf<const Number<T>>(*work), DataOf<Number<T>>(other)));
    std::swap(*work, other);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status RunLines(KernelContext& ctx, const FourierLines<T>& given) {
  const Lines<T> lines{given.kind,        given.inverse,   given.length, given.count, given.stride,
                       given.from_offset, given.to_offset, given.from,   given.to};
  if (lines.count == 0) return absl::OkStatus();
  if (lines.length >= int64_t{1} << 31) {
    return absl::UnimplementedError("lines of 2^31 numbers and more are not transformed on a GPU");
  }
  const bool is_power = (lines.length & (lines.length - 1)) == 0;
  int64_t padded = 1;
  while (padded < (is_power ? lines.length : 2 * lines.length - 1)) padded *= 2;
  ASSIGN_OR_RETURN(const Tensor root_memory,
                   AllocateNumbers<T>(ctx, std::max<int64_t>(padded / 2, 1)));
  Number<T>* const roots = DataOf<Number<T>>(root_memory);
  RETURN_IF_ERROR(LaunchItems(ctx, padded / 2, MakeRoots<T>, padded, roots));
  ASSIGN_OR_RETURN(Tensor work, AllocateNumbers<T>(ctx, lines.count * padded));
  Tensor chirp_memory;
  const Number<T>* chirp = nullptr;
  if (!is_power) {
    ASSIGN_OR_RETURN(chirp_memory, AllocateNumbers<T>(ctx, lines.length));
    chirp = DataOf<const Number<T>>(chirp_memory);
    RETURN_IF_ERROR(LaunchItems(ctx, lines.length, MakeChirp<T>, lines.length,
                                DataOf<Number<T>>(chirp_memory)));
  }
  const int64_t total = lines.count * padded;
  RETURN_IF_ERROR(
      LaunchItems(ctx, total, LoadLines<T>, padded, lines, chirp, DataOf<Number<T>>(work)));
  RETURN_IF_ERROR(TransformPowers<T>(ctx, lines.count, padded, roots, &work));
  if (!is_power) {
    ASSIGN_OR_RETURN(Tensor filter, AllocateNumbers<T>(ctx, padded));
    RETURN_IF_ERROR(LaunchItems(ctx, padded, MakeFilter<T>, padded, lines.length, chirp,
                                DataOf<Number<T>>(filter)));
    RETURN_IF_ERROR(TransformPowers<T>(ctx, 1, padded, roots, &filter));
    RETURN_IF_ERROR(LaunchItems(ctx, total, ApplyFilter<T>, total, padded,
                                DataOf<const Number<T>>(filter), DataOf<Number<T>>(work)));
    RETURN_IF_ERROR(TransformPowers<T>(ctx, lines.count, padded, roots, &work));
  }
  return LaunchItems(ctx, lines.count * lines.length, StoreLines<T>, padded, lines, chirp,
                     DataOf<const Number<T>>(work));
}

class CudaFourierTransform final : public FourierTransform {
 public:
  absl::Status Run(KernelContext& ctx, const FourierLines<float>& lines) override {
    return RunLines(ctx, lines);
  }
  absl::Status Run(KernelContext& ctx, const FourierLines<double>& lines) override {
    return RunLines(ctx, lines);
  }
};

REGISTER_CUDA_PRIMITIVE(FourierTransform, []() -> std::unique_ptr<FourierTransform> {
  return std::make_unique<CudaFourierTransform>();
});

}  // namespace
}  // namespace tessera::cuda
