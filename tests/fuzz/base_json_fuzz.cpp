// Any bytes as JSON: refused, or a value that reads back as what it writes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr fiel::Json::Limits kLimits{.max_bytes = 1u << 16, .max_depth = 32, .max_values = 4096};
  const auto json = fiel::Json::parse(text, kLimits);
  if (!json) return 0;
  // Keys of an object are unique, so every value is found again by its key.
  for (const auto& [key, value] : json->members())
    if (json->find(key) != &value) std::abort();
  const std::string written = json->dump();
  const auto again = fiel::Json::parse(written);
  if (!again || again->dump() != written || again->size() != json->size()) std::abort();
  return 0;
}
