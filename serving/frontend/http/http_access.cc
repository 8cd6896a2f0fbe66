#include "serving/frontend/http/http_access.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "serving/frontend/traceparent.h"

namespace tessera::serving {
namespace {

// What a line says of a request, which its handler takes.
struct Asked {
  explicit Asked(const HttpRequest& request)
      : arrived(absl::Now()),
        method(request.method),
        target(request.target),
        peer(request.peer),
        trace_id(TraceIdOf(request.OnlyHeader(kTraceparent))),
        bytes(request.body.size()) {}

  const absl::Time arrived;
  const std::string method, target, peer, trace_id;
  const size_t bytes;
};

void Add(const Asked& asked, const HttpReply& reply, AccessLog* log) {
  log->Add({.protocol = "http",
            .method = asked.method,
            .path = asked.target,
            .model = reply.model,
            .version = reply.version,
            .status = absl::StrCat(reply.status),
            .arrived = asked.arrived,
            .duration = absl::Now() - asked.arrived,
            .bytes_in = asked.bytes,
            .bytes_out = reply.body.size(),
            .peer = asked.peer,
            .trace_id = asked.trace_id});
}

}  // namespace

HttpHandler LoggingAccess(AccessLog* log, HttpHandler handler) {
  return [log, handler = std::move(handler)](HttpRequest request, HttpResponder respond) {
    auto asked = std::make_shared<const Asked>(request);
    handler(std::move(request),
            [log, asked = std::move(asked), respond = std::move(respond)](HttpReply reply) {
              Add(*asked, reply, log);
              respond(std::move(reply));
            });
  };
}

void LogRefusal(AccessLog* log, const HttpRequest& head, const HttpReply& reply) {
  Add(Asked(head), reply, log);
}

}  // namespace tessera::serving
