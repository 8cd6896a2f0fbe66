// Datasets of some elements of another, by their positions: TakeDataset, SkipDataset, ShardDataset,
// AutoShardDataset.
#include <utility>

#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

int64_t CardinalityOfTake(int64_t n, int64_t count) {
  if (count < 0 || n == Dataset::kUnknown) return n;
  return n == Dataset::kInfinite ? count : std::min(n, count);
}

// The first `count` elements; all of them if it is negative.
class TakeDataset final : public UnaryDataset {
 public:
  TakeDataset(const DatasetPtr& input, int64_t count)
      : UnaryDataset(input, input->spec(), CardinalityOfTake(input->cardinality(), count)),
        count_(count) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    return input().ElementAt(step, index);
  }
  int64_t count() const { return count_; }

 private:
  const int64_t count_;
};

class TakeIterator final : public UnaryIterator<TakeDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Number("taken", &taken_));
    return UnaryIterator::Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (dataset().count() >= 0 && taken_ >= dataset().count()) return false;
    ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
    // An error does not count: what follows it takes its place.
    if (more) ++taken_;
    return more;
  }

 private:
  int64_t taken_ = 0;
};

std::unique_ptr<Iterator> TakeDataset::MakeIterator() const {
  return std::make_unique<TakeIterator>(Share<TakeDataset>());
}

absl::StatusOr<DatasetPtr> MakeTake(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
  return std::make_shared<TakeDataset>(input, count);
}
REGISTER_DATASET("TakeDataset", MakeTake);

int64_t CardinalityOfSkip(int64_t n, int64_t count) {
  if (n < 0) return n;
  return count < 0 ? 0 : std::max<int64_t>(0, n - count);
}

// All but the first `count` elements; none if it is negative.
class SkipDataset final : public UnaryDataset {
 public:
  SkipDataset(const DatasetPtr& input, int64_t count)
      : UnaryDataset(input, input->spec(), CardinalityOfSkip(input->cardinality(), count)),
        count_(count) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    return input().ElementAt(step, count_ + index);
  }
  int64_t count() const { return count_; }

 private:
  const int64_t count_;
};

class SkipIterator final : public UnaryIterator<SkipDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Flag("skipped", &skipped_));
    return UnaryIterator::Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (dataset().count() < 0) return false;
    if (!skipped_) {
      RETURN_IF_ERROR(input().Skip(step, dataset().count()).status());
      skipped_ = true;
    }
    return input().Next(step, element);
  }

 private:
  bool skipped_ = false;
};

std::unique_ptr<Iterator> SkipDataset::MakeIterator() const {
  return std::make_unique<SkipIterator>(Share<SkipDataset>());
}

absl::StatusOr<DatasetPtr> MakeSkip(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
  return std::make_shared<SkipDataset>(input, count);
}
REGISTER_DATASET("SkipDataset", MakeSkip);

// Elements `index`, `index` + `num_shards`, and so on.
class ShardDataset final : public UnaryDataset {
 public:
  ShardDataset(const DatasetPtr& input, int64_t num_shards, int64_t index, bool require_non_empty)
      : UnaryDataset(input, input->spec(),
                     input->cardinality() < 0
                         ? input->cardinality()
                         : input->cardinality() / num_shards +
                               (index < input->cardinality() % num_shards ? 1 : 0)),
        num_shards_(num_shards),
        index_(index),
        require_non_empty_(require_non_empty) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    return input().ElementAt(step, index_ + index * num_shards_);
  }
  int64_t num_shards() const { return num_shards_; }
  int64_t index() const { return index_; }
  bool require_non_empty() const { return require_non_empty_; }

 private:
  const int64_t num_shards_, index_;
  const bool require_non_empty_;
};

