// Sequences that make a dataset of others, and read it through an iterator.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/random_cases/makers/sequence_functions.h"
#include "tests/random_cases/makers/window_datasets.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

class DatasetSteps {
 public:
  explicit DatasetSteps(Sequence& sequence) : sequence_(sequence), random_(sequence.random()) {}

  void Run() {
    Source();
    while (sequence_.Continues()) Transform();
    if (random_.Chance(0.7)) sequence_.Step("DatasetCardinality", {dataset_});
    const int64_t way = random_.Below(8);
    if (way == 0 && elements_.count == 1) {
      sequence_.Step("DatasetToSingleElement", {dataset_}, Element());
    } else if (way == 1 && IsNumber()) {
      Reduce();
    } else {
      Iterate();
    }
  }

 private:
  AttrMap Element() const { return ElementAttrs(elements_); }
  bool IsNumber() const {
    return elements_.types.size() == 1 && elements_.shapes[0].rank() == 0 &&
           (elements_.types[0] == DType::kInt64 || elements_.types[0] == DType::kFloat);
  }
  std::string NewFunction() { return absl::StrCat("function", num_functions_++); }

  // The dataset that an op makes of this one.
  void Make(const std::string& op, const std::vector<StepOutput>& more, AttrMap attrs = {}) {
    std::vector<StepOutput> inputs = {dataset_};
    inputs.insert(inputs.end(), more.begin(), more.end());
    attrs.merge(Element());
    dataset_ = sequence_.Step(op, inputs, attrs)[0];
  }

  void Source() {
    if (random_.Chance(0.4)) {
      const int64_t start = random_.Between(-3, 3), step = random_.Between(1, 3);
      elements_ = {{DType::kInt64}, {PartialShape(Shape())}, random_.Below(8)};
      const int64_t stop = start + step * elements_.count;
      dataset_ = sequence_.Step("RangeDataset",
                                {sequence_.Long(start), sequence_.Long(stop), sequence_.Long(step)},
                                Element())[0];
      return;
    }
    const bool slices = random_.Chance(0.8);
    elements_ = {{}, {}, slices ? random_.Below(7) : 1};
    std::vector<StepOutput> inputs;
    for (int64_t n = random_.Between(1, 2); n > 0; --n) {
      Shape shape = RandomShape(random_, 2);
      elements_.types.push_back(random_.Chance(0.3) ? DType::kFloat : DrawType(random_));
      elements_.shapes.emplace_back(shape);
      if (slices) shape.InsertDim(0, elements_.count);
      inputs.push_back(sequence_.Drawn(elements_.types.back(), shape));
    }
    const AttrMap attrs = {{"output_shapes", elements_.shapes}};
    dataset_ = sequence_.Step(slices ? "TensorSliceDataset" : "TensorDataset", inputs, attrs)[0];
  }

