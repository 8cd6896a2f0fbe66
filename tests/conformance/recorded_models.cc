#include "tests/conformance/recorded_models.h"

#include <fnmatch.h>

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/document.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tests/conformance/read_message.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera {
namespace {

// Integers may differ by `int_atol`, which is 0 for most models.
std::string Difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance,
                       int64_t int_atol) {
  if (int_atol > 0 && IsInteger(want.dtype()) && got.dtype() == want.dtype() &&
      got.shape() == want.shape() && want.dtype() == DType::kUint8) {
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      if (std::abs(got.data<uint8_t>()[i] - want.data<uint8_t>()[i]) > int_atol) {
        return absl::StrCat("element ", i, " is ", ElementToString(got, i), ", want ",
                            ElementToString(want, i));
      }
    }
    return "";
  }
  return FirstDifference(got, want, tolerance);
}

absl::StatusOr<rapidjson::Document> ReadManifest(const Recording& recording) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(JoinPath(recording.cases, "manifest.json")));
  rapidjson::Document manifest;
  manifest.Parse(text.c_str(), text.size());
  if (manifest.HasParseError() || !manifest.IsObject() || !manifest.HasMember("cases")) {
    return absl::DataLossError(absl::StrCat(recording.cases, "/manifest.json does not parse"));
  }
  return manifest;
}

std::vector<std::string> RequestsOf(const rapidjson::Document& manifest,
                                    const Recording& recording) {
  std::vector<std::string> requests;
  for (const auto& one : manifest["cases"].GetArray()) {
    if (std::string(one["kind"].GetString()) != "predict") continue;
    requests.push_back(JoinPath(recording.cases, one["file"].GetString()));
  }
  return requests;
}

// Runs the request `times` times.
absl::Status ReplayCase(const SavedModelBundle& bundle, const std::string& path, int times,
                        const Tolerance& tolerance, int64_t int_atol,
                        tensorflow::RunMetadata* metadata) {
  ASSIGN_OR_RETURN(const RecordedRun run, ReadRun(bundle, path));
  RunOptions options;
  options.collect_stats = metadata != nullptr;
  for (int time = 0; time < times; ++time) {
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(bundle.session->Run(options, run.feeds, run.fetches, {}, &outputs, metadata));
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      const std::string difference = Difference(outputs[i], run.answers[i], tolerance, int_atol);
      if (!difference.empty()) {
        return absl::DataLossError(
            absl::StrCat("run ", time + 1, ", output '", run.outputs[i], "': ", difference));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Recording>> FindRecordings(const std::string& directory,
                                                      const std::vector<std::string>& patterns) {
  ASSIGN_OR_RETURN(const std::vector<std::string> models, ListDirectory(directory));
  std::vector<Recording> recordings;
  for (const std::string& model : models) {
    bool wanted = patterns.empty();
    for (const std::string& pattern : patterns) {
      wanted = wanted || fnmatch(pattern.c_str(), model.c_str(), 0) == 0;
    }
    const std::string root = JoinPath(directory, model);
    if (!wanted || !IsDirectory(root)) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> entries, ListDirectory(root));
    for (const std::string& version : entries) {
      int64_t number;
      if (!absl::SimpleAtoi(version, &number)) continue;
      const std::string cases =
          JoinPath(root, number == 1 ? "golden" : absl::StrCat("golden_v", number));
      if (!FileExists(JoinPath(cases, "manifest.json"))) continue;
      recordings.push_back({absl::StrCat(model, "/", version), JoinPath(root, version), cases});
    }
  }
  return recordings;
}

absl::StatusOr<std::vector<std::string>> PredictRequests(const Recording& recording) {
  ASSIGN_OR_RETURN(const rapidjson::Document manifest, ReadManifest(recording));
  return RequestsOf(manifest, recording);
}

absl::StatusOr<RecordedRun> ReadRun(const SavedModelBundle& bundle, const std::string& path) {
  ASSIGN_OR_RETURN(const auto request, ReadMessage<tensorflow::serving::PredictRequest>(
                                           absl::StrCat(path, ".request.pb")));
  ASSIGN_OR_RETURN(const auto response, ReadMessage<tensorflow::serving::PredictResponse>(
                                            absl::StrCat(path, ".response.pb")));
  std::string name = request.model_spec().signature_name();
  if (name.empty()) name = "serving_default";
  auto signature = bundle.signatures.find(name);
  if (signature == bundle.signatures.end()) {
    return absl::NotFoundError(absl::StrCat("no signature '", name, "'"));
  }
  std::map<std::string, Tensor> inputs = signature->second.defaults;
  for (const auto& [alias, proto] : request.inputs()) {
    ASSIGN_OR_RETURN(inputs[alias], TensorFromProto(proto));
  }
  RecordedRun run;
  for (const auto& [alias, tensor] : inputs) {
    auto it = signature->second.inputs.find(alias);
    if (it == signature->second.inputs.end()) {
      return absl::NotFoundError(absl::StrCat("no input '", alias, "'"));
    }
    run.feeds.emplace_back(it->second.tensor_name, tensor);
  }
  const std::map<std::string, tensorflow::TensorProto> answers(response.outputs().begin(),
                                                               response.outputs().end());
  for (const auto& [alias, proto] : answers) {
    run.outputs.push_back(alias);
    run.fetches.push_back(signature->second.outputs.at(alias).tensor_name);
    ASSIGN_OR_RETURN(Tensor answer, TensorFromProto(proto));
    run.answers.push_back(std::move(answer));
  }
  return run;
}

absl::Status ReplayModel(const Recording& recording, const SessionOptions& options,
                         tensorflow::RunMetadata* metadata) {
  ASSIGN_OR_RETURN(const rapidjson::Document manifest, ReadManifest(recording));
  Tolerance tolerance;
  int64_t int_atol = 0;
  if (manifest.HasMember("tolerance")) {
    const auto& values = manifest["tolerance"];
    if (values.HasMember("rtol")) tolerance.rtol = values["rtol"].GetDouble();
    if (values.HasMember("atol")) tolerance.atol = values["atol"].GetDouble();
    if (values.HasMember("int_atol")) int_atol = values["int_atol"].GetInt64();
  }
  // Runs plan their memory, and pack weights, by what those before them did.
  const bool is_stateful = manifest.HasMember("stateful") && manifest["stateful"].GetBool();
  const int times = is_stateful ? 1 : 4;
  ASSIGN_OR_RETURN(const SavedModelBundle bundle,
                   LoadSavedModel(recording.model, {"serve"}, options));
  for (const std::string& request : RequestsOf(manifest, recording)) {
    RETURN_IF_ERROR(Annotate(ReplayCase(bundle, request, times, tolerance, int_atol, metadata),
                             absl::StrCat(request, ": ")));
  }
  return absl::OkStatus();
}

}  // namespace tessera
