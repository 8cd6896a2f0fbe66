#include "serving/frontend/grpc/grpc_call.h"

#include <chrono>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "serving/frontend/traceparent.h"

namespace tessera::serving {
namespace {

// Returns "10.0.0.7:41234", "[::1]:41234" or "unix:/path". gRPC puts the family before addresses,
// and percent-encodes brackets.
std::string PeerOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  absl::string_view address = peer;
  if (!absl::ConsumePrefix(&address, "ipv4:") && !absl::ConsumePrefix(&address, "ipv6:")) {
    return peer;
  }
  return absl::StrReplaceAll(address, {{"%5B", "["}, {"%5D", "]"}});
}

}  // namespace

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

void NoteGrpcEnd(const RequestHandler& handler, const grpc::CallbackServerContext& context,
                 const EndedGrpcCall& ended) {
  const bool is_logged = handler.access_log() != nullptr;
  if (ended.status.ok() && !is_logged) [[likely]]
    return;
  const absl::Time now = absl::Now();
  const absl::string_view trace_id = TraceIdOf(context);
  handler.failures().Note(
      "grpc", ended.method, ended.model_name, ended.status, [&] { return trace_id; }, now);
  if (!is_logged) return;
  handler.access_log()->Add({.protocol = "grpc",
                             .method = ended.method,
                             .model = ended.model_name,
                             .version = ended.times.version,
                             .status = absl::StatusCodeToString(ended.status.code()),
                             .arrived = ended.times.arrived,
                             .duration = now - ended.times.arrived,
                             .bytes_in = ended.bytes_in,
                             .bytes_out = ended.response.Length(),
                             .peer = PeerOf(context),
                             .trace_id = trace_id});
}

GrpcCall::GrpcCall(const grpc::CallbackServerContext* context, const grpc::ByteBuffer& request,
                   const grpc::ByteBuffer* response, const RequestHandler* handler,
                   absl::string_view method)
    : times{.arrived = absl::Now()},
      context_(context),
      handler_(handler),
      method_(method),
      bytes_in_(handler->access_log() == nullptr ? 0 : request.Length()),
      response_(response),
      deadline_(DeadlineOf(*context)) {}

}  // namespace tessera::serving
