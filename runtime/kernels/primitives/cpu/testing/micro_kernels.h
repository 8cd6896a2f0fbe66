// The micro-kernels, as parameters of tests.
#pragma once

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/amx_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {

struct TestedMicroKernel {
  const char* name;
  const char* instructions;  // that it needs, in a reason to skip its tests
  bool (*is_supported)();
  const gemm::MicroKernel& (*kernel)();
};

inline constexpr TestedMicroKernel kTestedMicroKernels[] = {
    {"Float", "AVX-512", Avx512IsSupported, gemm::avx512::FmaMicroKernel},
    {"FloatAvx2", "AVX2", [] { return true; }, gemm::avx2::FmaMicroKernel},
    {"EmulatedSplit", "AVX-512", Avx512IsSupported, gemm::EmulatedAmxMicroKernel},
    {"Split", "AMX", AmxIsSupported, gemm::AmxMicroKernel},
};

inline std::string NameOfMicroKernel(const ::testing::TestParamInfo<TestedMicroKernel>& info) {
  return info.param.name;
}

}  // namespace tessera