  void Transform() {
    int64_t& count = elements_.count;
    switch (random_.Below(25)) {
      case 0: {
        const int64_t taken = random_.Between(-1, 6);
        // TensorFlow counts less than -1 elements where it is told to take so many.
        Make("TakeDataset", {sequence_.Exactly(Tensor::Scalar<int64_t>(taken))});
        if (count >= 0 && taken >= 0) count = std::min(count, taken);
        break;
      }
      case 1: {
        const int64_t skipped = random_.Below(4);
        Make("SkipDataset", {sequence_.Long(skipped)});
        if (count >= 0) count = std::max<int64_t>(count - skipped, 0);
        break;
      }
      case 2: {
        // TensorFlow joins it with a shuffle before it, and makes no shuffle of no rounds.
        const int64_t times = random_.Between(is_shuffled_ ? 1 : 0, 2);
        Make("RepeatDataset", {sequence_.Long(times)});
        if (count >= 0) count *= times;
        break;
      }
      case 3:
      case 4:
        Batch();
        break;
      case 5: {
        const int64_t shards = random_.Between(1, 3), index = random_.Below(shards);
        Make("ShardDataset", {sequence_.Long(shards), sequence_.Long(index)});
        if (count >= 0) count = (count - index + shards - 1) / shards;
        break;
      }
      case 6:
        if (is_merged_) break;
        Make("ConcatenateDataset", {dataset_});
        if (count >= 0) count *= 2;
        break;
      case 7:
        Zip();
        break;
      case 8: {
        const StepOutput buffer = sequence_.Long(random_.Between(1, 5));
        Make("ShuffleDataset",
             {buffer, sequence_.Long(random_.Between(1, 99)),
              sequence_.Long(random_.Between(1, 99))},
             {{"reshuffle_each_iteration", random_.Chance(0.5)}});
        is_shuffled_ = true;
        break;
      }
      case 9:
        // Another name would be that of a file.
        Make("CacheDataset", {sequence_.Exactly(Tensor::Scalar(""))});
        break;
      case 10:
        Make("PrefetchDataset", {sequence_.Long(random_.Between(1, 3))});
        break;
      case 11:
        Map();
        break;
      case 12:
        Filter();
        break;
      case 13:
        Unbatch();
        break;
      case 14:
        Flatten();
        break;
      case 15:
        Scan();
        break;
      case 16:
        Window();
        break;
      case 17:
        Merge();
        break;
      case 18:
        Group();
        break;
      case 19:
      case 20:
        if (ShapesAreEqual()) AddWindows(sequence_, NewFunction(), &dataset_, &elements_);
        break;
      case 21:
        Sample();
        break;
      default:
        Wrap();
    }
  }

  // A part of the elements, or all of them several times, by seeds.
  void Sample() {
    const std::vector<StepOutput> seeds = {sequence_.Long(random_.Between(1, 99)),
                                           sequence_.Long(random_.Between(1, 99))};
    if (random_.Chance(0.5)) {
      const auto rate = static_cast<float>(random_.Below(5)) / 4;
      Make("SamplingDataset", {sequence_.Given(Tensor::Scalar(rate)), seeds[0], seeds[1]});
    } else {
      Make("ShuffleAndRepeatDataset",
           {sequence_.Long(random_.Between(1, 5)), seeds[0], seeds[1],
            sequence_.Long(random_.Between(1, 2))},
           {{"reshuffle_each_iteration", random_.Chance(0.5)}});
      is_shuffled_ = true;
    }
    elements_.count = -1;
  }

  // A dataset with the same elements. A FinalizeDataset is none: how many elements TensorFlow says
  // that it has falls as its optimizer does.
  void Wrap() {
    static const std::vector<std::string> plain = {
        "ModelDataset", "IgnoreErrorsDataset", "NonSerializableDataset",
        "ExperimentalNonSerializableDataset", "ExperimentalIgnoreErrorsDataset"};
    static const std::vector<std::string> numbered = {"MaxIntraOpParallelismDataset",
                                                      "PrivateThreadPoolDataset",
                                                      "SleepDataset",
                                                      "ExperimentalMaxIntraOpParallelismDataset",
                                                      "ExperimentalPrivateThreadPoolDataset",
                                                      "ExperimentalSleepDataset"};
    const int64_t way = random_.Below(6);
    if (way == 0) {
      Make(random_.Pick(plain), {});
    } else if (way == 1) {
      Make(random_.Pick(numbered), {sequence_.Long(1)});
    } else if (way == 2 && elements_.count >= 0) {
      Make("AssertCardinalityDataset", {sequence_.Long(elements_.count)});
    } else if (way == 3) {
      const StepOutput cache = sequence_.Step("AnonymousMemoryCache", {})[0];
      Make("CacheDatasetV2", {sequence_.Exactly(Tensor::Scalar("")), cache});
    } else if (way == 4) {
      const std::vector<StepOutput> seeds = {sequence_.Long(random_.Between(1, 99)),
                                             sequence_.Long(random_.Between(1, 99))};
      const StepOutput again = sequence_.Given(Tensor::Scalar<bool>(random_.Chance(0.5)));
      const StepOutput generator =
          sequence_.Step("AnonymousSeedGenerator", {seeds[0], seeds[1], again})[0];
      Make("ShuffleDatasetV3",
           {sequence_.Long(random_.Between(1, 5)), seeds[0], seeds[1], generator});
      is_shuffled_ = true;
    } else if (elements_.types.size() == 1 && elements_.types[0] == DType::kInt64) {
      Make(random_.Chance(0.5) ? "UniqueDataset" : "ExperimentalUniqueDataset", {});
      elements_.count = -1;
    }
  }

