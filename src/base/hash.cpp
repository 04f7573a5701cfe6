#include "base/hash.h"

#include <openssl/evp.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"

namespace fiel {
namespace {
std::string hex_of(const unsigned char* bytes, unsigned n) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (unsigned i = 0; i < n; ++i) {
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return out;
}
}  // namespace

std::string sha256_hex(std::string_view bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  FIEL_CHECK(EVP_Digest(bytes.data(), bytes.size(), out, &n, EVP_sha256(), nullptr) == 1,
             "SHA-256");
  return hex_of(out, n);
}

Digest::Digest() : state_(EVP_MD_CTX_new()) {
  FIEL_CHECK(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(state_), EVP_sha256(), nullptr) == 1,
             "SHA-256 start");
}
Digest::~Digest() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(state_)); }
Digest& Digest::add(std::string_view part) {
  uint64_t size = part.size();
  auto* context = static_cast<EVP_MD_CTX*>(state_);
  FIEL_CHECK(EVP_DigestUpdate(context, &size, sizeof size) == 1 &&
                 EVP_DigestUpdate(context, part.data(), part.size()) == 1,
             "SHA-256 update");
  return *this;
}
std::string Digest::hex() {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  FIEL_CHECK(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(state_), out, &n) == 1, "SHA-256 end");
  return hex_of(out, n);
}

uint64_t xxh3(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace fiel
