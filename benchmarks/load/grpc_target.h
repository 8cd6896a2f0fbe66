// PredictionService/Predict as a RequestTarget. Use request_target.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/load/request_target.h"

namespace tessera::benchmarks {

// `address` is "HOST:PORT". Replies come on gRPC's threads.
std::unique_ptr<RequestTarget> MakeGrpcTarget(const std::string& address,
                                              const RequestTarget::Options& options,
                                              const std::vector<std::string>& requests);

}  // namespace tessera::benchmarks
