#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/comparison.h"

namespace tessera {

REGISTER_CPU_ELEMENTWISE(functors::kComparisonOps);

}  // namespace tessera
