#include "runtime/kernels/primitives/cpu/matmul_loops.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/kernels/primitives/cpu/matmul_batch.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/wrapping.h"

namespace tessera {
namespace {

template <typename T>
using SumOf =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       WrappingType<T>>;

template <typename T>
constexpr bool kIsComplex = false;
template <typename T>
constexpr bool kIsComplex<std::complex<T>> = true;

template <typename T>
T Read(T value, bool conjugate) {
  if constexpr (kIsComplex<T>) {
    return conjugate ? std::conj(value) : value;
  } else {
    return value;
  }
}

// Products of double with at least this many multiplications are computed by Eigen.
constexpr int64_t kMinEigenProduct = 4096;

// Computes rows [begin, end) of a product of double without post-ops.
void MultiplyRowsByEigen(const MatMulShape& s, const double* a, const double* b, int64_t begin,
                         int64_t end, double* out) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Operand = Eigen::Map<const Matrix>;
  Eigen::Map<Matrix> product(out + begin * s.n, end - begin, s.n);
  const auto multiply = [&](const auto& left) {
    if (s.transpose_b) {
      product.noalias() = left * Operand(b, s.n, s.k).transpose();
    } else {
      product.noalias() = left * Operand(b, s.k, s.n);
    }
  };
  if (s.transpose_a) {
    multiply(Operand(a, s.k, s.m).middleCols(begin, end - begin).transpose());
  } else {
    multiply(Operand(a + begin * s.k, end - begin, s.k));
  }
}

// True for integers whose products are computed in register tiles. Narrower integers use the plain
// loops.
template <typename T>
constexpr bool kHasTiles = std::is_integral_v<T> && sizeof(T) >= sizeof(int32_t);

// A tile has kTileRows rows and kTileVectors vectors of 32 bytes, which take half of AVX2's
// registers.
constexpr int64_t kTileRows = 4;
constexpr int64_t kTileVectors = 2;

// Computes kTileRows rows of `left` times a packed panel of the right-hand side, of one tile's
// width. Rows of `left` are a_row elements apart, and its columns a_column elements. Writes `width`
// columns of each row.
template <typename Sum>
void MultiplyTile(const Sum* left, int64_t a_row, int64_t a_column, int64_t depth, const Sum* panel,
                  int64_t width, int64_t out_row, Sum* out) {
  typedef Sum Vector __attribute__((vector_size(32)));
  typedef Sum UnalignedVector __attribute__((vector_size(32), aligned(alignof(Sum)), may_alias));
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(Sum);
  // All indices into the sums are constants after unrolling, so that they stay in registers.
  Vector sums[kTileRows][kTileVectors] = {};
  for (int64_t p = 0; p < depth; ++p) {
    // The type is not `auto`, which would drop the alignment.
    const UnalignedVector* const right =
        reinterpret_cast<const UnalignedVector*>(panel + p * kTileVectors * kLanes);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTileRows; ++i) {
      const Sum x = left[i * a_row + p * a_column];
#pragma GCC unroll 2
      for (int64_t v = 0; v < kTileVectors; ++v) sums[i][v] += x * right[v];
    }
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < kTileRows; ++i) {
    Vector row[kTileVectors];
#pragma GCC unroll 2
    for (int64_t v = 0; v < kTileVectors; ++v) row[v] = sums[i][v];
    std::memcpy(out + i * out_row, row, width * sizeof(Sum));
  }
}

// Computes rows [begin, end) of a product of integers without post-ops; their number is a multiple
// of kTileRows.
template <typename T>
void MultiplyRowsByTiles(const MatMulShape& s, const T* a, const T* b, int64_t begin, int64_t end,
                         T* out) {
  using Sum = WrappingType<T>;
  constexpr int64_t kWidth = kTileVectors * 32 / sizeof(Sum);
  const int64_t a_row = s.transpose_a ? 1 : s.k, a_column = s.transpose_a ? s.m : 1;
  std::vector<Sum> panel(s.k * kWidth);
  for (int64_t j = 0; j < s.n; j += kWidth) {
    const int64_t width = std::min(kWidth, s.n - j);
    if (s.transpose_b) {
      for (int64_t c = 0; c < width; ++c) {
        for (int64_t p = 0; p < s.k; ++p) panel[p * kWidth + c] = b[(j + c) * s.k + p];
      }
    } else {
      for (int64_t p = 0; p < s.k; ++p) {
        for (int64_t c = 0; c < width; ++c) panel[p * kWidth + c] = b[p * s.n + j + c];
      }
    }
    for (int64_t i = begin; i < end; i += kTileRows) {
      MultiplyTile(reinterpret_cast<const Sum*>(a) + i * a_row, a_row, a_column, s.k, panel.data(),
                   width, s.n, reinterpret_cast<Sum*>(out) + i * s.n + j);
    }
  }
}

