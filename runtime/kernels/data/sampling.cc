// SamplingDataset: each element with a given probability. The choice is TensorFlow's for the same
// seeds.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/seed_generator.h"
#include "runtime/kernels/primitives/random_distributions.h"

namespace tessera {
namespace {

class SamplingDataset final : public UnaryDataset {
 public:
  SamplingDataset(const DatasetPtr& input, float rate, SeedPair seeds)
      : UnaryDataset(input, input->spec(), kUnknown), rate_(rate), seeds_(seeds) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  float rate() const { return rate_; }
  SeedPair seeds() const { return seeds_; }

 private:
  const float rate_;
  const SeedPair seeds_;
};

class SamplingIterator final : public UnaryIterator<SamplingDataset> {
 public:
  explicit SamplingIterator(std::shared_ptr<const SamplingDataset> dataset)
      : UnaryIterator(std::move(dataset)), random_(this->dataset().seeds()) {}

  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    IteratorArchive::Scope scope(archive, "random");
    return random_.Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (true) {
      ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
      if (!more || UnitFloat(random_.Next()) < dataset().rate()) return more;
    }
  }

 private:
  DatasetRandom random_;
};

std::unique_ptr<Iterator> SamplingDataset::MakeIterator() const {
  return std::make_unique<SamplingIterator>(Share<SamplingDataset>());
}

absl::StatusOr<DatasetPtr> MakeSampling(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const float rate, ScalarInput<float>(ctx, 1, "rate"));
  ASSIGN_OR_RETURN(const SeedPair seeds, SeedInputs(ctx, 2));
  return std::make_shared<SamplingDataset>(input, rate, ChosenSeeds(seeds));
}
REGISTER_DATASET("SamplingDataset", MakeSampling);

}  // namespace
}  // namespace tessera
