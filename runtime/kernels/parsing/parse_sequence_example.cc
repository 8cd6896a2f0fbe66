// ParseSequenceExample, ParseSequenceExampleV2 and ParseSingleSequenceExample.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/parsing/canonical_example.h"
#include "runtime/kernels/parsing/example_parser.h"
#include "runtime/kernels/parsing/feature_list_parser.h"

namespace tessera {
namespace {

struct SequenceSpec {
  ExampleSpec context;
  FeatureListSpec lists;
};

// What the attributes say; version 2 takes the keys as inputs.
SequenceSpec SpecFromAttrs(const KernelBuild& build) {
  SequenceSpec spec;
  auto types = [&](absl::string_view name) { return build.attr<std::vector<DType>>(name); };
  auto shapes = [&](absl::string_view name, size_t count) {
    auto list = build.attr<std::vector<PartialShape>>(name);
    if (list.size() != count) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat(name, " has ", list.size(), " shapes for ", count, " types")));
      list.resize(count);
    }
    return list;
  };
  for (DType type : types("context_sparse_types")) spec.context.sparse.push_back({"", type});
  const auto context_types = types("Tcontext_dense");
  const auto context_shapes = shapes("context_dense_shapes", context_types.size());
  for (size_t i = 0; i < context_types.size(); ++i) {
    spec.context.dense.push_back({"", context_types[i], context_shapes[i], Tensor()});
  }
  for (DType type : types("feature_list_sparse_types")) spec.lists.sparse.push_back({"", type});
  const auto list_types = types("feature_list_dense_types");
  const auto list_shapes = shapes("feature_list_dense_shapes", list_types.size());
  for (size_t i = 0; i < list_types.size(); ++i) {
    spec.lists.dense.push_back({"", list_types[i], list_shapes[i], false});
  }
  auto ragged = [&](const std::string& prefix, std::vector<RaggedFeature>* features) {
    if (!build.has_attr(prefix + "_value_types")) return;
    const auto values = types(prefix + "_value_types");
    const auto splits = types(prefix + "_split_types");
    if (values.size() != splits.size()) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat(prefix, " features need as many split types as value types")));
      return;
    }
    for (size_t i = 0; i < values.size(); ++i) features->push_back({"", values[i], splits[i]});
  };
  ragged("context_ragged", &spec.context.ragged);
  ragged("feature_list_ragged", &spec.lists.ragged);
  return spec;
}

// Gives the features their keys. Errors: INVALID_ARGUMENT unless there is one for each.
template <typename Feature>
absl::Status SetKeys(absl::Span<const std::string> keys, absl::string_view what,
                     std::vector<Feature>* features) {
  if (keys.size() != features->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", keys.size(), " ", what, " for ", features->size(), " features"));
  }
  for (size_t i = 0; i < keys.size(); ++i) (*features)[i].key = keys[i];
  return absl::OkStatus();
}

void SetOutputs(KernelContext& ctx, std::vector<Tensor> tensors, ArgRange range) {
  for (int i = 0; i < range.size(); ++i) ctx.set_output(range.begin + i, std::move(tensors[i]));
}

// Where the keys of the features come from: attributes, an input for all keys of a kind (version
// 2), or an input for each key (a single example).
enum class KeySource { kAttrs, kVectors, kScalars };

KeySource KeySourceOf(const std::string& op) {
  if (op == "ParseSequenceExampleV2") return KeySource::kVectors;
  return op == "ParseSingleSequenceExample" ? KeySource::kScalars : KeySource::kAttrs;
}

