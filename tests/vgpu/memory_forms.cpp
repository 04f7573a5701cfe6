#include "memory_forms.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "alu/operands.h"
#include "ptx/forms.h"
#include "ptx/words.h"

namespace fiel::vgpu {
namespace {

using ptx::Field;
using ptx::Form;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;
using ptx::Word;
using Place = MemoryForm::Place;

const Word& word_of(uint16_t id) {
  static const std::vector<const Word*> words = [] {
    std::vector<const Word*> out(ptx::word_spellings().size());
    for (const std::string& text : ptx::word_spellings()) {
      const Word* word = ptx::find_word(text);
      out[word->id] = word;
    }
    return out;
  }();
  return *words.at(id);
}

/// Whether it matters to what is computed; all others are hints and orders.
bool decides(const Form::Group& group) {
  const Field field = word_of(group.words.front()).field;
  return group.is_type || field == Field::space || field == Field::vector ||
         field == Field::atomic || field == Field::boolean;
}

using Choice = std::vector<int>;  ///< of each group the index of its word; -1: none

void choices_of(const Form& form, size_t group, Choice& so_far, std::vector<Choice>& out) {
  if (group == form.groups.size()) return out.push_back(so_far);
  const Form::Group& g = form.groups[group];
  const int last = decides(g) ? static_cast<int>(g.words.size()) : 0;
  for (int i = decides(g) && g.optional ? -1 : 0; i < std::max(last, 1); ++i) {
    so_far.push_back(i);
    choices_of(form, group + 1, so_far, out);
    so_far.pop_back();
  }
}

/// Where an access with this space ("" = generic) may point.
std::vector<Place> places_of(Opcode op, std::string_view space) {
  if (space == "global") return {Place::global};
  if (space == "local") return {Place::local};
  if (space == "const") return {Place::constant};
  if (space == "param::entry") return {Place::entry_parameter};
  if (space == "param::func" || (space == "param" && op == Opcode::st))
    return {Place::call_parameter};
  if (space == "param") return {Place::entry_parameter, Place::call_parameter};
  if (!space.empty()) return {Place::shared};
  if (op == Opcode::atom || op == Opcode::red) return {Place::global, Place::shared};
  return {Place::global, Place::shared, Place::local};
}

std::vector<uint32_t> register_widths(Opcode op, Type type) {
  const uint32_t bits = ptx::bits_of(type);
  if (op == Opcode::atom || op == Opcode::red || ptx::is_float(type) || bits == 128) return {bits};
  std::vector<uint32_t> out;
  for (const uint32_t width : {16u, 32u, 64u})
    if (width >= bits) out.push_back(width);
  return out;
}

std::string registers(int first, int count) {
  if (count == 1) return fmt::format("%x{}", first);
  std::string out = "{";
  for (int i = 0; i < count; ++i) out += fmt::format("{}%x{}", i == 0 ? "" : ", ", first + i);
  return out + "}";
}

std::string operands_of(const MemoryForm& form) {
  const std::string at = form.place == Place::call_parameter ? "[tile]"
                         : form.mods.space == Space::shared  ? "[%at32+-16]"
                         : form.mods.space == Space::local   ? "[%at32]"
                                                             : "[%at+16]";
  const std::string policy = form.mods.cache_hint ? ", %policy" : "";
  switch (form.op) {
    case Opcode::ld:
      return registers(0, form.mods.vector) + ", " + at + policy;
    case Opcode::st:
      return at + ", " + registers(0, form.mods.vector) + policy;
    default: {
      const bool swap = form.mods.cas || form.mods.atomic == ptx::AtomicOp::cas;
      return (form.op == Opcode::atom ? "%x0, " : "") + at + ", %x1" + (swap ? ", %x2" : "") +
             policy;
    }
  }
}

class Speller {
 public:
  explicit Speller(Opcode op) : op_(op), random_(alu::hash_text(ptx::name_of(op))) {}

  std::vector<MemoryForm> all() {
    for (const Form& form : ptx::all_forms()) {
      if (form.op != op_ || form.unsupported) continue;
      std::vector<Choice> choices;
      Choice none;
      choices_of(form, 0, none, choices);
      shown_.clear();
      for (const Choice& choice : choices) spell(form, choice);
      for (size_t g = 0; g < form.groups.size(); ++g) show_all(form, g, choices);
    }
    return std::move(out_);
  }

