// The speed of the processor, for choosing algorithms and chunk sizes.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace tessera {

// The instruction sets of a processor, and the approximate throughput of one of its cores. The
// numbers decide between algorithms and bound the sizes of parallel chunks; an error of a few tens
// of percent costs little time, and affects results only through the choice of the algorithm.
//
// The numbers are not measured when a process starts: the choice of an algorithm decides the last
// bits of the results, which must not differ between two starts or two replicas, nor depend on the
// load of the machine at that moment. Those of the Intel entries come from measurements of earlier
// versions of the products; that of Zen 4 was measured; the others are estimates. product_benchmark
// measures the numbers of the processor at hand, all but amx_flops and shared_sum_nanoseconds,
// beside the entry's.
struct MachineSpeeds {
  const char* name;
  bool has_avx512;
  bool has_amx;
  // Float operations per nanosecond: of products by fused multiply-add, of products by AMX
  // (amx_micro_kernel.h), and of depthwise convolutions, which wait for memory.
  double fma_flops;
  double amx_flops;
  double depthwise_flops;
  // Bytes per nanosecond: of packed weights that are read from beyond the second-level cache, of
  // weights that a product with few rows reads from memory, in place and packed, and of the tiles
  // that Winograd's transforms read and write.
  double weight_bytes;
  double gemv_bytes;
  double packed_gemv_bytes;  // at most gemv_bytes where packing does not pay or was not measured
  double tile_bytes;
  // Floats that are packed per nanosecond.
  double packed_floats;
  // Floats per nanosecond that are multiplied by their channel's scale and stored in memory that is
  // touched for the first time.
  double scaled_floats;
  // Multiplications of bytes per nanosecond in products of quantised matrices.
  double byte_products;
  // Cost, in nanoseconds, of adding a partial sum that another core computed.
  double shared_sum_nanoseconds;
  // oneDNN's products with weights that change from run to run are faster in chunks of columns,
  // where PlanColumnChunks() says so. False where that was not measured.
  bool cuts_columns;
  // Bytes of a core's second-level cache, and how many of them the rows, the tiles or the weights
  // of a product may take.
  int64_t cache_bytes;
  int64_t product_cache_bytes;
};

// Returns the table entry "intel-amx", "intel-avx512", "zen4", "zen5" or "avx2".
std::optional<MachineSpeeds> FindMachineSpeeds(absl::string_view name);

// Returns the entry for the CPU features and the CPU family detected at start. The environment
// variable TESSERA_CPU overrides the entry by its name, so that the choices for another processor
// can be tried; features that this processor lacks stay off. Thread-safe.
const MachineSpeeds& SpeedsForCpu();

// True if the processor has AMX for bfloat16, the system lets this process use it, and the
// environment variable ONEDNN_MAX_CPU_ISA does not restrict oneDNN to less.
bool AmxIsSupported();
// True if the processor has AVX-512, and ONEDNN_MAX_CPU_ISA does not restrict oneDNN to less.
bool Avx512IsSupported();

}  // namespace tessera
