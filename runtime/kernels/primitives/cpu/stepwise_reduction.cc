#include "runtime/kernels/primitives/cpu/stepwise_reduction.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cpu/stepwise_run.h"

namespace tessera {
namespace {

// The cost of an element in nanoseconds.
constexpr double kCost = 0.3;
// The smallest number of rows for which four accumulators take turns in each column.
constexpr int64_t kManyRows = 16;
// With fewer runs than this, several threads compute each output.
constexpr int64_t kFewRuns = 16;

// A sequence of `count` elements that are `stride` apart.
struct Steps {
  int64_t count;
  int64_t stride;
};

// One call of a reduction. TensorFlow's order depends on where the reduced axes are:
//  - Elements that make one output and are neighbours: ReduceStepwise().
//  - Rows of columns: eight neighbouring columns at a time, row by row. From kManyRows rows on,
//    four accumulators take turns. A column that shares its eight neighbouring outputs with another
//    row of outputs, or does not have seven neighbours, is added in order.
//  - [reduced, kept, reduced] in order, the last axis outermost. A bias gradient adds the sums of
//    runs.
//  - Everything else is transposed, so that the elements of an output are neighbours.
template <typename Storage, typename Fold, typename Finish>
class StepwiseRun {
 public:
  StepwiseRun(const ReductionPlan& plan, const char* in, char* out)
      : plan_(plan),
        in_(reinterpret_cast<const Storage*>(in)),
        out_(reinterpret_cast<Storage*>(out)) {}

  void Run(ThreadPool* pool) const {
    const bool one_group_reduced = plan_.reduced().empty();
    const size_t kept = plan_.kept().size();
    if (one_group_reduced && kept <= 1) {
      if (plan_.columns() == 1) return Rows(pool);
      return Columns(pool);
    }
    if (plan_.columns() == 1 && plan_.reduced().size() == 1 && kept == 1) return Slices(pool);
    Transposed(pool);
  }

 private:
  using Vector = RoundedVector<Storage>;
  using Number = Rounded<Storage>;
  static constexpr int kLanes = Vector::kLanes;

  void Store(int64_t output, Number total) const {
    out_[output] = static_cast<Storage>(Finish::Result(total, plan_.num_reduced()).value());
  }

  void Rows(ThreadPool* pool) const {
    const int64_t runs = plan_.num_outputs(), count = plan_.num_reduced();
    if (runs < kFewRuns && count > kStepwiseLeaf<Storage>) return LongRows(pool);
    ParallelFor(pool, runs, kCost * static_cast<double>(count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Store(i, ReduceStepwise<Storage, Fold>(in_ + i * count, i * count, count));
      }
    });
  }

  // Reduces a few long runs. Each of their leaves is a unit of work.
  void LongRows(ThreadPool* pool) const {
    struct Leaf {
      int64_t first;
      int64_t count;
      Number total;
    };
    std::vector<Leaf> leaves;
    const int64_t runs = plan_.num_outputs(), count = plan_.num_reduced();
    auto note = [&](int64_t first, int64_t some) {
      leaves.push_back({first, some, Number(0)});
      return Number(0);
    };
    for (int64_t i = 0; i < runs; ++i) FoldHalves<Storage, Fold>(i * count, count, note);
    ParallelFor(pool, static_cast<int64_t>(leaves.size()), kCost * kStepwiseLeaf<Storage>,
                [&](int64_t begin, int64_t end) {
                  for (int64_t l = begin; l < end; ++l) {
                    Leaf& leaf = leaves[l];
                    leaf.total = FoldVectors<Storage, Fold>(in_ + leaf.first, leaf.count);
                  }
                });
    auto next = leaves.begin();
    auto take = [&](int64_t, int64_t) { return (next++)->total; };
    for (int64_t i = 0; i < runs; ++i) Store(i, FoldHalves<Storage, Fold>(i * count, count, take));
  }

