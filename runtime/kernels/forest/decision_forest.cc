// The ops of TensorFlow Decision Forests: a model is made, loaded from its folder, and asked.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/forest/forest_model.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// The resource behind a handle, or an identifier, of a model. Thread-safe.
class ForestResource final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "decision_forest";

  void Set(std::shared_ptr<const ForestModel> model) {
    absl::MutexLock lock(&mu_);
    model_.swap(model);
  }
  // Errors: FAILED_PRECONDITION if no model was loaded.
  absl::StatusOr<std::shared_ptr<const ForestModel>> Get() const {
    absl::MutexLock lock(&mu_);
    if (model_ == nullptr) return absl::FailedPreconditionError("no decision forest was loaded");
    return model_;
  }
  std::string DebugString() const override {
    absl::MutexLock lock(&mu_);
    if (model_ == nullptr) return "decision forest, not loaded";
    return absl::StrCat("decision forest of ", model_->forest().trees.size(), " trees");
  }

 private:
  mutable absl::Mutex mu_;
  std::shared_ptr<const ForestModel> model_ ABSL_GUARDED_BY(mu_);
};

// Models without handles are found by their identifiers in a container of their own.
constexpr absl::string_view kIdentified = "decision_forests_by_identifier";

absl::StatusOr<IntrusivePtr<ForestResource>> FindByIdentifier(KernelContext& ctx,
                                                              const std::string& identifier) {
  ASSIGN_OR_RETURN(const IntrusivePtr<Resource> found,
                   ctx.resources().Lookup(kIdentified, ForestResource::kTypeName, identifier));
  return IntrusivePtr<ForestResource>(static_cast<ForestResource*>(found.get()));
}

class CreateKernel final : public ResourceHandleKernel {
 public:
  explicit CreateKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, ForestResource::kTypeName) {}

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext&) override {
    return IntrusivePtr<Resource>(new ForestResource);
  }
};
REGISTER_KERNEL("SimpleMLCreateModelResource", kCpu, CreateKernel);

absl::StatusOr<std::shared_ptr<const ForestModel>> LoadFrom(const Tensor& path,
                                                            absl::string_view file_prefix) {
  if (path.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("path must be a scalar, has shape ", path.shape().ToString()));
  }
  return ForestModel::Load(path.flat<std::string>()[0], file_prefix);
}

// Inputs: the model's handle and the path of its folder.
class LoadKernel final : public OpKernel {
 public:
  explicit LoadKernel(const KernelBuild& build)
      : file_prefix_(build.attr<std::string>("file_prefix")) {
    for (const std::string& type : build.attr<std::vector<std::string>>("output_types")) {
      // The leaves can be asked for whether or not this is said.
      if (type != "LEAVES") {
        build.Fail(absl::InvalidArgumentError(absl::StrCat("unknown output type: ", type)));
      }
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto resource, ResourceInput<ForestResource>(ctx, 0));
    ASSIGN_OR_RETURN(auto model, LoadFrom(ctx.input(1), file_prefix_));
    resource->Set(std::move(model));
    return absl::OkStatus();
  }

 private:
  const std::string file_prefix_;
};
REGISTER_KERNEL("SimpleMLLoadModelFromPathWithHandle", kCpu, LoadKernel);

// Input: the path of the folder.
class LoadIdentifiedKernel final : public OpKernel {
 public:
  explicit LoadIdentifiedKernel(const KernelBuild& build)
      : identifier_(build.attr<std::string>("model_identifier")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(auto model, LoadFrom(ctx.input(0), ""));
    RETURN_IF_ERROR(ctx.resources()
                        .LookupOrCreate(kIdentified, ForestResource::kTypeName, identifier_,
                                        [] { return IntrusivePtr<Resource>(new ForestResource); })
                        .status());
    ASSIGN_OR_RETURN(const auto resource, FindByIdentifier(ctx, identifier_));
    resource->Set(std::move(model));
    return absl::OkStatus();
  }

