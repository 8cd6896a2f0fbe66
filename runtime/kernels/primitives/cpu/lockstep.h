// Parallel loops over steps that depend on each other and take only some microseconds, as those of
// a recurrent network do.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Calls run(step, share) for `shares` shares of each of `steps` steps. A step begins when all
// shares of the one before have returned, and what they wrote is visible to it. Each thread takes
// the same share of every step if it can, so that what the share reads stays in its cache. Threads
// wait for each other without going to sleep. A share whose thread has not come is computed by
// another one, so that this is no slower than a single thread where the others are busy. A share of
// one step takes about `nanoseconds`. `run` must not throw.
void RunInLockstep(KernelContext& ctx, int64_t steps, int64_t shares, double nanoseconds,
                   absl::FunctionRef<void(int64_t step, int64_t share)> run);

}  // namespace tessera
