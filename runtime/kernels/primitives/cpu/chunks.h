// Parallel loops over chunks of work. oneDNN always runs on the thread that calls it, because its
// OpenMP threads would multiply the threads of the step's pool; its work is therefore split into
// chunks that run on that pool.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Returns the number of threads that a loop of this step may use, the calling one included.
int NumThreads(const KernelContext& ctx);

// Returns the number of chunks, at least 1, for work of `length` items that takes one thread
// `nanoseconds` in all. There is one chunk per thread, or up to four when the chunks stay long
// enough, so that a thread that starts late takes fewer of them. A chunk is never so short that
// handing it to another thread costs more than it saves.
int64_t NumChunks(const KernelContext& ctx, int64_t length, double nanoseconds);
// Returns the number of chunks for a loop that may use `threads` threads of a pool. 0 threads stand
// for no pool, and give one chunk.
int64_t NumChunks(int threads, int64_t length, double nanoseconds);

// Returns the number of threads for NumChunks(): 0 if the step has no pool.
inline int NumPoolThreads(const KernelContext& ctx) {
  return ctx.pool() == nullptr ? 0 : NumThreads(ctx);
}

// Calls run(i) for each of `count` chunks on the step's threads. Each chunk takes about
// `nanoseconds`. Returns the first error that occurred; the other chunks may or may not have run
// then.
absl::Status ForEachChunk(KernelContext& ctx, int64_t count, double nanoseconds,
                          absl::FunctionRef<absl::Status(int64_t i)> run);

}  // namespace tessera
