#include "serving/frontend/tls/server_certificates.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/frontend/tls/testing/test_authority.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

class ServerCertificatesTest : public ::testing::Test {
 protected:
  absl::Status Make(const PemCertificates& pem, bool verify_clients = false) const {
    return MakeTlsContext(pem, verify_clients).status();
  }
  void ExpectRefused(const PemCertificates& pem, absl::string_view reason,
                     bool verify_clients = false) const {
    const absl::Status status = Make(pem, verify_clients);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason)));
  }

  const TestAuthority authority_{"authority"};
  const TestAuthority::Signed server_ = authority_.Sign("server");
};

TEST_F(ServerCertificatesTest, TheKeyMustBelongToTheCertificate) {
  EXPECT_TRUE(Make({.certificates = server_.certificate, .key = server_.key}).ok());
  ExpectRefused({.certificates = server_.certificate, .key = authority_.Sign("other").key},
                "does not belong to the server's certificate");
}

TEST_F(ServerCertificatesTest, ErrorsNameThePartThatIsNoPem) {
  const std::string& good = server_.certificate;
  ExpectRefused({.key = server_.key}, "the server's certificate is no PEM text");
  ExpectRefused({.certificates = "/etc/cert.pem", .key = server_.key}, "it looks like a path");
  ExpectRefused({.certificates = good.substr(0, good.size() / 2), .key = server_.key}, "damaged");
  ExpectRefused({.certificates = good + good.substr(0, good.size() / 2), .key = server_.key},
                "a certificate after the server's is damaged");
  ExpectRefused({.certificates = good}, "the server's private key is no PEM text");
  ExpectRefused({.certificates = good, .key = good}, "the server's private key is no PEM text");
  const PemCertificates bad_authority = {good, server_.key, "none"};
  ExpectRefused(bad_authority, "clients' authorities", /*verify_clients=*/true);
  EXPECT_TRUE(Make(bad_authority).ok());
}

TEST_F(ServerCertificatesTest, TheCertificatesOfAuthoritiesMayFollow) {
  const PemCertificates pem = {server_.certificate + authority_.certificate() + "# a comment\n",
                               server_.key};
  const TlsContext context = *MakeTlsContext(pem, /*verify_clients=*/false);
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context.get(), &chain);
  EXPECT_EQ(sk_X509_num(chain), 1);
}

TEST_F(ServerCertificatesTest, ANewCertificateIsTakenOnceItFitsItsKey) {
  const std::string certificate = JoinPath(::testing::TempDir(), "cert.pem");
  const std::string key = JoinPath(::testing::TempDir(), "key.pem");
  ASSERT_TRUE(WriteFileAtomically(certificate, server_.certificate).ok());
  ASSERT_TRUE(WriteFileAtomically(key, server_.key).ok());
  const auto read = [&]() -> absl::StatusOr<PemCertificates> {
    PemCertificates pem;
    ASSIGN_OR_RETURN(pem.certificates, ReadFile(certificate));
    ASSIGN_OR_RETURN(pem.key, ReadFile(key));
    return pem;
  };
  const auto certificates = *ServerCertificates::Open({.read = read, .files = {certificate, key}});
  const TestAuthority::Signed next = authority_.Sign("next");
  ASSERT_TRUE(WriteFileAtomically(certificate, next.certificate).ok());
  EXPECT_EQ(certificates->Get()->pem.certificates, server_.certificate);
  ASSERT_TRUE(RemoveFile(key).ok());
  EXPECT_EQ(certificates->Get()->pem.certificates, server_.certificate);
  ASSERT_TRUE(WriteFileAtomically(key, next.key).ok());
  EXPECT_EQ(certificates->Get()->pem.certificates, next.certificate);
}

}  // namespace
}  // namespace tessera::serving
