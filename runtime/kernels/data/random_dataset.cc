// RandomDataset, RandomDatasetV2: random numbers without end.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/seed_generator.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

class RandomDataset final : public Dataset {
 public:
  RandomDataset(IntrusivePtr<SeedGenerator> seeds, Allocator* allocator)
      : Dataset({.dtypes = {DType::kInt64}, .shapes = {PartialShape(Shape())}}, kInfinite),
        seeds_(std::move(seeds)),
        allocator_(allocator) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  SeedGenerator& seeds() const { return *seeds_; }
  Allocator* allocator() const { return allocator_; }

 private:
  const IntrusivePtr<SeedGenerator> seeds_;
  Allocator* const allocator_;
};

class RandomIterator final : public Iterator {
 public:
  explicit RandomIterator(std::shared_ptr<const RandomDataset> dataset)
      : dataset_(std::move(dataset)), random_(dataset_->seeds().Next()) {}
  absl::Status Transfer(IteratorArchive& archive) override {
    {
      IteratorArchive::Scope scope(archive, "seeds");
      RETURN_IF_ERROR(dataset_->seeds().Transfer(archive));
    }
    return random_.Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext&, Element* element) override {
    ASSIGN_OR_RETURN(const Tensor number,
                     ScalarIn(dataset_->allocator(), static_cast<int64_t>(random_.Next())));
    element->assign(1, number);
    return true;
  }

 private:
  const std::shared_ptr<const RandomDataset> dataset_;
  DatasetRandom random_;
};

std::unique_ptr<Iterator> RandomDataset::MakeIterator() const {
  return std::make_unique<RandomIterator>(Share<RandomDataset>());
}

absl::StatusOr<DatasetPtr> MakeRandom(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const SeedPair seeds, SeedInputs(ctx, 0));
  return std::make_shared<RandomDataset>(MakeRefCounted<SeedGenerator>(seeds, false),
                                         ctx.host_allocator());
}
REGISTER_DATASET("RandomDataset", MakeRandom);
REGISTER_DATASET("ExperimentalRandomDataset", MakeRandom);

class RandomV2Kernel final : public DatasetKernel {
 public:
  explicit RandomV2Kernel(const KernelBuild& build)
      : rerandomize_(build.attr<bool>("rerandomize_each_iteration")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SeedPair seeds, SeedInputs(ctx, 0));
    return std::make_shared<RandomDataset>(SeedGeneratorInput(ctx, 2, seeds, rerandomize_),
                                           ctx.host_allocator());
  }

 private:
  const bool rerandomize_;
};
REGISTER_KERNEL("RandomDatasetV2", kCpu, RandomV2Kernel);

}  // namespace
}  // namespace tessera