// Computes rows [begin, end) of the product.
template <typename T>
void MultiplyRows(const MatMulShape& s, const PostOps& post_ops, const T* a, const T* b,
                  const T* bias, int64_t begin, int64_t end, T* out) {
  using Sum = SumOf<T>;
  const int64_t a_row = s.transpose_a ? 1 : s.k, a_column = s.transpose_a ? s.m : 1;
  std::vector<Sum> sums(s.n);
  for (int64_t i = begin; i < end; ++i) {
    std::fill(sums.begin(), sums.end(), Sum(0));
    const T* row = a + i * a_row;
    if (s.transpose_b) {
      for (int64_t j = 0; j < s.n; ++j) {
        Sum sum(0);
        for (int64_t p = 0; p < s.k; ++p) {
          sum += static_cast<Sum>(Read(row[p * a_column], s.conjugate_a)) *
                 static_cast<Sum>(Read(b[j * s.k + p], s.conjugate_b));
        }
        sums[j] = sum;
      }
    } else {
      for (int64_t p = 0; p < s.k; ++p) {
        const Sum x = static_cast<Sum>(Read(row[p * a_column], s.conjugate_a));
        const T* from = b + p * s.n;
        for (int64_t j = 0; j < s.n; ++j) {
          sums[j] += x * static_cast<Sum>(Read(from[j], s.conjugate_b));
        }
      }
    }
    for (int64_t j = 0; j < s.n; ++j) {
      Sum sum = sums[j];
      if (bias) sum += static_cast<Sum>(bias[j]);
      if (post_ops.add) sum += static_cast<Sum>(out[i * s.n + j]);
      if constexpr (std::is_floating_point_v<Sum>) {
        if (post_ops.activation != Activation::kNone) {
          sum = static_cast<Sum>(Apply(post_ops.activation, post_ops.alpha, sum));
        }
      }
      out[i * s.n + j] = static_cast<T>(sum);
    }
  }
}

template <typename T>
void MultiplyAll(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops, const T* a,
                 const T* b, const T* bias, T* out) {
  const bool by_eigen = std::is_same_v<T, double> && s.m * s.n * s.k >= kMinEigenProduct &&
                        bias == nullptr && !post_ops.add &&
                        post_ops.activation == Activation::kNone;
  const bool by_tiles = kHasTiles<T> && bias == nullptr && !post_ops.add;
  const double cost = static_cast<double>(s.n) * static_cast<double>(s.k) *
                      (by_eigen || (by_tiles && s.m >= kTileRows) ? 0.05 : 0.5);
  ctx.ParallelFor(s.batch_size() * s.m, cost + 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t item = begin / s.m, first = begin % s.m;
      const int64_t last = std::min(s.m, first + (end - begin));
      const auto [a_at, b_at] = MatrixOffsets(s, item);
      const T* const left = a + a_at * s.m * s.k;
      const T* const right = b + b_at * s.k * s.n;
      T* const to = out + item * s.m * s.n;
      if constexpr (std::is_same_v<T, double>) {
        if (by_eigen) MultiplyRowsByEigen(s, left, right, first, last, to);
      }
      int64_t done = first;
      if constexpr (kHasTiles<T>) {
        if (by_tiles) {
          done += (last - first) / kTileRows * kTileRows;
          if (done > first) MultiplyRowsByTiles(s, left, right, first, done, to);
        }
      }
      if (!by_eigen) MultiplyRows(s, post_ops, left, right, bias, done, last, to);
      begin += last - first;
    }
  });
}

}  // namespace

absl::Status MultiplyByLoops(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                             const Tensor& a, const Tensor& b, const Tensor* bias, Tensor* output) {
  return VisitNumericType(a.dtype(), [&]<typename T>() {
    MultiplyAll<T>(ctx, shape, post_ops, a.data<T>(), b.data<T>(), bias ? bias->data<T>() : nullptr,
                   output->data<T>());
    return absl::OkStatus();
  });
}

}  // namespace tessera