 private:
  struct Forced {
    size_t group = ~size_t{0};
    int index = 0;
  };

  void spell(const Form& form, const Choice& choice) {
    const std::string_view space = space_of(form, choice);
    for (const Place place : places_of(op_, space)) {
      std::vector<uint32_t> widths = register_widths(op_, type_of(form, choice));
      // Only accesses that name these spaces have handlers of their own for each width.
      if (space != "global" && space != "shared") widths = {widths[random_.below(widths.size())]};
      for (const uint32_t width : widths) {
        // Some orders, scopes and hints do not go together: the parser knows which.
        bool found = false;
        for (int attempt = 0; attempt < 64 && !found; ++attempt)
          found = add(form, choice, place, width, {});
        EXPECT_TRUE(found) << form.spelling << " has no spelling in this place";
      }
    }
  }

  /// Words that chance has left out.
  void show_all(const Form& form, size_t group, const std::vector<Choice>& choices) {
    for (size_t i = 0; i < form.groups[group].words.size(); ++i) {
      for (int attempt = 0; attempt < 256 && !shown_.contains(form.groups[group].words[i]);
           ++attempt) {
        const Choice& choice = choices[random_.below(choices.size())];
        add(form, choice, places_of(op_, space_of(form, choice)).front(),
            register_widths(op_, type_of(form, choice)).back(), {group, static_cast<int>(i)});
      }
      EXPECT_TRUE(shown_.contains(form.groups[group].words[i]))
          << form.spelling << " never with " << word_of(form.groups[group].words[i]).text;
    }
  }

  static Type type_of(const Form& form, const Choice& choice) {
    for (size_t g = 0; g < choice.size(); ++g)
      if (form.groups[g].is_type)
        return static_cast<Type>(
            word_of(form.groups[g].words[static_cast<size_t>(choice[g])]).value);
    return Type::none;
  }
  static std::string_view space_of(const Form& form, const Choice& choice) {
    for (size_t g = 0; g < choice.size(); ++g)
      if (word_of(form.groups[g].words.front()).field == Field::space && choice[g] >= 0)
        return word_of(form.groups[g].words[static_cast<size_t>(choice[g])]).text;
    return "";
  }

  bool add(const Form& form, const Choice& choice, Place place, uint32_t width,
           const Forced& forced) {
    std::string name(ptx::name_of(op_));
    std::vector<uint16_t> ids;
    MemoryForm made;
    for (size_t g = 0; g < choice.size(); ++g) {
      const Form::Group& group = form.groups[g];
      int index = choice[g];
      if (!decides(group)) {
        const uint64_t n = group.words.size() + (group.optional ? 1 : 0);
        index = static_cast<int>(random_.below(n));
        if (index == static_cast<int>(group.words.size())) index = -1;
      }
      if (g == forced.group) index = forced.index;
      if (index < 0) continue;
      ids.push_back(group.words[static_cast<size_t>(index)]);
      const Word& word = word_of(ids.back());
      name.append(".").append(word.text);
      ptx::fold(op_, word, made.mods);
    }
    made.op = op_;
    made.place = place;
    made.register_bits = width;
    made.text = name + " " + operands_of(made) + ";";
    if (!ptx::parse(kernel_around(made, {}))) return false;
    shown_.insert(ids.begin(), ids.end());
    out_.push_back(std::move(made));
    return true;
  }

