#include "runtime/kernels/primitives/cpu/elementwise.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/strided_loop.h"
#include "runtime/kernels/primitives/elementwise.h"

namespace tessera {
namespace {

// The registered ops, by name. They are written only before main().
absl::flat_hash_map<absl::string_view, const CpuElementwiseOp*>& Ops() {
  static auto* const ops = new absl::flat_hash_map<absl::string_view, const CpuElementwiseOp*>;
  return *ops;
}

// The ops that are registered for a single narrow float, which replace those above. They are
// written only before main().
using NarrowKey = std::pair<absl::string_view, DType>;
absl::flat_hash_map<NarrowKey, const CpuElementwiseOp*>& NarrowOps() {
  static auto* const ops = new absl::flat_hash_map<NarrowKey, const CpuElementwiseOp*>;
  return *ops;
}

// Returns the op that is registered for a name and a dtype, or null if there is none.
const CpuElementwiseOp* FindOp(absl::string_view name, DType dtype) {
  const auto narrow = NarrowOps().find(NarrowKey(name, dtype));
  if (narrow != NarrowOps().end()) return narrow->second;
  const auto it = Ops().find(name);
  return it != Ops().end() && Contains(it->second->op->dtypes, dtype) ? it->second : nullptr;
}

LoopFn LoopFor(const CpuElementwiseOp& op, DType dtype) {
  const bool is_wide = op.wide_loops != nullptr && HasAvx512();
  return (*(is_wide ? op.wide_loops : op.loops))[OperandIndex(dtype)];
}

// Loops that take less than this many nanoseconds run on the calling thread.
constexpr double kSingleThreadCost = 10000;

class CpuElementwise final : public Elementwise {
 public:
  CpuElementwise(const CpuElementwiseOp& op, const Options& options)
      : op_(op),
        loop_(LoopFor(op, options.dtype)),
        check_(op.checks == nullptr ? nullptr : (*op.checks)[OperandIndex(options.dtype)]),
        as_float_(IsNarrowFloat(options.dtype)),
        has_attr_(op.op->attr != nullptr),
        num_operands_(1 + op.op->arity + (has_attr_ ? 1 : 0)),
        max_inline_(static_cast<int64_t>(kSingleThreadCost / op.op->cost)) {
    std::fill_n(dtypes_, kMaxOperands, options.dtype);
    dtypes_[0] = op.op->ResultOf(options.dtype);
    // The attribute is stored in the type that the loop computes with.
    if (options.dtype == DType::kDouble) {
      const double wide = options.attr;
      std::memcpy(attr_, &wide, sizeof(wide));
    } else {
      std::memcpy(attr_, &options.attr, sizeof(options.attr));
    }
    if (has_attr_ && as_float_) dtypes_[num_operands_ - 1] = DType::kFloat;
  }

  absl::Status RunRow(KernelContext& ctx, LoopBlock& row) const override {
    if (has_attr_) {
      row.data[num_operands_ - 1] = const_cast<char*>(attr_);
      row.column_stride[num_operands_ - 1] = 0;
    }
    row.rows = 1;
    std::fill_n(row.row_stride, kMaxOperands, 0);
    if (row.columns < max_inline_ || ctx.pool() == nullptr) return RunBlock(row);
    std::atomic<bool> fails = false;
    ctx.ParallelFor(row.columns, op_.op->cost, [&](int64_t begin, int64_t end) {
      LoopBlock part = row;
      for (int o = 0; o < num_operands_; ++o) part.data[o] += begin * part.column_stride[o];
      part.columns = end - begin;
      if (!TryBlock(part)) fails = true;
    });
    return fails ? CheckError() : absl::OkStatus();
  }

  absl::Status Run(KernelContext& ctx, StridedOperands& operands) const override {
    if (has_attr_) operands.Add(attr_, ByteStrides(operands.rank(), 0));
    if (!as_float_ && check_ == nullptr) {
      RunStridedLoop(std::move(operands), ctx.pool(), op_.op->cost, *loop_);
      return absl::OkStatus();
    }
    std::atomic<bool> fails = false;
    RunStridedLoop(std::move(operands), ctx.pool(), op_.op->cost, [&](const LoopBlock& block) {
      if (!TryBlock(block)) fails = true;
    });
    return fails ? CheckError() : absl::OkStatus();
  }

 private:
  absl::Status RunBlock(const LoopBlock& block) const {
    return TryBlock(block) ? absl::OkStatus() : CheckError();
  }

  // Computes the block and returns true, or returns false before computing anything if the check
  // fails.
  bool TryBlock(const LoopBlock& block) const {
    if (check_ != nullptr && check_(block, op_.op->arity)) return false;
    if (as_float_) {
      RunAsFloat(block, absl::MakeConstSpan(dtypes_, num_operands_), *loop_);
    } else {
      loop_(block);
    }
    return true;
  }

  absl::Status CheckError() const { return absl::Status(op_.check_code, op_.check_message); }

  const CpuElementwiseOp& op_;
  const LoopFn loop_;
  const CheckFn check_;
  const bool as_float_;
  const bool has_attr_;
  const int num_operands_;
  const int64_t max_inline_;      // loops with at most this many elements take one thread
  DType dtypes_[kMaxOperands];    // the first one is the result's
  alignas(8) char attr_[8] = {};  // the attribute as the loop sees it
};

std::unique_ptr<Elementwise> MakeCpuElementwise(const KernelBuild& build,
                                                const Elementwise::Options& options) {
  const CpuElementwiseOp* const op = FindOp(options.name, options.dtype);
  if (op == nullptr) {
    build.Fail(absl::InternalError(absl::StrCat("no elementwise function '", options.name, "' of ",
                                                DTypeName(options.dtype))));
    return nullptr;
  }
  return std::make_unique<CpuElementwise>(*op, options);
}
REGISTER_PRIMITIVE(Elementwise, kCpu, MakeCpuElementwise);

}  // namespace

LoopFn FindElementwiseLoop(absl::string_view op, DType dtype) {
  const CpuElementwiseOp* const found = FindOp(op, dtype);
  return found == nullptr ? nullptr : LoopFor(*found, dtype);
}

CpuElementwiseRegistration::CpuElementwiseRegistration(absl::Span<const CpuElementwiseOp> ops) {
  for (const CpuElementwiseOp& op : ops) {
    if ((op.op->dtypes & ~kNarrowFloat) != 0) {
      Ops().emplace(op.op->name, &op);
      continue;
    }
    for (const DType dtype : DTypeList(op.op->dtypes)) {
      NarrowOps().emplace(NarrowKey(op.op->name, dtype), &op);
    }
  }
}

}  // namespace tessera
