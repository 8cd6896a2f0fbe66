#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/activation.h"

namespace tessera {

REGISTER_COSTLY_CPU_ELEMENTWISE(functors::kActivationOps);
REGISTER_COSTLY_CPU_ELEMENTWISE(functors::kGeluFunctions);

}  // namespace tessera
