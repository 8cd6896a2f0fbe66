#include "serving/frontend/kserve/infer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "serving/frontend/kserve/classification.h"
#include "serving/frontend/kserve/datatype.h"

namespace tessera::serving {
namespace {

using Tensors = std::map<std::string, TensorInfo>;

std::string Names(const Tensors& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const auto& tensor) {
    absl::StrAppend(out, "'", tensor.first, "'");
  });
}

// Returns the description of a tensor that a request names.
absl::StatusOr<const TensorInfo*> Find(const Tensors& tensors, const std::string& name,
                                       absl::string_view kind, const ServableId& model) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return &found->second;
  return absl::InvalidArgumentError(absl::StrCat("model '", model.name, "' has no ", kind, " '",
                                                 name, "'; it has ", Names(tensors)));
}

// Returns the shape of an input whose datatype and shape fit the model.
absl::StatusOr<Shape> ShapeOf(const InferInput& input, const TensorInfo& wanted) {
  const DType dtype = DTypeOfDatatype(input.datatype);
  if (dtype == DType::kInvalid || dtype != wanted.dtype) {
    const absl::string_view name = DatatypeOf(wanted.dtype);
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name, "' has the datatype '", input.datatype, "', the model takes ",
        name.empty() ? absl::StrCat(DTypeName(wanted.dtype), ", which this protocol lacks")
                     : std::string(name)));
  }
  absl::StatusOr<Shape> shape = Shape::Make(input.shape);
  if (!shape.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name, "': ", shape.status().message()));
  }
  if (!wanted.shape.IsCompatibleWith(*shape)) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' has the shape ",
                                                   DimsText(input.shape), ", the model takes ",
                                                   DimsText(DescribedDims(wanted.shape))));
  }
  return shape;
}

// A request that fits a model, in the terms of the model.
struct Plan {
  absl::InlinedVector<absl::string_view, 2> names;
  absl::InlinedVector<std::pair<DType, Shape>, 2> types;
  absl::InlinedVector<absl::string_view, 2> filter;   // in the model's order; empty: all
  absl::InlinedVector<int64_t, 2> classes_of_filter;  // 0: the output as it is
};

absl::Status PlanInputs(const InferRequest& request, const ModelInfo& model,
                        const SignatureInfo& signature, Plan* plan) {
  for (const InferInput& input : request.inputs) {
    if (std::find(plan->names.begin(), plan->names.end(), input.name) != plan->names.end()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is given twice"));
    }
    ASSIGN_OR_RETURN(const TensorInfo* const wanted,
                     Find(signature.inputs, input.name, "input", model.id));
    ASSIGN_OR_RETURN(Shape shape, ShapeOf(input, *wanted));
    plan->names.push_back(input.name);
    plan->types.emplace_back(wanted->dtype, std::move(shape));
  }
  const bool is_complete =
      std::all_of(signature.inputs.begin(), signature.inputs.end(), [plan](const auto& input) {
        return input.second.has_default ||
               std::find(plan->names.begin(), plan->names.end(), input.first) != plan->names.end();
      });
  if (!is_complete) {
    return absl::InvalidArgumentError(absl::StrCat("model '", model.id.name, "' takes the inputs ",
                                                   Names(signature.inputs), "; there are ",
                                                   request.inputs.size()));
  }
  return absl::OkStatus();
}

absl::Status PlanOutputs(const InferRequest& request, const ModelInfo& model,
                         const SignatureInfo& signature, Plan* plan) {
  std::map<absl::string_view, int64_t> wanted;  // in the order of the signature: by name
  for (const InferOutput& output : request.outputs) {
    ASSIGN_OR_RETURN(const TensorInfo* const info,
                     Find(signature.outputs, output.name, "output", model.id));
    RETURN_IF_ERROR(CheckTensorParameters("output", output.name, output.parameters));
    ASSIGN_OR_RETURN(const auto classes, CountParameter(output.parameters, kClassification));
    if (classes.value_or(0) > 0) {
      RETURN_IF_ERROR(CheckClassification(output.name, info->dtype));
    }
    wanted.emplace(output.name, classes.value_or(0));
  }
  for (const auto& [name, classes] : wanted) {
    plan->filter.push_back(name);
    plan->classes_of_filter.push_back(classes);
  }
  return absl::OkStatus();
}

absl::Status MakePlan(const InferRequest& request, const ModelInfo& model,
                      const SignatureInfo& signature, Plan* plan) {
  RETURN_IF_ERROR(CheckRequestParameters(request.parameters));
  RETURN_IF_ERROR(PlanInputs(request, model, signature, plan));
  return PlanOutputs(request, model, signature, plan);
}

}  // namespace

absl::StatusOr<InferSignature> SignatureToInfer(const ModelInfo& model) {
  if (const SignatureInfo* signature = model.FindSignature(kDefaultSignature)) {
    return InferSignature{kDefaultSignature, signature};
  }
  if (model.signatures.size() == 1) {
    const auto& [name, signature] = *model.signatures.begin();
    return InferSignature{name, &signature};
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "model '", model.id.name, "' has no signature '", kDefaultSignature,
      "', which is the one that this protocol asks; it has: ", model.SignatureNames()));
}

absl::Status Infer(const RequestHandler& handler, const RoutedModel& model,
                   const InferRequest& request, ReadElements read, const CallOptions& options,
                   PredictResult* result) {
  ASSIGN_OR_RETURN(const InferSignature signature, SignatureToInfer(model->info()));
  Plan plan;
  if (const absl::Status status = MakePlan(request, model->info(), *signature.info, &plan);
      !status.ok()) {
    handler.NoteUnfit(
        model, signature.name, status,
        options.times == nullptr ? absl::ZeroDuration() : absl::Now() - options.times->arrived);
    return status;
  }
  const auto input = [&](size_t i) -> absl::StatusOr<Tensor> {
    absl::StatusOr<Tensor> tensor = read(i, plan.types[i].first, plan.types[i].second);
    if (tensor.ok()) return tensor;
    return absl::Status(tensor.status().code(),
                        absl::StrCat("input '", plan.names[i], "': ", tensor.status().message()));
  };
  RETURN_IF_ERROR(handler.Predict(model,
                                  {.signature_name = signature.name,
                                   .input_names = plan.names,
                                   .input = input,
                                   .output_filter = plan.filter},
                                  options, result));
  for (size_t i = 0; i < plan.filter.size(); ++i) {
    if (plan.classes_of_filter[i] == 0) continue;
    Tensor& output = result->outputs[i].tensor;
    ASSIGN_OR_RETURN(output, Classification(output, plan.classes_of_filter[i]));
  }
  return absl::OkStatus();
}

}  // namespace tessera::serving
