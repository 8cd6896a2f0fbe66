// The REST form of tessera.AdminService.
#pragma once

#include <vector>

#include "serving/frontend/admin/admin_access.h"
#include "serving/frontend/admin/rollout_calls.h"
#include "serving/frontend/admin/rollout_feed.h"
#include "serving/frontend/http/http_routes.h"

namespace tessera::serving {

//   GET  /admin/v1/rollouts
//   GET  /admin/v1/rollouts/MODEL
//   POST /admin/v1/rollouts/MODEL:(promote|rollback|pause|resume)   body: empty, or {"version": 3}
//   GET  /admin/v1/events[?model=MODEL][&since_start=true]
//
// Events are sent as server-sent events of the type "rollout", whose data is a RolloutEvent as JSON
// on one line. A client that comes again with `Last-Event-ID` gets what it missed, as far as it is
// kept; after a restart of the server, all that happened since. The stream ends when the token with
// which it was asked for counts no more.
//
// All arguments must outlive the routes.
std::vector<HttpRoute> RolloutRoutes(const AdminAccess* access, const RolloutCalls* calls,
                                     RolloutFeed* feed);

}  // namespace tessera::serving
