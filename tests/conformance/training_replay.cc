#include "tests/conformance/training_replay.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tests/conformance/read_message.h"

namespace tessera {
namespace {

// Steps after which rounding errors may have been amplified.
constexpr int64_t kExactSteps = 20;

template <typename Map>
absl::StatusOr<std::vector<NamedTensor>> Tensors(const Map& protos) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, proto] : protos) {
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto));
    tensors.emplace_back(name, std::move(tensor));
  }
  return tensors;
}

}  // namespace

absl::StatusOr<rapidjson::Document> ReadJson(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  rapidjson::Document document;
  document.Parse(text.c_str(), text.size());
  if (document.HasParseError()) return absl::DataLossError(absl::StrCat(path, " does not parse"));
  return document;
}

SessionOptions& TrainingSession() {
  static SessionOptions* const options = [] {
    auto* const made = new SessionOptions;
    made->intra_op_threads = 1;
    made->inter_op_threads = 1;
    made->default_timeout = absl::Minutes(2);
    return made;
  }();
  return *options;
}

absl::StatusOr<std::vector<NamedTensor>> ReadFeed(const std::string& directory, int64_t k) {
  ASSIGN_OR_RETURN(const auto request, ReadMessage<tensorflow::serving::PredictRequest>(
                                           JoinPath(directory, absl::StrCat("feed_", k, ".pb"))));
  return Tensors(request.inputs());
}

absl::StatusOr<std::vector<NamedTensor>> ReadAnswer(const std::string& path) {
  ASSIGN_OR_RETURN(const auto response, ReadMessage<tensorflow::serving::PredictResponse>(path));
  return Tensors(response.outputs());
}

double LargestElement(const Tensor& tensor) {
  double largest = 0;
  VisitRealType(tensor.dtype(), [&]<typename T>() {
    for (const T x : tensor.flat<T>()) {
      const double size = std::abs(static_cast<double>(x));
      if (std::isnan(size)) largest = size;
      largest = size > largest ? size : largest;  // nothing is above a NaN
    }
    return absl::OkStatus();
  }).IgnoreError();
  return largest;
}

absl::StatusOr<double> RealScalar(const Tensor& scalar) {
  double value = 0;
  RETURN_IF_ERROR(VisitRealType(scalar.dtype(), [&]<typename T>() {
    value = static_cast<double>(scalar.scalar<T>());
    return absl::OkStatus();
  }));
  return value;
}

absl::Status CheckLoss(const Tensor& loss, double want, int64_t step) {
  ASSIGN_OR_RETURN(const double got, RealScalar(loss));
  const double tolerance = step < kExactSteps ? 1e-3 : 1e-2;
  if (std::abs(got - want) <= tolerance * std::abs(want) + 1e-6) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the loss before step ", step, " is ", got, ", want ", want));
}

absl::Status CheckTensor(const std::string& name, const Tensor& got, const Tensor& want,
                         double tolerance) {
  const std::string difference =
      FirstDifference(got, want, {.rtol = 0, .atol = tolerance * LargestElement(want) + 1e-7});
  if (difference.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", name, "': ", difference));
}

}  // namespace tessera
