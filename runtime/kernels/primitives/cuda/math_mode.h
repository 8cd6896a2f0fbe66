// How floats are multiplied.
#pragma once

namespace tessera::cuda {

// True if products of float may round their operands to TF32, which is several times as fast and
// has a mantissa of 10 bits. Off unless the environment has TESSERA_ALLOW_TF32=1.
bool AllowsTf32();

}  // namespace tessera::cuda
