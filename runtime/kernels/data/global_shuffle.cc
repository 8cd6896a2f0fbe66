// GlobalShuffleDataset: all elements of a dataset in random order, without a buffer. The order is
// TensorFlow's for the same seeds.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/seed_generator.h"
#include "runtime/kernels/random/shuffled_index.h"

namespace tessera {
namespace {

constexpr int64_t kCipherRounds = 8;

class GlobalShuffleDataset final : public UnaryDataset {
 public:
  GlobalShuffleDataset(const DatasetPtr& input, IntrusivePtr<SeedGenerator> seeds)
      : UnaryDataset(input, input->spec(), input->cardinality()), seeds_(std::move(seeds)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  SeedGenerator& seeds() const { return *seeds_; }

 private:
  const IntrusivePtr<SeedGenerator> seeds_;
};

// Each element is made from its position; the iterator of the input is not used.
class GlobalShuffleIterator final : public Iterator {
 public:
  explicit GlobalShuffleIterator(std::shared_ptr<const GlobalShuffleDataset> dataset)
      : dataset_(std::move(dataset)),
        first_(dataset_->seeds().Next()),
        second_(dataset_->seeds().Next()) {}

  absl::StatusOr<int64_t> Skip(StepContext&, int64_t count) override {
    const int64_t skipped = std::min(count, dataset_->cardinality() - next_);
    next_ += skipped;
    return skipped;
  }
  absl::Status Transfer(IteratorArchive& archive) override {
    {
      IteratorArchive::Scope scope(archive, "seeds");
      RETURN_IF_ERROR(dataset_->seeds().Transfer(archive));
    }
    RETURN_IF_ERROR(archive.Number("seed", &first_.seed));
    RETURN_IF_ERROR(archive.Number("seed2", &first_.seed2));
    RETURN_IF_ERROR(archive.Number("seed3", &second_.seed));
    RETURN_IF_ERROR(archive.Number("next", &next_));
    if (next_ >= 0 && next_ <= dataset_->cardinality()) return absl::OkStatus();
    return absl::DataLossError("the saved state of a global shuffle is damaged");
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (next_ >= dataset_->cardinality()) return false;
    const ShuffleKey key = {static_cast<uint32_t>(first_.seed), static_cast<uint32_t>(first_.seed2),
                            static_cast<uint32_t>(second_.seed)};
    const uint64_t index =
        ShuffledIndex(static_cast<uint64_t>(next_++), key,
                      static_cast<uint64_t>(dataset_->cardinality() - 1), kCipherRounds);
    ASSIGN_OR_RETURN(*element, dataset_->input().ElementAt(step, static_cast<int64_t>(index)));
    return true;
  }

 private:
  const std::shared_ptr<const GlobalShuffleDataset> dataset_;
  SeedPair first_, second_;  // all but the last number make the key
  int64_t next_ = 0;
};

std::unique_ptr<Iterator> GlobalShuffleDataset::MakeIterator() const {
  return std::make_unique<GlobalShuffleIterator>(Share<GlobalShuffleDataset>());
}

// Errors: FAILED_PRECONDITION for a dataset without random access; INVALID_ARGUMENT for one that is
// empty, infinite, or of unknown size.
class GlobalShuffleKernel final : public DatasetKernel {
 public:
  explicit GlobalShuffleKernel(const KernelBuild& build)
      : reshuffle_(build.attr<bool>("reshuffle_each_iteration")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    if (const absl::Status status = input->CheckRandomAccess(); !status.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("`global_shuffle` requires all upstream transformations be compatible with "
                       "random access. Got: ",
                       status.ToString()));
    }
    if (input->cardinality() <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("`global_shuffle` requires the input dataset to have a non-empty finite "
                       "cardinality. Got cardinality ",
                       input->cardinality()));
    }
    ASSIGN_OR_RETURN(const SeedPair seeds, SeedInputs(ctx, 1));
    return std::make_shared<GlobalShuffleDataset>(input,
                                                  SeedGeneratorInput(ctx, 3, seeds, reshuffle_));
  }

 private:
  const bool reshuffle_;
};
REGISTER_KERNEL("GlobalShuffleDataset", kCpu, GlobalShuffleKernel);

}  // namespace
}  // namespace tessera
