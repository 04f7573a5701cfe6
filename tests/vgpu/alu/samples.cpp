#include "samples.h"

#include <map>

#include "ptx/forms.h"
#include "ptx/words.h"

namespace fiel::vgpu::alu {
namespace {

using ptx::Form;
using ptx::Opcode;
using ptx::Place;
using ptx::Role;
using ptx::Type;
using ptx::Width;
using ptx::Word;

const Word& word_of(uint16_t id) {
  static const std::map<uint16_t, const Word*> by_id = [] {
    std::map<uint16_t, const Word*> m;
    for (const std::string& text : ptx::word_spellings())
      if (const Word* w = ptx::find_word(text)) m[w->id] = w;
    return m;
  }();
  return *by_id.at(id);
}

struct Combination {
  std::string modifiers;  // ".rn.ftz.f32"
  std::vector<Type> types;
  bool bool_op = false;
  bool plain = false;  // … but not for opcodes whose data it is
};

void expand(const Form& form, size_t group, Combination so_far, std::vector<Combination>& out) {
  if (group == form.groups.size()) {
    out.push_back(std::move(so_far));
    return;
  }
  const Form::Group& g = form.groups[group];
  if (g.optional) expand(form, group + 1, so_far, out);
  for (const uint16_t id : g.words) {
    const Word& word = word_of(id);
    Combination next = so_far;
    next.modifiers += '.';
    next.modifiers += word.text;
    if (g.is_type) next.types.push_back(static_cast<Type>(word.value));
    if (word.field == ptx::Field::boolean) next.bool_op = true;
    expand(form, group + 1, next, out);
  }
}

char class_of_bits(uint32_t bits) {
  return bits == 1 ? 'p' : bits <= 16 ? 'h' : bits == 64 ? 'l' : bits == 128 ? 'q' : 'r';
}
char class_of(Type t) {
  switch (t) {
    case Type::f16:
      return 'e';
    case Type::bf16:
      return 'g';
    case Type::f16x2:
      return 'x';
    case Type::bf16x2:
      return 'y';
    case Type::f32:
    case Type::tf32:
      return 'f';
    case Type::f64:
      return 'd';
    default:
      return class_of_bits(ptx::bits_of(t));
  }
}
char class_of(const Place& place, const Combination& c, bool destination) {
  switch (place.width) {
    case Width::type0:
    case Width::type1:
    case Width::type2:
    case Width::type3: {
      const auto index = static_cast<size_t>(place.width);
      const char letter = class_of(c.types.at(index));
      return destination && letter == 'f' && c.types[index] == Type::tf32 ? 'r' : letter;
    }
    case Width::twice_type0:
      return class_of_bits(2 * ptx::bits_of(c.types.at(0)));
    case Width::fixed:
      // A plain 32-bit source beside typed ones is a shift, a position or a width …
      if (place.bits == 32 && !destination && !c.plain) return 's';
      return class_of_bits(place.bits);
    default:
      return 'r';
  }
}

struct Spelling {
  std::string operands, sources;
  int next_register = 0;
  void add(char letter, bool source, bool negated = false) {
    operands += operands.empty() ? " " : ", ";
    if (negated) operands += '!';
    operands += '%';
    operands += letter;
    operands += std::to_string(next_register++);
    if (source) sources += letter;
  }
};

// Choices that one combination of modifiers leaves open.
struct Choice {
  bool pair = false, optional = false, negated = false;
  int table = 0x96;
  int selectors = 0;  // video: which parts of the operands
};

bool is_video(Opcode op) { return op >= Opcode::vadd && op <= Opcode::vset4; }
bool is_simd(Opcode op) { return op >= Opcode::vadd2 && op <= Opcode::vset4; }
bool has_secondary(const std::string& modifiers) {
  return modifiers.ends_with(".add") || modifiers.ends_with(".min") || modifiers.ends_with(".max");
}
// Suffixes for d, a, b.
const char* selector_of(Opcode op, int choice, size_t place, bool merge) {
  static constexpr const char* kScalar[3][3] = {
      {"", "", ""}, {".b2", ".b1", ".h1"}, {".h1", ".h0", ".b3"}};
  static constexpr const char* kHalves[3][3] = {
      {"", "", ""}, {".h1", ".h31", ".h20"}, {"", ".h01", ".h33"}};
  static constexpr const char* kBytes[3][3] = {
      {"", "", ""}, {".b20", ".b7531", ".b0246"}, {"", ".b0123", ".b4444"}};
  if (!is_video(op) || place > 2) return "";
  if (!is_simd(op)) return place == 0 && !merge ? "" : kScalar[choice][place];
  return ptx::name_of(op).back() == '2' ? kHalves[choice][place] : kBytes[choice][place];
}

Sample spell(const Form& form, const Combination& c, const std::string& name,
             const Choice& choice) {
  Spelling s;
  const bool secondary = has_secondary(c.modifiers);
  size_t number = 0;
  for (const Place& place : form.places) {
    if (place.optional && !choice.optional) continue;
    if (place.only_with_bool_op && !c.bool_op) continue;
    if (place.only_with_hint || place.role == Role::unsupported) continue;
    if (place.role == Role::immediate) {
      s.operands += ", " + std::to_string(choice.table);
      s.sources += 'i';
      continue;
    }
    const bool destination = place.role == Role::destination;
    const char letter = class_of(place, c, destination);
    s.add(letter, !destination, !destination && letter == 'p' && choice.negated);
    s.operands += selector_of(form.op, choice.selectors, number++, choice.optional && !secondary);
    if (place.pair && choice.pair) {
      s.operands += "|%p" + std::to_string(s.next_register++);
    }
  }
  return {name + c.modifiers + s.operands + ";", s.sources};
}

}  // namespace

std::vector<Sample> samples_of(Opcode op) {
  std::vector<Sample> out;
  for (const Form& form : ptx::all_forms()) {
    if (form.op != op || form.unsupported) continue;
    std::vector<Combination> combinations;
    expand(form, 0, {}, combinations);
    bool pair = false, optional = false, immediate = false;
    for (const Place& place : form.places) {
      pair |= place.pair;
      optional |= place.optional && place.role != Role::unsupported;
      immediate |= place.role == Role::immediate;
    }
    for (Combination& c : combinations) {
      c.plain = is_video(op) || op == Opcode::dp4a || op == Opcode::dp2a || op == Opcode::cvt ||
                op == Opcode::fns;
      const std::string name{ptx::name_of(op)};
      std::vector<Choice> choices = {{}};
      const auto twice = [&](auto change) {
        const size_t n = choices.size();
        for (size_t i = 0; i < n; ++i) {
          Choice other = choices[i];
          change(other);
          choices.push_back(other);
        }
      };
      if (is_video(op)) {
        choices.push_back(Choice{.selectors = 1});
        choices.push_back(Choice{.selectors = 2});
      }
      if (pair) twice([](Choice& x) { x.pair = true; });
      if (optional) twice([](Choice& x) { x.optional = true; });
      if (c.bool_op || op == Opcode::selp || op == Opcode::vote)
        twice([](Choice& x) { x.negated = true; });
      if (immediate) {
        twice([](Choice& x) { x.table = 0xe8; });
        twice([](Choice& x) { x.table ^= 0x5b; });
      }
      const bool needs_c = is_video(op) && !is_simd(op) && has_secondary(c.modifiers);
      for (const Choice& choice : choices)
        if (!needs_c || choice.optional) out.push_back(spell(form, c, name, choice));
    }
  }
  return out;
}

std::string module_around(const std::string& text) {
  return ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
         ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b16 %e<8>;\n.reg .b16 %g<8>;\n"
         ".reg .b32 %r<8>;\n.reg .b32 %s<8>;\n.reg .b32 %x<8>;\n.reg .b32 %y<8>;\n"
         ".reg .f32 %f<8>;\n.reg .b64 %l<8>;\n.reg .f64 %d<8>;\n.reg .b128 %q<8>;\n" +
         text + "\nret;\n}\n";
}

Result<Parsed> parse_one(const std::string& text) {
  Result<ptx::Module> module = ptx::parse(module_around(text));
  if (!module) return tl::unexpected(module.error());
  Parsed parsed;
  parsed.module = std::move(*module);
  parsed.instruction = &parsed.module.functions.at(0).body.at(0);
  return parsed;
}

uint32_t Parsed::register_bits(const ptx::Operand& operand) const {
  if (operand.kind != ptx::Operand::Kind::reg) return 32;
  return ptx::bits_of(module.functions[0].registers.at(operand.reg).type);
}

}  // namespace fiel::vgpu::alu
