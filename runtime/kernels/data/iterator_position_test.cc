// Positions of iterators: an iterator that is put back by a saved position goes on as the one that
// was saved, and a position that is damaged is an error at worst.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "runtime/data/dataset.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Tensor Long(int64_t value) { return Tensor::Scalar<int64_t>(value); }
Tensor Bool(bool value) { return Tensor::Scalar<bool>(value); }

// A dataset op whose elements are int64 numbers or, with `rank` 1, vectors of them.
Tensor Op(absl::string_view op, std::vector<Tensor> inputs, int rank = 0, AttrMap attrs = {}) {
  const OpDef* const def = OpRegistry::Global().Find(op);
  if (def->FindAttr("output_types") != nullptr) {
    attrs.emplace("output_types", std::vector<DType>{DType::kInt64});
  }
  if (def->FindAttr("Toutput_types") != nullptr) {
    attrs.emplace("Toutput_types", std::vector<DType>{DType::kInt64});
  }
  if (def->FindAttr("output_shapes") != nullptr) {
    attrs.emplace("output_shapes", std::vector<PartialShape>{PartialShape::UnknownOfRank(rank)});
  }
  return RunOp(op, std::move(inputs), std::move(attrs)).value();
}
Tensor Range(int64_t end) { return Op("RangeDataset", {Long(0), Long(end), Long(1)}); }
Tensor Batch(const Tensor& input, int64_t size) {
  return Op("BatchDatasetV2", {input, Long(size), Bool(false)}, 1);
}
Tensor Shuffle(const Tensor& input, int64_t size) {
  return Op("ShuffleDataset", {input, Long(size), Long(7), Long(9)});
}

struct Pipeline {
  const char* name;
  Tensor (*make)();
};
const Pipeline kPipelines[] = {
    {"range", [] { return Range(5); }},
    {"take",
     [] {
       return Op("TakeDataset", {Range(9), Long(5)});
     }},
    {"skip",
     [] {
       return Op("SkipDataset", {Range(9), Long(3)});
     }},
    {"shard",
     [] {
       return Op("ShardDataset", {Range(19), Long(4), Long(2)});
     }},
    {"repeat",
     [] {
       return Op("RepeatDataset", {Range(3), Long(3)});
     }},
    {"batch", [] { return Batch(Range(10), 3); }},
    {"unbatch", [] { return Op("UnbatchDataset", {Batch(Range(10), 3)}); }},
    {"rebatch",
     [] {
       return Op("RebatchDatasetV2",
                 {Batch(Range(17), 5), Tensor::Vector<int64_t>({2, 4}), Bool(false)}, 1);
     }},
    {"concatenate",
     [] {
       return Op("ConcatenateDataset", {Range(3), Range(4)});
     }},
    {"shuffle", [] { return Shuffle(Range(12), 4); }},
    {"shuffle and repeat",
     [] {
       return Op("ShuffleAndRepeatDataset", {Range(5), Long(3), Long(1), Long(2), Long(3)});
     }},
    {"shuffle repeated",
     [] {
       return Op("RepeatDataset", {Shuffle(Range(4), 9), Long(3)});
     }},
    {"shuffle concatenated and repeated",
     [] {
       return Op("RepeatDataset",
                 {Op("ConcatenateDataset", {Shuffle(Range(4), 9), Range(2)}), Long(3)});
     }},
    {"cache",
     [] {
       return Op("RepeatDataset", {Op("CacheDataset", {Range(4), Tensor::Scalar("")}), Long(3)});
     }},
    {"prefetch",
     [] {
       return Op("PrefetchDataset", {Shuffle(Range(9), 3), Long(4)});
     }},
    {"unique",
     [] {
       return Op("UniqueDataset", {Op("RepeatDataset", {Range(4), Long(2)})});
     }},
    {"random",
     [] {
       return Op("TakeDataset", {Op("RandomDataset", {Long(3), Long(4)}), Long(7)});
     }},
    {"chosen",
     [] {
       return Op("DirectedInterleaveDataset",
                 {Op("TensorSliceDataset", {Tensor::Vector<int64_t>({0, 1, 1, 1, 0, 0, 1})}),
                  Range(9), Range(2)});
     }},
};

