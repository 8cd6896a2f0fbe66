#include "serving/frontend/tls/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

// The length of each protocol's name, and the name, as in the list that a client offers.
constexpr unsigned char kProtocols[] = "\x08http/1.1\x02h2";
constexpr size_t kHttp2Size = 3;  // the last of them

// Where a connection keeps whether it offers HTTP/2: a pointer that is not null.
int Http2Index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

constexpr unsigned char kSessionId[] = "tessera";

// Returns the reason of OpenSSL's last error, and forgets all of them.
std::string LastReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason == nullptr ? "unknown error" : reason;
  ERR_clear_error();
  return text;
}

absl::Status Invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " (OpenSSL: ", LastReason(), ")"));
}

absl::Status NoPem(absl::string_view what, absl::string_view text) {
  ERR_clear_error();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is no PEM text, which begins with -----BEGIN",
                   text.empty()                            ? ": it is empty"
                   : absl::StartsWith(text, "/")           ? ": it looks like a path"
                   : absl::StrContains(text, "-----BEGIN") ? ", or a part of it is damaged"
                                                           : ""));
}

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate ReadCertificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
}

// Whether what follows the last certificate that could be read is no certificate at all, rather
// than a damaged one.
bool IsAtEnd() {
  const auto error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

absl::Status UseCertificates(const std::string& text, SSL_CTX* context) {
  const Bio bio = Open(text);
  const Certificate own = ReadCertificate(bio.get());
  if (own == nullptr) return NoPem("the server's certificate", text);
  if (SSL_CTX_use_certificate(context, own.get()) != 1) {
    return Invalid("the server's certificate cannot be used");
  }
  while (const Certificate above = ReadCertificate(bio.get())) {
    if (SSL_CTX_add1_chain_cert(context, above.get()) != 1) {
      return Invalid("a certificate after the server's cannot be used");
    }
  }
  if (!IsAtEnd()) return Invalid("a certificate after the server's is damaged");
  ERR_clear_error();
  return absl::OkStatus();
}

absl::Status UseKey(const std::string& text, SSL_CTX* context) {
  const Bio bio = Open(text);
  // An empty password makes a key that needs one an error, where OpenSSL would ask the terminal.
  char no_password[] = "";
  const PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_password));
  if (key == nullptr) {
    if (absl::StrContains(text, "ENCRYPTED")) {
      ERR_clear_error();
      return absl::InvalidArgumentError(
          "the server's private key has a password; remove it by `openssl pkey -in KEY -out NEW`");
    }
    return NoPem("the server's private key", text);
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Invalid("the private key does not belong to the server's certificate");
  }
  return absl::OkStatus();
}

absl::Status VerifyClients(const std::string& text, SSL_CTX* context) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (text.empty()) return absl::OkStatus();  // no client is believed
  const Bio bio = Open(text);
  int count = 0;
  while (const Certificate authority = ReadCertificate(bio.get())) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return Invalid("a certificate of the clients' authorities cannot be used");
    }
    ++count;
  }
  if (count == 0 || !IsAtEnd()) return NoPem("a certificate of the clients' authorities", text);
  ERR_clear_error();
  return absl::OkStatus();
}

int ChooseProtocol(SSL* connection, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  const size_t withheld = SSL_get_ex_data(connection, Http2Index()) == nullptr ? kHttp2Size : 0;
  unsigned char* choice = nullptr;
  if (SSL_select_next_proto(&choice, chosen_size, kProtocols,
                            static_cast<unsigned int>(sizeof(kProtocols) - 1 - withheld), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = choice;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

absl::StatusOr<TlsContext> MakeTlsContext(const PemCertificates& pem, bool verify_clients) {
  const TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return absl::InternalError(LastReason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  // Without this, sessions of clients with certificates cannot be resumed.
  SSL_CTX_set_session_id_context(context.get(), kSessionId, sizeof(kSessionId) - 1);
  RETURN_IF_ERROR(UseCertificates(pem.certificates, context.get()));
  RETURN_IF_ERROR(UseKey(pem.key, context.get()));
  if (verify_clients) {
    RETURN_IF_ERROR(VerifyClients(pem.client_authorities, context.get()));
  }
  return context;
}

void OfferHttp2(SSL* connection) {
  static char offers;
  SSL_set_ex_data(connection, Http2Index(), &offers);
}

bool ChoseHttp2(const SSL* connection) {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(connection, &name, &size);
  return absl::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

}  // namespace tessera::serving
