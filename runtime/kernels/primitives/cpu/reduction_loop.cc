#include "runtime/kernels/primitives/cpu/reduction_loop.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/narrow_float.h"

namespace tessera {
namespace {

// Accumulators of a row that are worked on at a time: they stay in the first-level cache.
constexpr int64_t kColumns = 1024;
// Rows added before accumulators are merged into others.
constexpr int64_t kRows = 256;
// A reduction of more elements into few outputs is cut into parts of so many.
constexpr int64_t kPart = 1 << 16;
// Nanoseconds an element.
constexpr double kCost = 0.15;

// Loops over elements of a narrow float type by way of those of float.
class Widened {
 public:
  Widened(const ReductionLoops& loops, DType dtype)
      : loops_(loops), dtype_(dtype), narrow_(IsNarrowFloat(dtype)) {}

  void Run(char* acc, const char* in, int64_t count) const {
    if (!narrow_) {
      loops_.run(acc, in, count);
      return;
    }
    float buffer[kColumns];
    for (int64_t i = 0; i < count; i += kColumns) {
      const int64_t n = std::min(kColumns, count - i);
      Load(in + 2 * i, n, buffer);
      loops_.run(acc, reinterpret_cast<const char*>(buffer), n);
    }
  }

  // Requires columns <= kColumns.
  void Rows(char* acc, const char* in, int64_t row_stride, int64_t rows, int64_t columns) const {
    if (!narrow_) {
      loops_.rows(acc, in, row_stride, rows, columns);
      return;
    }
    float buffer[kColumns];
    for (int64_t r = 0; r < rows; ++r) {
      Load(in + r * row_stride, columns, buffer);
      loops_.rows(acc, reinterpret_cast<const char*>(buffer), 0, 1, columns);
    }
  }

  // Requires count <= kColumns.
  void Finish(const char* acc, int64_t count, int64_t reduced, char* out) const {
    if (!narrow_) {
      loops_.finish(acc, count, reduced, out);
      return;
    }
    float buffer[kColumns];
    loops_.finish(acc, count, reduced, reinterpret_cast<char*>(buffer));
    if (dtype_ == DType::kHalf) {
      FromFloat(buffer, reinterpret_cast<Eigen::half*>(out), count);
    } else {
      FromFloat(buffer, reinterpret_cast<Eigen::bfloat16*>(out), count);
    }
  }

 private:
  void Load(const char* in, int64_t count, float* to) const {
    if (dtype_ == DType::kHalf) {
      ToFloat(reinterpret_cast<const Eigen::half*>(in), to, count);
    } else {
      ToFloat(reinterpret_cast<const Eigen::bfloat16*>(in), to, count);
    }
  }

  const ReductionLoops& loops_;
  const DType dtype_;
  const bool narrow_;
};

}  // namespace

ReductionPlan::ReductionPlan(const Shape& shape, absl::Span<const bool> reduced) {
  struct Group {
    int64_t size;
    bool reduced;
  };
  absl::InlinedVector<Group, 6> groups;
  for (int d = 0; d < shape.rank(); ++d) {
    (reduced[d] ? num_reduced_ : num_outputs_) *= shape.dim(d);
    if (shape.dim(d) == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[d]) {
      groups.back().size *= shape.dim(d);
    } else {
      groups.push_back({shape.dim(d), reduced[d]});
    }
  }
  if (!groups.empty() && !groups.back().reduced) {
    columns_ = groups.back().size;
    groups.pop_back();
  }
  int64_t stride = columns_;
  if (!groups.empty()) {  // is reduced
    rows_ = groups.back().size;
    groups.pop_back();
    stride *= rows_;
  }
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    Axes& axes = group->reduced ? reduced_ : kept_;
    axes.insert(axes.begin(), {group->size, stride});
    stride *= group->size;
  }
}

int64_t ReductionPlan::Offset(const Axes& axes, int64_t index) {
  int64_t offset = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    offset += index % axis->size * axis->stride;
    index /= axis->size;
  }
  return offset;
}

// One call of RunReduction(). Outputs are worked on in blocks: up to kColumns of a row of the kept
// group that comes last, or a single one if a reduced group does. The elements of a block are rows
// of all reduced groups, counted through.
class ReductionRun {
 public:
  ReductionRun(const ReductionPlan& plan, const ReductionLoops& loops, DType dtype, const char* in,
               char* out)
      : plan_(plan),
        loops_(loops),
        typed_(loops, dtype),
        size_(static_cast<int64_t>(DTypeSize(dtype))),
        in_(in),
        out_(out),
        width_(std::min(plan.columns_, kColumns)),
        blocks_per_row_((plan.columns_ + kColumns - 1) / kColumns),
        num_blocks_(plan.num_outputs_ / plan.columns_ * blocks_per_row_) {}

