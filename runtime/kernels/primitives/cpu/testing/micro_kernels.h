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
  bool splits;  // each float into parts, which infinite and very large ones have not
};

inline constexpr TestedMicroKernel kTestedMicroKernels[] = {
    {"Float", "AVX-512", Avx512IsSupported, gemm::avx512::FmaMicroKernel, false},
    {"FloatAvx2", "AVX2", [] { return true; }, gemm::avx2::FmaMicroKernel, false},
    {"EmulatedSplit", "AVX-512", Avx512IsSupported, gemm::EmulatedAmxMicroKernel, true},
    {"Split", "AMX", AmxIsSupported, gemm::AmxMicroKernel, true},
};

inline std::string NameOfMicroKernel(const ::testing::TestParamInfo<TestedMicroKernel>& info) {
  return info.param.name;
}

}  // namespace tessera