// Inputs: serialized (a vector; for version 2 also, and for a single example only, a scalar),
// names, keys unless they are attributes, and defaults of the context. Errors: those of the
// parsers.
class ParseSequenceExampleKernel : public OpKernel {
 public:
  explicit ParseSequenceExampleKernel(const KernelBuild& build)
      : keys_(KeySourceOf(build.op().name)),
        spec_(SpecFromAttrs(build)),
        defaults_(build.inputs("context_dense_defaults")) {
    spec_.context.form =
        keys_ == KeySource::kScalars ? ExampleForm::kSingleContext : ExampleForm::kContext;
    if (keys_ == KeySource::kScalars) {
      name_ = build.inputs("debug_name").begin;
      scalar_keys_ = {build.inputs("context_sparse_keys"), build.inputs("context_dense_keys"),
                      build.inputs("feature_list_sparse_keys"),
                      build.inputs("feature_list_dense_keys")};
    } else if (keys_ == KeySource::kVectors) {
      context_ragged_values_ = build.outputs("context_ragged_values");
      context_ragged_splits_ = build.outputs("context_ragged_row_splits");
      ragged_values_ = build.outputs("feature_list_ragged_values");
      outer_splits_ = build.outputs("feature_list_ragged_outer_splits");
      inner_splits_ = build.outputs("feature_list_ragged_inner_splits");
    } else {
      KeysFromAttrs(build);
    }
    context_indices_ = build.outputs("context_sparse_indices");
    context_values_ = build.outputs("context_sparse_values");
    context_shapes_ = build.outputs("context_sparse_shapes");
    context_dense_ = build.outputs("context_dense_values");
    sparse_indices_ = build.outputs("feature_list_sparse_indices");
    sparse_values_ = build.outputs("feature_list_sparse_values");
    sparse_shapes_ = build.outputs("feature_list_sparse_shapes");
    dense_values_ = build.outputs("feature_list_dense_values");
    if (keys_ != KeySource::kScalars) dense_lengths_ = build.outputs("feature_list_dense_lengths");
    if (build.status().ok() &&
        (context_indices_.size() != static_cast<int>(spec_.context.sparse.size()) ||
         sparse_indices_.size() != static_cast<int>(spec_.lists.sparse.size()) ||
         dense_values_.size() != static_cast<int>(spec_.lists.dense.size()) ||
         (keys_ != KeySource::kScalars && dense_lengths_.size() != dense_values_.size()))) {
      build.Fail(absl::InvalidArgumentError("there must be as many features as types"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    SequenceSpec spec = spec_;
    if (keys_ == KeySource::kVectors) RETURN_IF_ERROR(KeysFromVectors(ctx, &spec));
    if (keys_ == KeySource::kScalars) RETURN_IF_ERROR(KeysFromScalars(ctx, &spec));
    for (int i = 0; i < defaults_.size(); ++i) {
      spec.context.dense[i].default_value = ctx.input(defaults_.begin + i);
    }
    RETURN_IF_ERROR(CheckExampleSpec(spec.context));
    const Tensor& serialized = ctx.input(0);
    const Tensor& names = ctx.input(name_);
    const int least_rank = keys_ == KeySource::kAttrs ? 1 : 0;
    const int greatest_rank = keys_ == KeySource::kScalars ? 0 : 1;
    if (serialized.rank() < least_rank || serialized.rank() > greatest_rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("serialized must be a ", greatest_rank == 0 ? "scalar" : "vector",
                       ", has shape ", serialized.shape().ToString()));
    }
    if (keys_ == KeySource::kScalars && !names.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("debug_name must be a scalar, has shape ", names.shape().ToString()));
    }
    if (names.num_elements() != 0 && names.num_elements() != serialized.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", names.num_elements(),
                                                     " names for ", serialized.num_elements(),
                                                     " examples"));
    }
    const bool batched = serialized.rank() == 1;
    absl::Span<const std::string> messages = serialized.flat<std::string>();
    std::string canonical;
    if (keys_ == KeySource::kScalars) {
      ASSIGN_OR_RETURN(canonical, CanonicalSequenceExample(messages[0]));
      messages = absl::MakeConstSpan(&canonical, 1);
    }
    // The context of a SequenceExample has the place and form of an Example's features.
    ASSIGN_OR_RETURN(ParsedExamples context,
                     ParseExamples(spec.context, messages, names.flat<std::string>(), batched,
                                   ctx.host_allocator()));
    ASSIGN_OR_RETURN(ParsedFeatureLists lists,
                     ParseFeatureLists(spec.lists, messages, names.flat<std::string>(), batched,
                                       ctx.host_allocator()));
    SetOutputs(ctx, std::move(context.sparse_indices), context_indices_);
    SetOutputs(ctx, std::move(context.sparse_values), context_values_);
    SetOutputs(ctx, std::move(context.sparse_shapes), context_shapes_);
    SetOutputs(ctx, std::move(context.dense_values), context_dense_);
    SetOutputs(ctx, std::move(context.ragged_values), context_ragged_values_);
    SetOutputs(ctx, std::move(context.ragged_row_splits), context_ragged_splits_);
    SetOutputs(ctx, std::move(lists.sparse_indices), sparse_indices_);
    SetOutputs(ctx, std::move(lists.sparse_values), sparse_values_);
    SetOutputs(ctx, std::move(lists.sparse_shapes), sparse_shapes_);
    SetOutputs(ctx, std::move(lists.dense_values), dense_values_);
    SetOutputs(ctx, std::move(lists.dense_lengths), dense_lengths_);
    SetOutputs(ctx, std::move(lists.ragged_values), ragged_values_);
    SetOutputs(ctx, std::move(lists.ragged_outer_splits), outer_splits_);
    SetOutputs(ctx, std::move(lists.ragged_inner_splits), inner_splits_);
    return absl::OkStatus();
  }

 private:
  void KeysFromAttrs(const KernelBuild& build) {
    auto set = [&](absl::string_view name, auto* features) {
      build.Fail(SetKeys(build.attr<std::vector<std::string>>(name), name, features));
    };
    set("context_sparse_keys", &spec_.context.sparse);
    set("context_dense_keys", &spec_.context.dense);
    set("feature_list_sparse_keys", &spec_.lists.sparse);
    set("feature_list_dense_keys", &spec_.lists.dense);
    const auto optional =
        build.attr<std::vector<std::string>>("feature_list_dense_missing_assumed_empty");
    for (DenseFeatureList& list : spec_.lists.dense) {
      list.may_be_missing = std::find(optional.begin(), optional.end(), list.key) != optional.end();
    }
  }

  // Inputs 2 to 8, in the order of their declaration.
  static absl::Status KeysFromVectors(KernelContext& ctx, SequenceSpec* spec) {
    auto keys = [&](int i) { return ctx.input(i).flat<std::string>(); };
    RETURN_IF_ERROR(SetKeys(keys(2), "context_sparse_keys", &spec->context.sparse));
    RETURN_IF_ERROR(SetKeys(keys(3), "context_dense_keys", &spec->context.dense));
    RETURN_IF_ERROR(SetKeys(keys(4), "context_ragged_keys", &spec->context.ragged));
    RETURN_IF_ERROR(SetKeys(keys(5), "feature_list_sparse_keys", &spec->lists.sparse));
    RETURN_IF_ERROR(SetKeys(keys(6), "feature_list_dense_keys", &spec->lists.dense));
    RETURN_IF_ERROR(SetKeys(keys(7), "feature_list_ragged_keys", &spec->lists.ragged));
    const Tensor& optional = ctx.input(8);
    if (optional.num_elements() != static_cast<int64_t>(spec->lists.dense.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature_list_dense_missing_assumed_empty must have ", spec->lists.dense.size(),
          " elements, has shape ", optional.shape().ToString()));
    }
    for (size_t i = 0; i < spec->lists.dense.size(); ++i) {
      spec->lists.dense[i].may_be_missing = optional.data<bool>()[i];
    }
    return absl::OkStatus();
  }

  absl::Status KeysFromScalars(KernelContext& ctx, SequenceSpec* spec) const {
    absl::Status status;
    const auto set = [&](int kind, absl::string_view what, auto* features) {
      std::vector<std::string> keys;
      for (int i = scalar_keys_[kind].begin; i < scalar_keys_[kind].end; ++i) {
        if (!ctx.input(i).shape().IsScalar()) {
          status.Update(absl::InvalidArgumentError(absl::StrCat(
              what, " must be scalars, one has shape ", ctx.input(i).shape().ToString())));
          return;
        }
        keys.push_back(ctx.input(i).scalar<std::string>());
      }
      status.Update(SetKeys(keys, what, features));
    };
    set(0, "context_sparse_keys", &spec->context.sparse);
    set(1, "context_dense_keys", &spec->context.dense);
    set(2, "feature_list_sparse_keys", &spec->lists.sparse);
    set(3, "feature_list_dense_keys", &spec->lists.dense);
    if (!ctx.input(1).shape().IsVector()) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat("feature_list_dense_missing_assumed_empty must be a vector, has shape ",
                       ctx.input(1).shape().ToString())));
    }
    const auto optional = ctx.input(1).flat<std::string>();
    for (DenseFeatureList& list : spec->lists.dense) {
      list.may_be_missing = std::find(optional.begin(), optional.end(), list.key) != optional.end();
    }
    return status;
  }

  const KeySource keys_;
  SequenceSpec spec_;
  const ArgRange defaults_;
  int name_ = 1;                           // the input with the names of the examples
  std::array<ArgRange, 4> scalar_keys_{};  // in the order of KeysFromScalars()
  ArgRange context_indices_, context_values_, context_shapes_, context_dense_;
  ArgRange context_ragged_values_, context_ragged_splits_;
  ArgRange sparse_indices_, sparse_values_, sparse_shapes_, dense_values_, dense_lengths_;
  ArgRange ragged_values_, outer_splits_, inner_splits_;
};
REGISTER_KERNEL("ParseSequenceExample", kCpu, ParseSequenceExampleKernel);
REGISTER_KERNEL("ParseSequenceExampleV2", kCpu, ParseSequenceExampleKernel);
REGISTER_KERNEL("ParseSingleSequenceExample", kCpu, ParseSequenceExampleKernel);

}  // namespace
}  // namespace tessera
