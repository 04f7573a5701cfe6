#include "ptx/words.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace fiel::ptx {
namespace {

template <typename E>
constexpr Word word(std::string_view text, Field field, E value) {
  return {text, field, static_cast<uint16_t>(value), nullptr, 0};
}
constexpr Word flag(std::string_view text, bool Modifiers::*member) {
  return {text, Field::flag, 0, member, 0};
}
constexpr Word drop(std::string_view text) { return {text, Field::drop, 0, nullptr, 0}; }
constexpr Word unsupported(std::string_view text) {
  return {text, Field::unsupported, 0, nullptr, 0};
}
/// m, n, k packed: m and n up to 64 and k up to 256 are multiples of 4 in every shape there is.
constexpr Word shape(std::string_view text, int m, int n, int k) {
  return {text, Field::shape, static_cast<uint16_t>((m / 4) << 11 | (n / 4) << 7 | (k / 4)),
          nullptr, 0};
}

constexpr Word kWords[] = {
    word("pred", Field::type, Type::pred),
    word("b8", Field::type, Type::b8),
    word("b16", Field::type, Type::b16),
    word("b32", Field::type, Type::b32),
    word("b64", Field::type, Type::b64),
    word("b128", Field::type, Type::b128),
    word("u8", Field::type, Type::u8),
    word("u16", Field::type, Type::u16),
    word("u32", Field::type, Type::u32),
    word("u64", Field::type, Type::u64),
    word("s8", Field::type, Type::s8),
    word("s16", Field::type, Type::s16),
    word("s32", Field::type, Type::s32),
    word("s64", Field::type, Type::s64),
    word("f16", Field::type, Type::f16),
    word("f16x2", Field::type, Type::f16x2),
    word("bf16", Field::type, Type::bf16),
    word("bf16x2", Field::type, Type::bf16x2),
    word("tf32", Field::type, Type::tf32),
    word("f32", Field::type, Type::f32),
    word("f64", Field::type, Type::f64),
    word("e4m3", Field::type, Type::e4m3),
    word("e5m2", Field::type, Type::e5m2),
    word("e4m3x2", Field::type, Type::e4m3x2),
    word("e5m2x2", Field::type, Type::e5m2x2),
    word("u16x2", Field::type, Type::u16x2),
    word("s16x2", Field::type, Type::s16x2),
    word("u8x4", Field::type, Type::u8x4),
    word("s8x4", Field::type, Type::s8x4),
    word("u4", Field::type, Type::u4),
    word("s4", Field::type, Type::s4),
    word("b1", Field::type, Type::b1),

    word("global", Field::space, Space::global),
    word("shared", Field::space, Space::shared),
    word("shared::cta", Field::space, Space::shared),
    word("local", Field::space, Space::local),
    word("const", Field::space, Space::constant),
    word("param", Field::space, Space::param),
    word("param::entry", Field::space, Space::param),
    word("param::func", Field::space, Space::param),

    word("weak", Field::sem, Semantics::weak),
    word("volatile", Field::sem, Semantics::volatile_),
    word("relaxed", Field::sem, Semantics::relaxed),
    word("acquire", Field::sem, Semantics::acquire),
    word("release", Field::sem, Semantics::release),
    word("acq_rel", Field::sem, Semantics::acq_rel),
    word("sc", Field::sem, Semantics::sc),
    word("mmio", Field::sem, Semantics::mmio),
    word("cta", Field::scope, Scope::cta),
    word("cluster", Field::scope, Scope::cluster),
    word("gpu", Field::scope, Scope::gpu),
    word("gl", Field::scope, Scope::gpu),
    word("sys", Field::scope, Scope::sys),

    word("rn", Field::rounding, Rounding::rn),
    word("rna", Field::rounding, Rounding::rna),
    word("rz", Field::rounding, Rounding::rz),
    word("rm", Field::rounding, Rounding::rm),
    word("rp", Field::rounding, Rounding::rp),
    word("rni", Field::rounding, Rounding::rni),
    word("rzi", Field::rounding, Rounding::rzi),
    word("rmi", Field::rounding, Rounding::rmi),
    word("rpi", Field::rounding, Rounding::rpi),

    word("eq", Field::cmp, Compare::eq),
    word("ne", Field::cmp, Compare::ne),
    word("lt", Field::cmp, Compare::lt),
    word("le", Field::cmp, Compare::le),
    word("gt", Field::cmp, Compare::gt),
    word("ge", Field::cmp, Compare::ge),
    word("ls", Field::cmp, Compare::ls),
    word("hs", Field::cmp, Compare::hs),
    word("equ", Field::cmp, Compare::equ),
    word("neu", Field::cmp, Compare::neu),
    word("ltu", Field::cmp, Compare::ltu),
    word("leu", Field::cmp, Compare::leu),
    word("gtu", Field::cmp, Compare::gtu),
    word("geu", Field::cmp, Compare::geu),
    word("num", Field::cmp, Compare::num),
    word("nan", Field::cmp, Compare::nan),
    word("lo", Field::half, Compare::lo),
    word("hi", Field::half, Compare::hi),

    word("and", Field::boolean, BoolOp::and_),
    word("or", Field::boolean, BoolOp::or_),
    word("xor", Field::boolean, BoolOp::xor_),
    word("popc", Field::boolean, BoolOp::popc),
    word("add", Field::atomic, AtomicOp::add),
    word("min", Field::atomic, AtomicOp::min),
    word("max", Field::atomic, AtomicOp::max),
    word("inc", Field::atomic, AtomicOp::inc),
    word("dec", Field::atomic, AtomicOp::dec),
    word("exch", Field::atomic, AtomicOp::exch),
    word("cas", Field::atomic, AtomicOp::cas),

    word("all", Field::quantity, VoteMode::all),
    word("any", Field::quantity, VoteMode::any),
    word("uni", Field::quantity, VoteMode::uni),
    word("ballot", Field::ballot, VoteMode::ballot),
    word("up", Field::shuffle, ShuffleMode::up),
    word("down", Field::shuffle, ShuffleMode::down),
    word("bfly", Field::shuffle, ShuffleMode::bfly),
    word("idx", Field::shuffle, ShuffleMode::idx),

    word("ca", Field::cache, CacheOp::ca),
    word("cg", Field::cache, CacheOp::cg),
    word("cs", Field::cache, CacheOp::cs),
    word("lu", Field::cache, CacheOp::lu),
    word("cv", Field::cache, CacheOp::cv),
    word("wb", Field::cache, CacheOp::wb),
    word("wt", Field::cache, CacheOp::wt),

    word("f4e", Field::prmt, PrmtMode::f4e),
    word("b4e", Field::prmt, PrmtMode::b4e),
    word("rc8", Field::prmt, PrmtMode::rc8),
    word("ecl", Field::prmt, PrmtMode::ecl),
    word("ecr", Field::prmt, PrmtMode::ecr),
    word("rc16", Field::prmt, PrmtMode::rc16),

    word("finite", Field::testp, TestpMode::finite),
    word("infinite", Field::testp, TestpMode::infinite),
    word("number", Field::testp, TestpMode::number),
    word("notanumber", Field::testp, TestpMode::notanumber),
    word("normal", Field::testp, TestpMode::normal),
    word("subnormal", Field::testp, TestpMode::subnormal),

    word("row", Field::layout, Layout::row),
    word("col", Field::layout, Layout::col),
    shape("m8n8", 8, 8, 0),
    shape("m8n8k4", 8, 8, 4),
    shape("m8n8k16", 8, 8, 16),
    shape("m8n8k32", 8, 8, 32),
    shape("m8n8k128", 8, 8, 128),
    shape("m16n8k4", 16, 8, 4),
    shape("m16n8k8", 16, 8, 8),
    shape("m16n8k16", 16, 8, 16),
    shape("m16n8k32", 16, 8, 32),
    shape("m16n8k64", 16, 8, 64),
    shape("m16n8k128", 16, 8, 128),
    shape("m16n8k256", 16, 8, 256),
    shape("m16n16k16", 16, 16, 16),
    shape("m16n16k8", 16, 16, 8),
    shape("m32n8k16", 32, 8, 16),
    shape("m8n32k16", 8, 32, 16),

    word("v2", Field::vector, 2),
    word("v4", Field::vector, 4),
    word("v8", Field::vector, 8),
    word("x1", Field::matrices, 1),
    word("x2", Field::matrices, 2),
    word("x4", Field::matrices, 4),

    flag("wide", &Modifiers::wide),
    flag("cc", &Modifiers::cc),
    flag("ftz", &Modifiers::ftz),
    flag("sat", &Modifiers::sat),
    flag("satfinite", &Modifiers::satfinite),
    flag("relu", &Modifiers::relu),
    flag("approx", &Modifiers::approx),
    flag("full", &Modifiers::full),
    flag("NaN", &Modifiers::nan),
    flag("xorsign", &Modifiers::xorsign_abs),
    drop("abs"),
    flag("noftz", &Modifiers::noftz),
    flag("to", &Modifiers::to),
    flag("sync", &Modifiers::sync),
    flag("aligned", &Modifiers::aligned),
    flag("trans", &Modifiers::trans),
    flag("l", &Modifiers::left),
    flag("r", &Modifiers::right),
    flag("wrap", &Modifiers::wrap),
    flag("clamp", &Modifiers::clamp),
    flag("shiftamt", &Modifiers::shiftamt),
    flag("nc", &Modifiers::nc),
    word("arrive", Field::arrive, 0),
    word("arrive_drop", Field::arrive, 1),
    flag("red", &Modifiers::red),
    flag("warp", &Modifiers::warp),
    flag("init", &Modifiers::init),
    flag("inval", &Modifiers::inval),
    flag("expect_tx", &Modifiers::expect_tx),
    flag("complete_tx", &Modifiers::complete_tx),
    flag("noComplete", &Modifiers::no_complete),
    flag("test_wait", &Modifiers::test_wait),
    flag("try_wait", &Modifiers::try_wait),
    flag("parity", &Modifiers::parity),
    flag("pending_count", &Modifiers::pending_count),
    flag("noinc", &Modifiers::noinc),
    flag("commit_group", &Modifiers::commit_group),
    flag("wait_group", &Modifiers::wait_group),
    flag("wait_all", &Modifiers::wait_all),
    flag("mma", &Modifiers::mma),
    flag("pack", &Modifiers::pack),
    drop("load"),
    drop("store"),
    word("a", Field::part, 0),
    word("b", Field::part, 1),
    word("c", Field::part, 2),
    word("d", Field::part, 3),
    drop("async"),
    drop("mbarrier"),
    drop("L1"),
    drop("L2"),
    drop("fractional"),
    drop("range"),
    drop("wait"),
    drop("cvt"),
    drop("mask"),
    drop("L1::evict_normal"),
    drop("L1::evict_unchanged"),
    drop("L1::evict_first"),
    drop("L1::evict_last"),
    drop("L1::no_allocate"),
    drop("L2::evict_normal"),
    drop("L2::evict_unchanged"),
    drop("L2::evict_first"),
    drop("L2::evict_last"),
    flag("L2::cache_hint", &Modifiers::cache_hint),
    drop("L2::64B"),
    drop("L2::128B"),
    drop("L2::256B"),

    // Real PTX 9 that nothing here runs: clusters, bulk and tensor copies, sparse and block-scaled
    // matrices, packed f32, narrow floats, textures.
    unsupported("shared::cluster"),
    unsupported("bulk"),
    unsupported("tensor"),
    unsupported("reduce"),
    unsupported("multicast::cluster"),
    unsupported("proxy"),
    unsupported("mbarrier_init"),
    unsupported("sp"),
    unsupported("sp::ordered_metadata"),
    unsupported("block_scale"),
    unsupported("kind::f8f6f4"),
    unsupported("kind::mxf8f6f4"),
    unsupported("kind::mxf4"),
    unsupported("kind::mxf4nvf4"),
    unsupported("f32x2"),
    unsupported("e2m1"),
    unsupported("e2m3"),
    unsupported("e3m2"),
    unsupported("e2m1x2"),
    unsupported("e2m3x2"),
    unsupported("e3m2x2"),
    unsupported("e2m1x4"),
    unsupported("e2m3x4"),
    unsupported("e3m2x4"),
    unsupported("e4m3x4"),
    unsupported("e5m2x4"),
    unsupported("ue8m0x2"),
    unsupported("ue8m0"),
    unsupported("ue4m3"),
    unsupported("rs"),
    unsupported("oob"),
    unsupported("u2"),
    unsupported("s2"),
    unsupported("x8"),
    unsupported("m16n16"),
    unsupported("m16n8"),
    unsupported("b8x16"),
    unsupported("b6x16_p32"),
    unsupported("b4x16_p64"),
    unsupported("tensormap"),
    unsupported("sync_restrict::shared::cta::cluster"),
    unsupported("sync_restrict::shared::cluster::cluster"),
    unsupported("op_restrict"),
    unsupported("po"),
    unsupported("shr7"),
    unsupported("shr15"),
    unsupported("ss"),
    unsupported("b1024"),
    unsupported("texref"),
    unsupported("samplerref"),
    unsupported("surfref"),
};

constexpr size_t kWordCount = std::size(kWords);

constexpr std::string_view kUnsupportedOpcodes[] = {
    "wgmma",
    "mapa",
    "elect",
    "griddepcontrol",
    "tensormap",
    "tcgen05",
    "tex",
    "tld4",
    "suld",
    "sust",
    "sured",
    "suq",
    "txq",
    "istypep",
    "getctarank",
    "multimem",
    "stacksave",
    "stackrestore",
    "clusterlaunchcontrol",
};

struct Vocabulary {
  std::array<Word, kWordCount> words{};
  std::unordered_map<std::string_view, const Word*> by_text;
  std::vector<std::string> spellings;
  std::unordered_map<std::string_view, Opcode> opcodes;
  std::vector<std::string> opcode_names;

