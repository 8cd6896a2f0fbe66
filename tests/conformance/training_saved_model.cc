// TF2 SavedModels, which train, save and restore by their signatures.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/session/saved_model.h"
#include "tests/conformance/rounding_variables.h"
#include "tests/conformance/training_replay.h"

namespace tessera {
namespace {

// The step after which the recorded checkpoint was written.
constexpr int64_t kSavedStep = 25;

// A folder that is removed in the end.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "trainingXXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a signature with those of `feed` that it takes.
absl::StatusOr<std::map<std::string, Tensor>> RunSignatureOf(const SavedModelBundle& bundle,
                                                             const std::string& name,
                                                             const std::vector<NamedTensor>& feed) {
  auto signature = bundle.signatures.find(name);
  if (signature == bundle.signatures.end()) {
    return absl::NotFoundError(absl::StrCat("no signature '", name, "'"));
  }
  std::vector<NamedTensor> feeds;
  for (const auto& [alias, tensor] : feed) {
    auto input = signature->second.inputs.find(alias);
    if (input != signature->second.inputs.end()) {
      feeds.emplace_back(input->second.tensor_name, tensor);
    }
  }
  std::vector<std::string> aliases, fetches;
  for (const auto& [alias, output] : signature->second.outputs) {
    aliases.push_back(alias);
    fetches.push_back(output.tensor_name);
  }
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(
      Annotate(bundle.session->Run(feeds, fetches, {}, &outputs), absl::StrCat(name, ": ")));
  std::map<std::string, Tensor> answer;
  for (size_t i = 0; i < aliases.size(); ++i) answer[aliases[i]] = std::move(outputs[i]);
  return answer;
}

// Compares what a signature answers to `feed` with a recorded answer by check(name, got, want).
absl::Status CheckSignature(
    const SavedModelBundle& bundle, const std::string& name, const std::vector<NamedTensor>& feed,
    const std::string& recorded,
    absl::FunctionRef<absl::Status(const std::string&, const Tensor&, const Tensor&)> check) {
  ASSIGN_OR_RETURN(const auto got, RunSignatureOf(bundle, name, feed));
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> want, ReadAnswer(recorded));
  for (const auto& [alias, tensor] : want) {
    auto it = got.find(alias);
    if (it == got.end()) return absl::DataLossError(absl::StrCat(name, " lacks '", alias, "'"));
    RETURN_IF_ERROR(Annotate(check(alias, it->second, tensor), absl::StrCat(name, ": ")));
  }
  return absl::OkStatus();
}

// Compares all tensors of two checkpoints.
absl::Status CheckCheckpoint(const std::string& got_prefix, const std::string& want_prefix,
                             const RoundingVariables& rounding) {
  ASSIGN_OR_RETURN(const auto got, CheckpointReader::Open(got_prefix));
  ASSIGN_OR_RETURN(const auto want, CheckpointReader::Open(want_prefix));
  for (const std::string& name : want->TensorNames()) {
    ASSIGN_OR_RETURN(const Tensor got_value, got->Read(name));
    ASSIGN_OR_RETURN(const Tensor want_value, want->Read(name));
    RETURN_IF_ERROR(
        Annotate(rounding.Check(name, got_value, want_value, 1e-2), "the saved checkpoint: "));
  }
  return absl::OkStatus();
}

// Trains from step `begin` to step `end`, and compares what train_step returns.
absl::Status Train(const SavedModelBundle& bundle,
                   const std::vector<std::vector<NamedTensor>>& feeds,
                   const rapidjson::Document& losses, int64_t begin, int64_t end) {
  for (int64_t step = begin; step < end; ++step) {
    ASSIGN_OR_RETURN(auto answer, RunSignatureOf(bundle, "train_step", feeds[step % feeds.size()]));
    RETURN_IF_ERROR(CheckLoss(answer["loss"],
                              losses[static_cast<rapidjson::SizeType>(step)].GetDouble(), step));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReplayTrainedModel(const std::string& directory, const rapidjson::Document& info) {
  ASSIGN_OR_RETURN(const SavedModelBundle bundle,
                   LoadSavedModel(JoinPath(directory, "1"), {"serve"}, TrainingSession()));
  std::vector<std::vector<NamedTensor>> feeds(info["feeds"].GetInt());
  for (size_t k = 0; k < feeds.size(); ++k) {
    ASSIGN_OR_RETURN(feeds[k], ReadFeed(directory, static_cast<int64_t>(k)));
  }
  ASSIGN_OR_RETURN(const rapidjson::Document losses, ReadJson(JoinPath(directory, "losses.json")));

  ASSIGN_OR_RETURN(const auto rounding, RoundingVariables::Find(directory, info));
  RETURN_IF_ERROR(RunSignatureOf(bundle, "init", {}).status());
  RETURN_IF_ERROR(
      CheckSignature(bundle, "gradients", feeds[0], JoinPath(directory, "grads_0.pb"),
                     [&](const std::string& answer, const Tensor& got, const Tensor& want) {
                       return rounding.CheckGradient(answer, got, want, 1e-4);
                     }));
  // Moving averages have changed.
  RETURN_IF_ERROR(RunSignatureOf(bundle, "init", {}).status());
  RETURN_IF_ERROR(Train(bundle, feeds, losses, 0, kSavedStep));

  const TemporaryFolder folder;
  const std::string saved = JoinPath(folder.path(), "step");
  RETURN_IF_ERROR(
      RunSignatureOf(bundle, "save", {{"prefix", Tensor::Scalar(std::string(saved))}}).status());
  const std::string recorded = JoinPath(directory, absl::StrCat("step", kSavedStep));
  RETURN_IF_ERROR(CheckCheckpoint(saved, recorded, rounding));
  RETURN_IF_ERROR(Train(bundle, feeds, losses, kSavedStep, losses.Size()));
  RETURN_IF_ERROR(
      CheckSignature(bundle, "predict", feeds[0], JoinPath(directory, "predict_after_50.pb"),
                     [](const std::string& name, const Tensor& got, const Tensor& want) {
                       return CheckTensor(name, got, want, 1e-2);
                     }));

  // TensorFlow's checkpoint goes on on the same curve.
  RETURN_IF_ERROR(
      RunSignatureOf(bundle, "restore", {{"prefix", Tensor::Scalar(std::string(recorded))}})
          .status());
  return Annotate(Train(bundle, feeds, losses, kSavedStep, losses.Size()),
                  "after restoring the recorded checkpoint: ");
}

}  // namespace tessera