  Opcode op_;
  alu::Random random_;
  std::set<uint16_t> shown_;
  std::vector<MemoryForm> out_;
};

constexpr const char* kRegisters = R"(
  .reg .pred %p, %more; .reg .b64 %memory, %lanes, %results, %at, %mine, %y<4>, %policy;
  .reg .b32 %t, %block, %i, %offset, %enabled, %at32, %mine32, %k;
)";

/// The first registers from or to 8 bytes each (16 of a .b128) at `base`.
std::string move_registers(const MemoryForm& form, const char* instruction, const char* base,
                           int count = 8) {
  const bool load = instruction[0] == 'l';
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (form.register_bits == 128) {
      if (i == 1) break;  // b128 has no vectors
      const std::string at = fmt::format("[{}+{}]", base, 16 * i);
      out += load
                 ? fmt::format("ld.global.v2.b64 {{%y0, %y1}}, {};\nmov.b128 %x{}, {{%y0, %y1}};\n",
                               at, i)
                 : fmt::format("mov.b128 {{%y0, %y1}}, %x{};\nst.global.v2.b64 {}, {{%y0, %y1}};\n",
                               i, at);
      continue;
    }
    const std::string at = fmt::format("[{}+{}]", base, 8 * i), reg = fmt::format("%x{}", i);
    out += fmt::format("{}.global.b{} {}, {};\n", instruction, form.register_bits, load ? reg : at,
                       load ? at : reg);
  }
  return out;
}

/// 64 bytes a lane between the tile and shared memory.
std::string copy_shared(bool back) {
  std::string out = back ? "bar.sync 0;\n" : "";
  for (int k = 0; k < 8; ++k)
    out += back
               ? fmt::format("ld.shared.b64 %y0, [%mine32+{0}];\nst.global.b64 [%mine+{0}], %y0;\n",
                             256 * k)
               : fmt::format("ld.global.b64 %y0, [%mine+{0}];\nst.shared.b64 [%mine32+{0}], %y0;\n",
                             256 * k);
  return out + (back ? "" : "bar.sync 0;\n");
}

/// The whole tile into each lane's own stack.
constexpr const char* kIntoLocal = R"(
  mov.u32 %k, 0;
MORE:
  cvt.u64.u32 %y2, %k; add.u64 %y3, %memory, %y2;
  ld.global.v2.b64 {%y0, %y1}, [%y3];
  mov.u32 %mine32, tile; add.u32 %mine32, %mine32, %k;
  st.local.v2.b64 [%mine32], {%y0, %y1};
  add.u32 %k, %k, 16; setp.lt.u32 %more, %k, 2048;
  @%more bra MORE;
)";

/// Byte by byte, as far as the access reaches: from `[from + k]` to `[to + k]`.
std::string copy_bytes(uint32_t bytes, const char* load, const char* from, const char* store,
                       const char* to, const char* guard) {
  std::string out;
  for (uint32_t k = 0; k < bytes; ++k)
    out += fmt::format("{0}{1}.u8 %k, [{2}+{5}];\n{0}{3}.u8 [{4}+{5}], %k;\n", guard, load, from,
                       store, to, k);
  return out;
}

std::string declarations(const MemoryForm& form) {
  return kRegisters + fmt::format("  .reg .b{} %x<8>;\n", form.register_bits);
}

std::string prologue(const MemoryForm& form) {
  std::string out = R"(
  ld.param.u64 %memory, [memory]; ld.param.u64 %lanes, [lanes]; ld.param.u64 %results, [results];
  mov.u32 %t, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.u32 %i, %block, 32, %t;
  mad.wide.u32 %lanes, %i, 80, %lanes; mad.wide.u32 %results, %i, 64, %results;
  mad.wide.u32 %memory, %block, 2048, %memory; mad.wide.u32 %mine, %t, 8, %memory;
  ld.global.v2.u32 {%offset, %enabled}, [%lanes]; setp.ne.u32 %p, %enabled, 0;
  createpolicy.fractional.L2::evict_first.b64 %policy, 0f3F800000;
)" + move_registers(form, "ld", "%lanes+16");
  return out;
}

