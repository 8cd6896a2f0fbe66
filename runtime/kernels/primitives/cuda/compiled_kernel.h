// Kernels that are compiled while the program runs. Where there is no GPU, in tests, these are
// compiled by the host's compiler, or there is no compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"

namespace tessera::cuda {

// A kernel whose only parameter is a struct of integers and addresses of 8 bytes each. Thread-safe.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  // Launches threads for `count` items, which loop over what is left.
  virtual absl::Status Launch(KernelContext& ctx, int64_t count,
                              absl::Span<const int64_t> parameters) const = 0;
};

// Compiles the source of a SweepKernel (sweep_source.h) for the device of the context; a kernel is
// compiled once in the life of a process, and where files can be kept, once on a machine. Null if
// there is no compiler or it fails, which the log says. Thread-safe.
std::shared_ptr<const CompiledKernel> CompileSweep(KernelContext& ctx, const std::string& source);

}  // namespace tessera::cuda
