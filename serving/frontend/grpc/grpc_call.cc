#include "serving/frontend/grpc/grpc_call.h"

#include <chrono>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "serving/frontend/traceparent.h"

namespace tessera::serving {

absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  return deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture()
                                                                  : absl::FromChrono(deadline);
}

std::optional<absl::string_view> MetadataOf(const grpc::CallbackServerContext& context,
                                            absl::string_view name) {
  // Names arrive in lower case, as HTTP/2 demands.
  const std::string key = absl::AsciiStrToLower(name);
  const auto entry = context.client_metadata().find(key);
  if (entry == context.client_metadata().end()) return std::nullopt;
  return absl::string_view(entry->second.data(), entry->second.size());
}

absl::Status NotThisMessage(absl::string_view type_name) {
  return absl::InternalError(absl::StrCat("the request is not a ", type_name));
}

absl::string_view TraceIdOf(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range(
      grpc::string_ref(kTraceparent.data(), kTraceparent.size()));
  if (begin == end || std::next(begin) != end) return {};
  return TraceIdOf(absl::string_view(begin->second.data(), begin->second.size()));
}

GrpcCall::GrpcCall(const grpc::CallbackServerContext* context, const RequestHandler* handler,
                   absl::string_view method)
    : times{.arrived = absl::Now()},
      context_(context),
      handler_(handler),
      method_(method),
      deadline_(DeadlineOf(*context)) {}

}  // namespace tessera::serving
