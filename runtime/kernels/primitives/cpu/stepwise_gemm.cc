#include "runtime/kernels/primitives/cpu/stepwise_gemm.h"

#include <algorithm>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cpu/rounded_vector.h"

namespace tessera {
namespace {

using Vector = RoundedVector<Eigen::half>;
constexpr int64_t kLanes = Vector::kLanes;
// Rows and vectors of Eigen's micro-kernel.
constexpr int64_t kRows = 4, kVectors = 2;

// How a term a * b is added: vectors round the product and the sum, single elements the sum alone.
enum class Rounding { kProductAndSum, kSum };

// The steps [begin, end) of k, `step` apart.
struct Steps {
  int64_t begin, end, step;
};

// The part of a product with some rows and vectors of columns.
template <int kRowCount, int kVectorCount>
class Tile {
 public:
  Tile(const StepwiseGemm& product, int64_t row, int64_t column)
      : p_(product),
        a_(product.a + row * product.row_stride),
        b_(product.b + column),
        c_(product.c + row * StepwiseStride(product.columns) + column) {}

  template <Rounding kRounding>
  void Run() const {
    Sums sums;
    Clear(&sums);
    Add<kRounding>({0, p_.depth, 1}, &sums);
    Store(sums);
  }

  // Adds up even and odd steps apart from each other, but for the last ones that are not eight.
  void RunInTurns() const {
    const int64_t whole = p_.depth / 8 * 8;
    Sums even, odd;
    Clear(&even);
    Clear(&odd);
    Add<Rounding::kProductAndSum>({0, whole, 2}, &even);
    Add<Rounding::kProductAndSum>({1, whole, 2}, &odd);
    for (int r = 0; r < kRowCount; ++r) {
      for (int v = 0; v < kVectorCount; ++v) even.at[r][v] = even.at[r][v] + odd.at[r][v];
    }
    Add<Rounding::kProductAndSum>({whole, p_.depth, 1}, &even);
    Store(even);
  }

 private:
  struct Sums {
    Vector at[kRowCount][kVectorCount];
  };

  static void Clear(Sums* sums) {
    std::fill_n(sums->at[0], kRowCount * kVectorCount, Vector(0.0f));
  }

  template <Rounding kRounding>
  void Add(const Steps& steps, Sums* sums) const {
    const int64_t stride = StepwiseStride(p_.columns);
    for (int64_t k = steps.begin; k < steps.end; k += steps.step) {
      Vector b[kVectorCount];
      for (int v = 0; v < kVectorCount; ++v) b[v] = Vector::Load(b_ + k * stride + v * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < kRowCount; ++r) {
        const Vector a(a_[r * p_.row_stride + k * p_.depth_stride]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectorCount; ++v) {
          Vector& sum = sums->at[r][v];
          sum = kRounding == Rounding::kSum ? MultiplyAdd(a, b[v], sum) : sum + a * b[v];
        }
      }
    }
  }

  void Store(const Sums& sums) const {
    const int64_t stride = StepwiseStride(p_.columns);
    for (int r = 0; r < kRowCount; ++r) {
      for (int v = 0; v < kVectorCount; ++v) {
        float* const to = c_ + r * stride + v * kLanes;
        const Vector sum = p_.adds ? Vector::Load(to) + sums.at[r][v] : sums.at[r][v];
        sum.Store(to);
      }
    }
  }

  const StepwiseGemm& p_;
  const float* const a_;
  const float* const b_;
  float* const c_;
};

// Calls visit.operator()<number of rows>(row) for rows by four, and for those that are left one by
// one.
template <typename Visit>
void ForRows(int64_t begin, int64_t end, const Visit& visit) {
  int64_t row = begin;
  for (; row + kRows <= end; row += kRows) visit.template operator()<kRows>(row);
  for (; row < end; ++row) visit.template operator()<1>(row);
}

}  // namespace

void StepwiseGemm::Run(int64_t begin, int64_t end) const {
  int64_t column = 0;
  if (by_element) {
    for (; column < columns; column += kLanes) {
      ForRows(begin, end, [&]<int kCount>(int64_t row) {
        Tile<kCount, 1>(*this, row, column).template Run<Rounding::kProductAndSum>();
      });
    }
    return;
  }
  for (; column + kVectors * kLanes <= columns; column += kVectors * kLanes) {
    ForRows(begin, end, [&]<int kCount>(int64_t row) {
      Tile<kCount, kVectors>(*this, row, column).template Run<Rounding::kProductAndSum>();
    });
  }
  if (column + kLanes <= columns) {
    ForRows(begin, end, [&]<int kCount>(int64_t row) {
      const Tile<kCount, 1> tile(*this, row, column);
      if constexpr (kCount == kRows) {
        tile.RunInTurns();
      } else {
        tile.template Run<Rounding::kProductAndSum>();
      }
    });
    column += kLanes;
  }
  if (column == columns) return;
  ForRows(begin, end, [&]<int kCount>(int64_t row) {
    Tile<kCount, 1>(*this, row, column).template Run<Rounding::kSum>();
  });
}

int64_t StepwiseDepth(int64_t rows, int64_t columns, int64_t depth) {
  // Products of less in each dimension are not cut.
  constexpr int64_t kSmall = 48;
  // The operands must stay in a first-level cache of 32 KiB: the two vectors and four elements that
  // the micro-kernel reads in each step, besides its sums.
  constexpr int64_t kHalf = 2, kCache = 32 << 10, kUnroll = 8;
  constexpr int64_t kTile = kVectors * kLanes * kRows * kHalf;
  constexpr int64_t kStep = (kVectors * kLanes + kRows) * kHalf;
  constexpr int64_t kMost = (kCache - kTile) / kStep / kUnroll * kUnroll;
  if (std::max({rows, columns, depth}) < kSmall || depth <= kMost) return depth;
  // The parts are made about equal.
  const int64_t rest = depth % kMost;
  if (rest == 0) return kMost;
  return kMost - kUnroll * ((kMost - 1 - rest) / (kUnroll * (depth / kMost + 1)));
}

}  // namespace tessera
