#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"

namespace tessera {

REGISTER_CPU_ELEMENTWISE(functors::kArithmeticOps);

}  // namespace tessera
