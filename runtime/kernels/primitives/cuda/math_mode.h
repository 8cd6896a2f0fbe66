// How floats are multiplied.
#pragma once

namespace tessera::cuda {

// True if products of float may round their operands to TF32, which is several times as fast and
// has a mantissa of 10 bits. Off unless the environment has TESSERA_ALLOW_TF32=1.
bool AllowsTf32();

// True if products by constant weights may round both operands to numbers of 8 bits (fp8.h), which
// have a mantissa of 3 bits. Off unless the environment has TESSERA_ALLOW_FP8=1.
bool AllowsFp8();

}  // namespace tessera::cuda
