#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

namespace tessera {

REGISTER_CPU_ELEMENTWISE(functors::kUnaryOps);

}  // namespace tessera
