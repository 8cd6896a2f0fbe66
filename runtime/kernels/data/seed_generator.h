// Seeds and random numbers of datasets, the same as TensorFlow's for the same seeds.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/philox.h"
#include "runtime/tensor/resource_handle.h"

namespace tessera {

// Two seeds, of which TensorFlow makes one generator. Both zero means "at random".
struct SeedPair {
  int64_t seed = 0;
  int64_t seed2 = 0;
};
// Replaces a pair of zeros by random seeds.
SeedPair ChosenSeeds(SeedPair seeds);
// Reads the scalar inputs `seed` and `seed2`, which are inputs i and i + 1.
absl::StatusOr<SeedPair> SeedInputs(const KernelContext& ctx, int i);

// A stream of random numbers whose position can be saved.
class DatasetRandom {
 public:
  explicit DatasetRandom(SeedPair seeds) : seeds_(seeds), numbers_(Generator(seeds)) {}

  uint32_t Next() {
    ++drawn_;
    return numbers_.Next();
  }
  absl::Status Transfer(IteratorArchive& archive);

 private:
  static Philox Generator(SeedPair seeds) {
    return Philox(static_cast<uint64_t>(seeds.seed), static_cast<uint64_t>(seeds.seed2));
  }

  SeedPair seeds_;
  PhiloxStream numbers_;
  int64_t drawn_ = 0;
};

// Gives each iterator of a dataset its seeds: the same to all, or others to each. Thread-safe.
class SeedGenerator : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "seed_generator";

  // `reshuffle`: others to each.
  SeedGenerator(SeedPair seeds, bool reshuffle)
      : seeds_(ChosenSeeds(seeds)), reshuffle_(reshuffle), random_(seeds_) {}

  SeedPair Next();
  // Transfers how far the generator is: a restored iterator's rounds to come get their seeds again.
  absl::Status Transfer(IteratorArchive& archive);
  std::string DebugString() const override { return "seed generator"; }

 private:
  const SeedPair seeds_;
  const bool reshuffle_;
  absl::Mutex mu_;
  DatasetRandom random_ ABSL_GUARDED_BY(mu_);
};

// Returns the seed generator whose handle is input i, or a new one if the handle names none, as
// that of DummySeedGenerator.
IntrusivePtr<SeedGenerator> SeedGeneratorInput(const KernelContext& ctx, int i, SeedPair seeds,
                                               bool reshuffle);

}  // namespace tessera
