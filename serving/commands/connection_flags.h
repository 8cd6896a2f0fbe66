// ConnectionFlags: the flags by which commands secure their connection to a server.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "serving/commands/load/client_tls.h"
#include "serving/server/flag_parser.h"

namespace tessera::serving {

struct ConnectionSecurity {
  std::optional<ClientTls> tls;  // without a value, the connection is not encrypted
  std::string authorization;     // "Bearer TOKEN"; empty: none
};

struct ConnectionFlags {
  std::string ca, cert, key, server_name, token_file;

  bool operator==(const ConnectionFlags&) const = default;
  // The flags write into this object, which must outlive the parser.
  void AddTo(FlagParser* flags);
  // Reads the files. Errors: UsageError() for flags that do not fit together; those of reading a
  // file.
  absl::StatusOr<ConnectionSecurity> Read() const;
};

// Returns a UsageError() if `address` ends with a number that is no port. gRPC and resolvers take
// it modulo 65536, and would ask another server.
absl::Status CheckPortOf(absl::string_view address);

}  // namespace tessera::serving