  void Columns(ThreadPool* pool) const {
    const int64_t outputs = plan_.num_outputs(), columns = plan_.columns(), rows = plan_.rows();
    const int64_t vectors = (outputs + kLanes - 1) / kLanes;
    const double cost = kCost * static_cast<double>(rows * kLanes);
    ParallelFor(pool, vectors, cost, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end;) {
        const int64_t output = v * kLanes;
        const int64_t column = output % columns;
        const Storage* const from = in_ + output / columns * rows * columns + column;
        if (v + 2 <= end && column + 2 * kLanes <= columns) {
          ColumnVectors<2>(from, output);
          v += 2;
          continue;
        }
        if (column + kLanes <= columns) {
          ColumnVectors<1>(from, output);
        } else {
          const auto first = [&](int64_t i) {
            return in_ + i / columns * rows * columns + i % columns;
          };
          InOrder(output, first, {1, 0}, {rows, columns});
        }
        ++v;
      }
    });
  }

  // Reduces kVectors neighbouring vectors of columns. `from` is the first row of the first vector.
  template <int kVectors>
  void ColumnVectors(const Storage* from, int64_t output) const {
    const int64_t rows = plan_.rows(), columns = plan_.columns();
    Vector totals[kVectors];
    std::fill_n(totals, kVectors, Vector(Fold::kNeutral));
    if (!Fold::kTakesTurns || rows < kManyRows) {
      AddRows<kVectors>(from, rows, totals);
    } else {
      Vector others[3][kVectors];
      std::fill_n(others[0], 3 * kVectors, Vector(Fold::kNeutral));
      const int64_t whole = rows / 4 * 4;
      for (int64_t row = 0; row < whole; row += 4) {
        const Storage* const at = from + row * columns;
        AddRows<kVectors>(at, 1, totals);
#pragma GCC unroll 3
        for (int k = 0; k < 3; ++k) AddRows<kVectors>(at + (k + 1) * columns, 1, others[k]);
      }
#pragma GCC unroll 3
      for (int k = 0; k < 3; ++k) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) totals[v] = Fold::Add(totals[v], others[k][v]);
      }
      AddRows<kVectors>(from + whole * columns, rows - whole, totals);
    }
    for (int v = 0; v < kVectors; ++v) StoreLanes(output + v * kLanes, totals[v], kLanes);
  }

  template <int kVectors>
  [[gnu::always_inline]] void AddRows(const Storage* from, int64_t rows,
                                      Vector (&totals)[kVectors]) const {
    for (int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const Vector x = Vector::Load(from + row * plan_.columns() + v * kLanes);
        totals[v] = Fold::Add(totals[v], Fold::Term(x));
      }
    }
  }

  void StoreLanes(int64_t output, Vector totals, int64_t count) const {
    float lanes[kLanes];
    totals.Store(lanes);
    for (int64_t i = 0; i < count; ++i) Store(output + i, Number::FromStored(lanes[i]));
  }

  // Computes up to eight outputs from `output` on, each of them in order. first(i) is the first
  // element of output i; `inner` and `outer` give the distances of its other elements.
  template <typename First>
  void InOrder(int64_t output, const First& first, Steps outer, Steps inner) const {
    const int64_t count = std::min<int64_t>(kLanes, plan_.num_outputs() - output);
    const Storage* from[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) from[i] = first(output + std::min(i, count - 1));
    Vector totals(Fold::kNeutral);
    for (int64_t o = 0; o < outer.count; ++o) {
      for (int64_t j = 0; j < inner.count; ++j) {
        const int64_t offset = o * outer.stride + j * inner.stride;
        Storage gathered[kLanes];
        for (int i = 0; i < kLanes; ++i) gathered[i] = from[i][offset];
        totals = Fold::Add(totals, Fold::Term(Vector::Load(gathered)));
      }
    }
    StoreLanes(output, totals, count);
  }

  void Slices(ThreadPool* pool) const {
    const int64_t outputs = plan_.num_outputs();
    const ReductionPlan::Axis kept = plan_.kept()[0], reduced = plan_.reduced()[0];
    const double cost = kCost * static_cast<double>(plan_.num_reduced() * kLanes);
    if constexpr (!Fold::kTakesTurns) {
      ParallelFor(pool, outputs, cost / kLanes, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Number total(Fold::kNeutral);
          for (int64_t j = 0; j < reduced.size; ++j) {
            const int64_t first = i * kept.stride + j * reduced.stride;
            total =
                Fold::Add(total, ReduceStepwise<Storage, Fold>(in_ + first, first, plan_.rows()));
          }
          Store(i, total);
        }
      });
      return;
    }
    ParallelFor(pool, (outputs + kLanes - 1) / kLanes, cost, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) {
        const auto first = [&](int64_t i) { return in_ + i * kept.stride; };
        InOrder(v * kLanes, first, {plan_.rows(), 1}, {reduced.size, reduced.stride});
      }
    });
  }

  void Transposed(ThreadPool* pool) const {
    const int64_t count = plan_.num_reduced(), rows = plan_.rows(), columns = plan_.columns();
    ParallelFor(pool, plan_.num_outputs(), kCost * static_cast<double>(count),
                [&](int64_t begin, int64_t end) {
                  std::vector<Storage> elements(count);
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t offset =
                        ReductionPlan::Offset(plan_.kept(), i / columns) + i % columns;
                    for (int64_t j = 0; j < count; j += rows) {
                      const Storage* const from =
                          in_ + offset + ReductionPlan::Offset(plan_.reduced(), j / rows);
                      for (int64_t row = 0; row < rows; ++row) {
                        elements[j + row] = from[row * columns];
                      }
                    }
                    Store(i, ReduceStepwise<Storage, Fold>(elements.data(), i * count, count));
                  }
                });
  }

  const ReductionPlan& plan_;
  const Storage* const in_;
  Storage* const out_;
};

