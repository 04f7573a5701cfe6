// A share of a count, with the interval that its size allows.
//
//   Rate r = wilson(0, 40);          // 0 of 40: at most 8.8 %
#pragma once

#include <cstdint>

#include "base/json.h"

namespace fiel::judge {

struct Rate {
  uint64_t count = 0, of = 0;
  double low = 0, high = 1;  ///< Wilson, 95 %
};
/// Wilson's score interval; [0, 1] of nothing.
Rate wilson(uint64_t count, uint64_t of);

Json to_json(const Rate& rate);

}  // namespace fiel::judge
