#include "serving/servables/saved_model/saved_model_servable.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "serving/servables/saved_model/classify_regress.h"
#include "serving/servables/saved_model/multi_inference.h"
#include "serving/servables/saved_model/signature_runs.h"
#include "serving/servables/saved_model/unfit_inputs.h"
#include "serving/sources/model_config.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"

namespace tessera::serving {
namespace {

using Names = absl::Span<const absl::string_view>;

// Returns "{a,b}", sorted and without blanks.
template <typename Range>
std::string NameSet(const Range& names) {
  std::vector<absl::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  return absl::StrCat("{", absl::StrJoin(sorted, ","), "}");
}

std::vector<absl::string_view> InputAliases(const SignatureRuns& runs) {
  std::vector<absl::string_view> aliases;
  for (const auto& input : runs.inputs()) aliases.push_back(input.alias);
  return aliases;
}

std::vector<absl::string_view> Difference(std::vector<absl::string_view> a, Names b) {
  auto in_b = [b](absl::string_view name) {
    return std::find(b.begin(), b.end(), name) != b.end();
  };
  a.erase(std::remove_if(a.begin(), a.end(), in_b), a.end());
  return a;
}

absl::Status SizeMismatch(const SignatureRuns& runs, Names given) {
  const std::vector<absl::string_view> wanted = InputAliases(runs);
  return absl::InvalidArgumentError(
      absl::StrCat("input size does not match signature: ", given.size(), "!=", wanted.size(),
                   " len(", NameSet(given), ") != len(", NameSet(wanted),
                   "). Sent extra: ", NameSet(Difference({given.begin(), given.end()}, wanted)),
                   ". Missing but required: ", NameSet(Difference(wanted, given)), "."));
}

absl::Status MissingInput(const SignatureRuns& runs, const SignatureRuns::Input& input) {
  std::vector<absl::string_view> defaults;
  for (const auto& candidate : runs.inputs()) {
    if (candidate.default_value != nullptr) defaults.push_back(candidate.alias);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Signature input alias: ", input.alias, "(feed name: ", input.tensor->tensor_name,
      ") not found in request and no default value provided. Inputs expected to be in the request ",
      NameSet(Difference(InputAliases(runs), defaults)),
      ", or default input alias set: ", NameSet(defaults)));
}

constexpr size_t kDefaultValue = static_cast<size_t>(-1);
using Sources = absl::InlinedVector<size_t, 8>;

// Returns where the tensor of each input of the signature comes from: an index into `given`, or the
// default of the signature.
absl::StatusOr<Sources> MatchInputs(const SignatureRuns& runs, Names given) {
  const auto inputs = runs.inputs();
  const bool may_lack_some = !runs.signature().defaults.empty();
  if (given.size() > inputs.size() || (given.size() < inputs.size() && !may_lack_some)) {
    return SizeMismatch(runs, given);
  }
  Sources sources;
  size_t matched = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // Clients tend to send the inputs in this order, so the search starts at the same position.
    size_t found = kDefaultValue;
    for (size_t k = 0; k < given.size(); ++k) {
      const size_t candidate = (i + k) % given.size();
      if (given[candidate] == inputs[i].alias) {
        found = candidate;
        break;
      }
    }
    if (found == kDefaultValue && inputs[i].default_value == nullptr) {
      return MissingInput(runs, inputs[i]);
    }
    matched += found != kDefaultValue;
    sources.push_back(found);
  }
  if (matched < given.size()) {
    const auto unknown = Difference({given.begin(), given.end()}, InputAliases(runs));
    return absl::InvalidArgumentError(
        absl::StrCat("Inputs contains invalid name. Used request inputs: ",
                     NameSet(Difference({given.begin(), given.end()}, unknown)),
                     ", request input: ", NameSet(given)));
  }
  return sources;
}

// Returns the positions of the filtered outputs in the order of the filter. An empty filter selects
// all.
absl::StatusOr<SignatureRuns::Positions> MatchOutputs(const SignatureRuns& runs, Names filter) {
  const auto outputs = runs.outputs();
  SignatureRuns::Positions positions;
  if (filter.empty()) {
    for (size_t i = 0; i < outputs.size(); ++i) positions.push_back(static_cast<int>(i));
    return positions;
  }
  for (const absl::string_view alias : filter) {
    auto found = std::find_if(outputs.begin(), outputs.end(),
                              [&](const auto& output) { return output.alias == alias; });
    if (found == outputs.end()) {
      std::vector<absl::string_view> known;
      for (const auto& output : outputs) known.push_back(output.alias);
      return absl::InvalidArgumentError(
          absl::StrCat("output tensor alias not found in signature: ", alias,
                       " Outputs expected to be in the set ", NameSet(known), "."));
    }
    const int position = static_cast<int>(found - outputs.begin());
    if (std::find(positions.begin(), positions.end(), position) != positions.end()) {
      return absl::InvalidArgumentError(absl::StrCat("duplicate output tensor alias: ", alias));
    }
    positions.push_back(position);
  }
  return positions;
}

absl::Status CheckPredictMethod(const SignatureRuns& runs) {
  const std::string& method = runs.signature().method_name;
  if (method == kPredictMethod || method == kClassifyMethod || method == kRegressMethod) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("Expected prediction signature method_name to be one of {", kPredictMethod, ", ",
                   kClassifyMethod, ", ", kRegressMethod, "}. Was: ", method));
}

