// Activation functions and their gradients.
#include "runtime/kernels/primitives/elementwise/activation.h"

#include "runtime/kernels/elementwise.h"

namespace tessera {

REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, functors::kActivationOps);

}  // namespace tessera
