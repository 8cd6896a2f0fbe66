// Products with packed panels of float by fused multiply-add, on AVX-512.
//
// Each of up to 14 rows has its sums with the 32 columns of a panel in two registers. Weights are
// read in the order in which they lie, and those of the next panel are brought into the cache
// meanwhile, so that products of few rows do not wait for memory.
#pragma once

#include "runtime/kernels/primitives/cpu/panel_kernel.h"

namespace tessera::panel {

// The kernel. Weights that are infinite or NaN have no products: padding that multiplies them would
// come out as NaN. To be used only where the processor has AVX-512.
const PanelKernel& FloatPanels();

}  // namespace tessera::panel