  Vocabulary() {
    for (size_t i = 0; i < kWordCount; ++i) {
      words[i] = kWords[i];
      words[i].id = static_cast<uint16_t>(i);
      by_text.emplace(words[i].text, &words[i]);
      spellings.emplace_back(words[i].text);
    }
#define FIEL_X(id, text)             \
  opcodes.emplace(text, Opcode::id); \
  opcode_names.emplace_back(text);
    FIEL_PTX_OPCODES(FIEL_X)
#undef FIEL_X
  }
};

const Vocabulary& vocabulary() {
  static const Vocabulary instance;
  return instance;
}

bool is_video(Opcode op) { return op >= Opcode::vadd && op <= Opcode::vset4; }

void fold_boolean(Opcode op, const Word& w, Modifiers& m) {
  const auto value = static_cast<BoolOp>(w.value);
  const bool memory = op == Opcode::atom || op == Opcode::red || op == Opcode::redux;
  if (!memory && m.bool_op == BoolOp::none) m.bool_op = value;  // mma's .and.popc stays `and`
  if (!memory && op != Opcode::bar && op != Opcode::barrier) return;
  if (value == BoolOp::and_) m.atomic = AtomicOp::and_;
  if (value == BoolOp::or_) m.atomic = AtomicOp::or_;
  if (value == BoolOp::xor_) m.atomic = AtomicOp::xor_;
}

void fold_quantity(Opcode op, const Word& w, Modifiers& m) {
  const auto value = static_cast<VoteMode>(w.value);
  if (op == Opcode::vote) m.vote = value;
  if (op == Opcode::match && value == VoteMode::all) m.all = true;
  if (op == Opcode::match && value == VoteMode::any) m.any = true;
  if (value == VoteMode::uni && op != Opcode::vote) m.uni = true;
}

void fold_part(const Word& w, Modifiers& m) {
  bool Modifiers::*parts[] = {&Modifiers::load_a, &Modifiers::load_b, &Modifiers::load_c,
                              &Modifiers::store_d};
  m.*parts[w.value & 3] = true;
}

void fold_arrive(Opcode op, const Word& w, Modifiers& m) {
  if (op == Opcode::cp) {
    m.mbarrier_arrive = true;
  } else {
    m.arrive = true;
    m.drop = w.value == 1;
  }
}

}  // namespace

