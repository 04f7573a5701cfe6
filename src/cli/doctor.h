// What this machine has for judging kernels, and what each missing thing costs.
//
//   for (const DoctorItem& item : examine_machine()) …
//
// Looks and tries, changes nothing. Tools are asked with a time limit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace fiel::cli {

struct DoctorItem {
  enum class State : uint8_t { ok, limited, missing };
  std::string id, title;
  State state = State::missing;
  std::string found;      ///< what and where
  std::string cost;       ///< what does not work without it; empty when it is there
  std::string remedy;     ///< a command that brings it; empty when it is there
  bool required = false;  ///< judging on the virtual device needs it
};

std::vector<DoctorItem> examine_machine();
DoctorItem memory_item(uint64_t total_bytes, uint64_t free_bytes);
const char* name_of(DoctorItem::State state);

}  // namespace fiel::cli
