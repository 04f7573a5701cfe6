// Finds the PTX in what nvcc embeds in an object: the fat binary of `.nv_fatbin`.
//
//   FIEL_TRY(std::vector<FatbinPtx> ptx, read_fatbin(bytes));
//
// Plain, zstd and LZ4 entries. The bytes come from the candidate: every size is checked, and what
// an entry may expand to is bounded. Cubins are skipped; a fat binary of cubins only is an error
// that says how to compile instead. Relocatable device code (-rdc) is not linked here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace fiel::build {

struct FatbinPtx {
  uint32_t arch = 0;  ///< 90
  uint16_t version_major = 0, version_minor = 0;
  std::string text;
};

inline constexpr uint64_t kMaxPtxBytes = 64u << 20;

/// `bytes` starts at the fat binary's header. Text that starts like PTX is taken as it is.
Result<std::vector<FatbinPtx>> read_fatbin(std::span<const uint8_t> bytes);

/// The entry for the highest architecture not above `arch`.
Result<FatbinPtx> select_ptx(std::vector<FatbinPtx> entries, uint32_t arch);

/// LZ4's block format. Fails on any byte that does not belong; never writes past `expected` bytes.
Result<std::string> lz4_block_decode(std::span<const uint8_t> in, uint64_t expected);

}  // namespace fiel::build
