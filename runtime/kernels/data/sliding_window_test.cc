// Sliding windows over a dataset with an element that cannot be made.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/data/dataset.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// The numbers from 0 to 11, one of which is an error.
class Numbers final : public Dataset {
 public:
  explicit Numbers(int64_t bad)
      : Dataset({.dtypes = {DType::kInt64}, .shapes = {PartialShape(Shape())}}, 12), bad_(bad) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  int64_t bad() const { return bad_; }

 private:
  const int64_t bad_;
};

class NumbersIterator final : public Iterator {
 public:
  explicit NumbersIterator(std::shared_ptr<const Numbers> numbers) : numbers_(std::move(numbers)) {}
  absl::Status Transfer(IteratorArchive& archive) override {
    return archive.Number("next", &next_);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& /*step*/, Element* element) override {
    if (next_ == numbers_->cardinality()) return false;
    *element = {Tensor::Scalar(next_++)};
    if (next_ - 1 == numbers_->bad()) return absl::InvalidArgumentError("bad");
    return true;
  }

 private:
  const std::shared_ptr<const Numbers> numbers_;
  int64_t next_ = 0;
};

std::unique_ptr<Iterator> Numbers::MakeIterator() const {
  return std::make_unique<NumbersIterator>(Share<Numbers>());
}

// The windows as text, with "bad" in the place of an error.
std::vector<std::string> Windows(int64_t bad, int64_t size, int64_t shift, int64_t stride) {
  const Tensor windows = RunOp("SlidingWindowDataset",
                               {DatasetTensor(std::make_shared<Numbers>(bad)), Tensor::Scalar(size),
                                Tensor::Scalar(shift), Tensor::Scalar(stride)},
                               {{"drop_remainder", false},
                                {"output_types", std::vector<DType>{DType::kInt64}},
                                {"output_shapes", std::vector<PartialShape>{PartialShape({-1})}}})
                             .value();
  ResourceManager resources;
  StepContext step;
  step.resources = &resources;
  const auto iterator = DatasetIn(windows, "windows").value()->MakeIterator();
  std::vector<std::string> taken;
  while (taken.size() < 20) {
    Element element;
    const absl::StatusOr<bool> more = iterator->Next(step, &element);
    if (more.ok() && !*more) break;
    taken.emplace_back(more.status().message());
    if (!more.ok()) continue;
    for (const int64_t value : element[0].flat<int64_t>()) {
      absl::StrAppend(&taken.back(), taken.back().empty() ? "" : " ", value);
    }
  }
  return taken;
}

// The expected windows are TensorFlow's.
TEST(SlidingWindowTest, AnErrorBetweenTwoWindowsLosesNoWindow) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Windows(3, 2, 4, 1), (Texts{"bad", "0 1", "6 7", "10 11"}));
  EXPECT_EQ(Windows(5, 3, 4, 1), (Texts{"0 1 2", "bad", "4 6 7", "9 10 11"}));
  EXPECT_EQ(Windows(11, 2, 4, 1), (Texts{"0 1", "4 5", "bad", "8 9"}));
  EXPECT_EQ(Windows(3, 2, 5, 2), (Texts{"bad", "0 2", "6 8", "11"}));
}

}  // namespace
}  // namespace tessera
