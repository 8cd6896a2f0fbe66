#include "serving/frontend/tls/testing/test_authority.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>

namespace tessera::serving {
namespace {

constexpr int kDay = 24 * 60 * 60;

void Require(bool condition) {
  if (!condition) std::abort();
}

std::shared_ptr<EVP_PKEY> NewKey() {
  std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  Require(key != nullptr);
  return key;
}

void SetName(const std::string& name, X509_NAME* to) {
  Require(X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(name.data()),
                                     static_cast<int>(name.size()), -1, 0) == 1);
}

void AddExtension(int id, const char* value, X509* certificate) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

std::string KeyText(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  Require(PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return Text(bio);
}

// Returns a certificate for `name` and its key, signed by the key of `issuer`.
std::string Certify(const std::string& name, EVP_PKEY* key, const std::string& issuer,
                    EVP_PKEY* issuer_key) {
  static long serial = 0;
  const std::shared_ptr<X509> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 6 * kDay);
  X509_set_pubkey(certificate.get(), key);
  SetName(name, X509_get_subject_name(certificate.get()));
  SetName(issuer, X509_get_issuer_name(certificate.get()));
  if (key == issuer_key) {
    AddExtension(NID_basic_constraints, "critical,CA:TRUE", certificate.get());
  } else {
    AddExtension(NID_subject_alt_name, "DNS:localhost", certificate.get());
  }
  Require(X509_sign(certificate.get(), issuer_key, EVP_sha256()) > 0);
  BIO* bio = BIO_new(BIO_s_mem());
  Require(PEM_write_bio_X509(bio, certificate.get()) == 1);
  return Text(bio);
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name)
    : key_(NewKey()), name_(name), certificate_(Certify(name, key_.get(), name, key_.get())) {}

TestAuthority::Signed TestAuthority::Sign(const std::string& name) const {
  const std::shared_ptr<EVP_PKEY> key = NewKey();
  return {KeyText(key.get()), Certify(name, key.get(), name_, key_.get())};
}

}  // namespace tessera::serving
