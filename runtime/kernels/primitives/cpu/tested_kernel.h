// The kernels of panels, for tests of what goes through each.
#pragma once

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/float_panels.h"
#include "runtime/kernels/primitives/cpu/panel_product.h"
#include "runtime/kernels/primitives/cpu/split_float.h"

namespace tessera {

struct TestedKernel {
  const char* name;
  bool (*is_supported)();
  const panel::PanelKernel& (*kernel)();
};

inline constexpr TestedKernel kTestedKernels[] = {
    {"Float", FloatPanelsAreSupported, panel::FloatPanels},
    {"EmulatedSplit", FloatPanelsAreSupported, panel::EmulatedSplitPanels},
    {"Split", SplitPanelsAreSupported, panel::SplitPanels},
};

inline std::string NameOfKernel(const ::testing::TestParamInfo<TestedKernel>& info) {
  return info.param.name;
}

}  // namespace tessera
