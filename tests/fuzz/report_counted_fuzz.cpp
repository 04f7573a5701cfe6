// What ncu and the candidate beside it print: read, digested, explained, whatever it is.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "report/counted.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto launches = fiel::report::read_counted(text);
  fiel::report::counted_text(launches);
  fiel::report::counted_json(launches).dump();
  fiel::report::why_not_counted(text);
  fiel::report::unknown_metrics(text, fiel::report::counted_metrics());
  return 0;
}
