// The generators of random ops: from attributes, seeds, or a key and a counter.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/philox_source.h"
#include "runtime/kernels/random/random_state.h"

namespace tessera {

// The generator of a kernel, which goes on from run to run: seeded by its attributes `seed` and
// `seed2`; at random if both are 0. Its state is a resource of the session, see random_state.h.
// Thread-safe.
class SeededPhilox {
 public:
  explicit SeededPhilox(const KernelBuild& build);
  ~SeededPhilox();

  // The generator as the seeds make it.
  const Philox& first() const { return first_; }
  // The generator as it stands; the next call gets one that is `blocks` further on.
  absl::StatusOr<Philox> Reserve(KernelContext& ctx, uint64_t blocks);
  // The same for a primitive, also of a device that captures work: see GeneratorOfEachRun().
  absl::StatusOr<PhiloxSource> ReserveInEachRun(KernelContext& ctx, uint64_t blocks);

 private:
  absl::StatusOr<IntrusivePtr<RandomState>> State(KernelContext& ctx);

  const Philox first_;
  const std::string name_;  // of the node
  absl::Mutex mu_;
  IntrusivePtr<RandomState> state_ ABSL_GUARDED_BY(mu_);  // null until the first run
};

// A generator whose seeds come from the system.
Philox RandomlySeeded();

// Returns the generator that `next` gives. Where the work of the kernel is captured, `next` is
// called in each run of the work instead. Thread-safe if `next` is.
absl::StatusOr<PhiloxSource> GeneratorOfEachRun(KernelContext& ctx, std::function<Philox()> next);

// Blocks that TensorFlow sets aside for an output of `count` numbers.
constexpr uint64_t ReservedBlocks(int64_t count) { return static_cast<uint64_t>(count) * 256; }

// The shape of what is to be drawn. Errors: INVALID_ARGUMENT unless the input is a vector of
// sizes in int32 or int64.
absl::StatusOr<Shape> ReadSampleShape(const Tensor& input);

// Errors: INVALID_ARGUMENT unless the seed of a stateless op has two elements.
absl::Status CheckSeed(const Tensor& seed);
// The generator that the pair of seeds `seed` stands for in stateless ops.
// Errors: INVALID_ARGUMENT unless it has two elements.
absl::StatusOr<Philox> GeneratorFromSeed(const Tensor& seed);

// Errors: INVALID_ARGUMENT unless the key has one element and the counter is a vector of some,
// which TensorFlow asks of them even where nothing is drawn.
absl::Status CheckKeyShapes(const Tensor& key, const Tensor& counter);

// Reads `algorithm` alone. Errors: INVALID_ARGUMENT for wrong shapes or another algorithm than
// Philox.
absl::Status CheckKey(const Tensor& key, const Tensor& counter, const Tensor& algorithm);
// The generator of inputs `key`, `counter` and `algorithm`.
// Errors: INVALID_ARGUMENT for wrong shapes or another algorithm than Philox.
absl::StatusOr<Philox> GeneratorFromKey(const Tensor& key, const Tensor& counter,
                                        const Tensor& algorithm);

// Errors: INVALID_ARGUMENT unless `shape`, that of an output, ends with that of the parameters of
// its distributions.
absl::Status CheckEndsWith(const Shape& shape, const Shape& parameters);

// Algorithms by number: Philox is 1, and meant by 3, "any".
inline constexpr int64_t kPhilox = 1;
inline constexpr int64_t kThreeFry = 2;
constexpr bool IsPhilox(int64_t number) { return number == kPhilox || number == 3; }
// INVALID_ARGUMENT.
absl::Status UnknownAlgorithm(int64_t number);

}  // namespace tessera
