// Converts statuses to those of gRPC.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace tessera::serving {

// Converts a status; the codes are the same numbers. Messages are cut at 1024 bytes and end in
// "...TRUNCATED" then, because they are sent as headers, whose size clients limit.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace tessera::serving
