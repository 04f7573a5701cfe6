// SHA-256 for identity (anyone can check it with sha256sum) and XXH3 for in-memory keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fiel {

/// Lower-case hex, 64 characters.
std::string sha256_hex(std::string_view bytes);

/// Incremental: every part is preceded by its length, so ("ab","c") and ("a","bc") differ.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  Digest& add(std::string_view part);
  std::string hex();  ///< ends the digest

 private:
  void* state_;
};

/// Fast, not cryptographic.
uint64_t xxh3(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace fiel
