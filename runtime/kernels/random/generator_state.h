// Generators of random numbers whose state is a variable (tf.random.Generator).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/advance_generator.h"
#include "runtime/kernels/primitives/philox_source.h"

namespace tessera {

// Checks the number of an algorithm. Errors: INVALID_ARGUMENT for an unknown one; UNIMPLEMENTED for
// ThreeFry.
absl::Status CheckPhilox(const Tensor& algorithm);
absl::Status CheckPhilox(int64_t algorithm);

// Takes the generator out of the variable at input 0, whose value is the counter (two numbers) and
// the key, and leaves one behind that is `blocks` further on.
// Errors: INVALID_ARGUMENT if the value is not at least three numbers of int64; those of
// UpdateVariable().
absl::StatusOr<Philox> ReserveFromVariable(KernelContext& ctx, uint64_t blocks);

// The same for primitives of the kernel's device: the variable is read and written where it lies,
// so that captured work takes the generator as it stands in each run.
class GeneratorVariable {
 public:
  explicit GeneratorVariable(const KernelBuild& build) : advance_(build) {}

  absl::StatusOr<PhiloxSource> Reserve(KernelContext& ctx, uint64_t blocks) const;
  // Sets `before`, int64[3] in the memory of the device, to the counter and the key of the
  // generator.
  absl::Status Reserve(KernelContext& ctx, uint64_t blocks, Tensor* before) const;

 private:
  const Primitive<AdvanceGenerator> advance_;
};

}  // namespace tessera
