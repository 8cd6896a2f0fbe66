// ParseExampleDataset and its versions: batches of serialized tf.Examples, parsed as ParseExample
// does. The components stand in the order of their keys; a sparse one is a vector of three
// variants, its indices, values and shape, and a ragged one a variant.
#include <map>

#include "runtime/kernels/data/transformations.h"
#include "runtime/kernels/parsing/example_parser.h"
#include "runtime/kernels/ragged_variant.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {
namespace {

Tensor SparseVariants(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  std::vector<Variant> variants;
  for (const Tensor& tensor : {indices, values, shape}) {
    variants.emplace_back(
        std::make_shared<EncodedVariant>("tensorflow::Tensor", "", std::vector<Tensor>{tensor}));
  }
  return Tensor::Vector<Variant>(variants);
}

Tensor RaggedScalar(Tensor row_splits, Tensor values) {
  return Tensor::Scalar<Variant>(Variant(std::make_shared<RaggedVariant>(
      std::vector<Tensor>{std::move(row_splits)}, std::move(values))));
}

// What is parsed, and the position of each feature among the components.
struct ParsePlan {
  ExampleSpec spec;
  std::vector<size_t> sparse_at, dense_at, ragged_at;
};

absl::Status ParseBatch(const ParsePlan& plan, const Element& batch, Allocator* allocator,
                        Element* parsed) {
  if (batch.size() != 1 || batch[0].dtype() != DType::kString || batch[0].rank() != 1) {
    return absl::InvalidArgumentError(
        "the elements of the input must be vectors of serialized examples");
  }
  ASSIGN_OR_RETURN(ParsedExamples examples,
                   ParseExamples(plan.spec, batch[0].flat<std::string>(), {}, true, allocator));
  parsed->resize(plan.sparse_at.size() + plan.dense_at.size() + plan.ragged_at.size());
  for (size_t i = 0; i < plan.sparse_at.size(); ++i) {
    (*parsed)[plan.sparse_at[i]] = SparseVariants(
        examples.sparse_indices[i], examples.sparse_values[i], examples.sparse_shapes[i]);
  }
  for (size_t i = 0; i < plan.dense_at.size(); ++i) {
    (*parsed)[plan.dense_at[i]] = std::move(examples.dense_values[i]);
  }
  for (size_t i = 0; i < plan.ragged_at.size(); ++i) {
    (*parsed)[plan.ragged_at[i]] = RaggedScalar(std::move(examples.ragged_row_splits[i]),
                                                std::move(examples.ragged_values[i]));
  }
  return absl::OkStatus();
}

class ParseExampleDatasetKernel final : public DatasetKernel {
 public:
  explicit ParseExampleDatasetKernel(const KernelBuild& build)
      : spec_(SpecOf(build)), defaults_(build.inputs("dense_defaults")) {
    const auto sparse_keys = build.attr<std::vector<std::string>>("sparse_keys");
    const auto sparse_types = build.attr<std::vector<DType>>("sparse_types");
    const auto dense_keys = build.attr<std::vector<std::string>>("dense_keys");
    const auto dense_types = build.attr<std::vector<DType>>("Tdense");
    const auto dense_shapes = build.attr<std::vector<PartialShape>>("dense_shapes");
    std::vector<std::string> ragged_keys;
    std::vector<DType> ragged_types, split_types;
    if (build.has_attr("ragged_keys")) {  // not in the oldest version
      ragged_keys = build.attr<std::vector<std::string>>("ragged_keys");
      ragged_types = build.attr<std::vector<DType>>("ragged_value_types");
      split_types = build.attr<std::vector<DType>>("ragged_split_types");
    }
    if (sparse_keys.size() != sparse_types.size() || dense_keys.size() != dense_types.size() ||
        dense_keys.size() != dense_shapes.size() ||
        static_cast<size_t>(defaults_.size()) != dense_keys.size() ||
        ragged_keys.size() != ragged_types.size() || ragged_keys.size() != split_types.size() ||
        spec_.dtypes.size() != sparse_keys.size() + dense_keys.size() + ragged_keys.size()) {
      build.Fail(absl::InvalidArgumentError(
          "there must be as many keys as types, shapes, defaults and components"));
    }
    if (!build.status().ok()) return;
    std::map<std::string, size_t> position;
    const auto add = [&](const std::vector<std::string>& keys) {
      for (const std::string& key : keys) position.emplace(key, 0);
    };
    add(sparse_keys);
    add(dense_keys);
    add(ragged_keys);
    if (position.size() != spec_.dtypes.size()) {
      build.Fail(absl::InvalidArgumentError("two features have one key"));
      return;
    }
    size_t next = 0;
    for (auto& [key, at] : position) at = next++;
    for (size_t i = 0; i < sparse_keys.size(); ++i) {
      plan_.spec.sparse.push_back({sparse_keys[i], sparse_types[i]});
      plan_.sparse_at.push_back(position[sparse_keys[i]]);
    }
    for (size_t i = 0; i < dense_keys.size(); ++i) {
      plan_.spec.dense.push_back({dense_keys[i], dense_types[i], dense_shapes[i], Tensor()});
      plan_.dense_at.push_back(position[dense_keys[i]]);
    }
    for (size_t i = 0; i < ragged_keys.size(); ++i) {
      plan_.spec.ragged.push_back({ragged_keys[i], ragged_types[i], split_types[i]});
      plan_.ragged_at.push_back(position[ragged_keys[i]]);
    }
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t calls, ScalarInput<int64_t>(ctx, 1, "num_parallel_calls"));
    RETURN_IF_ERROR(CheckParallelCalls(calls));
    auto plan = std::make_shared<ParsePlan>(plan_);
    for (int i = 0; i < defaults_.size(); ++i) {
      plan->spec.dense[i].default_value = ctx.input(defaults_.begin + i);
    }
    RETURN_IF_ERROR(CheckExampleSpec(plan->spec));
    const auto parse = [plan, allocator = ctx.host_allocator()](StepContext&, Element batch,
                                                                Element* parsed) {
      return ParseBatch(*plan, batch, allocator, parsed);
    };
    return ParallelMapped(
        input, spec_,
        {.function = parse, .num_parallel_calls = calls, .preserves_cardinality = true});
  }

 private:
  const ElementSpec spec_;
  const ArgRange defaults_;
  ParsePlan plan_;
};
REGISTER_KERNEL("ParseExampleDataset", kCpu, ParseExampleDatasetKernel);
REGISTER_KERNEL("ParseExampleDatasetV2", kCpu, ParseExampleDatasetKernel);
REGISTER_KERNEL("ExperimentalParseExampleDataset", kCpu, ParseExampleDatasetKernel);

}  // namespace
}  // namespace tessera
