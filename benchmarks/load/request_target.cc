#include "benchmarks/load/request_target.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "benchmarks/load/grpc_target.h"
#include "benchmarks/load/rest_target.h"

namespace tessera::benchmarks {

absl::StatusOr<std::unique_ptr<RequestTarget>> MakeRequestTarget(
    const RequestTarget::Options& options, const std::vector<std::string>& requests) {
  absl::string_view rest = options.url;
  if (absl::ConsumePrefix(&rest, "grpc://")) {
    return MakeGrpcTarget(std::string(rest), options, requests);
  }
  if (!absl::ConsumePrefix(&rest, "rest://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("no URL of a target: '", options.url, "' (grpc://... or rest://...)"));
  }
  const size_t colon = rest.find(':');
  const size_t slash = rest.find('/');
  if (colon == absl::string_view::npos || slash == absl::string_view::npos || slash < colon) {
    return absl::InvalidArgumentError(
        absl::StrCat("no URL of a target: '", options.url, "' (rest://HOST:PORT/PATH)"));
  }
  return MakeRestTarget({.host = std::string(rest.substr(0, colon)),
                         .port = std::string(rest.substr(colon + 1, slash - colon - 1)),
                         .path = std::string(rest.substr(slash))},
                        options, requests);
}

}  // namespace tessera::benchmarks
