// Any bytes as a task: read or refused, and what was read instantiates.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "task/task.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto task = fiel::task::parse_task(text, "fuzz.toml");
  if (!task) return 0;
  for (const auto& set : task->shape_sets)
    if (!task->instantiate(set)) std::abort();
  return 0;
}
