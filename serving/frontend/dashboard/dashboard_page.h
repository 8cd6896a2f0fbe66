// The dashboard's page, whose parts lie in page/, as the program holds it.
#pragma once

#include "absl/strings/string_view.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// Returns the page. Its Content-Security-Policy allows the script and the style in it by their
// hashes, connections to the server it came from, and nothing else; no other page may frame it.
HttpReply DashboardPage(const HttpRequest& request);

// Written by embed_page.py.
extern const absl::string_view kDashboardGzip;
extern const absl::string_view kDashboardScriptHash;  // "sha256-..."
extern const absl::string_view kDashboardStyleHash;

}  // namespace tessera::serving