 private:
  const std::string identifier_;
};
REGISTER_KERNEL("SimpleMLLoadModelFromPath", kCpu, LoadIdentifiedKernel);

// The examples of a call, checked.
struct Examples {
  ForestInputs inputs;
  std::vector<int64_t> set_splits;
  int64_t count = 0;
};

// Notes the number of rows of a matrix that has as many columns as the model takes. Matrices of
// kinds that it does not take are left out of account.
absl::Status NoteMatrix(const Tensor& matrix, absl::string_view name, size_t num_columns,
                        int64_t* count) {
  if (matrix.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a matrix, has shape ", matrix.shape().ToString()));
  }
  if (num_columns == 0) return absl::OkStatus();
  if (matrix.dim(1) != static_cast<int64_t>(num_columns)) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has shape ", matrix.shape().ToString(),
                                                   ", the model takes ", num_columns, " columns"));
  }
  if (*count >= 0 && *count != matrix.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " holds ", matrix.dim(0), " examples, an input before it ", *count));
  }
  *count = matrix.dim(0);
  return absl::OkStatus();
}

absl::Status NoteSets(KernelContext& ctx, int first, size_t num_columns, Examples* examples) {
  if (num_columns == 0) return absl::OkStatus();
  const auto columns = static_cast<int64_t>(num_columns);
  ASSIGN_OR_RETURN(examples->set_splits,
                   ReadRowSplits(ctx.input(first + 1), ctx.input(first).num_elements(),
                                 "categorical_set_int_features_row_splits_dim_1"));
  const auto num_sets = static_cast<int64_t>(examples->set_splits.size()) - 1;
  ASSIGN_OR_RETURN(const std::vector<int64_t> rows,
                   ReadRowSplits(ctx.input(first + 2), num_sets,
                                 "categorical_set_int_features_row_splits_dim_2"));
  const auto count = static_cast<int64_t>(rows.size()) - 1;
  for (int64_t i = 0; i < count; ++i) {
    if (rows[i + 1] - rows[i] != columns) {
      return absl::InvalidArgumentError(absl::StrCat("example ", i, " has ", rows[i + 1] - rows[i],
                                                     " sets, the model takes ", columns));
    }
  }
  if (examples->count >= 0 && examples->count != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are sets of ", count, " examples, other columns hold ", examples->count));
  }
  examples->count = count;
  examples->inputs.set_values = ctx.input(first).flat<int32_t>();
  examples->inputs.set_splits = examples->set_splits;
  return absl::OkStatus();
}

// Reads the six inputs that all ops which ask a model have in common. What it returns points into
// itself, hence the pointer.
absl::StatusOr<std::unique_ptr<Examples>> ReadExamples(KernelContext& ctx,
                                                       const ForestColumns& columns) {
  auto examples = std::make_unique<Examples>();
  examples->count = -1;
  RETURN_IF_ERROR(NoteMatrix(ctx.input(0), "numerical_features",
                             static_cast<size_t>(columns.num_numbers), &examples->count));
  RETURN_IF_ERROR(NoteMatrix(ctx.input(1), "boolean_features",
                             static_cast<size_t>(columns.num_booleans), &examples->count));
  RETURN_IF_ERROR(NoteMatrix(ctx.input(2), "categorical_int_features",
                             columns.category_sizes.size(), &examples->count));
  RETURN_IF_ERROR(NoteSets(ctx, 3, columns.set_sizes.size(), examples.get()));
  examples->count = std::max<int64_t>(examples->count, 0);
  examples->inputs.numbers = ctx.input(0).flat<float>();
  examples->inputs.booleans = ctx.input(1).flat<float>();
  examples->inputs.categories = ctx.input(2).flat<int32_t>();
  return examples;
}

