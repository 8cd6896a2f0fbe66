#include "serving/commands/load/request_target.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "serving/commands/load/grpc_target.h"
#include "serving/commands/load/rest_target.h"

namespace tessera::serving {
namespace {

constexpr char kPredict[] = "/tensorflow.serving.PredictionService/Predict";

}  // namespace

absl::StatusOr<std::unique_ptr<RequestTarget>> MakeRequestTarget(
    const RequestTarget::Options& options, const std::vector<std::string>& requests) {
  absl::string_view rest = options.url;
  if (absl::ConsumePrefix(&rest, "grpc://")) {
    const size_t slash = rest.find('/');
    const std::string method = slash == rest.npos ? kPredict : std::string(rest.substr(slash));
    return MakeGrpcTarget(std::string(rest.substr(0, slash)), method, options, requests);
  }
  if (!absl::ConsumePrefix(&rest, "rest://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("no URL of a target: '", options.url, "' (grpc://... or rest://...)"));
  }
  const size_t slash = rest.find('/');
  const size_t colon = rest.substr(0, slash).rfind(':');  // [::1]:8501 has others
  if (colon == absl::string_view::npos || slash == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("no URL of a target: '", options.url, "' (rest://HOST:PORT/PATH)"));
  }
  absl::string_view host = rest.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return MakeRestTarget({.host = std::string(host),
                         .port = std::string(rest.substr(colon + 1, slash - colon - 1)),
                         .path = std::string(rest.substr(slash))},
                        options, requests);
}

}  // namespace tessera::serving
