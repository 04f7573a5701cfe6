#include "vgpu/printf_format.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace fiel::vgpu {
namespace {

constexpr int kMaxWidth = 4096;

class Formatter {
 public:
  Formatter(std::string_view format, std::span<const uint8_t> arguments, const ReadString& read)
      : format_(format), arguments_(arguments), read_string_(read) {}

  std::string run() {
    while (at_ < format_.size()) {
      const char c = format_[at_++];
      if (c != '%')
        out_ += c;
      else
        directive();
    }
    return std::move(out_);
  }

 private:
  char peek() const { return at_ < format_.size() ? format_[at_] : '\0'; }

  template <typename T>
  T take() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (offset_ + sizeof(T) <= arguments_.size())
      memcpy(&value, arguments_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  int number() {
    int value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value < kMaxWidth ? value * 10 + (format_[at_] - '0') : kMaxWidth;
      ++at_;
    }
    return value < kMaxWidth ? value : kMaxWidth;
  }

  int star_or_number() {
    if (peek() != '*') return number();
    ++at_;
    const auto value = take<int32_t>();
    return value > kMaxWidth ? kMaxWidth : value < -kMaxWidth ? -kMaxWidth : value;
  }

  void directive() {
    const size_t begin = at_, taken = offset_;
    std::string spec = "%";
    while (strchr("-+ #0", peek()) != nullptr && peek() != '\0') spec += format_[at_++];
    if (peek() == '*' || (peek() >= '0' && peek() <= '9')) spec += std::to_string(star_or_number());
    if (peek() == '.') {
      ++at_;
      spec += "." + std::to_string(number());
    }
    int longs = 0, shorts = 0;
    for (;; ++at_) {
      const char c = peek();
      if (c == 'l')
        ++longs;
      else if (c == 'h')
        ++shorts;
      else
        break;
    }
    const char kind = peek();
    if (kind != '\0') ++at_;
    if (convert(kind, spec, longs > 0, shorts)) return;
    // Seen on an H200, driver 580.159.04: %.*f, %.*e, %.*d, %.*s, %*.*f, %5*d, %*5d, %zu, %jd, %td,
    // %Lf and %qd at the end of a format stand as written. Before a directive such forms take no
    // argument either, but there the driver hands both to the host's printf, which prints leftovers
    // for them.
    out_ += '%';
    at_ = begin;
    offset_ = taken;
  }

  /// False: there is no such directive.
  bool convert(char kind, const std::string& spec, bool is_long, int shorts) {
    switch (kind) {
      case 'd':
      case 'i': {
        int64_t value = is_long ? take<int64_t>() : take<int32_t>();
        if (shorts == 1) value = static_cast<int16_t>(value);
        if (shorts > 1) value = static_cast<int8_t>(value);
        print(spec + PRId64, value);
        return true;
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        uint64_t value = is_long ? take<uint64_t>() : take<uint32_t>();
        if (shorts == 1) value = static_cast<uint16_t>(value);
        if (shorts > 1) value = static_cast<uint8_t>(value);
        print(spec + "l" + kind, value);
        return true;
      }
      case 'c':
        print(spec + "c", take<int32_t>());
        return true;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        print(spec + kind, take<double>());
        return true;
      case 'p':
        print(spec + "p", reinterpret_cast<void*>(take<uint64_t>()));
        return true;
      case 's': {
        const auto address = take<uint64_t>();
        const std::string text = address == 0 ? "(null)" : read_string_(address);
        print(spec + "s", text.c_str());
        return true;
      }
      case 'n':
        take<uint64_t>();
        return true;
      case '%':
        out_ += '%';
        return true;
      default:
        return false;
    }
  }

  template <typename T>
  void print(const std::string& spec, T value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    // `spec` is rebuilt above from flags, bounded numbers and one conversion that matches T.
    std::array<char, 512> small{};
    const int n = snprintf(small.data(), small.size(), spec.c_str(), value);
    if (n < 0) return;
    if (static_cast<size_t>(n) < small.size()) {
      out_.append(small.data(), static_cast<size_t>(n));
      return;
    }
    std::string large(static_cast<size_t>(n) + 1, '\0');
    snprintf(large.data(), large.size(), spec.c_str(), value);
    large.pop_back();
    out_ += large;
#pragma GCC diagnostic pop
  }

  std::string_view format_;
  std::span<const uint8_t> arguments_;
  const ReadString& read_string_;
  size_t at_ = 0, offset_ = 0;
  std::string out_;
};

}  // namespace

std::string format_device(std::string_view format, std::span<const uint8_t> arguments,
                          const ReadString& read_string) {
  return Formatter(format, arguments, read_string).run();
}

}  // namespace fiel::vgpu