  // Batches that overlap, or whose sizes alternate.
  void Window() {
    if (!ShapesAreEqual()) return;
    if (random_.Chance(0.5)) {
      for (const PartialShape& shape : elements_.shapes) {
        if (shape.rank() == 0 || shape.dim(0) != elements_.shapes[0].dim(0)) return;
      }
      for (PartialShape& shape : elements_.shapes) shape.set_dim(0, -1);
      const StepOutput sizes = sequence_.Longs({random_.Between(1, 3), random_.Between(1, 3)});
      const StepOutput drops = sequence_.Given(Tensor::Scalar<bool>(random_.Chance(0.3)));
      Make("RebatchDatasetV2", {sizes, drops});
    } else {
      Enclose(-1, &elements_);
      // TensorFlow counts windows that are not whole even where it drops them.
      Make("SlidingWindowDataset",
           {sequence_.Long(random_.Between(1, 3)), sequence_.Long(random_.Between(1, 2)),
            sequence_.Long(random_.Between(1, 2))},
           {{"drop_remainder", false}});
    }
    elements_.count = -1;
  }

  // Batches of the numbers that have one remainder.
  void Group() {
    if (!IsNumber() || elements_.types[0] != DType::kInt64) return;
    const std::string key = NewFunction(), size = NewFunction(), reduce = NewFunction();
    const std::vector<DType> number = {DType::kInt64};
    DefineFunction(sequence_, key, number,
                   {Constant("two", Tensor::Scalar<int64_t>(2)),
                    {"key", "FloorMod", {"x0", "two:output:0"}, {{"T", DType::kInt64}}}},
                   {"key:z:0"}, number);
    DefineFunction(sequence_, size, number, {Constant("size", Tensor::Scalar<int64_t>(3))},
                   {"size:output:0"}, number);
    Enclose(-1, &elements_);
    DefineFunction(
        sequence_, reduce, {DType::kInt64, DType::kVariant},
        {Constant("size", Tensor::Scalar<int64_t>(3)),
         Constant("drops", Tensor::Scalar<bool>(false)),
         {"batch", "BatchDatasetV2", {"x1", "size:output:0", "drops:output:0"}, Element()}},
        {"batch:handle:0"}, {DType::kVariant});
    const std::vector<DType> none;
    Make("GroupByWindowDataset", {},
         {{"key_func", FunctionRef{key, {}}},
          {"reduce_func", FunctionRef{reduce, {}}},
          {"window_size_func", FunctionRef{size, {}}},
          {"Tkey_func_other_arguments", none},
          {"Treduce_func_other_arguments", none},
          {"Twindow_size_func_other_arguments", none}});
    elements_.count = -1;
  }

  // Elements of this dataset from two places, in the order that a third one gives.
  void Merge() {
    const StepOutput choices = sequence_.Given(Tensor::Vector<int64_t>({0, 1, 1, 0, 1}));
    const AttrMap slices = {{"output_shapes", std::vector<PartialShape>{PartialShape(Shape())}}};
    const StepOutput selector = sequence_.Step("TensorSliceDataset", {choices}, slices)[0];
    const StepOutput later =
        sequence_.Step("SkipDataset", {dataset_, sequence_.Long(1)}, Element())[0];
    AttrMap attrs = Element();
    attrs["N"] = 2;
    attrs["stop_on_empty_dataset"] = random_.Chance(0.4);
    dataset_ = sequence_.Step("DirectedInterleaveDataset", {selector, dataset_, later}, attrs)[0];
    is_merged_ = true;
    elements_.count = -1;
  }

