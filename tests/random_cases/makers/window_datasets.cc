#include "tests/random_cases/makers/window_datasets.h"

#include "absl/strings/str_cat.h"
#include "tests/random_cases/makers/sequence_functions.h"

namespace tessera {
namespace {

// Defines a function from the components of a window, datasets, to one dataset of their elements,
// which are in batches if `size` is not 0.
void DefineJoin(Sequence& sequence, const std::string& name, const Elements& elements, int64_t size,
                bool drops) {
  const size_t count = elements.types.size();
  std::vector<FunctionNode> nodes;
  std::string joined = "x0";
  if (count > 1) {
    FunctionNode zip = {"zip", "ZipDataset", {}, ElementAttrs(elements)};
    for (size_t i = 0; i < count; ++i) zip.inputs.push_back(absl::StrCat("x", i));
    zip.attrs["N"] = static_cast<int64_t>(count);
    nodes.push_back(zip);
    joined = "zip:handle:0";
  }
  if (size > 0) {
    Elements batches = elements;
    Enclose(drops ? size : -1, &batches);
    nodes.push_back(Constant("size", Tensor::Scalar<int64_t>(size)));
    nodes.push_back(Constant("drops", Tensor::Scalar<bool>(drops)));
    nodes.push_back({"batch",
                     "BatchDatasetV2",
                     {joined, "size:output:0", "drops:output:0"},
                     ElementAttrs(batches)});
    joined = "batch:handle:0";
  }
  DefineFunction(sequence, name, std::vector<DType>(count, DType::kVariant), nodes, {joined},
                 {DType::kVariant});
}

// Defines a function from the components of a window to the number of elements that the first has.
void DefineCount(Sequence& sequence, const std::string& name, const Elements& elements) {
  const std::string add = absl::StrCat(name, "_add");
  std::vector<DType> args = {DType::kInt64};
  args.insert(args.end(), elements.types.begin(), elements.types.begin() + 1);
  DefineFunction(sequence, add, args,
                 {Constant("one", Tensor::Scalar<int64_t>(1)),
                  {"sum", "AddV2", {"x0", "one:output:0"}, {{"T", DType::kInt64}}}},
                 {"sum:z:0"}, {DType::kInt64});
  const std::vector<DType> number = {DType::kInt64};
  AttrMap attrs = ElementAttrs(number, {PartialShape(Shape())});
  attrs["f"] = FunctionRef{add, {}};
  attrs["Tstate"] = number;
  attrs["Targuments"] = std::vector<DType>();
  attrs["use_inter_op_parallelism"] = true;
  DefineFunction(sequence, name, std::vector<DType>(elements.types.size(), DType::kVariant),
                 {Constant("none", Tensor::Scalar<int64_t>(0)),
                  {"count", "ReduceDataset", {"x0", "none:output:0"}, attrs}},
                 {"count:components:0"}, number);
}

}  // namespace

AttrMap ElementAttrs(const std::vector<DType>& types, const std::vector<PartialShape>& shapes) {
  return {{"output_types", types}, {"output_shapes", shapes}};
}

void Enclose(int64_t dim, Elements* elements) {
  for (PartialShape& shape : elements->shapes) {
    PartialShape whole({dim});
    for (const int64_t inner : shape.dims()) whole.AddDim(inner);
    shape = whole;
  }
}

void AddWindows(Sequence& sequence, const std::string& name, StepOutput* dataset,
                Elements* elements) {
  Random& random = sequence.random();
  const int64_t size = random.Between(1, 4);
  const bool drops = random.Chance(0.4);
  const size_t count = elements->types.size();
  const AttrMap windows = ElementAttrs(std::vector<DType>(count, DType::kVariant),
                                       std::vector<PartialShape>(count, PartialShape(Shape())));
  *dataset = sequence.Step(
      "WindowDataset",
      {*dataset, sequence.Long(size), sequence.Long(random.Between(1, 3)),
       sequence.Long(random.Between(1, 2)), sequence.Given(Tensor::Scalar<bool>(drops))},
      windows)[0];
  if (random.Chance(0.3)) sequence.Step("DatasetCardinality", {*dataset});
  const int64_t way = random.Below(5);
  AttrMap attrs = {{"f", FunctionRef{name, {}}}, {"Targuments", std::vector<DType>()}};
  std::string op = "FlatMapDataset";
  std::vector<StepOutput> inputs = {*dataset};
  if (way == 0) {
    DefineCount(sequence, name, *elements);
    *elements = {{DType::kInt64}, {PartialShape(Shape())}, -1};
    op = "MapDataset";
  } else {
    const int64_t batch = way == 1 ? 0 : random.Between(1, 4);
    const bool drops_rest = random.Chance(0.4);
    DefineJoin(sequence, name, *elements, batch, drops_rest);
    if (batch > 0) Enclose(drops_rest ? batch : -1, elements);
    if (way == 4) {
      op = "InterleaveDataset";
      inputs.push_back(sequence.Long(random.Between(1, 3)));
      inputs.push_back(sequence.Long(random.Between(1, 2)));
    }
  }
  elements->count = -1;
  attrs.merge(ElementAttrs(*elements));
  *dataset = sequence.Step(op, inputs, attrs)[0];
}

}  // namespace tessera
