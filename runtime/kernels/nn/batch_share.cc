#include "runtime/kernels/nn/batch_share.h"

#include <algorithm>
#include <atomic>

#include "absl/synchronization/mutex.h"
#include "runtime/base/thread_share.h"

namespace tessera {
namespace {

// So many runs share the pool that each has one thread.
const std::atomic<int> kEveryThread{1 << 20};

// Returns an estimate of the time that a row takes in all steps, on any processor. Like the costs
// that other kernels give to ParallelFor(), it decides whether further threads pay, and no
// algorithm; the speeds by which products are planned are those of the CPU's primitives.
double NanosecondsOf(const RecurrentRow& row) {
  constexpr double kMultiplication = 0.02, kCellOfUnit = 2;
  const auto units = static_cast<double>(row.units);
  const double product = kMultiplication * static_cast<double>(row.gates) * units;
  return static_cast<double>(row.steps) * units * (product + kCellOfUnit);
}

}  // namespace

absl::Status ForEachBatchShare(KernelContext& ctx, int64_t rows, const RecurrentRow& row,
                               absl::FunctionRef<absl::Status(int64_t begin, int64_t end)> run) {
  constexpr double kMinNanoseconds = 20e3;  // of a share
  const double nanoseconds = NanosecondsOf(row);
  const int64_t threads = ctx.pool() == nullptr ? 1 : ThreadShare(ctx.pool()->num_threads());
  const double worth = static_cast<double>(rows) * nanoseconds / kMinNanoseconds;
  const int64_t shares = worth < 2 ? 1 : std::min(rows, threads);
  if (shares <= 1) return run(0, rows);
  absl::Mutex mu;
  absl::Status first;  // guarded by mu
  const double share_cost = static_cast<double>(rows) / static_cast<double>(shares) * nanoseconds;
  ctx.ParallelFor(shares, share_cost, [&](int64_t begin, int64_t end) {
    const ThreadShareScope one_thread(&kEveryThread);
    absl::Status status = run(rows * begin / shares, rows * end / shares);
    if (status.ok()) return;
    absl::MutexLock lock(&mu);
    if (first.ok()) first = std::move(status);
  });
  return first;
}

}  // namespace tessera
