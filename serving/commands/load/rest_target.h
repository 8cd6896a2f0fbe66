// POST and GET over HTTP/1.1 as a RequestTarget. Use request_target.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/commands/load/request_target.h"

namespace tessera::serving {

struct RestAddress {
  std::string host;
  std::string port;
  std::string path;  // "/v1/models/m:predict"
};

// Connections are kept open between requests, one request at a time each. All run on one thread of
// the target's own.
// Errors: UNAVAILABLE if the host has no address; INVALID_ARGUMENT for certificates that cannot be
// used.
absl::StatusOr<std::unique_ptr<RequestTarget>> MakeRestTarget(
    const RestAddress& address, const RequestTarget::Options& options,
    const std::vector<std::string>& requests);

}  // namespace tessera::serving
