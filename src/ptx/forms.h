// Which modifiers may stand with which opcode, and what operands the result takes: one row per form
// of the PTX manual.
//
//   FormMatch match = match_form(Opcode::add, words);
//   if (!match.form) ...   // match.misfit is the word to blame
//
// Modifiers match in any order; types match in the order written. The table speaks a small language
// of words, explained above kForms in forms.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptx/words.h"

namespace fiel::ptx {

/// What may stand in one operand place.
enum class Role : uint8_t {
  destination,  ///< register or `_`
  source,       ///< register, immediate, special register or symbol
  memory,       ///< […]
  label,
  table,               ///< name of a .branchtargets list
  immediate,           ///< constant integer
  vector_destination,  ///< register or {…}, as many as Modifiers::vector
  vector_source,
  fragment,     ///< {…} of registers (or one register): matrices
  any,          ///< mov, call: checked on its own
  scalar,       ///< source of any width: cp.async's size or predicate
  unsupported,  ///< real PTX, but not run: three-operand min/max
};
enum class Width : uint8_t { type0, type1, type2, type3, twice_type0, fixed, any };

struct Place {
  Role role = Role::source;
  Width width = Width::any;
  uint8_t bits = 0;       ///< for Width::fixed
  bool at_least = false;  ///< the register may be wider than the type (ld, st, cvt)
  bool optional = false;
  bool pair = false;               ///< `d|p` may follow
  bool only_with_bool_op = false;  ///< present exactly when a boolean operator is given
  bool only_with_hint = false;     ///< present exactly when .L2::cache_hint is given
};

struct Form {
  struct Group {
    std::vector<uint16_t> words;  ///< Word::id
    bool optional = false;
    bool is_type = false;
  };
  Opcode op = Opcode::none;
  bool unsupported = false;
  std::vector<Group> groups;
  std::vector<Place> places;
  std::string spelling;  ///< for messages
};

struct FormMatch {
  const Form* form = nullptr;
  const Word* misfit = nullptr;  ///< a word that no form of the opcode has, when there is one
};

FormMatch match_form(Opcode op, std::span<const Word* const> words);
/// "add{.sat}.s32, add.{u16,u32}, …": what the opcode can be, for a hint.
std::string supported_forms(Opcode op);
std::span<const Form> all_forms();

}  // namespace fiel::ptx
