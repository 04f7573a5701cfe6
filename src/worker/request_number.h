// The number of a request, which its reply has to carry: drawn, so that no reply can be written
// before its request is there.
//
//   number_ = draw_request_number(number_);  send_frame(fd, type, number_, payload);
//
// It binds a reply to a request and says nothing about whether the reply is true: who is asked can
// read the number.
#pragma once

#include <sys/random.h>

#include <cstdint>

namespace fiel::worker {

/// Never `before`, so that the last reply does not count again.
inline uint32_t draw_request_number(uint32_t before) {
  uint32_t drawn = before;
  while (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn || drawn == before) {}
  return drawn;
}

}  // namespace fiel::worker
