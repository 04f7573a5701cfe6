#include "ptx/forms.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"
#include "base/text.h"

namespace fiel::ptx {
namespace {

struct Row {
  Opcode op;
  const char* modifiers;
  const char* operands;
};

// Modifiers: words that must be there; a|b = one of them; ?x = may be missing; $name = a list from
// kLists; a leading ! = real PTX that is refused as unsupported.
// Operands: d destination, s source, m memory, l label, t table, i immediate, v/w vector of results
// or of values, f fragment, x anything, z scalar of any width, u unsupported when present. Then the
// width: 0..3 = that type, W = twice type 0, P = predicate, 8..128 = bits, none = unchecked; + =
// the register may be wider; a trailing | = `d|p` may follow. ? before = may be missing; Q = a
// predicate that is there exactly when .and/.or/.xor is; c = the cache policy of .L2::cache_hint.
constexpr Row kForms[] = {
    {Opcode::abs, "s16|s32|s64", "d0 s0"},
    {Opcode::abs, "?ftz f32|f16|f16x2", "d0 s0"},
    {Opcode::abs, "f64|bf16|bf16x2", "d0 s0"},
    {Opcode::activemask, "b32", "d0"},
    {Opcode::add, "u16|u32|u64|s16|s32|s64|u16x2|s16x2", "d0 s0 s0"},
    {Opcode::add, "sat s32", "d0 s0 s0"},
    {Opcode::add, "cc u32|s32|u64|s64", "d0 s0 s0"},
    {Opcode::add, "?$rnd ?ftz ?sat f32", "d0 s0 s0"},
    {Opcode::add, "?$rnd f64", "d0 s0 s0"},
    {Opcode::add, "?rn ?ftz ?sat f16|f16x2", "d0 s0 s0"},
    {Opcode::add, "?rn bf16|bf16x2", "d0 s0 s0"},
    {Opcode::add, "!?$rnd ?sat f32 f16|bf16", "d0 s1 s0"},
    {Opcode::addc, "?cc u32|s32|u64|s64", "d0 s0 s0"},
    {Opcode::and_, "pred|b16|b32|b64", "d0 s0 s0"},
    {Opcode::alloca, "u32|u64", "d0 s0 ?i"},

    {Opcode::atom, "$asem add u32|s32|u64|f32|f64 $policy", "d0 m s0 c"},
    {Opcode::atom, "$asem add noftz f16|f16x2|bf16|bf16x2 $policy", "d0 m s0 c"},
    {Opcode::atom, "$asem min|max u32|s32|u64|s64 $policy", "d0 m s0 c"},
    {Opcode::atom, "$asem inc|dec u32 $policy", "d0 m s0 c"},
    {Opcode::atom, "$asem and|or|xor b32|b64 $policy", "d0 m s0 c"},
    {Opcode::atom, "$asem exch b32|b64 $policy", "d0 m s0 c"},
    {Opcode::atom, "$asem cas b32|b64 $policy", "d0 m s0 s0 c"},
    {Opcode::atom, "$asem cas b16", "d0 m s0 s0"},
    {Opcode::atom, "!$asem exch|cas b128 $policy", "d0 m s0 ?s0 c"},
    {Opcode::atom, "!$asem add|min|max ?noftz v2|v4|v8 f16|f16x2|bf16|bf16x2|f32 $policy",
     "x x x c"},
    {Opcode::atom, "!$asem min|max noftz f16|f16x2|bf16|bf16x2 $policy", "d0 m s0 c"},
    {Opcode::red, "$rsem add u32|s32|u64|f32|f64 $policy", "m s0 c"},
    {Opcode::red, "$rsem add noftz f16|f16x2|bf16|bf16x2 $policy", "m s0 c"},
    {Opcode::red, "$rsem min|max u32|s32|u64|s64 $policy", "m s0 c"},
    {Opcode::red, "$rsem inc|dec u32 $policy", "m s0 c"},
    {Opcode::red, "$rsem and|or|xor b32|b64 $policy", "m s0 c"},
    {Opcode::red, "!$rsem add|min|max ?noftz v2|v4|v8 f16|f16x2|bf16|bf16x2|f32 $policy", "x x c"},
    {Opcode::red, "!$rsem min|max noftz f16|f16x2|bf16|bf16x2 $policy", "m s0 c"},

    {Opcode::bar, "?cta sync", "s32 ?s32"},
    {Opcode::bar, "?cta arrive", "s32 s32"},
    {Opcode::bar, "?cta red popc u32", "d0 s32 ?s32 sP"},
    {Opcode::bar, "?cta red and|or pred", "dP s32 ?s32 sP"},
    {Opcode::bar, "warp sync", "s32"},
    {Opcode::barrier, "?cta sync ?aligned", "s32 ?s32"},
    {Opcode::barrier, "?cta arrive ?aligned", "s32 s32"},
    {Opcode::barrier, "?cta red popc ?aligned u32", "d0 s32 ?s32 sP"},
    {Opcode::barrier, "?cta red and|or ?aligned pred", "dP s32 ?s32 sP"},
    {Opcode::bfe, "u32|s32|u64|s64", "d0 s0 s32 s32"},
    {Opcode::bfi, "b32|b64", "d0 s0 s0 s32 s32"},
    {Opcode::bfind, "?shiftamt u32|s32|u64|s64", "d32 s0"},
    {Opcode::bmsk, "clamp|wrap b32", "d0 s0 s0"},
    {Opcode::bra, "?uni", "l"},
    {Opcode::brev, "b32|b64", "d0 s0"},
    {Opcode::brkpt, "", ""},
    {Opcode::brx, "idx ?uni", "s32 t"},
    {Opcode::call, "?uni", "x"},
    {Opcode::clz, "b32|b64", "d32 s0"},
    {Opcode::cnot, "b16|b32|b64", "d0 s0"},
    {Opcode::copysign, "f32|f64", "d0 s0 s0"},
    {Opcode::cos, "approx ?ftz f32", "d0 s0"},

    {Opcode::cp, "async ca|cg shared|shared::cta global $hint", "m m i ?z c"},
    {Opcode::cp, "async commit_group", ""},
    {Opcode::cp, "async wait_group", "i"},
    {Opcode::cp, "async wait_all", ""},
    {Opcode::cp, "async mbarrier arrive ?noinc ?shared|shared::cta b64", "m"},
    {Opcode::createpolicy, "fractional $evict2 ?$evict2 b64", "d0 ?s32"},
    {Opcode::createpolicy, "range ?global $evict2 ?$evict2 b64", "d0 m s32 s32"},
    {Opcode::createpolicy, "cvt L2 b64", "d0 s0"},

    {Opcode::cvt, "?sat $int8 $int8", "d0+ s1+"},
    {Opcode::cvt, "$rnd ?ftz ?sat f32 $int8", "d0+ s1+"},
    {Opcode::cvt, "$rnd ?sat f16|f64 $int8", "d0+ s1+"},
    {Opcode::cvt, "$rnd bf16 $int", "d0+ s1+"},
    {Opcode::cvt, "$irnd ?ftz ?sat $int8 f32", "d0+ s1+"},
    {Opcode::cvt, "$irnd ?sat $int8 f16|bf16|f64", "d0+ s1+"},
    {Opcode::cvt, "?$irnd ?ftz ?sat f32 f32", "d0+ s1+"},
    {Opcode::cvt, "?$irnd ?sat f16 f16", "d0+ s1+"},
    {Opcode::cvt, "?$irnd ?sat f64 f64", "d0+ s1+"},
    {Opcode::cvt, "?$irnd ?sat bf16 bf16", "d0+ s1+"},
    {Opcode::cvt, "?ftz ?sat f32 f16", "d0+ s1+"},
    {Opcode::cvt, "?$rnd ?ftz ?sat f32 bf16", "d0+ s1+"},
    {Opcode::cvt, "?ftz ?sat f64 f32", "d0+ s1+"},
    {Opcode::cvt, "?sat f64 f16", "d0+ s1+"},
    {Opcode::cvt, "?$rnd ?sat f64 bf16", "d0+ s1+"},
    {Opcode::cvt, "$rnd ?ftz ?sat f16 f32", "d0+ s1+"},
    {Opcode::cvt, "$rnd ?sat f16|bf16 f64", "d0+ s1+"},
    {Opcode::cvt, "$rnd ?ftz ?sat bf16 f32", "d0+ s1+"},
    {Opcode::cvt, "?$rnd ?sat bf16 f16", "d0+ s1+"},
    {Opcode::cvt, "?$rnd ?sat f16 bf16", "d0+ s1+"},
    {Opcode::cvt, "$rnd ?ftz ?sat f32 f64", "d0+ s1+"},
    {Opcode::cvt, "rn|rz ?relu ?satfinite f16|bf16 f32", "d0+ s1"},
    {Opcode::cvt, "rn|rz ?relu ?satfinite f16x2|bf16x2 f32", "d0 s1 s1"},
    {Opcode::cvt, "rna ?satfinite tf32 f32", "d0 s1"},
    {Opcode::cvt, "rn|rz ?relu ?satfinite tf32 f32", "d0 s1"},
    {Opcode::cvt, "rn satfinite ?relu e4m3x2|e5m2x2 f32", "d0 s1 s1"},
    {Opcode::cvt, "rn satfinite ?relu e4m3x2|e5m2x2 f16x2", "d0 s1"},
    {Opcode::cvt, "rn ?relu f16x2 e4m3x2|e5m2x2", "d0 s1"},
    {Opcode::cvt, "pack sat u16|s16 s32", "d32 s32 s32"},
    {Opcode::cvt, "pack sat u8|s8|u4|s4 s32 b32", "d32 s32 s32 s32"},
    {Opcode::cvta, "?to global|shared|shared::cta|local|const|param|param::entry u64", "d0 s0"},

    {Opcode::discard, "?global L2", "m i"},
    {Opcode::applypriority, "?global L2::evict_normal", "m i"},
    {Opcode::div, "$int", "d0 s0 s0"},
    {Opcode::div, "approx|full|rn|rz|rm|rp ?ftz f32", "d0 s0 s0"},
    {Opcode::div, "$rnd f64", "d0 s0 s0"},
    {Opcode::dp2a, "lo|hi u32|s32 u32|s32", "d32 s32 s32 s32"},
    {Opcode::dp4a, "u32|s32 u32|s32", "d32 s32 s32 s32"},
    {Opcode::ex2, "approx ?ftz f32", "d0 s0"},
    {Opcode::ex2, "approx f16|f16x2", "d0 s0"},
    {Opcode::ex2, "approx ftz bf16|bf16x2", "d0 s0"},
    {Opcode::exit, "", ""},
    {Opcode::fence, "?sc|acq_rel|acquire|release cta|cluster|gpu|sys", ""},
    {Opcode::fma, "$rnd ?ftz ?sat f32", "d0 s0 s0 s0"},
    {Opcode::fma, "$rnd f64", "d0 s0 s0 s0"},
    {Opcode::fma, "rn ?ftz ?sat f16|f16x2", "d0 s0 s0 s0"},
    {Opcode::fma, "rn ?ftz relu f16|f16x2", "d0 s0 s0 s0"},
    {Opcode::fma, "rn ?relu bf16|bf16x2", "d0 s0 s0 s0"},
    {Opcode::fma, "!?$rnd ?sat f32 f16|bf16", "d0 s1 s1 s0"},
    {Opcode::fns, "b32", "d0 s0 s32 s32"},
    {Opcode::isspacep, "const|global|local|shared|shared::cta|param|param::entry", "dP s64"},

    {Opcode::ld,
     "?weak|volatile|relaxed|acquire|mmio ?cta|cluster|gpu|sys ?$ldspace ?$ldcache ?nc "
     "$l1hint $hint ?v2|v4|v8 $any",
     "v0+ m c"},
    {Opcode::ld,
     "?weak|volatile|relaxed|acquire ?cta|cluster|gpu|sys ?$ldspace ?$ldcache ?nc $l1hint $hint "
     "b128",
     "v0 m c"},
    {Opcode::ldmatrix, "sync aligned m8n8 x1|x2|x4 ?trans ?shared|shared::cta b16", "f m"},
    {Opcode::ldu, "?global ?v2|v4 $any", "v0+ m"},
    {Opcode::lg2, "approx ?ftz f32", "d0 s0"},
    {Opcode::lop3, "b32", "d0 s0 s0 s0 i"},
    {Opcode::lop3, "and|or b32", "d0| s0 s0 s0 i sP"},
    {Opcode::mad, "lo|hi $int", "d0 s0 s0 s0"},
    {Opcode::mad, "wide u16|u32|s16|s32", "dW s0 s0 sW"},
    {Opcode::mad, "hi sat s32", "d0 s0 s0 s0"},
    {Opcode::mad, "lo|hi cc u32|s32|u64|s64", "d0 s0 s0 s0"},
    {Opcode::mad, "$rnd ?ftz ?sat f32", "d0 s0 s0 s0"},
    {Opcode::mad, "$rnd f64", "d0 s0 s0 s0"},
    {Opcode::mad24, "lo|hi u32|s32", "d0 s0 s0 s0"},
    {Opcode::mad24, "hi sat s32", "d0 s0 s0 s0"},
    {Opcode::madc, "lo|hi ?cc u32|s32|u64|s64", "d0 s0 s0 s0"},
    {Opcode::match, "any sync b32|b64", "d32 s0 s32"},
    {Opcode::match, "all sync b32|b64", "d32| s0 s32"},

    {Opcode::max, "u16|u32|u64|s16|s32|s64|u16x2|s16x2", "d0 s0 s0"},
    {Opcode::max, "relu s32|s16x2", "d0 s0 s0"},
    {Opcode::max, "?ftz ?NaN f32", "d0 s0 s0 ?u"},
    {Opcode::max, "?ftz ?NaN xorsign abs f32", "d0 s0 s0"},
    {Opcode::max, "!?ftz ?NaN abs f32", "d0 s0 s0 s0"},
    {Opcode::max, "f64", "d0 s0 s0"},
    {Opcode::max, "?ftz ?NaN f16|f16x2", "d0 s0 s0"},
    {Opcode::max, "?NaN bf16|bf16x2", "d0 s0 s0"},
    {Opcode::max, "?ftz ?NaN xorsign abs f16|f16x2", "d0 s0 s0"},
    {Opcode::max, "?NaN xorsign abs bf16|bf16x2", "d0 s0 s0"},
    {Opcode::min, "u16|u32|u64|s16|s32|s64|u16x2|s16x2", "d0 s0 s0"},
    {Opcode::min, "relu s32|s16x2", "d0 s0 s0"},
    {Opcode::min, "?ftz ?NaN f32", "d0 s0 s0 ?u"},
    {Opcode::min, "?ftz ?NaN xorsign abs f32", "d0 s0 s0"},
    {Opcode::min, "!?ftz ?NaN abs f32", "d0 s0 s0 s0"},
    {Opcode::min, "f64", "d0 s0 s0"},
    {Opcode::min, "?ftz ?NaN f16|f16x2", "d0 s0 s0"},
    {Opcode::min, "?NaN bf16|bf16x2", "d0 s0 s0"},
    {Opcode::min, "?ftz ?NaN xorsign abs f16|f16x2", "d0 s0 s0"},
    {Opcode::min, "?NaN xorsign abs bf16|bf16x2", "d0 s0 s0"},

    {Opcode::mbarrier, "init $smem b64", "m s32"},
    {Opcode::mbarrier, "inval $smem b64", "m"},
    {Opcode::mbarrier, "expect_tx|complete_tx ?relaxed ?cta|cluster $smem b64", "m s32"},
    {Opcode::mbarrier, "arrive|arrive_drop ?release|relaxed ?cta|cluster $smem b64", "d64 m ?s32"},
    {Opcode::mbarrier, "arrive|arrive_drop ?release|relaxed ?cta|cluster $smem noComplete b64",
     "d64 m s32"},
    {Opcode::mbarrier, "arrive|arrive_drop expect_tx ?release|relaxed ?cta|cluster $smem b64",
     "d64 m s32"},
    {Opcode::mbarrier, "test_wait|try_wait ?acquire|relaxed ?cta|cluster $smem b64",
     "dP m s64 ?s32"},
    {Opcode::mbarrier, "test_wait|try_wait parity ?acquire|relaxed ?cta|cluster $smem b64",
     "dP m s32 ?s32"},
    {Opcode::mbarrier, "pending_count b64", "d32 s64"},
    {Opcode::membar, "cta|gl|sys", ""},

    {Opcode::mma, "sync aligned m8n8k4 $layouts f16|f32 f16 f16 f16|f32", "f f f f"},
    {Opcode::mma, "sync aligned m16n8k8|m16n8k16 row col f16|f32 f16 f16 f16|f32", "f f f f"},
    {Opcode::mma, "sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32", "f f f f"},
    {Opcode::mma, "sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32", "f f f f"},
    {Opcode::mma, "sync aligned m16n8k16|m16n8k32 row col f16|f32 e4m3|e5m2 e4m3|e5m2 f16|f32",
     "f f f f"},
    {Opcode::mma, "sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col ?$rnd f64 f64 f64 f64",
     "f f f f"},
    {Opcode::mma, "sync aligned m8n8k16|m16n8k16|m16n8k32 row col ?satfinite s32 u8|s8 u8|s8 s32",
     "f f f f"},
    {Opcode::mma, "sync aligned m8n8k32|m16n8k32|m16n8k64 row col ?satfinite s32 u4|s4 u4|s4 s32",
     "f f f f"},
    {Opcode::mma, "sync aligned m8n8k128|m16n8k128|m16n8k256 row col s32 b1 b1 s32 xor|and popc",
     "f f f f"},
    {Opcode::mov, "pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64", "x x"},
    {Opcode::movmatrix, "sync aligned m8n8 trans b16", "d32 s32"},
    {Opcode::mul, "lo|hi $int", "d0 s0 s0"},
    {Opcode::mul, "wide u16|u32|s16|s32", "dW s0 s0"},
    {Opcode::mul, "?$rnd ?ftz ?sat f32", "d0 s0 s0"},
    {Opcode::mul, "?$rnd f64", "d0 s0 s0"},
    {Opcode::mul, "?rn ?ftz ?sat f16|f16x2", "d0 s0 s0"},
    {Opcode::mul, "?rn bf16|bf16x2", "d0 s0 s0"},
    {Opcode::mul24, "lo|hi u32|s32", "d0 s0 s0"},
    {Opcode::nanosleep, "u32", "s0"},
    {Opcode::neg, "s16|s32|s64", "d0 s0"},
    {Opcode::neg, "?ftz f32|f16|f16x2", "d0 s0"},
    {Opcode::neg, "f64|bf16|bf16x2", "d0 s0"},
    {Opcode::not_, "pred|b16|b32|b64", "d0 s0"},
    {Opcode::or_, "pred|b16|b32|b64", "d0 s0 s0"},
    {Opcode::pmevent, "?mask", "i"},
    {Opcode::popc, "b32|b64", "d32 s0"},
    {Opcode::prefetch, "?global|local L1|L2", "m"},
    {Opcode::prefetch, "global L2::evict_last|L2::evict_normal", "m"},
    {Opcode::prefetchu, "L1", "m"},
    {Opcode::prmt, "b32 ?f4e|b4e|rc8|ecl|ecr|rc16", "d0 s0 s0 s32"},
    {Opcode::rcp, "approx|rn|rz|rm|rp ?ftz f32", "d0 s0"},
    {Opcode::rcp, "$rnd f64", "d0 s0"},
    {Opcode::rcp, "approx ftz f64", "d0 s0"},
    {Opcode::redux, "sync add|min|max u32|s32", "d0 s0 s32"},
    {Opcode::redux, "sync and|or|xor b32", "d0 s0 s32"},
    {Opcode::redux, "!sync min|max ?abs ?NaN f32", "d0 s0 s32"},
    {Opcode::rem, "$int", "d0 s0 s0"},
    {Opcode::ret, "?uni", ""},
    {Opcode::rsqrt, "approx ?ftz f32|f64", "d0 s0"},
    {Opcode::sad, "$int", "d0 s0 s0 s0"},
    {Opcode::selp, "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", "d0 s0 s0 sP"},
    {Opcode::set, "eq|ne ?and|or|xor u32|s32|f32 b16|b32|b64", "d0 s1 s1 Q"},
    {Opcode::set, "$ucmp ?and|or|xor u32|s32|f32 u16|u32|u64", "d0 s1 s1 Q"},
    {Opcode::set, "$scmp ?and|or|xor u32|s32|f32 s16|s32|s64", "d0 s1 s1 Q"},
    {Opcode::set, "$fcmp ?and|or|xor ?ftz u32|s32|f32 f32", "d0 s1 s1 Q"},
    {Opcode::set, "$fcmp ?and|or|xor u32|s32|f32 f64", "d0 s1 s1 Q"},
    {Opcode::set, "$fcmp ?and|or|xor ?ftz u16|s16|u32|s32|f16|bf16 f16", "d0 s1 s1 Q"},
    {Opcode::set, "$fcmp ?and|or|xor u16|s16|u32|s32|bf16 bf16", "d0 s1 s1 Q"},
    {Opcode::set, "$fcmp ?and|or|xor ?ftz u32|s32|f16x2 f16x2", "d0 s1 s1 Q"},
    {Opcode::set, "$fcmp ?and|or|xor u32|s32|bf16x2 bf16x2", "d0 s1 s1 Q"},
    {Opcode::set,
     "!$fcmp ?and|or|xor ?ftz f16|bf16 b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|f32|f64",
     "d0 s1 s1 Q"},
    {Opcode::setp, "eq|ne ?and|or|xor b16|b32|b64", "dP| s0 s0 Q"},
    {Opcode::setp, "$ucmp ?and|or|xor u16|u32|u64", "dP| s0 s0 Q"},
    {Opcode::setp, "$scmp ?and|or|xor s16|s32|s64", "dP| s0 s0 Q"},
    {Opcode::setp, "$fcmp ?and|or|xor ?ftz f32|f16|f16x2", "dP| s0 s0 Q"},
    {Opcode::setp, "$fcmp ?and|or|xor f64|bf16|bf16x2", "dP| s0 s0 Q"},
    {Opcode::setmaxnreg, "inc|dec sync aligned u32", "i"},
    {Opcode::shf, "l|r wrap|clamp b32", "d0 s0 s0 s32"},
    {Opcode::shfl, "sync up|down|bfly|idx b32", "d0| s0 s32 s32 s32"},
    {Opcode::shfl, "!up|down|bfly|idx b32", "d0| s0 s32 s32"},
    {Opcode::shl, "b16|b32|b64", "d0 s0 s32"},
    {Opcode::shr, "b16|b32|b64|u16|u32|u64|s16|s32|s64", "d0 s0 s32"},
    {Opcode::sin, "approx ?ftz f32", "d0 s0"},
    {Opcode::slct, "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64 s32", "d0 s0 s0 s1"},
    {Opcode::slct, "?ftz b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64 f32", "d0 s0 s0 s1"},
    {Opcode::sqrt, "approx|rn|rz|rm|rp ?ftz f32", "d0 s0"},
    {Opcode::sqrt, "$rnd f64", "d0 s0"},
    {Opcode::st,
     "?weak|volatile|relaxed|release|mmio ?cta|cluster|gpu|sys ?$stspace ?wb|cg|cs|wt "
     "$l1hint $policy ?v2|v4|v8 $any",
     "m w0+ c"},
    {Opcode::st,
     "?weak|volatile|relaxed|release ?cta|cluster|gpu|sys ?$stspace ?wb|cg|cs|wt $l1hint $policy "
     "b128",
     "m w0 c"},
    {Opcode::stmatrix, "sync aligned m8n8 x1|x2|x4 ?trans ?shared|shared::cta b16", "m f"},
    {Opcode::sub, "u16|u32|u64|s16|s32|s64", "d0 s0 s0"},
    {Opcode::sub, "sat s32", "d0 s0 s0"},
    {Opcode::sub, "cc u32|s32|u64|s64", "d0 s0 s0"},
    {Opcode::sub, "?$rnd ?ftz ?sat f32", "d0 s0 s0"},
    {Opcode::sub, "?$rnd f64", "d0 s0 s0"},
    {Opcode::sub, "?rn ?ftz ?sat f16|f16x2", "d0 s0 s0"},
    {Opcode::sub, "?rn bf16|bf16x2", "d0 s0 s0"},
    {Opcode::sub, "!?$rnd ?sat f32 f16|bf16", "d0 s1 s0"},
    {Opcode::subc, "?cc u32|s32|u64|s64", "d0 s0 s0"},
    {Opcode::szext, "clamp|wrap u32|s32", "d0 s0 s32"},
    {Opcode::tanh, "approx f32|f16|f16x2|bf16|bf16x2", "d0 s0"},
    {Opcode::testp, "finite|infinite|number|notanumber|normal|subnormal f32|f64", "dP s0"},
    {Opcode::trap, "", ""},
    {Opcode::vote, "sync all|any|uni pred", "dP sP s32"},
    {Opcode::vote, "sync ballot b32", "d0 sP s32"},
    {Opcode::vote, "!all|any|uni pred", "dP sP"},
    {Opcode::vote, "!ballot b32", "d0 sP"},

    {Opcode::wmma, "load a|b sync aligned row|col $w16 $wspace f16|bf16|u8|s8", "f m ?s32"},
    {Opcode::wmma, "load c sync aligned row|col $w16 $wspace f16|f32|s32", "f m ?s32"},
    {Opcode::wmma, "store d sync aligned row|col $w16 $wspace f16|f32|s32", "m f ?s32"},
    {Opcode::wmma, "load a|b sync aligned row|col m16n16k8 $wspace tf32", "f m ?s32"},
    {Opcode::wmma, "load c sync aligned row|col m16n16k8 $wspace f32", "f m ?s32"},
    {Opcode::wmma, "store d sync aligned row|col m16n16k8 $wspace f32", "m f ?s32"},
    {Opcode::wmma, "load a|b sync aligned row|col m8n8k4 $wspace f64", "f m ?s32"},
    {Opcode::wmma, "load c sync aligned row|col m8n8k4 $wspace f64", "f m ?s32"},
    {Opcode::wmma, "store d sync aligned row|col m8n8k4 $wspace f64", "m f ?s32"},
    {Opcode::wmma, "load a|b sync aligned row|col m8n8k32 $wspace u4|s4", "f m ?s32"},
    {Opcode::wmma, "load c sync aligned row|col m8n8k32 $wspace s32", "f m ?s32"},
    {Opcode::wmma, "store d sync aligned row|col m8n8k32 $wspace s32", "m f ?s32"},
    {Opcode::wmma, "load a|b sync aligned row|col m8n8k128 $wspace b1", "f m ?s32"},
    {Opcode::wmma, "load c sync aligned row|col m8n8k128 $wspace s32", "f m ?s32"},
    {Opcode::wmma, "store d sync aligned row|col m8n8k128 $wspace s32", "m f ?s32"},
    {Opcode::wmma, "mma sync aligned $layouts $w16 f16|f32 f16|f32 ?satfinite", "f f f f"},
    {Opcode::wmma, "mma sync aligned $layouts $w16 f32 bf16 bf16 f32", "f f f f"},
    {Opcode::wmma, "mma sync aligned $layouts $w16 f16|f32 f16 f16 f16|f32 ?satfinite", "f f f f"},
    {Opcode::wmma, "mma sync aligned $layouts m16n16k8 f32 tf32 tf32 f32", "f f f f"},
    {Opcode::wmma, "mma sync aligned $layouts m8n8k4 ?$rnd f64 f64 f64 f64", "f f f f"},
    {Opcode::wmma, "mma sync aligned $layouts $w16 s32 u8|s8 u8|s8 s32 ?satfinite", "f f f f"},
    {Opcode::wmma, "mma sync aligned $layouts m8n8k32 s32 u4|s4 u4|s4 s32 ?satfinite", "f f f f"},
    {Opcode::wmma, "mma xor|and popc sync aligned $layouts m8n8k128 s32 b1 b1 s32", "f f f f"},
    {Opcode::xor_, "pred|b16|b32|b64", "d0 s0 s0"},

    {Opcode::vadd, "u32|s32 u32|s32 u32|s32 ?sat ?add|min|max", "d32 s32 s32 ?s32"},
    {Opcode::vsub, "u32|s32 u32|s32 u32|s32 ?sat ?add|min|max", "d32 s32 s32 ?s32"},
    {Opcode::vabsdiff, "u32|s32 u32|s32 u32|s32 ?sat ?add|min|max", "d32 s32 s32 ?s32"},
    {Opcode::vmin, "u32|s32 u32|s32 u32|s32 ?sat ?add|min|max", "d32 s32 s32 ?s32"},
    {Opcode::vmax, "u32|s32 u32|s32 u32|s32 ?sat ?add|min|max", "d32 s32 s32 ?s32"},
    {Opcode::vshl, "u32|s32 u32|s32 u32 ?sat clamp|wrap ?add|min|max", "d32 s32 s32 ?s32"},
    {Opcode::vshr, "u32|s32 u32|s32 u32 ?sat clamp|wrap ?add|min|max", "d32 s32 s32 ?s32"},
    {Opcode::vmad, "!u32|s32 u32|s32 u32|s32 ?po ?sat ?shr7|shr15", "x x x x"},
    {Opcode::vset, "u32|s32 u32|s32 $scmp ?add|min|max", "d32 s32 s32 ?s32"},
#define FIEL_SIMD(op) {Opcode::op, "u32|s32 u32|s32 u32|s32 ?sat ?add", "d32 s32 s32 s32"},
    FIEL_SIMD(vadd2) FIEL_SIMD(vsub2) FIEL_SIMD(vavrg2) FIEL_SIMD(vabsdiff2) FIEL_SIMD(vmin2)
        FIEL_SIMD(vmax2) FIEL_SIMD(vadd4) FIEL_SIMD(vsub4) FIEL_SIMD(vavrg4) FIEL_SIMD(vabsdiff4)
            FIEL_SIMD(vmin4) FIEL_SIMD(vmax4)
#undef FIEL_SIMD
                {Opcode::vset2, "u32|s32 u32|s32 $scmp ?add", "d32 s32 s32 s32"},
    {Opcode::vset4, "u32|s32 u32|s32 $scmp ?add", "d32 s32 s32 s32"},
};

struct List {
  std::string_view name, text;
};
constexpr List kLists[] = {
    {"$rnd", "rn|rz|rm|rp"},
    {"?$rnd", "?rn|rz|rm|rp"},
    {"$irnd", "rni|rzi|rmi|rpi"},
    {"?$irnd", "?rni|rzi|rmi|rpi"},
    {"$int", "u16|u32|u64|s16|s32|s64"},
    {"$int8", "u8|u16|u32|u64|s8|s16|s32|s64"},
    {"$any", "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"$ucmp", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"},
    {"$scmp", "eq|ne|lt|le|gt|ge"},
    {"$fcmp", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"$policy", "?L2::cache_hint"},
    {"$asem", "?relaxed|acquire|release|acq_rel ?cta|cluster|gpu|sys ?global|shared|shared::cta"},
    {"$rsem", "?relaxed|release ?cta|cluster|gpu|sys ?global|shared|shared::cta"},
    {"$hint", "?L2::cache_hint ?L2::64B|L2::128B|L2::256B"},
    {"$l1hint",
     "?L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate "
     "?L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"$evict2", "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged"},
    {"?$evict2", "?L2::evict_first|L2::evict_unchanged"},
    {"?$ldspace", "?const|global|local|param|param::entry|param::func|shared|shared::cta"},
    {"?$stspace", "?global|local|param|param::func|shared|shared::cta"},
    {"?$ldcache", "?ca|cg|cs|lu|cv"},
    {"$smem", "?shared|shared::cta"},
    {"$layouts", "row|col row|col"},
    {"$w16", "m16n16k16|m32n8k16|m8n32k16"},
    {"$wspace", "?global|shared|shared::cta"},
};

std::string expand(std::string_view modifiers) {
  std::string out;
  for (const std::string_view part : split(modifiers, ' ')) {
    if (part.empty()) continue;
    std::string_view text = part;
    for (const List& list : kLists)
      if (part == list.name) text = list.text;
    FIEL_CHECK(text[0] != '$' && text.substr(0, 2) != "?$", "a list in kForms has no definition");
    out.append(out.empty() ? "" : " ").append(text);
  }
  return out;
}

void compile_modifiers(Form& form, std::string_view text) {
  for (std::string_view part : split(text, ' ')) {
    if (part.empty()) continue;
    Form::Group group;
    if (part[0] == '?') {
      group.optional = true;
      part.remove_prefix(1);
    }
    for (const std::string_view name : split(part, '|')) {
      const Word* word = find_word(name);
      FIEL_CHECK(word != nullptr, "kForms uses a modifier that kWords lacks");
      group.words.push_back(word->id);
      group.is_type = word->field == Field::type;
    }
    form.groups.push_back(std::move(group));
  }
}

Role role_of(char c) {
  switch (c) {
    case 'd':
      return Role::destination;
    case 's':
    case 'Q':
      return Role::source;
    case 'm':
      return Role::memory;
    case 'l':
      return Role::label;
    case 't':
      return Role::table;
    case 'i':
      return Role::immediate;
    case 'v':
      return Role::vector_destination;
    case 'w':
      return Role::vector_source;
    case 'f':
      return Role::fragment;
    case 'z':
    case 'c':
      return Role::scalar;
    case 'u':
      return Role::unsupported;
    default:
      FIEL_CHECK(c == 'x', "unknown operand letter in kForms");
      return Role::any;
  }
}

Place compile_place(std::string_view text) {
  Place place;
  if (text[0] == '?') {
    place.optional = true;
    text.remove_prefix(1);
  }
  place.role = role_of(text[0]);
  place.only_with_bool_op = text[0] == 'Q';
  place.only_with_hint = text[0] == 'c';
  text.remove_prefix(1);
  if (!text.empty() && text.back() == '|') {
    place.pair = true;
    text.remove_suffix(1);
  }
  if (!text.empty() && text.back() == '+') {
    place.at_least = true;
    text.remove_suffix(1);
  }
  if (place.only_with_bool_op || text == "P") {
    place.width = Width::fixed;
    place.bits = 1;
  } else if (text == "W") {
    place.width = Width::twice_type0;
  } else if (text.size() == 1 && text[0] >= '0' && text[0] <= '3') {
    place.width = static_cast<Width>(text[0] - '0');
  } else if (!text.empty()) {
    place.width = Width::fixed;
    place.bits = static_cast<uint8_t>(std::stoi(std::string(text)));
  }
  return place;
}

/// "?ftz f32|f64" -> "{.ftz}.{f32,f64}".
std::string spelling_of(Opcode op, std::string_view modifiers) {
  std::string out(name_of(op));
  for (std::string_view part : split(modifiers, ' ')) {
    if (part.empty()) continue;
    const bool optional = part[0] == '?';
    if (optional) part.remove_prefix(1);
    std::string choice(part);
    const bool several = choice.find('|') != std::string::npos;
    std::replace(choice.begin(), choice.end(), '|', ',');
    if (several) choice = "{" + choice + "}";
    out += optional ? "[." + choice + "]" : "." + choice;
  }
  return out;
}

struct Forms {
  std::vector<Form> forms;
  std::array<std::pair<size_t, size_t>, 256> by_opcode{};

  Forms() {
    std::vector<Row> rows(std::begin(kForms), std::end(kForms));
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.op < b.op; });
    for (const Row& row : rows) {
      Form form;
      form.op = row.op;
      std::string_view text = row.modifiers;
      form.unsupported = !text.empty() && text[0] == '!';
      if (form.unsupported) text.remove_prefix(1);
      const std::string modifiers = expand(text);
      compile_modifiers(form, modifiers);
      form.spelling = spelling_of(row.op, modifiers);
      for (const std::string_view place : split(row.operands, ' '))
        if (!place.empty()) form.places.push_back(compile_place(place));
      auto& range = by_opcode[static_cast<size_t>(row.op)];
      if (range.second == 0) range = {forms.size(), forms.size()};
      forms.push_back(std::move(form));
      range.second = forms.size();
    }
  }
  std::span<const Form> of(Opcode op) const {
    const auto [first, last] = by_opcode[static_cast<size_t>(op)];
    return std::span(forms).subspan(first, last - first);
  }
};

const Forms& forms() {
  static const Forms instance;
  return instance;
}

bool has(const Form::Group& group, const Word& word) {
  return std::find(group.words.begin(), group.words.end(), word.id) != group.words.end();
}

/// Each word takes the first free group that has it; types must take theirs in order.
bool matches(const Form& form, std::span<const Word* const> words) {
  std::array<bool, 24> taken{};
  FIEL_CHECK(form.groups.size() <= taken.size(), "a form with too many modifiers");
  size_t next_type = 0;
  for (const Word* word : words) {
    size_t i = word->field == Field::type ? next_type : 0;
    while (i < form.groups.size() && (taken[i] || !has(form.groups[i], *word))) {
      if (word->field == Field::type && form.groups[i].is_type && !form.groups[i].optional)
        return false;
      ++i;
    }
    if (i == form.groups.size()) return false;
    taken[i] = true;
    if (word->field == Field::type) next_type = i + 1;
  }
  for (size_t i = 0; i < form.groups.size(); ++i)
    if (!taken[i] && !form.groups[i].optional) return false;
  return true;
}

}  // namespace

FormMatch match_form(Opcode op, std::span<const Word* const> words) {
  FormMatch out;
  const std::span<const Form> candidates = forms().of(op);
  for (const Form& form : candidates) {
    if (matches(form, words)) {
      out.form = &form;
      return out;
    }
  }
  for (const Word* word : words) {
    const bool known = std::any_of(candidates.begin(), candidates.end(), [&](const Form& form) {
      return std::any_of(form.groups.begin(), form.groups.end(),
                         [&](const Form::Group& group) { return has(group, *word); });
    });
    if (!known) {
      out.misfit = word;
      break;
    }
  }
  return out;
}

std::string supported_forms(Opcode op) {
  std::string out;
  for (const Form& form : forms().of(op)) {
    if (form.unsupported) continue;
    if (out.size() + form.spelling.size() > 700) return out + ", …";
    out.append(out.empty() ? "" : ", ").append(form.spelling);
  }
  return out;
}

std::span<const Form> all_forms() { return forms().forms; }

}  // namespace fiel::ptx
