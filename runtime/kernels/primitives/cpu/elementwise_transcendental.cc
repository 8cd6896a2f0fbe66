#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/transcendental.h"

namespace tessera {

REGISTER_COSTLY_CPU_ELEMENTWISE(functors::kTranscendentalOps);

}  // namespace tessera
