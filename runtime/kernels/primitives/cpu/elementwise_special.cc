#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/special.h"

namespace tessera {

REGISTER_COSTLY_CPU_ELEMENTWISE(functors::kSpecialOps);

}  // namespace tessera
