// A method of gRPC as a RequestTarget. Use request_target.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serving/commands/load/request_target.h"

namespace tessera::serving {

// `address` is "HOST:PORT", `method` "/SERVICE/METHOD". Replies come on gRPC's threads.
std::unique_ptr<RequestTarget> MakeGrpcTarget(const std::string& address, const std::string& method,
                                              const RequestTarget::Options& options,
                                              const std::vector<std::string>& requests);

}  // namespace tessera::serving