absl::string_view OrDefault(absl::string_view signature_name) {
  return signature_name.empty() ? kDefaultSignature : signature_name;
}

std::map<std::string, TensorInfo> InfoOf(const std::map<std::string, SignatureTensor>& tensors) {
  std::map<std::string, TensorInfo> infos;
  for (const auto& [alias, tensor] : tensors) infos[alias] = {tensor.dtype, tensor.shape};
  return infos;
}

std::map<std::string, TensorInfo> InputInfoOf(const Signature& signature) {
  std::map<std::string, TensorInfo> infos = InfoOf(signature.inputs);
  for (auto& [alias, info] : infos) info.has_default = signature.defaults.contains(alias);
  return infos;
}

// Returns the names that a signature feeds and fetches. Empty if they are not known.
std::string ComputationOf(const Signature& signature) {
  std::string computation;
  for (const auto* tensors : {&signature.inputs, &signature.outputs}) {
    for (const auto& [alias, tensor] : *tensors) {
      if (tensor.run_name.empty()) return "";
      absl::StrAppend(&computation, tensor.run_name, " ");
    }
    computation += "-> ";
  }
  return computation;
}

ModelInfo InfoOf(const SavedModelBundle& bundle, const ServableId& id) {
  ModelInfo info{.id = id, .platform = kTensorFlowPlatform};
  for (const auto& [name, signature] : bundle.signatures) {
    info.signatures[name] = {.inputs = InputInfoOf(signature),
                             .outputs = InfoOf(signature.outputs),
                             .method_name = signature.method_name,
                             .is_pure = signature.is_pure,
                             .computation = ComputationOf(signature)};
  }
  return info;
}

}  // namespace

SavedModelServable::SavedModelServable(SavedModelBundle bundle, const Options& options)
    : Servable(InfoOf(bundle, options.id)), bundle_(std::move(bundle)), options_(options) {
  MakeRun make_run = [this](const RunSignature& signature,
                            RunRows rows) -> absl::StatusOr<std::shared_ptr<const Callable>> {
    ASSIGN_OR_RETURN(std::shared_ptr<const Callable> callable,
                     bundle_.session->MakeCallable(signature));
    if (options_.wrap_run == nullptr) return callable;
    return options_.wrap_run(std::move(callable), rows);
  };
  for (const auto& [name, signature] : bundle_.signatures) {
    runs_[name] = std::make_unique<SignatureRuns>(name, signature, make_run);
  }
  multi_inference_runs_ = std::make_unique<MultiInferenceRuns>(std::move(make_run));
}

SavedModelServable::~SavedModelServable() = default;

absl::StatusOr<std::unique_ptr<SavedModelServable>> SavedModelServable::Create(
    SavedModelBundle bundle, const Options& options) {
  if (bundle.session == nullptr || bundle.meta_graph == nullptr) {
    return absl::InvalidArgumentError("a servable needs a session and a meta graph");
  }
  return std::unique_ptr<SavedModelServable>(new SavedModelServable(std::move(bundle), options));
}

absl::Status SavedModelServable::NoSignature(absl::string_view name) const {
  return absl::InvalidArgumentError(
      absl::StrCat("No signature was found with the name: ", OrDefault(name),
                   "; the model has: ", info().SignatureNames()));
}

SignatureRuns* SavedModelServable::FindRuns(absl::string_view name) const {
  auto it = runs_.find(OrDefault(name));
  return it == runs_.end() ? nullptr : it->second.get();
}

absl::Duration SavedModelServable::TypicalRunTime(absl::string_view signature_name) const {
  const SignatureRuns* runs = FindRuns(signature_name);
  if (runs == nullptr) return absl::ZeroDuration();
  if (options_.runs_may_wait != nullptr && options_.runs_may_wait()) {
    return absl::InfiniteDuration();
  }
  return runs->TypicalRunTime();
}

void SavedModelServable::FillSignatureDefs(tensorflow::serving::SignatureDefMap* map) const {
  *map->mutable_signature_def() = bundle_.meta_graph->signature_def();
}

std::vector<SampleRequest> SavedModelServable::SampleRequests() const {
  std::vector<SampleRequest> requests;
  for (const auto& [name, runs] : runs_) {
    if (!runs->signature().is_pure) continue;
    for (SampleRequest& request : runs->SampleRequests()) requests.push_back(std::move(request));
  }
  return requests;
}