  void Batch() {
    if (!ShapesAreEqual()) {
      PaddedBatch();
      return;
    }
    const int64_t size = random_.Between(1, 4);
    const bool drops = random_.Chance(0.4), parallel = random_.Chance(0.2);
    const int64_t before = elements_.count;
    Enclose(drops ? size : -1, &elements_);
    std::vector<StepOutput> inputs = {sequence_.Long(size)};
    if (parallel) inputs.push_back(sequence_.Long(2));
    inputs.push_back(sequence_.Given(Tensor::Scalar<bool>(drops)));
    Make(parallel ? "ParallelBatchDataset" : "BatchDatasetV2", inputs);
    if (before >= 0) elements_.count = drops ? before / size : (before + size - 1) / size;
  }

  void PaddedBatch() {
    const int64_t size = random_.Between(1, 4), before = elements_.count;
    std::vector<StepOutput> inputs = {sequence_.Long(size)}, padding;
    for (size_t i = 0; i < elements_.types.size(); ++i) {
      const absl::Span<const int64_t> dims = elements_.shapes[i].dims();
      inputs.push_back(sequence_.Longs({dims.begin(), dims.end()}));
      padding.push_back(sequence_.Drawn(elements_.types[i], Shape()));
    }
    inputs.insert(inputs.end(), padding.begin(), padding.end());
    inputs.push_back(sequence_.Given(Tensor::Scalar<bool>(false)));
    Enclose(-1, &elements_);
    AttrMap attrs = {{"Toutput_types", elements_.types},
                     {"output_shapes", elements_.shapes},
                     {"N", static_cast<int64_t>(elements_.types.size())}};
    inputs.insert(inputs.begin(), dataset_);
    dataset_ = sequence_.Step("PaddedBatchDatasetV2", inputs, attrs)[0];
    if (before >= 0) elements_.count = (before + size - 1) / size;
  }

  // Whether all elements have one shape, so that they can be batched.
  bool ShapesAreEqual() const {
    return std::all_of(elements_.shapes.begin(), elements_.shapes.end(),
                       [](const PartialShape& shape) { return shape.IsFullyDefined(); });
  }
  void Unbatch() {
    Elements inner = elements_;
    for (PartialShape& shape : inner.shapes) {
      // Components of scalars, and those whose lengths differ, are not taken apart.
      if (shape.rank() == 0 || shape.dim(0) != elements_.shapes[0].dim(0)) return;
      shape = PartialShape(shape.dims().subspan(1));
    }
    const int64_t rows = elements_.shapes[0].dim(0);
    inner.count = rows < 0 || inner.count < 0 ? -1 : inner.count * rows;
    elements_ = inner;
    Make("UnbatchDataset", {});
  }

  void Zip() {
    // Which of two shuffles of one dataset draws first is not defined.
    if (is_merged_ || is_shuffled_) return;
    const Elements one = elements_;
    elements_.types.insert(elements_.types.end(), one.types.begin(), one.types.end());
    elements_.shapes.insert(elements_.shapes.end(), one.shapes.begin(), one.shapes.end());
    if (elements_.types.size() > 4) {
      elements_ = one;
      return;
    }
    AttrMap attrs = Element();
    attrs["N"] = 2;
    dataset_ = sequence_.Step("ZipDataset", {dataset_, dataset_}, attrs)[0];
  }

