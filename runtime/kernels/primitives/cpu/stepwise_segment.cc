#include "runtime/kernels/primitives/cpu/stepwise_segment.h"

#include <algorithm>
#include <cstring>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cpu/stepwise_run.h"

namespace tessera {
namespace {

// Rows from which on four accumulators take turns for each column of a sorted segment.
constexpr int64_t kManyRows = 16;

// Rows of eight neighbouring columns. The last columns of a row may be fewer: they are padded.
template <typename Storage>
class ColumnRows {
 public:
  using Vector = RoundedVector<Storage>;

  ColumnRows(const char* first, int64_t row_stride, int64_t columns)
      : first_(first), row_stride_(row_stride), columns_(columns) {}

  bool is_whole() const { return columns_ == Vector::kLanes; }

  Vector Load(int64_t row) const {
    const char* const from = first_ + row * row_stride_;
    if (is_whole()) return Vector::Load(reinterpret_cast<const Storage*>(from));
    Storage padded[Vector::kLanes] = {};
    std::memcpy(padded, from, columns_ * sizeof(Storage));
    return Vector::Load(padded);
  }

  void Store(Vector total, char* to) const {
    Storage lanes[Vector::kLanes];
    total.Store(lanes);
    std::memcpy(to, lanes, columns_ * sizeof(Storage));
  }

 private:
  const char* const first_;
  const int64_t row_stride_;
  const int64_t columns_;
};

template <typename Storage, typename Fold, SegmentOrder kOrder>
struct SegmentLoops {
  using Vector = RoundedVector<Storage>;
  static constexpr int64_t kLanes = Vector::kLanes;

  static void Init(char* acc, int64_t count) {
    std::fill_n(reinterpret_cast<Storage*>(acc), count, static_cast<Storage>(Fold::kNeutral));
  }

  static void Rows(char* acc, const char* in, int64_t row_stride, int64_t rows, int64_t columns) {
    for (int64_t column = 0; column < columns; column += kLanes) {
      const int64_t width = std::min(kLanes, columns - column);
      const int64_t offset = column * static_cast<int64_t>(sizeof(Storage));
      const ColumnRows<Storage> from(in + offset, row_stride, width);
      const ColumnRows<Storage> total(acc + offset, 0, width);
      const bool in_turns = kOrder == SegmentOrder::kSorted && Fold::kTakesTurns &&
                            from.is_whole() && rows >= kManyRows;
      total.Store(in_turns ? InTurns(from, rows) : InOrder(from, 0, rows, total.Load(0)),
                  acc + offset);
    }
  }

  static Vector InOrder(const ColumnRows<Storage>& from, int64_t begin, int64_t end, Vector total) {
    for (int64_t row = begin; row < end; ++row) total = Fold::Add(total, from.Load(row));
    return total;
  }

  static Vector InTurns(const ColumnRows<Storage>& from, int64_t rows) {
    Vector a(Fold::kNeutral), b = a, c = a, d = a;
    const int64_t whole = rows / 4 * 4;
    for (int64_t row = 0; row < whole; row += 4) {
      a = Fold::Add(a, from.Load(row));
      b = Fold::Add(b, from.Load(row + 1));
      c = Fold::Add(c, from.Load(row + 2));
      d = Fold::Add(d, from.Load(row + 3));
    }
    return InOrder(from, whole, rows, Fold::Add(Fold::Add(Fold::Add(a, b), c), d));
  }

  static void Keep(const char* acc, int64_t count, int64_t /*reduced*/, char* out) {
    if (out != acc) std::memcpy(out, acc, count * sizeof(Storage));
  }

  static void Divide(const char* acc, int64_t count, int64_t reduced, char* out) {
    using Number = Rounded<Storage>;
    const auto* const from = reinterpret_cast<const Storage*>(acc);
    const Number divisor(static_cast<float>(reduced));
    for (int64_t i = 0; i < count; ++i) {
      const Number total = Number::FromStored(static_cast<float>(from[i]));
      reinterpret_cast<Storage*>(out)[i] = static_cast<Storage>((total / divisor).value());
    }
  }

  static ReductionLoops Make() {
    return {.size = sizeof(Storage),
            .init = Init,
            .run = nullptr,
            .rows = Rows,
            .merge = nullptr,
            .finish = Keep,
            .runs = nullptr};
  }
  static ReductionLoops MakeMean() {
    ReductionLoops loops = Make();
    loops.finish = Divide;
    return loops;
  }
};

template <typename Storage, SegmentOrder kOrder>
absl::optional<ReductionLoops> LoopsOf(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return SegmentLoops<Storage, StepwiseSum, kOrder>::Make();
    case ReduceKind::kMean:
      return SegmentLoops<Storage, StepwiseSumOfRows, kOrder>::MakeMean();
    case ReduceKind::kProd:
      return SegmentLoops<Storage, StepwiseProduct, kOrder>::Make();
    default:
      return absl::nullopt;
  }
}

template <typename Storage>
absl::optional<ReductionLoops> LoopsOf(ReduceKind kind, SegmentOrder order) {
  return order == SegmentOrder::kSorted ? LoopsOf<Storage, SegmentOrder::kSorted>(kind)
                                        : LoopsOf<Storage, SegmentOrder::kAny>(kind);
}

}  // namespace

absl::optional<ReductionLoops> FindStepwiseSegmentLoops(ReduceKind kind, DType dtype,
                                                        SegmentOrder order) {
  if (dtype == DType::kHalf) return LoopsOf<Eigen::half>(kind, order);
  if (dtype == DType::kBfloat16) return LoopsOf<Eigen::bfloat16>(kind, order);
  return absl::nullopt;
}

}  // namespace tessera
