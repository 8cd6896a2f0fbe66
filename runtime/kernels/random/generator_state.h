// Generators of random numbers whose state is a variable (tf.random.Generator).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/philox.h"

namespace tessera {

// Checks the number of an algorithm. Errors: INVALID_ARGUMENT for an unknown one; UNIMPLEMENTED for
// ThreeFry.
absl::Status CheckPhilox(const Tensor& algorithm);

// Returns the generator whose counter and key are three words, and moves the counter on by
// `blocks`.
Philox AdvanceState(int64_t* words, uint64_t blocks);

// Takes the generator out of the variable at input 0, whose value is the counter (two numbers) and
// the key, and leaves one behind that is `blocks` further on.
// Errors: INVALID_ARGUMENT if the value is not at least three numbers of int64; those of
// UpdateVariable().
absl::StatusOr<Philox> ReserveFromVariable(KernelContext& ctx, uint64_t blocks);

}  // namespace tessera