/// %at (64 bits) and %at32: the tile's address plus the lane's offset.
std::string address(const MemoryForm& form) {
  const bool generic = form.mods.space == Space::generic;
  switch (form.place) {
    case Place::shared:
      return "mov.u32 %mine32, tile; mad.lo.u32 %mine32, %t, 8, %mine32;\n" + copy_shared(false) +
             "mov.u32 %at32, tile; add.u32 %at32, %at32, %offset; add.u32 %at32, %at32, 16;\n"
             "cvt.u64.u32 %y0, %offset; mov.u64 %at, tile; cvta.shared.u64 %at, %at;\n"
             "add.u64 %at, %at, %y0; sub.u64 %at, %at, 16;\n";
    case Place::local:
      return std::string(kIntoLocal) +
             "mov.u32 %at32, tile; add.u32 %at32, %at32, %offset;\ncvt.u64.u32 %y0, %offset;\n"
             "mov.u64 %at, tile; cvta.local.u64 %at, %at; add.u64 %at, %at, %y0;\n" +
             (generic ? "sub.u64 %at, %at, 16;\n" : "");
    case Place::global:
      return "cvt.u64.u32 %y0, %offset; add.u64 %at, %memory, %y0; sub.u64 %at, %at, 16;\n";
    default:
      return "cvt.u64.u32 %y0, %offset; mov.u64 %at, tile; add.u64 %at, %at, %y0;\n"
             "sub.u64 %at, %at, 16;\n";
  }
}

/// A parameter of a call lives as long as the call: one access, at its start, in the callee (ld) or
/// by the caller (st).
std::string call_kernel(const MemoryForm& form) {
  const bool load = form.op == Opcode::ld;
  const uint32_t bytes = form.access_bytes();
  const std::string at = "cvt.u64.u32 %y0, %offset; add.u64 %at, %memory, %y0;\n";
  std::string out = ".func callee(.param .align 64 .b8 tile[64], .param .b64 to)\n{\n" +
                    declarations(form) + "ld.param.u64 %results, [to];\n";
  out += load ? form.text + "\n" + move_registers(form, "st", "%results", form.mods.vector)
              : copy_bytes(bytes, "ld.param", "tile", "st.global", "%results", "");
  out +=
      "ret;\n}\n.visible .entry kernel(.param .u64 memory, .param .u64 lanes, .param .u64 "
      "results)\n{\n" +
      declarations(form) + prologue(form) + "@!%p bra DONE;\n" + at +
      "{\n.param .align 64 .b8 tile[64];\n.param .b64 to;\n";
  out += load ? copy_bytes(bytes, "ld.global", "%at", "st.param", "tile", "") : form.text + "\n";
  return out +
         fmt::format("st.param.b64 [to], {};\ncall callee, (tile, to);\n}}\nDONE:\nret;\n}}\n",
                     load ? "%results" : "%at");
}

}  // namespace

uint32_t MemoryForm::element_bytes() const {
  return ptx::bits_of(mods.types[mods.n_types > 0 ? mods.n_types - 1u : 0u]) / 8;
}

std::vector<MemoryForm> memory_forms(ptx::Opcode op) { return Speller(op).all(); }

std::string kernel_around(const MemoryForm& form, const std::array<uint8_t, kTileBytes>& constant) {
  std::string out = ".version 8.7\n.target sm_100\n.address_size 64\n";
  if (form.place == Place::call_parameter) return out + call_kernel(form);
  if (form.place == Place::constant) {
    out += ".const .align 64 .b8 tile[2048] = {";
    for (size_t i = 0; i < constant.size(); ++i)
      out += fmt::format("{}{}", i == 0 ? "" : ",", constant[i]);
    out += "};\n";
  }
  out += ".visible .entry kernel(.param .u64 memory, .param .u64 lanes, .param .u64 results";
  if (form.place == Place::entry_parameter) out += ", .param .align 64 .b8 tile[2048]";
  out += ")\n{\n" + declarations(form);
  if (form.place == Place::shared) out += ".shared .align 64 .b8 tile[2048];\n";
  if (form.place == Place::local) out += ".local .align 64 .b8 tile[2048];\n";
  out += prologue(form) + address(form) + "@%p " + form.text + "\n";
  if (form.place == Place::shared) out += copy_shared(true);
  if (form.place == Place::local && form.op == Opcode::st)
    out +=
        "mov.u32 %at32, tile; add.u32 %at32, %at32, %offset;\ncvt.u64.u32 %y0, %offset;\n"
        "add.u64 %mine, %memory, %y0;\n" +
        copy_bytes(form.access_bytes(), "ld.local", "%at32", "st.global", "%mine", "@%p ");
  if (form.op != Opcode::st) out += move_registers(form, "st", "%results");
  return out + "ret;\n}\n";
}

}  // namespace fiel::vgpu
