// Compiled kernels (runtime/kernels/primitives/cuda/compiled_kernel.h) on the emulated GPU: the
// source that NVRTC would get is compiled by the host's compiler.
#pragma once

#include <string>

namespace tessera::emulation {

// From here on sweeps are compiled by this command, such as "g++", into libraries in `folder`,
// which exists. Without a command, as in the beginning, there is no compiler.
void CompileSweepsBy(std::string command, std::string folder);

// Kernels that were compiled since the program started.
int NumCompiledSweeps();

}  // namespace tessera::emulation
