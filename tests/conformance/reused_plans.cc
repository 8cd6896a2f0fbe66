#include "tests/conformance/reused_plans.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/session/saved_model.h"

namespace tessera {
namespace {

template <typename T>
void Change(Tensor* tensor) {
  T* const values = tensor->data<T>();
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    const float value = static_cast<float>(values[i]);
    values[i] = static_cast<T>(value * 1.03125f + 0.001953125f * static_cast<float>(1 + i % 7));
  }
}

absl::StatusOr<Tensor> Changed(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype != DType::kFloat && dtype != DType::kDouble && dtype != DType::kHalf &&
      dtype != DType::kBfloat16) {
    return tensor;
  }
  ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(dtype, tensor.shape()));
  std::copy_n(static_cast<const char*>(tensor.raw()), tensor.size_bytes(),
              static_cast<char*>(copy.mutable_raw()));
  if (dtype == DType::kFloat) Change<float>(&copy);
  if (dtype == DType::kDouble) Change<double>(&copy);
  if (dtype == DType::kHalf) Change<Eigen::half>(&copy);
  if (dtype == DType::kBfloat16) Change<Eigen::bfloat16>(&copy);
  return copy;
}

absl::StatusOr<std::shared_ptr<const SavedModelGraph>> Import(const Recording& recording) {
  LoadStages stages;
  return ImportSavedModel(recording.model, {"serve"}, &stages);
}

bool IsPlanned(const SavedModelBundle& bundle) {
  return std::any_of(bundle.stages.begin(), bundle.stages.end(),
                     [](const auto& stage) { return stage.first == "compile"; });
}

// The outputs of a recorded request in the order of their names; the run's error otherwise.
absl::StatusOr<std::vector<Tensor>> Answer(const SavedModelBundle& bundle,
                                           const std::string& request) {
  ASSIGN_OR_RETURN(const RecordedRun run, ReadRun(bundle, request));
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(bundle.session->Run(run.feeds, run.fetches, {}, &outputs));
  return outputs;
}

bool AreSame(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kString) {
    return std::equal(a.flat<std::string>().begin(), a.flat<std::string>().end(),
                      b.flat<std::string>().begin());
  }
  return std::equal(static_cast<const char*>(a.raw()),
                    static_cast<const char*>(a.raw()) + a.size_bytes(),
                    static_cast<const char*>(b.raw()));
}

absl::Status CompareCase(const SavedModelBundle& reused, const SavedModelBundle& own,
                         const std::string& request) {
  const auto got = Answer(reused, request), want = Answer(own, request);
  if (got.status() != want.status()) {
    return absl::DataLossError(
        absl::StrCat(request, ": ", got.status().ToString(), ", want ", want.status().ToString()));
  }
  if (!got.ok()) return absl::OkStatus();
  for (size_t i = 0; i < got->size(); ++i) {
    if (AreSame((*got)[i], (*want)[i])) continue;
    return absl::DataLossError(absl::StrCat(request, ": output ", i, " is ", (*got)[i].ToString(3),
                                            ", want ", (*want)[i].ToString(3)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteOtherWeights(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(from));
  ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Create(to));
  for (const std::string& name : reader->TensorNames()) {
    ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(name));
    ASSIGN_OR_RETURN(const Tensor changed, Changed(tensor));
    RETURN_IF_ERROR(writer.Add(name, changed));
  }
  return writer.Finish();
}

absl::StatusOr<bool> CompareReusedPlans(const Recording& recording, const SessionOptions& options) {
  if (!FileExists(VariablesPrefix(recording.model) + ".index")) {
    return absl::UnimplementedError("the model has no variables");
  }
  std::string folder = (std::filesystem::temp_directory_path() / "weights_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return absl::InternalError("no temporary folder");
  const auto remove = [](const std::string* path) { std::filesystem::remove_all(*path); };
  const std::unique_ptr<const std::string, decltype(remove)> removed(&folder, remove);
  const std::string weights = folder + "/ckpt-1";
  RETURN_IF_ERROR(WriteOtherWeights(VariablesPrefix(recording.model), weights));

  ASSIGN_OR_RETURN(const auto graph, Import(recording));
  ASSIGN_OR_RETURN(SavedModelBundle first, LoadSavedModel(graph, options));
  // The plan serves after the version that it was made for is gone.
  first = SavedModelBundle();
  ASSIGN_OR_RETURN(const SavedModelBundle reused, LoadWeights(graph, weights, options));
  ASSIGN_OR_RETURN(const auto graph_anew, Import(recording));
  ASSIGN_OR_RETURN(const SavedModelBundle own, LoadWeights(graph_anew, weights, options));
  if (!IsPlanned(own)) return absl::InternalError("a graph imported anew has plans");
  ASSIGN_OR_RETURN(const std::vector<std::string> requests, PredictRequests(recording));
  for (const std::string& request : requests) {
    // Later runs have planned memory and packed weights.
    for (int time = 0; time < 2; ++time) RETURN_IF_ERROR(CompareCase(reused, own, request));
  }
  return !IsPlanned(reused);
}

}  // namespace tessera
