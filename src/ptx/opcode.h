// The base opcodes that the parser knows. FIEL_PTX_OPCODES is the one list: name as an identifier,
// and as PTX spells it.
#pragma once

#include <cstdint>
#include <string_view>

// clang-format off
#define FIEL_PTX_OPCODES(X) \
  X(abs, "abs") X(activemask, "activemask") X(add, "add") X(addc, "addc") X(and_, "and") \
  X(alloca, "alloca") X(atom, "atom") X(bar, "bar") X(barrier, "barrier") X(bfe, "bfe") \
  X(bfi, "bfi") X(bfind, "bfind") X(bmsk, "bmsk") X(bra, "bra") X(brev, "brev") \
  X(brkpt, "brkpt") X(brx, "brx") X(call, "call") X(clz, "clz") X(cnot, "cnot") \
  X(copysign, "copysign") X(cos, "cos") X(cp, "cp") X(createpolicy, "createpolicy") \
  X(cvt, "cvt") X(cvta, "cvta") X(discard, "discard") X(div, "div") X(dp2a, "dp2a") \
  X(dp4a, "dp4a") X(ex2, "ex2") X(exit, "exit") X(fence, "fence") X(fma, "fma") X(fns, "fns") \
  X(isspacep, "isspacep") X(applypriority, "applypriority") X(ld, "ld") \
  X(ldmatrix, "ldmatrix") X(ldu, "ldu") X(lg2, "lg2") X(lop3, "lop3") X(mad, "mad") \
  X(mad24, "mad24") X(madc, "madc") X(match, "match") X(max, "max") X(mbarrier, "mbarrier") \
  X(membar, "membar") X(min, "min") X(mma, "mma") X(mov, "mov") X(movmatrix, "movmatrix") \
  X(mul, "mul") X(mul24, "mul24") X(nanosleep, "nanosleep") X(neg, "neg") X(not_, "not") \
  X(or_, "or") X(pmevent, "pmevent") X(popc, "popc") X(prefetch, "prefetch") \
  X(prefetchu, "prefetchu") X(prmt, "prmt") X(rcp, "rcp") X(red, "red") X(redux, "redux") \
  X(rem, "rem") X(ret, "ret") X(rsqrt, "rsqrt") X(sad, "sad") X(selp, "selp") X(set, "set") \
  X(setp, "setp") X(setmaxnreg, "setmaxnreg") X(shf, "shf") X(shfl, "shfl") X(shl, "shl") \
  X(shr, "shr") X(sin, "sin") X(slct, "slct") X(sqrt, "sqrt") X(st, "st") \
  X(stmatrix, "stmatrix") X(sub, "sub") X(subc, "subc") X(szext, "szext") X(tanh, "tanh") \
  X(testp, "testp") X(trap, "trap") X(vote, "vote") X(wmma, "wmma") X(xor_, "xor") \
  X(vadd, "vadd") X(vsub, "vsub") X(vabsdiff, "vabsdiff") X(vmin, "vmin") X(vmax, "vmax") \
  X(vshl, "vshl") X(vshr, "vshr") X(vmad, "vmad") X(vset, "vset") X(vadd2, "vadd2") \
  X(vsub2, "vsub2") X(vavrg2, "vavrg2") X(vabsdiff2, "vabsdiff2") X(vmin2, "vmin2") \
  X(vmax2, "vmax2") X(vset2, "vset2") X(vadd4, "vadd4") X(vsub4, "vsub4") X(vavrg4, "vavrg4") \
  X(vabsdiff4, "vabsdiff4") X(vmin4, "vmin4") X(vmax4, "vmax4") X(vset4, "vset4")
// clang-format on

namespace fiel::ptx {

enum class Opcode : uint8_t {
  none,
#define FIEL_X(id, text) id,
  FIEL_PTX_OPCODES(FIEL_X)
#undef FIEL_X
};

std::string_view name_of(Opcode op);

}  // namespace fiel::ptx