  // Doubles the first component if it is a number, and swaps the first two.
  void Map() {
    const std::string name = NewFunction();
    std::vector<std::string> results;
    std::vector<FunctionNode> nodes;
    for (size_t i = 0; i < elements_.types.size(); ++i) results.push_back(absl::StrCat("x", i));
    const DType first = elements_.types[0];
    if (first == DType::kFloat || first == DType::kInt64 || first == DType::kInt32) {
      nodes.push_back({"sum", "AddV2", {"x0", "x0"}, {{"T", first}}});
      results[0] = "sum:z:0";
    }
    Elements mapped = elements_;
    if (results.size() > 1 && random_.Chance(0.5)) {
      std::swap(results[0], results[1]);
      std::swap(mapped.types[0], mapped.types[1]);
      std::swap(mapped.shapes[0], mapped.shapes[1]);
    }
    DefineFunction(sequence_, name, elements_.types, nodes, results, mapped.types);
    elements_ = mapped;
    const AttrMap attrs = {{"f", FunctionRef{name, {}}},
                           {"preserve_cardinality", random_.Chance(0.7)}};
    if (random_.Chance(0.6)) {
      Make("MapDataset", {}, attrs);
    } else if (ShapesAreEqual() && random_.Chance(0.4)) {
      const int64_t size = random_.Between(1, 3), before = elements_.count;
      Enclose(-1, &elements_);
      Make("MapAndBatchDataset",
           {sequence_.Long(size), sequence_.Long(random_.Between(1, 2)),
            sequence_.Given(Tensor::Scalar<bool>(false))},
           attrs);
      if (before >= 0) elements_.count = (before + size - 1) / size;
    } else {
      Make("ParallelMapDatasetV2", {sequence_.Long(random_.Between(1, 2))}, attrs);
    }
  }

  // Keeps, or takes as long as they come, the numbers below a bound.
  void Filter() {
    if (!IsNumber()) return;
    const std::string name = NewFunction();
    const DType type = elements_.types[0];
    const Tensor bound =
        ConvertedTensor(random_, Tensor::Scalar<int64_t>(random_.Between(-1, 8)), type);
    DefineFunction(
        sequence_, name, elements_.types,
        {Constant("bound", bound), {"less", "Less", {"x0", "bound:output:0"}, {{"T", type}}}},
        {"less:z:0"}, {DType::kBool});
    const AttrMap attrs = {{"predicate", FunctionRef{name, {}}}};
    // TensorFlow cannot write a ParallelFilterDataset down, as it does for each iterator.
    Make(random_.Chance(0.6) ? "FilterDataset" : "TakeWhileDataset", {}, attrs);
    elements_.count = -1;
  }

  // A range of numbers for each number.
  void Flatten() {
    if (!IsNumber() || elements_.types[0] != DType::kInt64) return;
    const std::string name = NewFunction();
    const AttrMap element = {{"output_types", std::vector<DType>{DType::kInt64}},
                             {"output_shapes", std::vector<PartialShape>{PartialShape(Shape())}}};
    DefineFunction(
        sequence_, name, elements_.types,
        {Constant("start", Tensor::Scalar<int64_t>(-1)),
         Constant("step", Tensor::Scalar<int64_t>(1)),
         Constant("most", Tensor::Scalar<int64_t>(4)),
         {"stop", "Minimum", {"x0", "most:output:0"}, {{"T", DType::kInt64}}},
         {"range", "RangeDataset", {"start:output:0", "stop:z:0", "step:output:0"}, element}},
        {"range:handle:0"}, {DType::kVariant});
    const AttrMap attrs = {{"f", FunctionRef{name, {}}}};
    if (random_.Chance(0.4)) {
      Make("FlatMapDataset", {}, attrs);
    } else {
      std::vector<StepOutput> sizes = {sequence_.Long(random_.Between(1, 3)),
                                       sequence_.Long(random_.Between(1, 2))};
      const bool parallel = random_.Chance(0.4);
      for (int n = 0; parallel && n < 3; ++n) {
        sizes.push_back(sequence_.Long(random_.Between(1, 2)));
      }
      Make(parallel ? "ParallelInterleaveDatasetV4" : "InterleaveDataset", sizes, attrs);
    }
    elements_.count = -1;
  }

  // The function of a scan or a reduction of numbers: the sum so far.
  std::string DefineSum(size_t num_results) {
    const std::string name = NewFunction();
    const DType type = elements_.types[0];
    DefineFunction(sequence_, name, {type, type}, {{"sum", "AddV2", {"x0", "x1"}, {{"T", type}}}},
                   std::vector<std::string>(num_results, "sum:z:0"),
                   std::vector<DType>(num_results, type));
    return name;
  }