class IteratorPositionTest : public ::testing::TestWithParam<Pipeline> {
 protected:
  IteratorPositionTest() {
    step_.resources = &resources_;
    step_.cancellation = &cancellation_;
  }

  static std::unique_ptr<Iterator> NewIterator() {
    return DatasetIn(GetParam().make(), "dataset").value()->MakeIterator();
  }
  // Up to `count` elements, as text, and the error that ended them.
  std::vector<std::string> Take(Iterator& iterator, int count) {
    std::vector<std::string> taken;
    for (int i = 0; i < count; ++i) {
      Element element;
      const absl::StatusOr<bool> more = iterator.Next(step_, &element);
      if (!more.ok()) taken.push_back(more.status().ToString());
      if (!more.ok() || !*more) break;
      taken.push_back(element[0].ToString());
    }
    return taken;
  }
  static IteratorState Save(Iterator& iterator) {
    IteratorState state;
    IteratorArchive archive(&state);
    EXPECT_TRUE(iterator.Transfer(archive).ok());
    return state;
  }
  absl::Status Restore(const IteratorState& state, Iterator& iterator) {
    IteratorArchive archive(state, step_);
    return iterator.Transfer(archive);
  }

  ResourceManager resources_;
  CancellationManager cancellation_;
  StepContext step_;
};

constexpr int kAll = 50;

TEST_P(IteratorPositionTest, ARestoredIteratorGoesOnAsTheSavedOne) {
  const std::vector<std::string> all = Take(*NewIterator(), kAll);
  ASSERT_GT(all.size(), 3u);
  for (size_t before = 0; before <= all.size() + 1; ++before) {
    const std::unique_ptr<Iterator> saved = NewIterator();
    Take(*saved, static_cast<int>(before));
    const IteratorState state = Save(*saved);
    const auto decoded = IteratorState::Decode(*state.Encode());
    ASSERT_TRUE(decoded.ok()) << decoded.status();

    const std::unique_ptr<Iterator> restored = NewIterator();
    ASSERT_TRUE(Restore(**decoded, *restored).ok()) << before;

    EXPECT_EQ(Take(*restored, kAll), Take(*saved, kAll)) << "after " << before;
  }
}

TEST_P(IteratorPositionTest, ADamagedPositionIsAnErrorAtWorst) {
  for (int before = 0; before < 6; ++before) {
    const std::unique_ptr<Iterator> saved = NewIterator();
    Take(*saved, before);
    const IteratorState good = Save(*saved);
    for (const auto& [name, value] : good.values) {
      IteratorState lacking = good;
      lacking.values.erase(name);
      const absl::Status status = Restore(lacking, *NewIterator());
      EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << name << ": " << status;

      if (value.size() != 1 || value[0].dtype() != DType::kInt64 || value[0].rank() != 0) continue;
      for (const int64_t number : {int64_t{-1}, int64_t{1}, int64_t{3}, int64_t{1} << 62}) {
        IteratorState damaged = good;
        damaged.values[name] = {Long(number)};
        const std::unique_ptr<Iterator> restored = NewIterator();
        if (Restore(damaged, *restored).ok()) Take(*restored, kAll);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllPipelines, IteratorPositionTest, ::testing::ValuesIn(kPipelines),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST(IteratorStateTest, BytesOfAnotherKindAreRefused) {
  EXPECT_TRUE(absl::IsDataLoss(
      IteratorState::Decode(EncodedVariant("tensorflow::Iterator", "", {})).status()));
  const std::string type = IteratorState().TypeName();
  for (const char* metadata : {"next", "next x\n", "next 2\n", "next -1\n"}) {
    EXPECT_THAT(
        IteratorState::Decode(EncodedVariant(type, metadata, {Long(1)})).status().ToString(),
        HasSubstr("damaged"))
        << metadata;
  }
}

}  // namespace
}  // namespace tessera