absl::Status SavedModelServable::Predict(const PredictRequest& request, const CallOptions& options,
                                         PredictResult* result) const {
  SignatureRuns* runs = FindRuns(request.signature_name);
  if (runs == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("Serving signature key \"", OrDefault(request.signature_name),
                     "\" not found. The model has: ", info().SignatureNames()));
  }
  if (options_.check_method_names) RETURN_IF_ERROR(CheckPredictMethod(*runs));
  ASSIGN_OR_RETURN(const Sources sources, MatchInputs(*runs, request.input_names));
  absl::InlinedVector<Tensor, 4> feeds(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] == kDefaultValue) {
      feeds[i] = *runs->inputs()[i].default_value;
    } else {
      ASSIGN_OR_RETURN(feeds[i], request.input(sources[i]));
    }
  }
  ASSIGN_OR_RETURN(const SignatureRuns::Positions wanted,
                   MatchOutputs(*runs, request.output_filter));
  SignatureRuns::Positions ascending = wanted;
  std::sort(ascending.begin(), ascending.end());

  std::vector<Tensor> fetches;
  const absl::Status ran = runs->Run(ascending, options, feeds, &fetches);
  if (!ran.ok()) return NameUnfitInputs(*runs, feeds, ran);
  result->signature_name = runs->name();
  result->outputs.reserve(wanted.size());
  for (const int position : wanted) {
    const size_t i =
        std::lower_bound(ascending.begin(), ascending.end(), position) - ascending.begin();
    result->outputs.push_back({runs->outputs()[position].alias, std::move(fetches[i])});
  }
  return absl::OkStatus();
}

absl::Status SavedModelServable::Classify(const ExamplesRequest& request,
                                          const CallOptions& options,
                                          ClassifyResult* result) const {
  SignatureRuns* runs = FindRuns(request.signature_name);
  if (runs == nullptr) return NoSignature(request.signature_name);
  if (options_.check_method_names) {
    RETURN_IF_ERROR(CheckMethodName(runs->signature(), "classification", kClassifyMethod));
  }
  ASSIGN_OR_RETURN(const ClassifyOutputs outputs, FindClassifyOutputs(runs->signature()));
  ASSIGN_OR_RETURN(const Tensor examples, request.examples());
  RETURN_IF_ERROR(CheckExamples(examples));
  std::vector<Tensor> fetches;
  RETURN_IF_ERROR(runs->Run(outputs.Positions(), options, {&examples, 1}, &fetches));
  result->signature_name = runs->name();
  return MakeClassifyResult(outputs, examples.num_elements(), fetches, result);
}

absl::Status SavedModelServable::Regress(const ExamplesRequest& request, const CallOptions& options,
                                         RegressResult* result) const {
  SignatureRuns* runs = FindRuns(request.signature_name);
  if (runs == nullptr) return NoSignature(request.signature_name);
  if (options_.check_method_names) {
    RETURN_IF_ERROR(CheckMethodName(runs->signature(), "regression", kRegressMethod));
  }
  RETURN_IF_ERROR(CheckRegressSignature(runs->signature()));
  ASSIGN_OR_RETURN(const Tensor examples, request.examples());
  RETURN_IF_ERROR(CheckExamples(examples));
  std::vector<Tensor> fetches;
  RETURN_IF_ERROR(runs->Run({0}, options, {&examples, 1}, &fetches));
  result->signature_name = runs->name();
  return MakeRegressResult(examples.num_elements(), std::move(fetches[0]), result);
}

absl::Status SavedModelServable::MultiInference(
    absl::Span<const InferenceTask> tasks, absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
    const CallOptions& options, std::vector<InferenceResult>* results) const {
  absl::InlinedVector<MultiInferenceRuns::Task, 4> resolved;
  for (const InferenceTask& task : tasks) {
    const absl::string_view name = OrDefault(task.model.signature_name);
    for (const MultiInferenceRuns::Task& other : resolved) {
      if (other.runs->name() == name) {
        return absl::InvalidArgumentError(
            absl::StrCat("Duplicate evaluation of signature: ", name));
      }
    }
    const SignatureRuns* runs = FindRuns(name);
    if (runs == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Requested signature not found in model graph: ", name,
                       "; the model has: ", info().SignatureNames()));
    }
    const bool classify = task.method_name == kClassifyMethod;
    if (!classify && task.method_name != kRegressMethod) {
      return absl::UnimplementedError(
          absl::StrCat("Unsupported signature method_name: ", task.method_name));
    }
    if (options_.check_method_names) {
      RETURN_IF_ERROR(CheckMethodName(runs->signature(), classify ? "classification" : "regression",
                                      task.method_name));
    }
    resolved.push_back({runs, classify});
  }
  return multi_inference_runs_->Run(resolved, examples, options, results);
}

}  // namespace tessera::serving
