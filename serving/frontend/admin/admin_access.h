// AdminAccess: whether a request to the admin address may be answered.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serving/frontend/auth/bearer_tokens.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// With a token file, every request needs one of its tokens.
//
// Without one, the address is loopback, and whoever is on this machine may ask; but not a page of
// another site in a browser on it. Therefore a request that changes something needs the header
// `X-Tessera-Admin`, which a page can send to its own origin only; and every request must name its
// host by an IP address or as localhost, because a name of the other site may lead here by then
// (DNS rebinding). A browser that says that a request comes from another site is refused, so that
// such a page cannot take the streams of events, of which there is a limited number, either.
//
// Thread-safe.
class AdminAccess {
 public:
  // `address` is that on which the server listens. Errors: INVALID_ARGUMENT if it is not loopback
  // and there is no token file, and for a file with an error; NOT_FOUND and others from reading it.
  static absl::StatusOr<std::unique_ptr<AdminAccess>> Make(const std::string& address,
                                                           const std::string& token_file);

  // Errors: UNAUTHENTICATED without a valid token; PERMISSION_DENIED for what a page of another
  // site could have sent.
  absl::Status Check(const HttpRequest& request) const;
  // The same for a call by gRPC, which no page can make. `authorization` is the metadata entry of
  // this name, "" without one.
  absl::Status Check(absl::string_view authorization) const;

 private:
  explicit AdminAccess(std::unique_ptr<BearerTokens> tokens) : tokens_(std::move(tokens)) {}

  const std::unique_ptr<BearerTokens> tokens_;  // null without a token file
};

// Returns true for 127.0.0.0/8 and ::1.
bool IsLoopback(const std::string& ip_address);

// Returns true if the header Host names an IP address or localhost, with or without a port.
bool IsAddressHost(absl::string_view host);

// Returns true if a browser says that a page of another origin asks, by the headers of the Fetch
// Metadata standard, or by Origin if it sends that. A link that a person follows is not meant.
bool IsFromAnotherSite(const HttpRequest& request);

}  // namespace tessera::serving
