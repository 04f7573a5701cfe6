#include "agent/workspace/instructions.h"

#include <fmt/core.h>

#include "agent/workspace/layout.h"

namespace fiel::agent {
namespace {

/// The same text serves programs that run the commands and models that were given tools, whose
/// shell is in a sandbox without the judge.
constexpr const char* kAsking =
    "The judge runs outside this folder. The commands in `bin/` ask it; if you were given tools of "
    "the\n"
    "same names (`compile`, `verify`, `bench`, `profile`, `submit`), call these: from inside a "
    "sandboxed\n"
    "shell the commands do not reach it.";

struct Words {
  const char *kernel, *task, *contract;
};

Words words_of(KernelForm form) {
  switch (form) {
    case KernelForm::cu:
      return {
          "`kernel.cu`", "`task.toml`",
          "`kernel.cu` defines `fiel_run` (`fiel/kernel.h`): it launches work on the stream it is\n"
          "given, writes every element of every output, and returns 0. Sizes come from the\n"
          "tensors at run time. It may return `FIEL_UNSUPPORTED` for sizes that it does not do."};
    case KernelForm::python:
      return {
          "`kernel.py`", "`task.py`",
          "`kernel.py` defines `ModelNew` with the constructor and the `forward` of `Model` in\n"
          "`task.py`; parameters keep their names, so that weights can be copied. CUDA comes in\n"
          "by `torch.utils.cpp_extension.load_inline`, or by Triton."};
    case KernelForm::folder:
      return {
          "`model_new.py` and `kernels/`", "`model.py`",
          "`model_new.py` defines `ModelNew` with the constructor and the `forward` of `Model` in\n"
          "`model.py`; `kernels/*.cu` with their `*_binding.cpp` become the module\n"
          "`cuda_extension`. Parameters keep their names, so that weights can be copied."};
  }
  return {};
}

}  // namespace

std::string skill_text(KernelForm form) {
  const Words w = words_of(form);
  return fmt::format(R"(---
name: write-gpu-kernel
description: Write a CUDA kernel that computes what the task file says and is faster than PyTorch, with a judge that compiles, verifies, times and profiles it. Use when a folder holds a task, a kernel to be written and bin/verify.
---
# Write a GPU kernel

Task: {task}. You write: {kernel}. Everything else here is fixed and is checked by its digest.

{contract}

{asking}

## Workflow

1. **Analyse the model.** Which operators, which shapes, how many bytes and operations at least.
   Compute the bound: bytes over memory bandwidth, operations over peak.
2. **Find the bottleneck.** Memory traffic between operators is the usual one: what could stay in
   registers or shared memory?
3. **Write the kernel.** Right first, with every size taken from the tensors.
4. **Compile** (`bin/compile`, or the tool `compile`): errors come first, at most 40 lines.
5. **Verify** (`bin/verify`, or `verify`): fresh inputs each time, sizes that you do not see, repeated calls.
6. **Time and profile** (`bin/bench`, `bin/profile`, or the tools): medians with 95 % intervals, and
   likely causes.
7. **Iterate** until it is at least 5 % faster than torch.compile, then keep going while there is a
   plan: one or two rounds for the 5 %, three to five more beyond.
8. **Submit** (`bin/submit`, or `submit`): the kernel as it is then is what is scored.

## Priorities

- Algorithm first (often more than 50 %): fuse, drop work, one pass instead of three.
- Then use of the hardware (20-50 %): coalesced and vectorised access, shared memory, tensor cores,
  occupancy.
- Fine tuning last (below 20 %), and only within 1.2x of the goal: block sizes, unrolling.

## What the judge says

- `incorrect` comes with the worst element: its index, what was expected, what came. Look at that
  index: a tail, a border between blocks, a reduction's order.
- A hidden size that fails is named as that and no more: a size was assumed.
- `runtime_error` names the kernel and, where known, the line and thread.
- Speed is `faster`, `same`, `slower`, `ambiguous` or `not_measured`, with a ratio and its interval.
  A gain inside the interval is no gain.

## What does not count

Results kept from an earlier call, work left running after the call returned, inputs changed,
lower precision than the task allows, numbers that fit the visible inputs alone. The judge's side
runs elsewhere: there is nothing here to be edited that would change a verdict.
)",
                     fmt::arg("task", w.task), fmt::arg("kernel", w.kernel),
                     fmt::arg("contract", w.contract), fmt::arg("asking", kAsking));
}

std::string agents_text(KernelForm form) {
  const Words w = words_of(form);
  return fmt::format(
      "# Workspace of a GPU kernel\n\nRead SKILL.md first. The task is {}, what you write is "
      "{}.\n\n"
      "| command | does |\n|---|---|\n"
      "| `bin/compile` | compiles, errors first |\n"
      "| `bin/verify` | is it right? fresh inputs, hidden sizes |\n"
      "| `bin/bench` | is it faster? verifies too |\n"
      "| `bin/profile` | memory traffic, conflicts, occupancy, likely causes |\n"
      "| `bin/submit` | the kernel as it is now is the answer |\n\n"
      "{}\n\n"
      "There is no network. Files other than the kernel's are fixed: changes are undone and "
      "noted.\n",
      w.task, w.kernel, kAsking);
}

}  // namespace fiel::agent
