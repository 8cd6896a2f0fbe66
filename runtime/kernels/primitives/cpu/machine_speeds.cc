#include "runtime/kernels/primitives/cpu/machine_speeds.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "oneapi/dnnl/dnnl.hpp"

namespace tessera {
namespace {

constexpr MachineSpeeds kTable[] = {
    {.name = "intel-amx",
     .has_avx512 = true,
     .has_amx = true,
     .fma_flops = 160,
     .amx_flops = 350,
     .depthwise_flops = 50,
     .weight_bytes = 13,
     .gemv_bytes = 12,
     .packed_gemv_bytes = 12,
     .tile_bytes = 20,
     .packed_floats = 3,
     .scaled_floats = 0.5,
     .byte_products = 100,
     .shared_sum_nanoseconds = 0.3,
     .cuts_columns = false,
     .cache_bytes = 2 << 20,
     .product_cache_bytes = 1 << 20},
    {.name = "intel-avx512",
     .has_avx512 = true,
     .has_amx = false,
     .fma_flops = 160,
     .amx_flops = 0,
     .depthwise_flops = 50,
     .weight_bytes = 13,
     .gemv_bytes = 12,
     .packed_gemv_bytes = 12,
     .tile_bytes = 20,
     .packed_floats = 3,
     .scaled_floats = 0.5,
     .byte_products = 100,
     .shared_sum_nanoseconds = 0.3,
     .cuts_columns = false,
     .cache_bytes = 2 << 20,
     .product_cache_bytes = 1 << 20},
    // Measured by product_benchmark on an EPYC of family 25, model 17, all but
    // shared_sum_nanoseconds. With 512 or 768 KiB for product_cache_bytes, products and
    // convolutions of ResNet-50 and BERT-base were no faster.
    {.name = "zen4",
     .has_avx512 = true,
     .has_amx = false,
     .fma_flops = 120,
     .amx_flops = 0,
     .depthwise_flops = 70,
     .weight_bytes = 14,
     .gemv_bytes = 21,
     .packed_gemv_bytes = 30,
     .tile_bytes = 17,
     .packed_floats = 3,
     .scaled_floats = 0.5,
     .byte_products = 110,
     .shared_sum_nanoseconds = 0.3,
     .cuts_columns = true,
     .cache_bytes = 1 << 20,
     .product_cache_bytes = 1 << 20},
    {.name = "zen5",
     .has_avx512 = true,
     .has_amx = false,
     .fma_flops = 200,
     .amx_flops = 0,
     .depthwise_flops = 60,
     .weight_bytes = 20,
     .gemv_bytes = 20,
     .packed_gemv_bytes = 25,
     .tile_bytes = 30,
     .packed_floats = 4,
     .scaled_floats = 0.5,
     .byte_products = 100,
     .shared_sum_nanoseconds = 0.3,
     .cuts_columns = false,
     .cache_bytes = 1 << 20,
     .product_cache_bytes = 1 << 20},
    // byte_products was measured by product_benchmark on an EPYC of Zen 3; the others are
    // estimates.
    {.name = "avx2",
     .has_avx512 = false,
     .has_amx = false,
     .fma_flops = 80,
     .amx_flops = 0,
     .depthwise_flops = 30,
     .weight_bytes = 10,
     .gemv_bytes = 10,
     .packed_gemv_bytes = 10,
     .tile_bytes = 15,
     .packed_floats = 2,
     .scaled_floats = 0.5,
     .byte_products = 45,
     .shared_sum_nanoseconds = 0.3,
     .cuts_columns = false,
     .cache_bytes = 1 << 19,
     .product_cache_bytes = 1 << 20},
};

bool MayUseTiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool OneDnnMayUse(dnnl::cpu_isa isa) {
  return static_cast<int>(dnnl::get_effective_cpu_isa()) >= static_cast<int>(isa);
}

const char* NameForCpu() {
  if (!Avx512IsSupported()) return "avx2";
  if (AmxIsSupported()) return "intel-amx";
  // Zen 5 multiplies 512 bits at once, and Zen 4 multiplies them in two halves. GCC 12 has no name
  // for Zen 5, which is AMD's first processor with this extension.
  if (__builtin_cpu_is("amd")) {
    return __builtin_cpu_supports("avx512vp2intersect") ? "zen5" : "zen4";
  }
  return "intel-avx512";
}

MachineSpeeds Detect() {
  const char* const wanted = std::getenv("TESSERA_CPU");
  const auto found = wanted == nullptr ? std::nullopt : FindMachineSpeeds(wanted);
  MachineSpeeds speeds = found.value_or(*FindMachineSpeeds(NameForCpu()));
  speeds.has_avx512 = speeds.has_avx512 && Avx512IsSupported();
  speeds.has_amx = speeds.has_amx && AmxIsSupported();
  return speeds;
}

}  // namespace

std::optional<MachineSpeeds> FindMachineSpeeds(absl::string_view name) {
  for (const MachineSpeeds& speeds : kTable) {
    if (name == speeds.name) return speeds;
  }
  return std::nullopt;
}

const MachineSpeeds& SpeedsForCpu() {
  static const MachineSpeeds speeds = Detect();
  return speeds;
}

bool AmxIsSupported() {
  static const bool supported = OneDnnMayUse(dnnl::cpu_isa::avx512_core_amx) && MayUseTiles();
  return supported;
}

bool Avx512IsSupported() {
  static const bool supported = OneDnnMayUse(dnnl::cpu_isa::avx512_core);
  return supported;
}

}  // namespace tessera
