#include "benchmarks/load/answer_check.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rapidjson/document.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera::benchmarks {
namespace {

using tensorflow::serving::PredictResponse;

constexpr double kTolerance = 1e-5;
// Answers whose bytes are remembered, of each request. Right ones are few; they are many only if
// their last digits wander.
constexpr size_t kMaxKnown = 256;

bool ParseResponse(absl::string_view bytes, PredictResponse* response) {
  return response->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Empty if equal, else the first difference: "/predictions/0: 3, not 2.5".
std::string JsonDifference(const rapidjson::Value& answer, const rapidjson::Value& right) {
  if (right.IsNumber() && answer.IsNumber()) {
    const double want = right.GetDouble();
    const bool near = std::abs(answer.GetDouble() - want) <= kTolerance * (1 + std::abs(want));
    return near ? "" : absl::StrCat(": ", answer.GetDouble(), ", not ", want);
  }
  if (right.IsArray() && answer.IsArray()) {
    if (answer.Size() != right.Size()) {
      return absl::StrCat(": ", answer.Size(), " elements, not ", right.Size());
    }
    for (rapidjson::SizeType i = 0; i < right.Size(); ++i) {
      const std::string below = JsonDifference(answer[i], right[i]);
      if (!below.empty()) return absl::StrCat("/", i, below);
    }
    return "";
  }
  if (right.IsObject() && answer.IsObject()) {
    if (answer.MemberCount() != right.MemberCount()) {
      return absl::StrCat(": ", answer.MemberCount(), " members, not ", right.MemberCount());
    }
    for (const auto& member : right.GetObject()) {
      const absl::string_view name(member.name.GetString(), member.name.GetStringLength());
      const auto found = answer.FindMember(member.name);
      if (found == answer.MemberEnd()) return absl::StrCat("/", name, ": missing");
      const std::string below = JsonDifference(found->value, member.value);
      if (!below.empty()) return absl::StrCat("/", name, below);
    }
    return "";
  }
  return answer == right ? "" : ": another value";
}

}  // namespace

std::string ComparePredictResponses(absl::string_view answer, absl::string_view right) {
  PredictResponse got, want;
  if (!ParseResponse(answer, &got)) return "no PredictResponse";
  if (!ParseResponse(right, &want)) return "what should be right is no PredictResponse";
  if (want.model_spec().has_version() &&
      got.model_spec().version().value() != want.model_spec().version().value()) {
    return absl::StrCat("version ", got.model_spec().version().value(), ", not ",
                        want.model_spec().version().value());
  }
  if (got.outputs_size() != want.outputs_size()) {
    return absl::StrCat(got.outputs_size(), " outputs, not ", want.outputs_size());
  }
  for (const auto& [name, proto] : want.outputs()) {
    const auto found = got.outputs().find(name);
    if (found == got.outputs().end()) return absl::StrCat("no output '", name, "'");
    const absl::StatusOr<Tensor> want_tensor = TensorFromProto(proto);
    const absl::StatusOr<Tensor> got_tensor = TensorFromProto(found->second);
    if (!want_tensor.ok()) return std::string(want_tensor.status().message());
    if (!got_tensor.ok()) return std::string(got_tensor.status().message());
    const std::string difference = FirstDifference(*got_tensor, *want_tensor, {});
    if (!difference.empty()) return absl::StrCat("output '", name, "': ", difference);
  }
  return "";
}

std::string CompareJson(absl::string_view answer, absl::string_view right) {
  rapidjson::Document got, want;
  if (got.Parse(answer.data(), answer.size()).HasParseError()) return "no JSON";
  if (want.Parse(right.data(), right.size()).HasParseError()) {
    return "what should be right is no JSON";
  }
  return JsonDifference(got, want);
}

AnswerCheck::AnswerCheck(CompareAnswers compare, std::vector<std::vector<std::string>> right)
    : compare_(std::move(compare)), right_(std::move(right)), known_(right_.size()) {}

std::string AnswerCheck::Difference(size_t request, absl::string_view answer) {
  if (right_[request].empty()) return "";
  {
    absl::MutexLock lock(&mu_);
    if (known_[request].contains(answer)) return "";
  }
  std::string difference;
  for (const std::string& right : right_[request]) {
    difference = compare_(answer, right);
    if (!difference.empty()) continue;
    absl::MutexLock lock(&mu_);
    if (known_[request].size() < kMaxKnown) known_[request].emplace(answer);
    return "";
  }
  return difference;
}

}  // namespace tessera::benchmarks
