#include "runtime/kernels/primitives/fused_elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/choose_loop.h"
#include "runtime/kernels/primitives/cpu/elementwise.h"

namespace tessera {
namespace {

using Operand = ElementwiseSweep::Operand;

// The size of one thread's scratch memory, which should fit the first-level cache together with the
// operands in memory.
constexpr int64_t kScratchElements = 8192;
// The largest number of elements in a chunk: enough that a call costs little, and few enough that
// the chunk stays in the cache.
constexpr int64_t kMaxChunk = 1024;
// The number of elements in a cache line. Each slot begins at a cache line, because vectors that
// span two lines take twice as long.
constexpr int64_t kLine = 16;
// Rows of fewer columns, such as the three colours of a pixel, are too short for vectors.
constexpr int64_t kFewColumns = 32;
static_assert(kScratchElements / ElementwiseSweep::kMaxSlots >= 64);

// A product and a sum after it. Each is rounded, because this file is compiled without
// contractions.
struct MultiplyAdd {
  float operator()(float x, float y, float addend) const { return x * y + addend; }
};

// One call, or two calls of which the first one feeds the second.
struct Step {
  LoopFn loop;
  int arity;
  std::array<int, 4> operands;
};
using Steps = absl::InlinedVector<Step, 16>;

// Joins products with the sums that they feed, as in polynomials.
Steps StepsOf(const ElementwiseSweep& sweep, absl::Span<const LoopFn> loops) {
  static const LoopFn multiply = FindElementwiseLoop("Mul", DType::kFloat);
  static const LoopFn add = FindElementwiseLoop("AddV2", DType::kFloat);
  Steps steps;
  for (size_t i = 0; i < sweep.calls.size(); ++i) {
    const ElementwiseSweep::Call& call = sweep.calls[i];
    if (!call.feeds_next || loops[call.function] != multiply ||
        loops[sweep.calls[i + 1].function] != add) {
      steps.push_back({loops[call.function], call.arity, call.operands});
      continue;
    }
    const std::array<int, 4>& sum = sweep.calls[++i].operands;
    const int addend = sum[1] == call.operands[0] ? sum[2] : sum[1];
    int x = call.operands[1], y = call.operands[2];
    if (sweep.operands[x].column_stride == 0) std::swap(x, y);  // no loop broadcasts x alone
    steps.push_back(
        {&TernaryLoop<MultiplyAdd, float, float, float, float>, 3, {sum[0], x, y, addend}});
  }
  return steps;
}

// A sweep cut into rectangles whose elements fit a slot of scratch memory.
class ChunkedSweep {
 public:
  ChunkedSweep(const ElementwiseSweep& sweep, absl::Span<const LoopFn> loops,
               absl::Span<char* const> bases)
      : sweep_(sweep),
        steps_(StepsOf(sweep, loops)),
        bases_(bases),
        slot_size_(sweep.num_slots <= kScratchElements / kMaxChunk
                       ? kMaxChunk
                       : kScratchElements / sweep.num_slots / kLine * kLine),
        chunk_columns_(std::min(sweep.columns, slot_size_)),
        chunk_rows_(sweep.rows == 1 ? 1 : std::min(sweep.rows, slot_size_ / chunk_columns_)),
        column_chunks_(NumChunks(sweep.columns, chunk_columns_)),
        row_chunks_(NumChunks(sweep.rows, chunk_rows_)),
        num_chunks_(column_chunks_ * row_chunks_) {
    for (const int64_t dim : sweep.outer_dims) num_chunks_ *= dim;
  }

  // Allocates what Run() needs. Errors: RESOURCE_EXHAUSTED.
  absl::Status Prepare(KernelContext& ctx) {
    return MakesOneRow(sweep_) ? RepeatRows(ctx) : absl::OkStatus();
  }

  int64_t num_chunks() const { return num_chunks_; }
  int64_t chunk_elements() const { return chunk_columns_ * chunk_rows_; }

  void Run(int64_t begin, int64_t end) const {
    alignas(64) float scratch[kScratchElements];
    for (int64_t chunk = begin; chunk < end; ++chunk) RunChunk(chunk, scratch);
  }

 private:
  // Returns the number of chunks. Small tensors are one chunk, for which no division is needed.
  static int64_t NumChunks(int64_t length, int64_t size) {
    return length == size ? 1 : (length + size - 1) / size;
  }

  // Returns true for many short rows that can be computed as a single one, because each operand in
  // memory has contiguous rows, or one row that is repeated.
  static bool MakesOneRow(const ElementwiseSweep& sweep) {
    if (sweep.columns == 1 || sweep.columns >= kFewColumns || !sweep.outer_dims.empty() ||
        sweep.columns * sweep.rows < kMaxChunk) {
      return false;
    }
    return std::all_of(sweep.operands.begin(), sweep.operands.end(), [&](const Operand& operand) {
      return operand.base < 0 || operand.row_stride == 0 ||
             operand.row_stride == sweep.columns * operand.column_stride;
    });
  }

