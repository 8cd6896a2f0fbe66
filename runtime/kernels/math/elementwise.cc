// Elementwise ops of mathematics.
#include "runtime/kernels/elementwise.h"

#include "runtime/kernels/primitives/elementwise/arithmetic.h"
#include "runtime/kernels/primitives/elementwise/bitwise.h"
#include "runtime/kernels/primitives/elementwise/comparison.h"
#include "runtime/kernels/primitives/elementwise/special.h"
#include "runtime/kernels/primitives/elementwise/transcendental.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

namespace tessera {

REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, functors::kArithmeticOps);
REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, functors::kBitwiseOps);
REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, functors::kComparisonOps);
REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, functors::kSpecialOps);
REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, functors::kTranscendentalOps);
REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, functors::kUnaryOps);

}  // namespace tessera
