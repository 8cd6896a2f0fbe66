// ParseExample, ParseExampleV2 and ParseSingleExample.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/parsing/example_parser.h"

namespace tessera {
namespace {

// What the attributes say; keys and defaults are inputs, except for ParseSingleExample's keys.
ExampleSpec SpecFromAttrs(const KernelBuild& build) {
  ExampleSpec spec;
  const auto dense_types = build.attr<std::vector<DType>>("Tdense");
  const auto dense_shapes = build.attr<std::vector<PartialShape>>("dense_shapes");
  if (dense_types.size() != dense_shapes.size()) {
    build.Fail(absl::InvalidArgumentError(absl::StrCat("there are ", dense_types.size(),
                                                       " dense types but ", dense_shapes.size(),
                                                       " dense shapes")));
    return spec;
  }
  for (size_t i = 0; i < dense_types.size(); ++i) {
    spec.dense.push_back({"", dense_types[i], dense_shapes[i], Tensor()});
  }
  for (DType type : build.attr<std::vector<DType>>("sparse_types")) {
    spec.sparse.push_back({"", type});
  }
  return spec;
}

// Input `i` as `count` keys.
absl::Status ReadKeys(const Tensor& keys, size_t count, absl::string_view what,
                      absl::FunctionRef<void(size_t, const std::string&)> set) {
  if (keys.rank() != 1 || keys.dim(0) != static_cast<int64_t>(count)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must be a vector of ", count, " strings, has shape ", keys.shape().ToString()));
  }
  for (size_t i = 0; i < count; ++i) set(i, keys.flat<std::string>()[i]);
  return absl::OkStatus();
}

void SetOutputs(KernelContext& ctx, std::vector<Tensor> tensors, ArgRange range) {
  for (int i = 0; i < range.size(); ++i) ctx.set_output(range.begin + i, std::move(tensors[i]));
}

// Inputs: serialized (a vector; for V2 also a scalar), names, keys, defaults.
class ParseExampleKernel : public OpKernel {
 public:
  explicit ParseExampleKernel(const KernelBuild& build)
      : is_v2_(build.op().name == "ParseExampleV2"),
        spec_(SpecFromAttrs(build)),
        sparse_keys_(build.inputs("sparse_keys")),
        dense_keys_(build.inputs("dense_keys")),
        defaults_(build.inputs("dense_defaults")),
        sparse_indices_(build.outputs("sparse_indices")),
        sparse_values_(build.outputs("sparse_values")),
        sparse_shapes_(build.outputs("sparse_shapes")),
        dense_values_(build.outputs("dense_values")) {
    if (is_v2_) {
      ragged_keys_ = build.inputs("ragged_keys");
      ragged_values_ = build.outputs("ragged_values");
      ragged_splits_ = build.outputs("ragged_row_splits");
      const auto values = build.attr<std::vector<DType>>("ragged_value_types");
      const auto splits = build.attr<std::vector<DType>>("ragged_split_types");
      if (values.size() != splits.size()) {
        build.Fail(absl::InvalidArgumentError(
            "ragged_value_types and ragged_split_types must be equally many"));
        return;
      }
      for (size_t i = 0; i < values.size(); ++i) spec_.ragged.push_back({"", values[i], splits[i]});
    }
    if (build.status().ok() && (sparse_indices_.size() != static_cast<int>(spec_.sparse.size()) ||
                                sparse_shapes_.size() != static_cast<int>(spec_.sparse.size()))) {
      build.Fail(
          absl::InvalidArgumentError("sparse_types and the number of sparse features differ"));
    }
    if (build.status().ok() && !is_v2_ &&
        dense_keys_.size() != static_cast<int>(spec_.dense.size())) {
      build.Fail(absl::InvalidArgumentError("Tdense and the number of dense features differ"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    ExampleSpec spec = spec_;
    RETURN_IF_ERROR(ReadInputs(ctx, &spec));
    RETURN_IF_ERROR(CheckExampleSpec(spec));
    const Tensor& serialized = ctx.input(0);
    const Tensor& names = ctx.input(1);
    if (serialized.rank() > 1 || (serialized.rank() == 0 && !is_v2_)) {
      return absl::InvalidArgumentError(
          absl::StrCat("serialized must be a vector, has shape ", serialized.shape().ToString()));
    }
    if (names.num_elements() != 0 && names.num_elements() != serialized.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", names.num_elements(),
                                                     " names for ", serialized.num_elements(),
                                                     " examples"));
    }
    ASSIGN_OR_RETURN(ParsedExamples parsed,
                     ParseExamples(spec, serialized.flat<std::string>(), names.flat<std::string>(),
                                   serialized.rank() == 1, ctx.host_allocator()));
    SetOutputs(ctx, std::move(parsed.sparse_indices), sparse_indices_);
    SetOutputs(ctx, std::move(parsed.sparse_values), sparse_values_);
    SetOutputs(ctx, std::move(parsed.sparse_shapes), sparse_shapes_);
    SetOutputs(ctx, std::move(parsed.dense_values), dense_values_);
    SetOutputs(ctx, std::move(parsed.ragged_values), ragged_values_);
    SetOutputs(ctx, std::move(parsed.ragged_row_splits), ragged_splits_);
    return absl::OkStatus();
  }

 private:
  // Keys are vectors in V2, a scalar each before.
  absl::Status ReadInputs(KernelContext& ctx, ExampleSpec* spec) const {
    if (is_v2_) {
      RETURN_IF_ERROR(
          ReadKeys(ctx.input(sparse_keys_.begin), spec->sparse.size(), "sparse_keys",
                   [&](size_t i, const std::string& key) { spec->sparse[i].key = key; }));
      RETURN_IF_ERROR(
          ReadKeys(ctx.input(dense_keys_.begin), spec->dense.size(), "dense_keys",
                   [&](size_t i, const std::string& key) { spec->dense[i].key = key; }));
      RETURN_IF_ERROR(
          ReadKeys(ctx.input(ragged_keys_.begin), spec->ragged.size(), "ragged_keys",
                   [&](size_t i, const std::string& key) { spec->ragged[i].key = key; }));
    } else {
      for (int i = 0; i < sparse_keys_.size() + dense_keys_.size(); ++i) {
        const bool sparse = i < sparse_keys_.size();
        const int at = sparse ? i : i - sparse_keys_.size();
        const Tensor& key = ctx.input((sparse ? sparse_keys_ : dense_keys_).begin + at);
        if (key.num_elements() != 1) {
          return absl::InvalidArgumentError("each key must be one string");
        }
        (sparse ? spec->sparse[at].key : spec->dense[at].key) = key.scalar<std::string>();
      }
    }
    for (int i = 0; i < defaults_.size(); ++i) {
      spec->dense[i].default_value = ctx.input(defaults_.begin + i);
    }
    return absl::OkStatus();
  }

  const bool is_v2_;
  ExampleSpec spec_;
  const ArgRange sparse_keys_, dense_keys_, defaults_;
  ArgRange ragged_keys_;
  const ArgRange sparse_indices_, sparse_values_, sparse_shapes_, dense_values_;
  ArgRange ragged_values_, ragged_splits_;
};
REGISTER_KERNEL("ParseExample", kCpu, ParseExampleKernel);
REGISTER_KERNEL("ParseExampleV2", kCpu, ParseExampleKernel);

// One example, keys as attributes.
class ParseSingleExampleKernel : public OpKernel {
 public:
  explicit ParseSingleExampleKernel(const KernelBuild& build)
      : spec_(SpecFromAttrs(build)),
        defaults_(build.inputs("dense_defaults")),
        sparse_indices_(build.outputs("sparse_indices")),
        sparse_values_(build.outputs("sparse_values")),
        sparse_shapes_(build.outputs("sparse_shapes")),
        dense_values_(build.outputs("dense_values")) {
    const auto sparse_keys = build.attr<std::vector<std::string>>("sparse_keys");
    const auto dense_keys = build.attr<std::vector<std::string>>("dense_keys");
    if (sparse_keys.size() != spec_.sparse.size() || dense_keys.size() != spec_.dense.size() ||
        sparse_indices_.size() != static_cast<int>(spec_.sparse.size())) {
      build.Fail(absl::InvalidArgumentError("there must be as many keys as types"));
      return;
    }
    for (size_t i = 0; i < sparse_keys.size(); ++i) spec_.sparse[i].key = sparse_keys[i];
    for (size_t i = 0; i < dense_keys.size(); ++i) spec_.dense[i].key = dense_keys[i];
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& serialized = ctx.input(0);
    if (serialized.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("serialized must be a scalar, has shape ", serialized.shape().ToString()));
    }
    ExampleSpec spec = spec_;
    for (int i = 0; i < defaults_.size(); ++i) {
      spec.dense[i].default_value = ctx.input(defaults_.begin + i);
    }
    RETURN_IF_ERROR(CheckExampleSpec(spec));
    ASSIGN_OR_RETURN(ParsedExamples parsed, ParseExamples(spec, serialized.flat<std::string>(), {},
                                                          false, ctx.host_allocator()));
    SetOutputs(ctx, std::move(parsed.sparse_indices), sparse_indices_);
    SetOutputs(ctx, std::move(parsed.sparse_values), sparse_values_);
    SetOutputs(ctx, std::move(parsed.sparse_shapes), sparse_shapes_);
    SetOutputs(ctx, std::move(parsed.dense_values), dense_values_);
    return absl::OkStatus();
  }

 private:
  ExampleSpec spec_;
  const ArgRange defaults_, sparse_indices_, sparse_values_, sparse_shapes_, dense_values_;
};
REGISTER_KERNEL("ParseSingleExample", kCpu, ParseSingleExampleKernel);

}  // namespace
}  // namespace tessera