// Base of the ops that ask a model, by its handle after the examples or by its identifier.
class AskKernel : public OpKernel {
 public:
  absl::Status Compute(KernelContext& ctx) final {
    ASSIGN_OR_RETURN(const IntrusivePtr<ForestResource> resource, Find(ctx));
    ASSIGN_OR_RETURN(const std::shared_ptr<const ForestModel> model, resource->Get());
    ASSIGN_OR_RETURN(const std::unique_ptr<Examples> examples,
                     ReadExamples(ctx, model->forest().columns));
    return Ask(ctx, *model, *examples);
  }

 protected:
  explicit AskKernel(const KernelBuild& build)
      : has_handle_(build.num_inputs() > kHandle),
        identifier_(has_handle_ ? "" : build.attr<std::string>("model_identifier")) {}

  virtual absl::Status Ask(KernelContext& ctx, const ForestModel& model,
                           const Examples& examples) = 0;

 private:
  static constexpr int kHandle = 6;

  absl::StatusOr<IntrusivePtr<ForestResource>> Find(KernelContext& ctx) const {
    if (has_handle_) return ResourceInput<ForestResource>(ctx, kHandle);
    return FindByIdentifier(ctx, identifier_);
  }

  const bool has_handle_;
  const std::string identifier_;
};

// Outputs: a row of predictions for each example, and the names of the columns.
class PredictKernel final : public AskKernel {
 public:
  explicit PredictKernel(const KernelBuild& build)
      : AskKernel(build), output_dim_(build.attr<int64_t>("dense_output_dim")) {}

 protected:
  absl::Status Ask(KernelContext& ctx, const ForestModel& model,
                   const Examples& examples) override {
    if (model.output_dim() != output_dim_) {
      return absl::InvalidArgumentError(absl::StrCat("dense_output_dim is ", output_dim_,
                                                     ", the model predicts ", model.output_dim(),
                                                     " numbers for an example"));
    }
    ASSIGN_OR_RETURN(Tensor* const predictions,
                     ctx.AllocateOutput(0, Shape{examples.count, output_dim_}));
    const auto& names = model.output_names();
    ASSIGN_OR_RETURN(Tensor* const columns,
                     ctx.AllocateOutput(1, Shape{static_cast<int64_t>(names.size())}));
    std::copy(names.begin(), names.end(), columns->data<std::string>());
    float* const to = predictions->data<float>();
    ctx.ParallelFor(examples.count, model.forest().CostOfExample(),
                    [&](int64_t begin, int64_t end) {
                      model.Predict(examples.inputs, begin, end, to + begin * output_dim_);
                    });
    return absl::OkStatus();
  }

 private:
  const int64_t output_dim_;
};
REGISTER_KERNEL("SimpleMLInferenceOp", kCpu, PredictKernel);
REGISTER_KERNEL("SimpleMLInferenceOpWithHandle", kCpu, PredictKernel);

// Output: for each example the leaf that it reaches in each tree, numbered from 0 in each.
class LeafIndexKernel final : public AskKernel {
 public:
  explicit LeafIndexKernel(const KernelBuild& build) : AskKernel(build) {}

 protected:
  absl::Status Ask(KernelContext& ctx, const ForestModel& model,
                   const Examples& examples) override {
    const Forest& forest = model.forest();
    const auto num_trees = static_cast<int64_t>(forest.trees.size());
    ASSIGN_OR_RETURN(Tensor* const leaves, ctx.AllocateOutput(0, Shape{examples.count, num_trees}));
    auto* const to = reinterpret_cast<uint32_t*>(leaves->data<int32_t>());
    ctx.ParallelFor(examples.count, forest.CostOfExample(), [&](int64_t begin, int64_t end) {
      forest.FindLeaves(examples.inputs, begin, end, to + begin * num_trees);
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t t = 0; t < num_trees; ++t) to[i * num_trees + t] -= forest.trees[t].first_leaf;
      }
    });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SimpleMLInferenceLeafIndexOpWithHandle", kCpu, LeafIndexKernel);

}  // namespace
}  // namespace tessera
