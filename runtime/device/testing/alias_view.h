// How work on the stream of an accelerator for tests reaches the accelerator's memory.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/device/testing/late_stream.h"
#include "runtime/framework/kernel.h"

namespace tessera {

inline LateStream& StreamOf(const KernelContext& ctx) {
  return static_cast<LateStream&>(*ctx.stream());
}

// A tensor over the bytes of `tensor` for the stream's thread. It does not keep them alive, as a
// launch on a real accelerator holds addresses only, and kernels do not take its memory over.
Tensor AliasView(const LateStream& stream, const Tensor& tensor);

// Errors: INTERNAL, naming `what`, for a tensor whose elements do not lie in memory of a kind like
// `wanted`.
absl::Status CheckMemory(const Tensor& tensor, MemoryKind wanted, absl::string_view what);

}  // namespace tessera
