// ld, st, atom and red as the parser's own table spells them, each in a kernel around it: a new
// form is a new test.
//
//   for (const MemoryForm& form : memory_forms(ptx::Opcode::ld)) { form.text; form.mods; … }
//   Gpu gpu(kernel_around(form));
//
// kernel(memory, lanes, results), blocks of 32 threads. A block owns kTileBytes at
// memory + block * tile_stride (loads: one tile for all); lanes and results are one LaneInput and
// one LaneOutput a thread. Where the form is for another space the tile is carried there and back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace fiel::vgpu {

inline constexpr uint32_t kTileBytes = 2048;  ///< 32 lanes of v8.b64

struct LaneInput {
  uint32_t offset = 0;  ///< in the tile
  uint32_t enabled = 0;
  uint64_t unused = 0;
  std::array<uint64_t, 8> values{};  ///< what the form's registers hold before it
};
struct LaneOutput {
  std::array<uint64_t, 8> values{};  ///< and after it, as wide as they are
};

struct MemoryForm {
  /// Where the address really points; `named` when it is generic.
  enum class Place : uint8_t { global, shared, local, constant, entry_parameter, call_parameter };
  std::string text;  ///< with operands: "ld.volatile.shared.v2.u16 {%x0, %x1}, [%at32];"
  ptx::Modifiers mods;
  Place place = Place::global;
  ptx::Opcode op = ptx::Opcode::none;
  uint32_t register_bits = 32;

  uint32_t element_bytes() const;
  uint32_t access_bytes() const { return element_bytes() * mods.vector; }
};

/// All combinations of operation, type, vector and space, in global and shared memory with all
/// widths of registers; of the words that change nothing (orders, scopes, hints) each at least
/// once. What the table has and never shows up here is a failure of the calling test.
std::vector<MemoryForm> memory_forms(ptx::Opcode op);

/// `constant`: the tile of constants, for Place::constant.
std::string kernel_around(const MemoryForm& form, const std::array<uint8_t, kTileBytes>& constant);

}  // namespace fiel::vgpu
