// HTTP requests in the access log.
#pragma once

#include "serving/frontend/access_log.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// Returns a handler that answers as `handler` does, and adds each request to the log when it has
// its reply. Requests that cannot be read do not come so far. `log` must outlive it.
HttpHandler LoggingAccess(AccessLog* log, HttpHandler handler);

// Adds a request that was refused by its head, or by what came of it, and its reply, to the log.
void LogRefusal(AccessLog* log, const HttpRequest& head, const HttpReply& reply);

}  // namespace tessera::serving
