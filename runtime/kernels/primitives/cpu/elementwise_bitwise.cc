#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/bitwise.h"

namespace tessera {

REGISTER_CPU_ELEMENTWISE(functors::kBitwiseOps);

}  // namespace tessera