  void Scan() {
    if (!IsNumber()) return;
    const std::string name = DefineSum(2);
    Make("ScanDataset", {sequence_.Drawn(elements_.types[0], Shape())},
         {{"f", FunctionRef{name, {}}},
          {"Tstate", elements_.types},
          {"Targuments", std::vector<DType>()}});
  }

  void Reduce() {
    AttrMap attrs = Element();
    attrs["f"] = FunctionRef{DefineSum(1), {}};
    attrs["Tstate"] = elements_.types;
    attrs["Targuments"] = std::vector<DType>();
    const StepOutput initial = sequence_.Drawn(elements_.types[0], Shape());
    sequence_.Step("ReduceDataset", {dataset_, initial}, attrs);
  }

  void Iterate() {
    AttrMap attrs = Element();
    attrs["shared_name"] = "iterator";
    attrs["container"] = "";
    const bool anonymous = random_.Chance(0.3);
    StepOutput iterator = anonymous ? sequence_.Step("AnonymousIteratorV3", {}, Element())[0]
                                    : sequence_.Step("IteratorV2", {}, attrs)[0];
    sequence_.Step("MakeIterator", {dataset_, iterator});
    if (!anonymous && random_.Chance(0.2)) {
      const StepOutput name = sequence_.Unseen("IteratorToStringHandle", {iterator})[0];
      iterator = sequence_.Step("IteratorFromStringHandleV2", {name}, Element())[0];
    }
    int64_t left = elements_.count;
    for (int64_t n = random_.Between(1, 8); n > 0; --n) {
      // An iterator that has ended is an error, and an optional without a value is none.
      const bool has_next = left > 0 || random_.Chance(0.04);
      if (has_next && random_.Chance(0.6)) {
        sequence_.Step(random_.Chance(0.8) ? "IteratorGetNext" : "IteratorGetNextSync", {iterator},
                       Element());
      } else {
        const StepOutput next =
            sequence_.Step("IteratorGetNextAsOptional", {iterator}, Element())[0];
        sequence_.Step("OptionalHasValue", {next});
        if (left > 0) sequence_.Step("OptionalGetValue", {next}, Element());
      }
      left = std::max<int64_t>(left - 1, elements_.count < 0 ? -1 : 0);
    }
  }

  Sequence& sequence_;
  Random& random_;
  StepOutput dataset_;
  Elements elements_;
  bool is_shuffled_ = false;
  // TensorFlow takes one dataset for another in a graph where a merged one is used twice.
  bool is_merged_ = false;
  int num_functions_ = 0;
};

void MakeDataset(Sequence& sequence) { DatasetSteps(sequence).Run(); }

void MakeOptional(Sequence& sequence) {
  Random& random = sequence.random();
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  std::vector<StepOutput> components;
  for (int64_t n = random.Between(1, 3); n > 0; --n) {
    const Shape shape = RandomShape(random, 2);
    types.push_back(DrawType(random));
    shapes.emplace_back(shape);
    components.push_back(sequence.Drawn(types.back(), shape));
  }
  const AttrMap element = {{"output_types", types}, {"output_shapes", shapes}};
  const StepOutput none = sequence.Step("OptionalNone", {})[0];
  sequence.Step("OptionalHasValue", {none});
  const StepOutput compressed = sequence.Step("CompressElement", components)[0];
  sequence.Step("UncompressElement", {compressed}, element);
  const StepOutput some = sequence.Step("OptionalFromValue", components)[0];
  sequence.Step("OptionalHasValue", {some});
  sequence.Step("OptionalGetValue", {sequence.Fails() ? none : some}, element);
}

}  // namespace

std::vector<SequenceMaker> DatasetMakers() {
  return {MakeDataset, MakeDataset, MakeDataset, MakeOptional};
}

}  // namespace tessera