const Word* find_word(std::string_view text) {
  const auto& map = vocabulary().by_text;
  const auto it = map.find(text);
  return it == map.end() ? nullptr : it->second;
}

const std::vector<std::string>& word_spellings() { return vocabulary().spellings; }
const std::vector<std::string>& opcode_spellings() { return vocabulary().opcode_names; }

std::span<const std::string_view> unsupported_opcodes() { return kUnsupportedOpcodes; }

bool is_unsupported_opcode(std::string_view base) {
  return std::find(std::begin(kUnsupportedOpcodes), std::end(kUnsupportedOpcodes), base) !=
         std::end(kUnsupportedOpcodes);
}

bool is_unsupported(Opcode op, const Word& word) {
  if (word.field == Field::unsupported) return true;
  if (word.text == "async") return op == Opcode::st || op == Opcode::red;
  return op == Opcode::barrier && word.text == "cluster";
}

Opcode find_opcode(std::string_view base) {
  const auto& map = vocabulary().opcodes;
  const auto it = map.find(base);
  return it == map.end() ? Opcode::none : it->second;
}

void fold(Opcode op, const Word& w, Modifiers& m) {
  switch (w.field) {
    case Field::drop:
    case Field::unsupported:
      return;
    case Field::type:
      if (m.n_types < 4) m.types[m.n_types++] = static_cast<Type>(w.value);
      return;
    case Field::space:
      if (m.space == Space::generic)
        m.space = static_cast<Space>(w.value);
      else
        m.space2 = static_cast<Space>(w.value);
      return;
    case Field::sem:
      m.sem = static_cast<Semantics>(w.value);
      return;
    case Field::scope:
      m.scope = static_cast<Scope>(w.value);
      return;
    case Field::rounding:
      m.rounding = static_cast<Rounding>(w.value);
      return;
    case Field::cmp:
      m.cmp = static_cast<Compare>(w.value);
      return;
    case Field::half:
      if (op == Opcode::setp || op == Opcode::set)
        m.cmp = static_cast<Compare>(w.value);
      else
        (static_cast<Compare>(w.value) == Compare::lo ? m.lo : m.hi) = true;
      return;
    case Field::boolean:
      return fold_boolean(op, w, m);
    case Field::atomic:
      (is_video(op) ? m.secondary : m.atomic) = static_cast<AtomicOp>(w.value);
      if (static_cast<AtomicOp>(w.value) == AtomicOp::cas) m.cas = true;
      return;
    case Field::quantity:
      return fold_quantity(op, w, m);
    case Field::ballot:
      m.vote = VoteMode::ballot;
      return;
    case Field::shuffle:
      if (op == Opcode::shfl) m.shuffle = static_cast<ShuffleMode>(w.value);
      return;
    case Field::cache:
      m.cache = static_cast<CacheOp>(w.value);
      return;
    case Field::prmt:
      m.prmt = static_cast<PrmtMode>(w.value);
      return;
    case Field::testp:
      m.testp = static_cast<TestpMode>(w.value);
      return;
    case Field::layout:
      (m.a_layout == Layout::none ? m.a_layout : m.b_layout) = static_cast<Layout>(w.value);
      return;
    case Field::shape:
      m.shape = {static_cast<uint16_t>((w.value >> 11) * 4),
                 static_cast<uint16_t>(((w.value >> 7) & 15) * 4),
                 static_cast<uint16_t>((w.value & 127) * 4)};
      return;
    case Field::vector:
      m.vector = static_cast<uint8_t>(w.value);
      return;
    case Field::matrices:
      m.matrices = static_cast<uint8_t>(w.value);
      return;
    case Field::flag:
      m.*w.flag = true;
      return;
    case Field::part:
      return fold_part(w, m);
    case Field::arrive:
      return fold_arrive(op, w, m);
  }
}

}  // namespace fiel::ptx