  void Run(ThreadPool* pool) {
    // Few outputs of many elements: parts of the reduction are the units of work.
    const int64_t part = std::max<int64_t>(1, kPart / width_);
    const int64_t parts = num_blocks_ <= 16 ? (plan_.num_reduced_ + part - 1) / part : 1;
    if (parts <= 1) {
      RunWhole(pool);
    } else {
      RunInParts(pool, part, parts);
    }
  }

 private:
  struct Block {
    int64_t row;     // of the outputs
    int64_t column;  // first one
    int64_t count;   // of columns
  };
  Block BlockAt(int64_t i) const {
    const int64_t column = i % blocks_per_row_ * kColumns;
    return {i / blocks_per_row_, column, std::min(kColumns, plan_.columns_ - column)};
  }
  // Room for the accumulators of a block, twice.
  int64_t ScratchBytes() const { return 2 * width_ * loops_.size; }

  void RunWhole(ThreadPool* pool) const {
    ParallelFor(pool, num_blocks_, kCost * static_cast<double>(plan_.num_reduced_ * width_),
                [this](int64_t begin, int64_t end) {
                  alignas(64) char small[256];
                  std::vector<char> large;
                  if (ScratchBytes() > static_cast<int64_t>(sizeof(small))) {
                    large.resize(ScratchBytes());
                  }
                  char* const acc = large.empty() ? small : large.data();
                  for (int64_t i = begin; i < end; ++i) {
                    const Block block = BlockAt(i);
                    AddBlock(block, 0, plan_.num_reduced_, acc);
                    Finish(block, acc);
                  }
                });
  }

  void RunInParts(ThreadPool* pool, int64_t part, int64_t parts) const {
    std::vector<char> scratch(num_blocks_ * parts * ScratchBytes());
    auto acc = [&](int64_t i, int64_t p) {
      return scratch.data() + (i * parts + p) * ScratchBytes();
    };
    ParallelFor(pool, num_blocks_ * parts, kCost * static_cast<double>(part * width_),
                [&](int64_t begin, int64_t end) {
                  for (int64_t unit = begin; unit < end; ++unit) {
                    const int64_t i = unit / parts, p = unit % parts;
                    AddBlock(BlockAt(i), p * part, std::min((p + 1) * part, plan_.num_reduced_),
                             acc(i, p));
                  }
                });
    for (int64_t i = 0; i < num_blocks_; ++i) {
      const Block block = BlockAt(i);
      for (int64_t p = 1; p < parts; ++p) loops_.merge(acc(i, 0), acc(i, p), block.count);
      Finish(block, acc(i, 0));
    }
  }

  // Sets `acc` to what rows [begin, end) add up to. Many rows go through accumulators of their own,
  // behind those of the block.
  void AddBlock(const Block& block, int64_t begin, int64_t end, char* acc) const {
    loops_.init(acc, block.count);
    if (plan_.columns_ == 1 || end - begin <= kRows) {
      AddRows(block, begin, end, acc);
      return;
    }
    char* const other = acc + block.count * loops_.size;
    for (; begin < end; begin += kRows) {
      loops_.init(other, block.count);
      AddRows(block, begin, std::min(begin + kRows, end), other);
      loops_.merge(acc, other, block.count);
    }
  }

  void AddRows(const Block& block, int64_t begin, int64_t end, char* acc) const {
    const int64_t offset = ReductionPlan::Offset(plan_.kept_, block.row) + block.column;
    while (begin < end) {
      const int64_t row = begin % plan_.rows_;
      const int64_t count = std::min(end - begin, plan_.rows_ - row);
      const int64_t outer = ReductionPlan::Offset(plan_.reduced_, begin / plan_.rows_);
      const char* const from = in_ + (offset + outer + row * plan_.columns_) * size_;
      if (plan_.columns_ == 1) {
        typed_.Run(acc, from, count);
      } else {
        typed_.Rows(acc, from, plan_.columns_ * size_, count, block.count);
      }
      begin += count;
    }
  }

  void Finish(const Block& block, const char* acc) const {
    typed_.Finish(acc, block.count, plan_.num_reduced_,
                  out_ + (block.row * plan_.columns_ + block.column) * size_);
  }

  const ReductionPlan& plan_;
  const ReductionLoops& loops_;
  const Widened typed_;
  const int64_t size_;
  const char* const in_;
  char* const out_;
  const int64_t width_;
  const int64_t blocks_per_row_;
  const int64_t num_blocks_;
};

void RunReduction(const ReductionPlan& plan, const ReductionLoops& loops, DType dtype,
                  const char* in, char* out, ThreadPool* pool) {
  if (plan.num_outputs() > 0) ReductionRun(plan, loops, dtype, in, out).Run(pool);
}

}  // namespace tessera
