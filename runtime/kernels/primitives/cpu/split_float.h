// Products of float with packed panels on AMX, which multiplies bfloat16 alone: each float is the
// sum of three.
//
// A float x is split into bfloat16s high = round(x), middle = round(x - high) and low = round(x -
// high - middle), 8 bits each, which together are x. Of the nine products of parts that make x * y
// the six largest are computed, exactly, and added up in float as the terms of other sums are; what
// is left out is within 2^-24 of |x * y|. So a sum is as good as one of products of float. After
// Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations", 2019.
#pragma once

#include "runtime/kernels/primitives/cpu/panel_kernel.h"

namespace tessera::panel {

// The kernel. Floats that are no number, or 2^62 or more, have no split, and so no products here;
// denormal parts become 0. Packed weights take one and a half times the memory of plain ones.
//
// To be used only where the processor has AMX, AVX-512 and its bfloat16 instructions, and the
// system gave leave to use tiles: see SplitPanelsAreSupported() in panel_product.h.
const PanelKernel& SplitPanels();

// The same with AMX's instructions in C++, for tests on any processor with AVX-512.
const PanelKernel& EmulatedSplitPanels();

}  // namespace tessera::panel
