#include "device/device_name.h"

#include <fmt/core.h>

#include <charconv>

#include "base/text.h"

namespace fiel::device {

Result<DeviceName> parse_device_name(std::string_view text) {
  if (text == "virtual") return DeviceName{};
  constexpr std::string_view kPrefix = "cuda:";
  if (text == "cuda") return DeviceName{0};
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    std::string_view digits = text.substr(kPrefix.size());
    int n = -1;
    auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (ec == std::errc() && end == digits.data() + digits.size() && n >= 0 && n < 1024)
      return DeviceName{n};
  }
  return fail(ErrorCode::usage, fmt::format("'{:.60}' is no device", text),
              "virtual (PTX on the CPU), or cuda:0, cuda:1, … as CUDA counts them");
}

std::string to_string(const DeviceName& name) {
  return name.is_cuda() ? fmt::format("cuda:{}", name.cuda) : "virtual";
}

std::string visible_alone(int n, const char* visible) {
  if (n < 0) return {};
  if (visible == nullptr) return std::to_string(n);
  const auto words = split(visible, ',');
  if (static_cast<size_t>(n) >= words.size()) return {};
  return std::string(trim(words[static_cast<size_t>(n)]));
}

}  // namespace fiel::device
