// Bytes on a channel: a writer, a reader that cannot run past its end, and the frame around them.
//
//   WireWriter w;  w.put<uint64_t>(address);  w.text("softmax");
//   WireReader r(bytes);  auto a = r.get<uint64_t>();  auto t = r.text(256);
//   if (!r.complete()) …                     // too short, too long, or a length that lies
//
// Header-only and free of exceptions: the stand-in CUDA runtime inside the candidate is built from
// it too. Little-endian machines only. It neither compresses nor authenticates: what is on the
// other end decides what a message may do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fiel::worker {

inline constexpr uint32_t kWireMagic = 0x4c454946;  // "FIEL"
inline constexpr uint16_t kWireVersion = 1;

/// Precedes each message. `length` counts the payload only.
struct FrameHeader {
  uint32_t magic = kWireMagic;
  uint16_t version = kWireVersion;
  uint16_t type = 0;
  uint32_t length = 0;
  uint32_t sequence = 0;
};
static_assert(sizeof(FrameHeader) == 16);

class WireWriter {
 public:
  template <typename T>
  WireWriter& put(T value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    append(&value, sizeof(T));
    return *this;
  }
  WireWriter& blob(const void* data, size_t size) {
    put<uint32_t>(static_cast<uint32_t>(size));
    append(data, size);
    return *this;
  }
  WireWriter& text(std::string_view s) { return blob(s.data(), s.size()); }
  std::span<const uint8_t> bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }
  void append(const void* data, size_t size) {
    size_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size) std::memcpy(bytes_.data() + at, data, size);
  }

 private:
  std::vector<uint8_t> bytes_;
};

/// After the first failure every further read gives zero or empty; ask complete() once at the end.
class WireReader {
 public:
  explicit WireReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <typename T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    T value{};
    if (!take(sizeof(T))) return value;
    std::memcpy(&value, bytes_.data() + at_ - sizeof(T), sizeof(T));
    return value;
  }
  std::span<const uint8_t> blob(size_t max_bytes) {
    size_t n = get<uint32_t>();
    if (failed_ || n > max_bytes || !take(n)) {
      failed_ = true;
      return {};
    }
    return bytes_.subspan(at_ - n, n);
  }
  std::string text(size_t max_bytes) {
    auto b = blob(max_bytes);
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }
  /// A count that is followed by at least `bytes_each` per element: refuses what cannot fit.
  size_t count(size_t bytes_each, size_t max_count) {
    size_t n = get<uint32_t>();
    if (failed_ || n > max_count || n > remaining() / (bytes_each ? bytes_each : 1)) {
      failed_ = true;
      return 0;
    }
    return n;
  }
  size_t remaining() const { return bytes_.size() - at_; }
  bool failed() const { return failed_; }
  void refuse() { failed_ = true; }
  bool complete() const { return !failed_ && remaining() == 0; }

 private:
  bool take(size_t n) {
    if (failed_ || n > remaining()) {
      failed_ = true;
      return false;
    }
    at_ += n;
    return true;
  }
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace fiel::worker
