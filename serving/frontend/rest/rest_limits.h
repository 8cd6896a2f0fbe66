// Applies a model's limit of bytes to an HTTP request before its body is read.
#pragma once

#include <cstdint>
#include <optional>

#include "serving/frontend/http/http_message.h"
#include "serving/frontend/request_handler.h"

namespace tessera::serving {

// Returns the reply to a request to run a model, by the REST API or KServe's protocol, whose body
// is announced with more bytes than its model takes: 413, which is recorded in the handler's
// metrics. Otherwise returns nothing, and lowers *max_body_bytes to what the model takes, for
// bodies whose length is not announced. For HttpServer::Options::admit.
std::optional<HttpReply> RefuseLargeBody(const RequestHandler& handler, const HttpRequest& head,
                                         uint64_t* max_body_bytes);

// Returns the reply to a request whose body went beyond the limit that RefuseLargeBody() set; 413,
// and recorded likewise. Returns nothing if no limit of a model was passed. For
// HttpServer::Options::body_too_large.
std::optional<HttpReply> ReplyToLargeBody(const RequestHandler& handler, const HttpRequest& head);

}  // namespace tessera::serving
