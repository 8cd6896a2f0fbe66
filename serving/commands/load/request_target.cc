#include "serving/commands/load/request_target.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "serving/commands/load/grpc_target.h"
#include "serving/commands/load/rest_target.h"

namespace tessera::serving {
namespace {

constexpr char kPredict[] = "/tensorflow.serving.PredictionService/Predict";

// Splits what follows grpc:// into the address and the method.
std::pair<absl::string_view, absl::string_view> SplitGrpcUrl(absl::string_view text) {
  constexpr absl::string_view kUnix = "unix:";
  size_t slash = text.find('/');
  size_t end = slash;  // of the address
  if (absl::StartsWith(text, kUnix)) {
    end = text.rfind(":/");
    if (end == text.npos || end < kUnix.size()) return {text, kPredict};
    slash = end + 1;
  }
  return {text.substr(0, end), slash == text.npos ? kPredict : text.substr(slash)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<RequestTarget>> MakeRequestTarget(
    const RequestTarget::Options& options, const std::vector<std::string>& requests) {
  absl::string_view rest = options.url;
  if (absl::ConsumePrefix(&rest, "grpc://")) {
    const auto [address, method] = SplitGrpcUrl(rest);
    return MakeGrpcTarget(std::string(address), std::string(method), options, requests);
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
