// ShuffleDataset and its versions, ShuffleAndRepeatDataset: elements in random order, through a
// buffer of limited size. The order is TensorFlow's for the same seeds.
#include <deque>
#include <limits>

#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/seed_generator.h"

namespace tessera {
namespace {

// How many rounds of a repeated dataset may be in the buffer at once.
constexpr size_t kMaxRoundsInBuffer = 3;

// `count` rounds over the input, for ever if it is negative. The rounds do not mix.
class ShuffleDataset final : public UnaryDataset {
 public:
  ShuffleDataset(const DatasetPtr& input, int64_t buffer_size, int64_t count,
                 IntrusivePtr<SeedGenerator> seeds)
      : UnaryDataset(input, input->spec(), CardinalityOf(input->cardinality(), count)),
        buffer_size_(buffer_size),
        count_(count),
        seeds_(std::move(seeds)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  int64_t buffer_size() const { return buffer_size_; }
  int64_t count() const { return count_; }
  SeedGenerator& seeds() const { return *seeds_; }

 private:
  static int64_t CardinalityOf(int64_t n, int64_t count) {
    if (count < 0) return kInfinite;
    if (count == 1 || n < 0) return n;
    const int64_t product = MultiplyWithoutOverflow(n, count);
    return product < 0 ? kInfinite : product;
  }

  const int64_t buffer_size_, count_;
  const IntrusivePtr<SeedGenerator> seeds_;
};

class ShuffleIterator final : public UnaryIterator<ShuffleDataset> {
 public:
  explicit ShuffleIterator(std::shared_ptr<const ShuffleDataset> dataset)
      : UnaryIterator(std::move(dataset)), random_(this->dataset().seeds().Next()) {}

  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    {
      IteratorArchive::Scope scope(archive, "random");
      RETURN_IF_ERROR(random_.Transfer(archive));
    }
    {
      IteratorArchive::Scope scope(archive, "seeds");
      RETURN_IF_ERROR(dataset().seeds().Transfer(archive));
    }
    RETURN_IF_ERROR(archive.Number("started_rounds", &started_rounds_));
    RETURN_IF_ERROR(archive.Flag("input_ended", &input_ended_));
    RETURN_IF_ERROR(archive.Flag("has_elements", &has_elements_));
    int64_t size = static_cast<int64_t>(buffer_.size());
    RETURN_IF_ERROR(archive.Number("size", &size));
    for (int64_t i = 0; i < size; ++i) {
      if (archive.restoring()) buffer_.emplace_back();
      RETURN_IF_ERROR(archive.Tensors(absl::StrCat("element", i), &buffer_[i]));
    }
    int64_t num_rounds = static_cast<int64_t>(rounds_.size());
    RETURN_IF_ERROR(archive.Number("rounds", &num_rounds));
    for (int64_t i = 0; i < num_rounds; ++i) {
      if (archive.restoring()) rounds_.emplace_back();
      RETURN_IF_ERROR(archive.Number(absl::StrCat("start", i), &rounds_[i].start));
      RETURN_IF_ERROR(archive.Number(absl::StrCat("end", i), &rounds_[i].end));
    }
    return archive.restoring() ? CheckRestored() : absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    RETURN_IF_ERROR(Fill(step));
    if (held_ == 0) return false;
    while (rounds_.front().start == rounds_.front().end) {
      rounds_.pop_front();
      random_ = DatasetRandom(dataset().seeds().Next());
    }
    Round& round = rounds_.front();
    Element& first = At(round.start);
    Element& chosen = At(round.start + random_.Next() % (round.end - round.start));
    *element = std::move(chosen);
    std::swap(first, chosen);
    first.clear();
    ++round.start;
    --held_;
    // A position that was put back may name elements that are not there.
    RETURN_IF_ERROR(dataset().spec().CheckTypes(*element));
    return true;
  }

 private:
  // The positions of a round's elements that are in the buffer, which is a ring.
  struct Round {
    int64_t start = 0;
    int64_t end = 0;
  };

  Element& At(int64_t position) { return buffer_[position % dataset().buffer_size()]; }

  bool HasRoundsLeft() const {
    return dataset().count() < 0 || started_rounds_ < dataset().count();
  }

