// TestAuthority: signs certificates for tests.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

namespace tessera::serving {

// An authority of its own name, whose certificates are valid from yesterday for a week. Aborts if
// OpenSSL fails.
class TestAuthority {
 public:
  struct Signed {
    std::string key, certificate;  // PEM
  };

  explicit TestAuthority(const std::string& name);

  // Returns a new key, and a certificate for it and for the host `localhost`.
  Signed Sign(const std::string& name) const;
  // The authority's own certificate as PEM.
  const std::string& certificate() const { return certificate_; }

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::string name_;
  std::string certificate_;
};

}  // namespace tessera::serving
