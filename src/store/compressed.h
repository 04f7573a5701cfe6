// Text and samples as the store keeps them: zstd frames with their size inside.
//
//   std::string frame = compressed(text);
//   FIEL_TRY(std::string back, decompressed(frame, 64u << 20));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fiel::store {

std::string compressed(std::string_view bytes);

/// ErrorCode::limit beyond max_bytes: a damaged or planted frame may claim any size.
Result<std::string> decompressed(std::string_view frame, uint64_t max_bytes);

}  // namespace fiel::store