  // An error of the input leaves its element out.
  absl::Status Fill(StepContext& step) {
    while (held_ < dataset().buffer_size()) {
      if (rounds_.empty() || input_ended_) {
        if (!HasRoundsLeft()) return absl::OkStatus();
        if (rounds_.size() > kMaxRoundsInBuffer && held_ > 0) return absl::OkStatus();
        // Repeating an empty dataset would never end.
        if (dataset().count() < 0 && input_ended_ && !has_elements_) return absl::OkStatus();
        if (input_ended_) RestartInput();
        const int64_t end = rounds_.empty() ? 0 : rounds_.back().end;
        rounds_.push_back({end, end});
        input_ended_ = false;
        ++started_rounds_;
      }
      Element element;
      ASSIGN_OR_RETURN(const bool more, input().Next(step, &element));
      if (!more) {
        input_ended_ = true;
        continue;
      }
      has_elements_ = true;
      const int64_t position = rounds_.back().end++;
      // The buffer grows to its size once, and is filled in order.
      if (static_cast<int64_t>(buffer_.size()) < dataset().buffer_size() &&
          position == static_cast<int64_t>(buffer_.size())) {
        buffer_.emplace_back();
      }
      At(position) = std::move(element);
      ++held_;
    }
    return absl::OkStatus();
  }

  // Counts the elements that are held.
  absl::Status CheckRestored() {
    const int64_t size = static_cast<int64_t>(buffer_.size());
    int64_t last = 0;
    bool good = size <= dataset().buffer_size();
    for (const Round& round : rounds_) {
      good = good && round.start >= last && round.end >= round.start;
      last = round.end;
      if (good) held_ += round.end - round.start;
    }
    good = good && held_ <= size && (last <= size || size == dataset().buffer_size());
    return good ? absl::OkStatus() : absl::DataLossError("the saved state of a shuffle is damaged");
  }

  DatasetRandom random_;
  std::vector<Element> buffer_;
  std::deque<Round> rounds_;  // those that have elements in the buffer, and the one being read
  int64_t held_ = 0;          // elements in the buffer
  int64_t started_rounds_ = 0;
  bool input_ended_ = false;
  bool has_elements_ = false;
};

std::unique_ptr<Iterator> ShuffleDataset::MakeIterator() const {
  return std::make_unique<ShuffleIterator>(Share<ShuffleDataset>());
}

// Inputs are the dataset and `buffer_size`; then, as far as the version has them, `seed` and
// `seed2`, `count`, `seed_generator`.
// Errors: INVALID_ARGUMENT for a size that is neither positive nor kUnknown, which means all.
class ShuffleKernel final : public DatasetKernel {
 public:
  explicit ShuffleKernel(const KernelBuild& build) {
    reshuffle_ = build.has_attr("reshuffle_each_iteration")
                     ? build.attr<bool>("reshuffle_each_iteration")
                     : true;
    for (size_t i = 0; i < build.op().inputs.size(); ++i) {
      const std::string& name = build.op().inputs[i].name;
      if (name == "seed") seed_ = static_cast<int>(i);
      if (name == "count") count_ = static_cast<int>(i);
      if (name == "seed_generator") generator_ = static_cast<int>(i);
    }
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(int64_t buffer_size, ScalarInput<int64_t>(ctx, 1, "buffer_size"));
    if (buffer_size == Dataset::kUnknown) buffer_size = std::numeric_limits<int64_t>::max();
    if (buffer_size <= 0) {
      return absl::InvalidArgumentError(
          "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    }
    int64_t count = 1;
    if (count_ >= 0) {
      ASSIGN_OR_RETURN(count, ScalarInput<int64_t>(ctx, count_, "count"));
      if (count <= 0 && count != -1) {
        return absl::InvalidArgumentError("count must be greater than zero or equal to -1.");
      }
    }
    SeedPair seeds;
    if (seed_ >= 0) {
      ASSIGN_OR_RETURN(seeds, SeedInputs(ctx, seed_));
    }
    IntrusivePtr<SeedGenerator> generator =
        generator_ >= 0 ? SeedGeneratorInput(ctx, generator_, seeds, reshuffle_)
                        : MakeRefCounted<SeedGenerator>(seeds, reshuffle_);
    return std::make_shared<ShuffleDataset>(input, buffer_size, count, std::move(generator));
  }

 private:
  bool reshuffle_ = true;
  int seed_ = -1, count_ = -1, generator_ = -1;  // positions of inputs; -1: there is none
};
REGISTER_KERNEL("ShuffleDataset", kCpu, ShuffleKernel);
REGISTER_KERNEL("ShuffleDatasetV2", kCpu, ShuffleKernel);
REGISTER_KERNEL("ShuffleDatasetV3", kCpu, ShuffleKernel);
REGISTER_KERNEL("ShuffleAndRepeatDataset", kCpu, ShuffleKernel);
REGISTER_KERNEL("ShuffleAndRepeatDatasetV2", kCpu, ShuffleKernel);

}  // namespace
}  // namespace tessera