class ShardIterator final : public UnaryIterator<ShardDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Number("next", &next_));
    RETURN_IF_ERROR(archive.Number("passed", &passed_));
    if (passed_ < 0 || passed_ > (next_ == 0 ? dataset().index() : dataset().num_shards() - 1)) {
      return absl::DataLossError("the saved state of a shard is damaged");
    }
    return UnaryIterator::Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    const int64_t gap = next_ == 0 ? dataset().index() : dataset().num_shards() - 1;
    ASSIGN_OR_RETURN(const int64_t skipped, input().Skip(step, gap - passed_));
    // If the element behind the gap has an error, the one after it takes its place.
    passed_ += skipped;
    bool more = passed_ == gap;
    if (more) {
      ASSIGN_OR_RETURN(more, input().Next(step, element));
    }
    const int64_t read = std::exchange(passed_, 0) + (more ? 1 : 0);
    if (next_ == 0 && dataset().require_non_empty()) {
      RETURN_IF_ERROR(CheckEveryShardHasOne(step, read));
    }
    ++next_;
    return more;
  }

 private:
  // Requires that `num_elements` were read so far. Reads one for each of the shards that follow.
  absl::Status CheckEveryShardHasOne(StepContext& step, int64_t num_elements) {
    const int64_t missing = dataset().num_shards() - num_elements;
    ASSIGN_OR_RETURN(const int64_t passed, input().Skip(step, missing));
    if (passed == missing) {
      passed_ = passed;
      return absl::OkStatus();
    }
    num_elements += passed;
    return absl::InvalidArgumentError(absl::StrCat(
        "Could not apply FILE based sharding: the dataset only has ", num_elements,
        " file(s), which is not enough for the required ", dataset().num_shards(),
        " shards/workers. If you are using datasets with distribution strategy, consider setting "
        "the auto sharding policy to either DATA or OFF using the "
        "`experimental_distribute.auto_shard_policy` option of `tf.data.Options()`. Or, split "
        "your input files into a larger number of small files such that number of files is "
        "greater than number of shards/workers."));
  }

  int64_t next_ = 0;
  int64_t passed_ = 0;  // elements of the gap before the next one that were read already
};

std::unique_ptr<Iterator> ShardDataset::MakeIterator() const {
  return std::make_unique<ShardIterator>(Share<ShardDataset>());
}

// What stands in a graph for the number of shards until a distribution strategy gives it.
constexpr int64_t kShardHint = -1;

// Errors: INVALID_ARGUMENT unless 0 <= index < num_shards; FAILED_PRECONDITION for kShardHint.
class ShardKernel final : public DatasetKernel {
 public:
  explicit ShardKernel(const KernelBuild& build)
      : require_non_empty_(build.attr<bool>("require_non_empty")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t num_shards, ScalarInput<int64_t>(ctx, 1, "num_shards"));
    ASSIGN_OR_RETURN(const int64_t index, ScalarInput<int64_t>(ctx, 2, "index"));
    if (num_shards == kShardHint) {
      return absl::FailedPreconditionError(
          "num_shards is SHARD_HINT, which stands for a number that nothing has put in its place: "
          "give the number of shards");
    }
    if (num_shards <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Number of shards must be greater than zero (currently num_shards = ", num_shards, ")."));
    }
    if (index < 0 || index >= num_shards) {
      return absl::InvalidArgumentError(absl::StrCat("Index must be between 0 and ", num_shards - 1,
                                                     " (currently index = ", index,
                                                     ", num_shards = ", num_shards, ")."));
    }
    return std::make_shared<ShardDataset>(input, num_shards, index, require_non_empty_);
  }

 private:
  const bool require_non_empty_;
};
REGISTER_KERNEL("ShardDataset", kCpu, ShardKernel);

// The part of one of several workers, by elements. Whole files, which TensorFlow deals out where a
// pipeline reads some, are not told apart here.
// Errors: INVALID_ARGUMENT unless 0 <= index < num_workers; UNIMPLEMENTED if files are asked for.
class AutoShardKernel final : public DatasetKernel {
 public:
  explicit AutoShardKernel(const KernelBuild& build)
      : policy_(build.attr<int64_t>("auto_shard_policy")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    enum Policy : int64_t { kOff = -1, kAuto, kFile, kData, kHint };
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t num_workers, ScalarInput<int64_t>(ctx, 1, "num_workers"));
    ASSIGN_OR_RETURN(const int64_t index, ScalarInput<int64_t>(ctx, 2, "index"));
    if (num_workers <= 0) {
      return absl::InvalidArgumentError("num_workers must be greater than zero.");
    }
    if (index < 0 || index >= num_workers) {
      return absl::InvalidArgumentError(
          absl::StrCat("index must be between 0 and ", num_workers - 1));
    }
    if (num_workers == 1 || policy_ == kOff || policy_ == kHint) return input;
    if (policy_ == kFile) {
      return absl::UnimplementedError(
          "sharding by files is not supported; set the auto sharding policy to DATA");
    }
    return std::make_shared<ShardDataset>(input, num_workers, index, /*require_non_empty=*/false);
  }

 private:
  const int64_t policy_;
};
REGISTER_KERNEL("AutoShardDataset", kCpu, AutoShardKernel);
REGISTER_KERNEL("ExperimentalAutoShardDataset", kCpu, AutoShardKernel);

}  // namespace
}  // namespace tessera
