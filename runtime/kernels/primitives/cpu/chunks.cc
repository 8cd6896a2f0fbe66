#include "runtime/kernels/primitives/cpu/chunks.h"

#include <algorithm>

#include "absl/synchronization/mutex.h"
#include "runtime/base/thread_share.h"

namespace tessera {

int NumThreads(const KernelContext& ctx) {
  return ctx.pool() == nullptr ? 1 : ThreadShare(ctx.pool()->num_threads());
}

int64_t NumChunks(const KernelContext& ctx, int64_t length, double nanoseconds) {
  return NumChunks(NumPoolThreads(ctx), length, nanoseconds);
}

int64_t NumChunks(int threads, int64_t length, double nanoseconds) {
  constexpr double kMinNanoseconds = 10e3, kLongNanoseconds = 100e3;
  constexpr int kMaxPerThread = 4;
  if (threads == 0) return 1;
  const double enough = std::min(nanoseconds / kMinNanoseconds, 1e6);
  const double long_ones =
      std::min<double>(nanoseconds / threads / kLongNanoseconds, kMaxPerThread);
  const int per_thread = std::max(1, static_cast<int>(long_ones));
  const int64_t most = std::min<int64_t>(length, per_thread * threads);
  return std::max<int64_t>(1, std::min(most, static_cast<int64_t>(enough)));
}

absl::Status ForEachChunk(KernelContext& ctx, int64_t count, double nanoseconds,
                          absl::FunctionRef<absl::Status(int64_t i)> run) {
  if (count == 1) return run(0);
  absl::Mutex mu;
  absl::Status first;  // guarded by mu
  ctx.ParallelFor(count, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      absl::Status status = run(i);
      if (status.ok()) continue;
      absl::MutexLock lock(&mu);
      if (first.ok()) first = std::move(status);
    }
  });
  return first;
}

}  // namespace tessera
