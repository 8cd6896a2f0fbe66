// Generators of seeds and keys that are inputs of a kernel, for primitives of its device.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/key_of_seeds.h"
#include "runtime/kernels/primitives/philox_source.h"

namespace tessera {

// Devices other than the CPU read the seeds, so that steps whose seeds they compute do not wait for
// them, and captured work draws by the seeds of each run.
class SeedInput {
 public:
  explicit SeedInput(const KernelBuild& build);

  // Errors: INVALID_ARGUMENT unless `seed`, in the memory of the device, has two elements.
  absl::StatusOr<PhiloxSource> Generator(KernelContext& ctx, const Tensor& seed) const;
  // Errors: INVALID_ARGUMENT for wrong shapes of `key` and `counter`, in the memory of the device,
  // or another algorithm than Philox, in host memory.
  absl::StatusOr<PhiloxSource> Generator(const Tensor& key, const Tensor& counter,
                                         const Tensor& algorithm) const;

 private:
  const bool is_on_cpu_;
  const Primitive<KeyOfSeeds> key_of_seeds_;
};

}  // namespace tessera
