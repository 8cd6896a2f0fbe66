// Work for oneDNN cut into pieces, which run on the step's threads: oneDNN itself, whose OpenMP
// threads know of no other request, always runs on the thread that calls it.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Into how many pieces to cut work of `length` items that takes one thread `nanoseconds`: one a
// thread, or up to four if they stay long, so that a thread that comes late takes fewer, but none
// so short that handing it over costs more than it saves. At least 1.
int64_t NumPieces(const KernelContext& ctx, int64_t length, double nanoseconds);

// Calls run(i) for each of `count` pieces that take `nanoseconds` each, on the step's threads.
// Returns the first error there is; others may have run then or not.
absl::Status ForEachPiece(KernelContext& ctx, int64_t count, double nanoseconds,
                          absl::FunctionRef<absl::Status(int64_t i)> run);

}  // namespace tessera
