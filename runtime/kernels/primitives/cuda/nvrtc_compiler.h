// Compiling kernels by NVRTC, which needs no GPU.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::cuda {

// Machine code for GPUs of one compute capability, such as 90, from the source of a SweepKernel
// (sweep_source.h). Errors: those of LoadNvrtc(); INTERNAL with the compiler's messages.
absl::StatusOr<std::string> CompileByNvrtc(absl::string_view source, int compute_capability);

// Describes what machine code depends on besides the source: the compiler, its options and the
// headers.
absl::StatusOr<std::string> DescribeNvrtc(int compute_capability);

}  // namespace tessera::cuda
