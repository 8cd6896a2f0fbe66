#include "serving/commands/connection_flags.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/commands/command.h"
#include "serving/frontend/auth/bearer_tokens.h"

namespace tessera::serving {

void ConnectionFlags::AddTo(FlagParser* flags) {
  flags->Add("ca", &ca,
             "TLS, to a server with a certificate of one of the authorities in this file", "FILE");
  flags->Add("cert", &cert, "certificate to show to a server with ssl_client_ca_file", "FILE");
  flags->Add("key", &key, "private key of --cert", "FILE");
  flags->Add("server_name", &server_name,
             "name in the server's certificate, if it is not the host's", "NAME");
  flags->Add("token_file", &token_file,
             "has the server's token in its first line, as --token_file of the server has", "FILE");
}

absl::StatusOr<ConnectionSecurity> ConnectionFlags::Read() const {
  ConnectionSecurity security;
  if (ca.empty() && !(cert.empty() && key.empty() && server_name.empty())) {
    return UsageError("--cert, --key and --server_name need --ca, which turns TLS on");
  }
  if (cert.empty() != key.empty()) return UsageError("--cert and --key need each other");
  if (!ca.empty()) {
    ClientTls& tls = security.tls.emplace();
    tls.server_name = server_name;
    ASSIGN_OR_RETURN(tls.authorities, ReadFile(ca));
    if (!cert.empty()) {
      ASSIGN_OR_RETURN(tls.certificate, ReadFile(cert));
      ASSIGN_OR_RETURN(tls.key, ReadFile(key));
    }
  }
  if (!token_file.empty()) {
    ASSIGN_OR_RETURN(const std::vector<BearerToken> tokens, ReadBearerTokens(token_file));
    security.authorization = absl::StrCat("Bearer ", tokens.front().token);
  }
  return security;
}

absl::Status CheckPortOf(absl::string_view address) {
  const absl::string_view port = address.substr(address.rfind(':') + 1);
  if (port.size() == address.size() || port.empty() || !absl::c_all_of(port, absl::ascii_isdigit)) {
    return absl::OkStatus();
  }
  int number;
  if (absl::SimpleAtoi(port, &number) && number >= 1 && number <= 65535) return absl::OkStatus();
  return UsageError(absl::StrCat(port, " is no port: '", address, "'"));
}

}  // namespace tessera::serving
