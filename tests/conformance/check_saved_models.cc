// Replays recorded Predict requests on SavedModels, in process and without a server:
//
//   check_saved_models DIR [MODEL...] [--jobs=N]
//
// DIR/MODEL/V/ is a SavedModel, DIR/MODEL/golden/ (of version 1) or golden_vV/ its cases: a
// manifest.json with tolerances, and a PredictRequest and PredictResponse each. Every model runs in
// a process of its own, each request four times unless the model has state.
#include <fnmatch.h>

#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rapidjson/document.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera {
namespace {

struct Recording {
  std::string name;   // "bert_tiny/1"
  std::string model;  // directory of the SavedModel
  std::string cases;  // directory of the cases
};

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

template <typename Message>
absl::StatusOr<Message> ReadMessage(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  Message message;
  if (!message.ParseFromString(bytes)) {
    return absl::DataLossError(absl::StrCat(path, " does not parse"));
  }
  return message;
}

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

// Runs the request `times` times.
absl::Status ReplayCase(const SavedModelBundle& bundle, const std::string& path, int times,
                        const Tolerance& tolerance, int64_t int_atol) {
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
  std::vector<NamedTensor> feeds;
  for (const auto& [alias, tensor] : inputs) {
    auto it = signature->second.inputs.find(alias);
    if (it == signature->second.inputs.end()) {
      return absl::NotFoundError(absl::StrCat("no input '", alias, "'"));
    }
    feeds.emplace_back(it->second.tensor_name, tensor);
  }
  std::vector<std::string> aliases, fetches;
  for (const auto& [alias, proto] : response.outputs()) {
    aliases.push_back(alias);
    fetches.push_back(signature->second.outputs.at(alias).tensor_name);
  }
  for (int time = 0; time < times; ++time) {
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(bundle.session->Run(feeds, fetches, {}, &outputs));
    for (size_t i = 0; i < aliases.size(); ++i) {
      ASSIGN_OR_RETURN(const Tensor want, TensorFromProto(response.outputs().at(aliases[i])));
      const std::string difference = Difference(outputs[i], want, tolerance, int_atol);
      if (!difference.empty()) {
        return absl::DataLossError(
            absl::StrCat("run ", time + 1, ", output '", aliases[i], "': ", difference));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReplayModel(const Recording& recording) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(JoinPath(recording.cases, "manifest.json")));
  rapidjson::Document manifest;
  manifest.Parse(text.c_str(), text.size());
  if (manifest.HasParseError() || !manifest.IsObject() || !manifest.HasMember("cases")) {
    return absl::DataLossError(absl::StrCat(recording.cases, "/manifest.json does not parse"));
  }
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
  SessionOptions options;
  options.freeze_variables = true;  // as servers do
  ASSIGN_OR_RETURN(const SavedModelBundle bundle,
                   LoadSavedModel(recording.model, {"serve"}, options));
  for (const auto& one : manifest["cases"].GetArray()) {
    if (std::string(one["kind"].GetString()) != "predict") continue;
    const std::string file = one["file"].GetString();
    RETURN_IF_ERROR(
        Annotate(ReplayCase(bundle, JoinPath(recording.cases, file), times, tolerance, int_atol),
                 absl::StrCat(file, ": ")));
  }
  return absl::OkStatus();
}

int Main(const std::string& directory, const std::vector<std::string>& patterns, int jobs) {
  const absl::StatusOr<std::vector<Recording>> recordings = FindRecordings(directory, patterns);
  if (!recordings.ok() || recordings->empty()) {
    std::cerr << "check_saved_models: "
              << (recordings.ok() ? "no recorded models" : recordings.status().ToString()) << "\n";
    return 2;
  }
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(recordings->size()), jobs, [&](int i) -> Outcome {
        const absl::Status status = ReplayModel((*recordings)[i]);
        if (status.ok()) return {};
        return {absl::IsUnimplemented(status) ? Outcome::kSkipped : Outcome::kFailed,
                status.ToString()};
      });
  int counts[3] = {0, 0, 0};
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ++counts[outcomes[i].kind];
    if (outcomes[i].kind == Outcome::kPassed) continue;
    std::cout << (outcomes[i].kind == Outcome::kFailed ? "failed " : "skipped ")
              << (*recordings)[i].name << ": " << outcomes[i].text << "\n";
  }
  std::cout << counts[Outcome::kPassed] << " passed, " << counts[Outcome::kFailed] << " failed, "
            << counts[Outcome::kSkipped] << " skipped" << std::endl;
  return counts[Outcome::kFailed] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  std::string directory;
  std::vector<std::string> patterns;
  int jobs = 2;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (absl::StartsWith(arg, "--jobs=") && absl::SimpleAtoi(arg.substr(7), &jobs) && jobs > 0) {
      continue;
    }
    if (directory.empty() && !absl::StartsWith(arg, "--")) {
      directory = arg;
    } else if (!absl::StartsWith(arg, "--")) {
      patterns.push_back(arg);
    } else {
      directory.clear();
      break;
    }
  }
  if (directory.empty()) {
    std::cerr << "usage: check_saved_models DIR [MODEL...] [--jobs=N]\n";
    return 2;
  }
  return tessera::Main(directory, patterns, jobs);
}
