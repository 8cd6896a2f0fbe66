#include "serving/frontend/grpc/grpc_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

constexpr size_t kMaxMessage = 1024;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const absl::string_view message = status.message();
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      message.size() <= kMaxMessage
                          ? std::string(message)
                          : absl::StrCat(message.substr(0, kMaxMessage), "...TRUNCATED"));
}

}  // namespace tessera::serving