  // Copies the row of each operand that has only one, as often as a chunk has rows.
  absl::Status RepeatRows(KernelContext& ctx) {
    repeated_.resize(sweep_.operands.size());
    for (size_t i = 0; i < repeated_.size(); ++i) {
      const Operand& operand = sweep_.operands[i];
      if (operand.base < 0 || operand.row_stride != 0 || operand.column_stride == 0) continue;
      const int64_t size = sweep_.columns * operand.column_stride;
      ASSIGN_OR_RETURN(Tensor rows, ctx.AllocateTemp(DType::kInt8, {chunk_rows_ * size}));
      repeated_[i] = rows.mutable_raw();
      for (int64_t row = 0; row < chunk_rows_; ++row) {
        std::memcpy(repeated_[i] + row * size, bases_[operand.base] + operand.offset, size);
      }
      scratch_.push_back(std::move(rows));
    }
    return absl::OkStatus();
  }

  void RunChunk(int64_t chunk, float* scratch) const {
    int64_t column = 0, row = 0, outer = 0;
    if (chunk > 0) {
      column = chunk % column_chunks_ * chunk_columns_;
      row = chunk / column_chunks_ % row_chunks_ * chunk_rows_;
      outer = chunk / (column_chunks_ * row_chunks_);
    }
    LoopBlock block;
    block.columns = std::min(chunk_columns_, sweep_.columns - column);
    block.rows = std::min(chunk_rows_, sweep_.rows - row);
    for (const Step& step : steps_) {
      for (int i = 0; i <= step.arity; ++i) {
        const Operand& operand = sweep_.operands[step.operands[i]];
        if (!repeated_.empty() && repeated_[step.operands[i]] != nullptr) {
          block.data[i] = repeated_[step.operands[i]];
          block.column_stride[i] = operand.column_stride;
          block.row_stride[i] = block.columns * operand.column_stride;
        } else if (operand.base < 0) {
          block.data[i] = reinterpret_cast<char*>(scratch + operand.slot * slot_size_);
          block.column_stride[i] = operand.column_stride;
          block.row_stride[i] = block.columns * operand.column_stride;
        } else {
          block.data[i] = bases_[operand.base] + operand.offset + column * operand.column_stride +
                          row * operand.row_stride + OuterOffset(operand, outer);
          block.column_stride[i] = operand.column_stride;
          block.row_stride[i] = operand.row_stride;
        }
      }
      if (repeated_.empty()) {
        step.loop(block);
      } else {
        LoopBlock one_row = block;
        one_row.columns = block.rows * block.columns;
        one_row.rows = 1;
        step.loop(one_row);
      }
    }
  }

  int64_t OuterOffset(const Operand& operand, int64_t outer) const {
    int64_t offset = 0;
    for (int d = static_cast<int>(sweep_.outer_dims.size()) - 1; d >= 0; --d) {
      offset += outer % sweep_.outer_dims[d] * operand.outer_strides[d];
      outer /= sweep_.outer_dims[d];
    }
    return offset;
  }

  const ElementwiseSweep& sweep_;
  const Steps steps_;
  const absl::Span<char* const> bases_;
  const int64_t slot_size_;  // in elements
  const int64_t chunk_columns_, chunk_rows_;
  const int64_t column_chunks_, row_chunks_;
  int64_t num_chunks_;
  // The repeated rows of each operand that has only one row, if the rows of a chunk are computed as
  // a single one. Empty otherwise.
  std::vector<char*> repeated_;
  std::vector<Tensor> scratch_;  // holds the memory of `repeated_`
};

class CpuFusedElementwise final : public FusedElementwise {
 public:
  explicit CpuFusedElementwise(std::vector<LoopFn> loops) : loops_(std::move(loops)) {}

  absl::Status Run(KernelContext& ctx, const ElementwiseSweep& sweep,
                   absl::Span<char* const> bases) const override {
    ChunkedSweep chunks(sweep, loops_, bases);
    RETURN_IF_ERROR(chunks.Prepare(ctx));
    ctx.ParallelFor(chunks.num_chunks(), sweep.cost * chunks.chunk_elements(),
                    [&](int64_t begin, int64_t end) { chunks.Run(begin, end); });
    return absl::OkStatus();
  }

 private:
  const std::vector<LoopFn> loops_;
};

LoopFn FindLoop(absl::string_view function) {
  if (function == "SelectV2") return ChooseLoop<float>();
  const LoopFn loop = FindElementwiseLoop(function, DType::kFloat);
  return loop != nullptr ? loop : FindElementwiseLoop(function, DType::kBool);
}

std::unique_ptr<FusedElementwise> MakeCpuFusedElementwise(const KernelBuild& build,
                                                          absl::Span<const std::string> functions) {
  std::vector<LoopFn> loops;
  for (const std::string& function : functions) {
    loops.push_back(FindLoop(function));
    if (loops.back() == nullptr) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("no elementwise function '", function, "' of float or bool")));
      return nullptr;
    }
  }
  return std::make_unique<CpuFusedElementwise>(std::move(loops));
}
REGISTER_PRIMITIVE(FusedElementwise, kCpu, MakeCpuFusedElementwise);

}  // namespace
}  // namespace tessera
