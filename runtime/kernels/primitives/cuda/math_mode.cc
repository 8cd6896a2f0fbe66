#include "runtime/kernels/primitives/cuda/math_mode.h"

#include <cstdlib>
#include <string_view>

namespace tessera::cuda {

bool AllowsTf32() {
  static const bool allows = [] {
    const char* const value = std::getenv("TESSERA_ALLOW_TF32");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return allows;
}

}  // namespace tessera::cuda
