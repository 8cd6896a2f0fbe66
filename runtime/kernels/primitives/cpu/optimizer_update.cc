#include "runtime/kernels/primitives/optimizer_update.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/index_check.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/optimizer_loops.h"
#include "runtime/kernels/primitives/cpu/optimizer_narrow_loops.h"
#include "runtime/kernels/primitives/cpu/optimizer_row_loop.h"

namespace tessera {
namespace {

// The cost of an element in nanoseconds, about that of Adam's memory traffic.
constexpr double kCost = 2.5;
// The number of narrow floats that are converted to float and updated at once.
constexpr int64_t kBlock = 512;

// Returns the loop of a rule, or null if the rule is not defined for the dtype. The loops of narrow
// floats take floats.
OptimizerLoop FindLoop(DType dtype, OptimizerRule rule, bool variant) {
  static const bool has_avx512 = HasAvx512();
  switch (dtype) {
    case DType::kHalf:
    case DType::kBfloat16:
      return NarrowOptimizerLoop(dtype, rule, variant);
    case DType::kFloat:
      return (has_avx512 ? avx512::FloatOptimizerLoop : avx2::FloatOptimizerLoop)(rule, variant);
    case DType::kDouble:
      return (has_avx512 ? avx512::DoubleOptimizerLoop : avx2::DoubleOptimizerLoop)(rule, variant);
    case DType::kComplex64:
      return optimizers::LoopOfUnordered<std::complex<float>>(rule, variant);
    case DType::kComplex128:
      return optimizers::LoopOfUnordered<std::complex<double>>(rule, variant);
    default:
      return nullptr;
  }
}

// Returns `count` elements of `rows`, which must be a single row, from element `begin` on.
OptimizerRows Part(const OptimizerRows& rows, int64_t begin, int64_t count, size_t element_size) {
  OptimizerRows part = rows;
  part.row_size = count;
  part.gradient = static_cast<const char*>(rows.gradient) + begin * element_size;
  for (void*& state : part.state) {
    if (state != nullptr) state = static_cast<char*>(state) + begin * element_size;
  }
  return part;
}

// Updates a single row of narrow floats, which are converted to float block by block.
template <typename T>
void RunNarrowRow(OptimizerLoop loop, const OptimizerStep& step, const OptimizerRows& row) {
  float gradient[kBlock], state[1 + kMaxOptimizerSlots][kBlock];
  for (int64_t begin = 0; begin < row.row_size; begin += kBlock) {
    const int64_t count = std::min(kBlock, row.row_size - begin);
    const OptimizerRows narrow = Part(row, begin, count, sizeof(T));
    OptimizerRows wide = narrow;
    ToFloat(static_cast<const T*>(narrow.gradient), gradient, count);
    wide.gradient = gradient;
    for (int i = 0; i <= kMaxOptimizerSlots; ++i) {
      if (narrow.state[i] == nullptr) continue;
      ToFloat(static_cast<const T*>(narrow.state[i]), state[i], count);
      wide.state[i] = state[i];
    }
    loop(step, wide);
    for (int i = 0; i <= kMaxOptimizerSlots; ++i) {
      if (narrow.state[i] != nullptr) FromFloat(state[i], static_cast<T*>(narrow.state[i]), count);
    }
  }
}

void RunRow(DType dtype, OptimizerLoop loop, const OptimizerStep& step, const OptimizerRows& row) {
  if (dtype == DType::kHalf) {
    RunNarrowRow<Eigen::half>(loop, step, row);
  } else if (dtype == DType::kBfloat16) {
    RunNarrowRow<Eigen::bfloat16>(loop, step, row);
  } else {
    loop(step, row);
  }
}

absl::StatusOr<Tensor> AsInt64(KernelContext& ctx, const Tensor& indices) {
  if (indices.dtype() == DType::kInt64) return indices;
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kInt64, indices.shape()));
  const auto from = indices.flat<int32_t>();
  std::copy(from.begin(), from.end(), wide.data<int64_t>());
  return wide;
}

// Updates the rows one after the other, since an index may occur several times.
absl::Status RunSparse(KernelContext& ctx, OptimizerLoop loop, const OptimizerStep& step,
                       const Tensor& indices, const Tensor& variable, OptimizerRows rows) {
  const int64_t num_rows = variable.dim(0);
  RETURN_IF_ERROR(CheckIndices(indices, num_rows));
  if (num_rows == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Tensor index, AsInt64(ctx, indices));
  rows.rows = index.num_elements();
  rows.row_size = variable.num_elements() / num_rows;
  rows.index = index.data<int64_t>();
  const DType dtype = variable.dtype();
  if (!IsNarrowFloat(dtype)) {
    loop(step, rows);
    return absl::OkStatus();
  }
  const size_t row_bytes = rows.row_size * DTypeSize(dtype);
  for (int64_t i = 0; i < rows.rows; ++i) {
    OptimizerRows row = Part(rows, rows.index[i] * rows.row_size, rows.row_size, DTypeSize(dtype));
    row.rows = 1;
    row.index = nullptr;
    row.gradient = static_cast<const char*>(rows.gradient) + i * row_bytes;
    RunRow(dtype, loop, step, row);
  }
  return absl::OkStatus();
}

absl::Status RunOptimizerUpdate(KernelContext& ctx, const OptimizerStep& step,
                                const Tensor& gradient, const Tensor* indices, Tensor* variable,
                                Tensor* slot0, Tensor* slot1, Tensor* slot2) {
  const DType dtype = variable->dtype();
  const OptimizerLoop loop = FindLoop(dtype, step.rule, step.variant);
  if (loop == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("the optimizer is not defined for ", DTypeName(dtype)));
  }
  OptimizerRows rows;
  rows.gradient = gradient.raw();
  Tensor* const state[] = {variable, slot0, slot1, slot2};
  for (int i = 0; i <= kMaxOptimizerSlots; ++i) {
    if (state[i] != nullptr) rows.state[i] = state[i]->mutable_raw();
  }
  if (indices != nullptr) return RunSparse(ctx, loop, step, *indices, *variable, rows);
  ctx.ParallelFor(variable->num_elements(), kCost, [&](int64_t begin, int64_t end) {
    RunRow(dtype, loop, step, Part(rows, begin, end - begin, DTypeSize(dtype)));
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(OptimizerUpdate, kCpu, RunOptimizerUpdate);

}  // namespace
}  // namespace tessera
