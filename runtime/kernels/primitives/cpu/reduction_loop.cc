#include "runtime/kernels/primitives/cpu/reduction_loop.h"

#include <algorithm>

namespace tessera {
namespace {

// The number of a row's accumulators that are used at a time, so that they stay in the first-level
// cache.
constexpr int64_t kColumns = 1024;
// The number of rows that are added before the accumulators are merged into others.
constexpr int64_t kRows = 256;
// The number of elements in a part. A reduction of more elements into few outputs is cut into
// parts.
constexpr int64_t kPart = 1 << 16;
// The cost of an element in nanoseconds.
constexpr double kCost = 0.15;

// Multiplies *product by `size`. It becomes 0 where it overflows: only the dimensions of a tensor
// without elements do.
void MultiplyBy(int64_t size, int64_t* product) {
  if (__builtin_mul_overflow(*product, size, product)) *product = 0;
}

}  // namespace

ReductionPlan::ReductionPlan(const Shape& shape, absl::Span<const bool> reduced) {
  struct Group {
    int64_t size;
    bool reduced;
  };
  absl::InlinedVector<Group, 6> groups;
  for (int d = 0; d < shape.rank(); ++d) {
    MultiplyBy(shape.dim(d), reduced[d] ? &num_reduced_ : &num_outputs_);
    if (shape.dim(d) == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[d]) {
      MultiplyBy(shape.dim(d), &groups.back().size);
    } else {
      groups.push_back({shape.dim(d), reduced[d]});
    }
  }
  if (!groups.empty() && !groups.back().reduced) {
    columns_ = groups.back().size;
    groups.pop_back();
  }
  int64_t stride = columns_;
  if (!groups.empty()) {  // reduced group
    rows_ = groups.back().size;
    groups.pop_back();
    MultiplyBy(rows_, &stride);
  }
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    Axes& axes = group->reduced ? reduced_ : kept_;
    axes.insert(axes.begin(), {group->size, stride});
    MultiplyBy(group->size, &stride);
  }
}

int64_t ReductionPlan::Offset(const Axes& axes, int64_t index) {
  if (axes.empty()) return 0;
  int64_t offset = 0;
  for (size_t i = axes.size() - 1; i > 0; --i) {
    offset += index % axes[i].size * axes[i].stride;
    index /= axes[i].size;
  }
  return offset + index * axes[0].stride;
}

// One call of RunReduction(). Outputs are computed in blocks: up to kColumns outputs along the last
// group if that is kept, otherwise a single output. The elements of a block are numbered by rows,
// over all reduced groups.
class ReductionRun {
 public:
  ReductionRun(const ReductionPlan& plan, const ReductionLoops& loops, DType dtype, const char* in,
               char* out)
      : plan_(plan),
        loops_(loops),
        size_(static_cast<int64_t>(DTypeSize(dtype))),
        in_(in),
        out_(out),
        width_(std::min(plan.columns(), kColumns)),
        blocks_per_row_((plan.columns() + kColumns - 1) / kColumns),
        num_blocks_(plan.num_outputs() / plan.columns() * blocks_per_row_) {}

  void Run(ThreadPool* pool) {
    // With few outputs of many elements, parts of the reduction are the units of work.
    const int64_t part = std::max<int64_t>(1, kPart / width_);
    const int64_t parts = num_blocks_ <= 16 ? (plan_.num_reduced() + part - 1) / part : 1;
    if (parts <= 1) {
      RunWhole(pool);
    } else {
      RunInParts(pool, part, parts);
    }
  }

 private:
  struct Block {
    int64_t row;     // a row of outputs
    int64_t column;  // the first column
    int64_t count;   // the number of columns
  };
  Block BlockAt(int64_t i) const {
    if (blocks_per_row_ == 1) return {i, 0, plan_.columns()};
    const int64_t column = i % blocks_per_row_ * kColumns;
    return {i / blocks_per_row_, column, std::min(kColumns, plan_.columns() - column)};
  }
  // Returns true if the elements of each output directly follow those of the previous output.
  bool IsContiguous() const {
    return plan_.columns() == 1 && plan_.reduced().empty() && plan_.kept().size() <= 1;
  }
  // Returns the bytes of two sets of accumulators for a block.
  int64_t ScratchBytes() const { return 2 * width_ * loops_.size; }

  void RunWhole(ThreadPool* pool) const {
    ParallelFor(pool, num_blocks_, kCost * static_cast<double>(plan_.num_reduced() * width_),
                [this](int64_t begin, int64_t end) {
                  if (IsContiguous()) {
                    loops_.runs(in_ + begin * plan_.rows() * size_, plan_.rows(), end - begin,
                                out_ + begin * size_);
                    return;
                  }
                  alignas(64) char small[256];
                  std::vector<char> large;
                  if (ScratchBytes() > static_cast<int64_t>(sizeof(small))) {
                    large.resize(ScratchBytes());
                  }
                  char* const acc = large.empty() ? small : large.data();
                  for (int64_t i = begin; i < end; ++i) {
                    const Block block = BlockAt(i);
                    AddBlock(block, 0, plan_.num_reduced(), acc);
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
                    AddBlock(BlockAt(i), p * part, std::min((p + 1) * part, plan_.num_reduced()),
                             acc(i, p));
                  }
                });
    for (int64_t i = 0; i < num_blocks_; ++i) {
      const Block block = BlockAt(i);
      for (int64_t p = 1; p < parts; ++p) loops_.merge(acc(i, 0), acc(i, p), block.count);
      Finish(block, acc(i, 0));
    }
  }

  // Sets `acc` to the reduction of rows [begin, end). Many rows are accumulated in groups, in a
  // second set of accumulators behind `acc`, which is merged into the first.
  void AddBlock(const Block& block, int64_t begin, int64_t end, char* acc) const {
    loops_.init(acc, block.count);
    if (plan_.columns() == 1 || end - begin <= kRows) {
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
    const int64_t offset = ReductionPlan::Offset(plan_.kept(), block.row) + block.column;
    while (begin < end) {
      const int64_t run = plan_.reduced().empty() ? 0 : begin / plan_.rows();
      const int64_t row = begin - run * plan_.rows();
      const int64_t count = std::min(end - begin, plan_.rows() - row);
      const int64_t outer = ReductionPlan::Offset(plan_.reduced(), run);
      const char* const from = in_ + (offset + outer + row * plan_.columns()) * size_;
      if (plan_.columns() == 1) {
        loops_.run(acc, from, count);
      } else {
        loops_.rows(acc, from, plan_.columns() * size_, count, block.count);
      }
      begin += count;
    }
  }

  void Finish(const Block& block, const char* acc) const {
    loops_.finish(acc, block.count, plan_.num_reduced(),
                  out_ + (block.row * plan_.columns() + block.column) * size_);
  }

  const ReductionPlan& plan_;
  const ReductionLoops& loops_;
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