struct Total {
  template <typename Number>
  static Number Result(Number total, int64_t) {
    return total;
  }
};
struct Quotient {
  template <typename Number>
  static Number Result(Number total, int64_t count) {
    return total / Number(static_cast<float>(count));
  }
};
struct Root {
  template <typename Number>
  static Number Result(Number total, int64_t) {
    return Sqrt(total);
  }
};

template <typename Storage, typename Fold, typename Finish = Total>
void ReduceAll(const ReductionPlan& plan, const char* in, char* out, ThreadPool* pool) {
  if (plan.num_outputs() > 0) StepwiseRun<Storage, Fold, Finish>(plan, in, out).Run(pool);
}

}  // namespace

StepwiseReduction FindStepwiseReduction(ReduceKind kind, DType dtype) {
  if (dtype == DType::kHalf) {
    switch (kind) {
      case ReduceKind::kSum:
        return ReduceAll<Eigen::half, StepwiseSum>;
      case ReduceKind::kMean:
        return ReduceAll<Eigen::half, StepwiseSum, Quotient>;
      case ReduceKind::kProd:
        return ReduceAll<Eigen::half, StepwiseProduct>;
      case ReduceKind::kEuclideanNorm:
        return ReduceAll<Eigen::half, StepwiseSumOfSquares, Root>;
      case ReduceKind::kHalfSumOfSquares:
        return ReduceAll<Eigen::half, StepwiseHalfSumOfSquares>;
      default:
        return nullptr;
    }
  }
  if (dtype != DType::kBfloat16) return nullptr;
  if (kind == ReduceKind::kProd) return ReduceAll<Eigen::bfloat16, StepwiseProduct>;
  if (kind == ReduceKind::kBiasGradient) return ReduceAll<Eigen::bfloat16, StepwiseSumOfRows>;
  if (kind == ReduceKind::kHalfSumOfSquares) {
    return ReduceAll<Eigen::bfloat16, StepwiseHalfSumOfSquares>;
  }
  return nullptr;
}

}  // namespace tessera
