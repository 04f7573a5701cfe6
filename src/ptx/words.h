// The vocabulary after the dot: every modifier that is known, and how each folds into Modifiers.
//
//   const Word* word = find_word("ftz");
//   fold(Opcode::add, *word, mods);
//
// Whether a word may stand with an opcode is the business of forms.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace fiel::ptx {

enum class Field : uint8_t {
  drop,         ///< means nothing to an executor: cache hints, or said by the opcode already
  unsupported,  ///< real PTX that Fiel does not run
  type,
  space,
  sem,
  scope,
  rounding,
  cmp,       ///< only ever a comparison: eq, ltu …
  boolean,   ///< and, or, xor, popc: bool_op or atomic, by opcode
  atomic,    ///< add, min, max, inc, dec, exch, cas: atomic or secondary, by opcode
  half,      ///< lo, hi: of a product, or an unsigned comparison, by opcode
  quantity,  ///< all, any, uni: vote, match or a branch, by opcode
  shuffle,
  cache,
  prmt,
  testp,
  layout,
  shape,
  vector,
  matrices,
  flag,    ///< Word::flag
  part,    ///< wmma's a b c d
  arrive,  ///< arrive, arrive_drop: bar, mbarrier, cp.async.mbarrier
  ballot,
};

struct Word {
  std::string_view text;
  Field field = Field::drop;
  uint16_t value = 0;
  bool Modifiers::*flag = nullptr;
  uint16_t id = 0;
};

const Word* find_word(std::string_view text);
/// All spellings, for did-you-mean.
const std::vector<std::string>& word_spellings();
void fold(Opcode op, const Word& word, Modifiers& mods);

/// Base opcodes of PTX that Fiel does not run (wgmma, tex …).
std::span<const std::string_view> unsupported_opcodes();
bool is_unsupported_opcode(std::string_view base);
/// Whether the word makes real PTX of the opcode that Fiel does not run.
bool is_unsupported(Opcode op, const Word& word);
/// Opcode::none when the name is not one of ours.
Opcode find_opcode(std::string_view base);
const std::vector<std::string>& opcode_spellings();

}  // namespace fiel::ptx
