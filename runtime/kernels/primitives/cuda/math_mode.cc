#include "runtime/kernels/primitives/cuda/math_mode.h"

#include <cstdlib>
#include <string_view>

namespace tessera::cuda {

namespace {

bool IsSwitchedOn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace

bool AllowsTf32() {
  static const bool allows = IsSwitchedOn("TESSERA_ALLOW_TF32");
  return allows;
}

bool AllowsFp8() {
  static const bool allows = IsSwitchedOn("TESSERA_ALLOW_FP8");
  return allows;
}

}  // namespace tessera::cuda
