// The long texts of `fiel explain`. One paragraph says what a word means, one what to do.
#include <array>

#include "judge/codes.h"
#include "judge/protocols/words.h"
#include "vgpu/findings.h"

namespace fiel::judge {
namespace {

struct Text {
  std::string_view name, text, remedy;
};

constexpr std::array<Text, 12> kStatuses = {{
    {"correct",
     "Every probe passed: on all input sets and shapes that were run, each output element stayed "
     "within the bound that rounding explains, no rule was broken, and the virtual GPU found no "
     "error. The numerics class beside it says how accurate the kernel was measured to be.",
     "Nothing. Look at the listed notes, skipped shapes and the missed fraction to see how far the "
     "evidence goes."},
    {"incorrect",
     "The kernel does not compute what the task says, or relies on something undefined. The "
     "witness names the probe, the smallest shape found, and the first wrong element with the "
     "expected and the computed value. Races, reads of uninitialised memory, divergent barriers, a "
     "modified input or an unwritten output count as incorrect even where the values came out "
     "right: another GPU, or another day, would give others.",
     "Run the witness again: the same --seed gives the same inputs. `fiel explain PROBE` and `fiel "
     "explain FINDING` say what the probe or finding is about."},
    {"timing_invalid",
     "The values are right, but the time cannot be true: below what the memory and the arithmetic "
     "of the device need, or not confirmed by the judge's own clock. Never given on the virtual "
     "device, where speed is not measured.",
     "Make sure that all work is ordered on the given stream before fiel_run returns."},
    {"tampering",
     "The candidate's process tried to influence the judge instead of computing: it sent garbage "
     "on "
     "the runtime's private channel, or touched what is not its own.",
     "Let the kernel use the CUDA runtime only, and leave other descriptors and processes alone."},
    {"policy_violation",
     "The kernel is right but breaks a rule that the caller chose, such as one about libraries.",
     "Judge under another policy, or change the kernel."},
    {"task_void",
     "The task cannot tell a right kernel from a wrong one: zeros, a constant, an unchanged input "
     "or the answer to other inputs would pass every probe. No candidate was run.",
     "Change the task: its expression, so that the output depends on the inputs, or its inputs' "
     "distribution. `fiel tasks show FILE` prints what was understood."},
    {"compile_error",
     "The compiler refused the kernel, or what it made exports no fiel_run. Its messages follow.",
     "Fix the source. The exact compiler command is printed with -v."},
    {"runtime_error",
     "A call did not run to its end: the process died, a launch was refused, a CUDA error stayed "
     "behind, fiel_run returned a failure, a memory or process limit was reached, or the virtual "
     "GPU stopped a kernel where a GPU would have: an access outside every allocation, a "
     "misaligned access, a trap, a failed assert, a deadlock.",
     "The finding names the source line, block and thread."},
    {"timeout", "A call used up its wall-clock limit or its budget of virtual instructions.",
     "Look for a loop that does not end, or raise the limit with --timeout."},
    {"unsupported",
     "Either the kernel refuses a shape set that the task asks for (it returned FIEL_UNSUPPORTED): "
     "then it was judged and not accepted, exit code 1. Or the virtual GPU does not execute "
     "something the kernel uses (wgmma, TMA, clusters, textures): then it could not be judged, "
     "exit "
     "code 3. The field unsupported_by tells the two apart.",
     "Handle the shape, or judge it without that set by --shapes; for instructions outside the "
     "virtual GPU, judge on a GPU."},
    {"harness_fault",
     "The judge itself failed: no compiler, no isolation where it was required, no memory, an "
     "internal time-out. It says nothing about the kernel.",
     "`fiel doctor` says what is missing and which command brings it."},
    {"undecided",
     "The evidence is not enough for either answer: every shape set was beyond the budget, or the "
     "time limit of the judgement was reached while the kernel had been right.",
     "Choose shapes with --shapes, give --budget thorough, or raise --time-limit."},
}};

constexpr std::array<Text, 21> kProbes = {{
    {"task-inputs",
     "The task's own inputs, drawn anew from three secret seeds at each shape. Answers to known "
     "seeds cannot be stored.",
     ""},
    {"mixed-signs",
     "Values of both signs in every tensor. A ReLU that is the identity on positive data, or a "
     "branch on the sign, shows here.",
     "Check what the kernel does with negative values."},
    {"offset-mean",
     "Values far from zero compared with their spread: 1000 ± 1 and the like, of either sign. A "
     "variance computed as E[x²] − E[x]² loses all its digits, a softmax without subtracting the "
     "maximum overflows.",
     "Use Welford's or a two-pass variance; subtract the maximum before exp."},
    {"scale-range",
     "All values multiplied by a scale drawn from a continuous range, up and down, and far up. A "
     "threshold, an absolute epsilon, an fp16 intermediate or factors without a scale show: above "
     "65504 fp16 has no numbers.",
     "Scale factors by a power of two before they are rounded to fp16, or use TF32 or bf16."},
    {"exact-products",
     "Whole numbers of seven bits in every factor of a product of matrices. TF32, bf16 and fp16 "
     "hold "
     "them exactly, so a kernel that adds in fp32 makes fp32's errors only, whatever it rounds its "
     "factors to. One that adds in fp16 does not, however few the terms, and is called bf16.",
     "Accumulate in fp32: wmma and mma.sync take f16 factors and an f32 accumulator."},
    {"outliers", "A few values hundreds of times larger than the rest, at random places.",
     "Do not assume that values stay within a few standard deviations."},
    {"ties",
     "Only a handful of distinct values, so that equal maxima and equal neighbours are everywhere.",
     ""},
    {"constant",
     "All elements of an input are equal. Variances are zero and sums round the same way each "
     "time.",
     "Add epsilon where the task does."},
    {"one-hot", "One 1 in each row, zeros elsewhere: which element reaches which output.", ""},
    {"special-values",
     "A few NaN, +Inf, -Inf and -0 planted in ordinary data. Where the task says special_values = "
     "\"propagate\", a NaN or infinity of the reference must appear in the output and nowhere "
     "else. "
     "Where no input is NaN, a NaN of the reference is inf - inf, and an infinity is right there "
     "too. "
     "CUDA's fmaxf(x, 0) drops NaN where PyTorch's relu keeps it. The sign of a zero result is not "
     "compared.",
     "Use `x != x ? x : fmaxf(x, 0)`, or declare special_values = \"ignore\" in the task."},
    {"same-address",
     "New data in the same buffers. A cache keyed by the pointer answers with old results.",
     "Compute from the buffers' present content on every call."},
    {"new-address",
     "The same data in other buffers, the old ones freed and filled with NaN. A kept pointer "
     "shows.",
     "Take pointers from the arguments on every call."},
    {"one-element",
     "One element changed at a random place, chosen so that the reference's answer changes. A "
     "cache "
     "keyed by a few values of the content answers with old results.",
     "Compute from the buffers' present content on every call."},
    {"weights-in-place",
     "The parameters overwritten in place, the other inputs as before. Weights that were repacked "
     "once must be repacked, or read, again.",
     "Do not keep anything derived from a weight across calls."},
    {"guard-bands",
     "The tensors lie in the middle of larger buffers, between bands of 4096 bytes that must come "
     "back unchanged. Reading a band gives NaN. Addresses stay multiples of 256 bytes, as "
     "promised.",
     "Guard the last block: `if (i < n)`."},
    {"schedules",
     "The same input under five orders of blocks and warps, with races in global memory watched "
     "and "
     "multiply-add contracted as ptxas may. Outputs may differ by rounding (float atomics), which "
     "is "
     "noted; more is incorrect.",
     "Order what depends on each other: __syncthreads, a second launch, atomics."},
    {"repeated-calls",
     "Many calls on fresh data at a small shape, each compared in full. A kernel that is right ten "
     "times and wrong then is found; a defect in a random share p of the calls is missed with "
     "probability (1 − p)^n for n compared calls.",
     "Do not let the number of calls change the result."},
    {"other-shapes",
     "Inputs of other sizes that the reference accepts too: a batch of one, an odd one, irregular "
     "images. A kernel may refuse them by an exception, which is noted; a wrong answer is a wrong "
     "answer.",
     "Take sizes from the arguments, or raise an exception for those that you do not support."},
    {"module-state",
     "Buffers after the call, such as BatchNorm's running statistics in train mode, compared like "
     "outputs.",
     "Update the module's buffers as the reference does, or judge with --mode eval."},
    {"other-mode",
     "The module in the other of train and eval mode. Answers that are wrong there are noted.", ""},
    {"timed-calls",
     "The calls whose time is taken. Each has fresh inputs from a secret seed; a secret share of "
     "them is compared in full, and sampled elements of all.",
     "Compute every call."},
}};

constexpr std::array<Text, 30> kFindings = {{
    {"input-modified",
     "A byte of an input was written by the call, even if it was restored. Inputs belong to the "
     "caller.",
     "Write to outputs only; use scratch memory of your own."},
    {"guard-band-overwritten", "Bytes just before or behind a tensor were changed.",
     "Guard the last block: `if (i < n)`."},
    {"work-not-joined",
     "Launches or copies were left on a stream that the given stream does not wait for when "
     "fiel_run returned. Whoever reads the output next may read it too early.",
     "Launch on `stream`, or let it wait: cudaEventRecord on yours, cudaStreamWaitEvent on it."},
    {"stale-output", "The outputs are the right answer to an earlier call's inputs.",
     "Do not keep results across calls."},
    {"special-value-lost",
     "The reference has a NaN or infinity at an element where the kernel has another value.",
     "See `fiel explain special-values`."},
    {"launch-refused",
     "The runtime refused a launch, as a GPU would: too many threads, too much shared memory, an "
     "empty grid.",
     "Check the launch configuration for this shape; more than 48 KiB of dynamic shared memory "
     "needs cudaFuncSetAttribute."},
    {"cuda-error", "A CUDA error was pending when fiel_run returned.",
     "Check the return codes of runtime calls."},
    {"nonzero-return",
     "fiel_run returned a value other than 0 and FIEL_UNSUPPORTED, which means failure.",
     "Return 0 on success."},
    {"shape-refused",
     "The kernel answered FIEL_UNSUPPORTED at shapes that the task does not list. Specialising is "
     "legal; it is named so that nobody takes the kernel for a general one.",
     ""},
    {"refused-late",
     "The kernel answered FIEL_UNSUPPORTED at a shape that it had answered before. A refusal may "
     "depend on shapes and dtypes only: one that depends on values, addresses or the number of "
     "calls would let a kernel leave before a probe that it fails.",
     "Refuse by shape and dtype, or compute every call."},
    {"no-kernel-launched",
     "No call launched a kernel: copies alone did it, or the host computed the answer.", ""},
    {"output-flood", "The kernel's process printed more than is kept.", "Print less."},
    {"runtime-protocol-broken",
     "The candidate's process sent something that the stand-in for the CUDA runtime, or the "
     "PyTorch "
     "worker, never sends.",
     "Use the CUDA runtime or PyTorch only, and leave other descriptors alone."},
    {"structure-differs",
     "The outputs differ in nesting, shape, dtype, layout or device from what the reference gives.",
     "Return what the reference returns: the same nesting, shapes and dtypes, on the device."},
    {"output-aliases-input",
     "An output shares memory with an input where the reference's does not: who writes to the one "
     "changes the other.",
     "Return memory of its own."},
    {"state-differs",
     "A buffer of the module differs from the reference's after the call. See `fiel explain "
     "module-state`.",
     ""},
    {"weights-unmatched",
     "Parameters or buffers of the reference for which the candidate has no counterpart of the "
     "same "
     "name or shape: they keep what the candidate's constructor drew. A wrong answer is then no "
     "evidence against the kernel, and the verdict is `unsupported`.",
     "Keep the reference's parameter names and shapes in ModelNew."},
    {"weights-by-shape",
     "The candidate names some parameters otherwise; they were given by shape, or by order where "
     "several have one shape.",
     ""},
    {"task-warning", "Something about the task file that limits what a verdict can say.", ""},
    {"planned-by-cost",
     "A case at the task's own shapes takes long: those got the telling probes, and the others ran "
     "at the shape that is named, or with fewer calls.",
     "--budget thorough does more at the task's own shapes."},
    {"bound-widened",
     "PyTorch's own answer in the task's types is further from the float64 reference than the "
     "bound "
     "allows, so the bound was widened to it: what is accepted there is what PyTorch itself does.",
     ""},
    {"worker-traceback",
     "The end of the traceback of Fiel's own Python process, beside a fault that is not the "
     "kernel's.",
     "Send it with the task file."},
    {"events-disbelieved",
     "The device times that the kernel's process claimed are less than the judge's own clock "
     "allows. "
     "The clock's times were credited instead.",
     "Order all work before forward returns; leave torch.cuda.Event alone."},
    {"below-physics-floor",
     "The credited time is below nine tenths of what the device needs to move the task's bytes, to "
     "do "
     "its arithmetic at the measured class, or to launch at all.",
     "Compute the outputs within the call."},
    {"library-kernels",
     "Kernels of cuBLAS, cuDNN or another library, or of the framework, did the work in a track "
     "that "
     "asks for own ones.",
     "Judge with --track any, or write the kernel."},
    {"own-kernels", "Own kernels did the work in a track that asks for libraries.",
     "Judge with --track any."},
    {"track-unjudged",
     "--track was asked for, and nobody saw which kernels the candidate launches: nothing was "
     "timed, "
     "or the profiler saw none. The verdict says nothing about the track.",
     "Judge on a GPU with time for timing, where CUPTI works (fiel doctor)."},
    {"policy-left-out",
     "A policy of --policies has no baseline: bf16 and fp16 cast the reference, whose outputs "
     "would "
     "then have another dtype than the task's, and where nothing is a product (or on the CPU) fp32 "
     "and tf32 are the same program as default.",
     ""},
    {"strides-differ",
     "An output has other strides than PyTorch's. Its values were compared all the same, and it is "
     "no fault: what reads the output next may take another path, or copy it.",
     "Return it in PyTorch's layout where that matters to the code around it."},
    {"baselines-discarded",
     "Times of baselines from earlier judgements were not used: one that was timed again took "
     "another time today, so none of them is believed, or the file that holds them is damaged or "
     "was written by somebody else. Every baseline was measured anew beside the kernel.",
     "Nothing, where it happens once. Where it goes on, the GPU's clocks or its load change from "
     "judgement to judgement: --baseline-cache off looks at nothing of earlier ones."},
}};

constexpr std::array<Text, 8> kNumerics = {{
    {"fp64", "Errors as of arithmetic in double precision.", ""},
    {"fp32",
     "Errors as of arithmetic in single precision, whatever the order of the sums. Split schemes "
     "such as 3xTF32 reach it when they are done well.",
     ""},
    {"tf32",
     "Errors as when the operands of products are rounded to 11 bits and added in fp32: TF32 "
     "tensor "
     "cores, or a single scaled fp16 product. Accepted for f32 tasks that multiply matrices unless "
     "--numerics fp32; the verdict names it, since such a kernel is to be compared with baselines "
     "of "
     "the same class.",
     "Use --numerics fp32 to refuse it."},
    {"fp16",
     "Errors as when results are rounded to half precision. The class of f16 tasks; in an f32 task "
     "it is incorrect.",
     "Keep sums and intermediates in float."},
    {"bf16",
     "Errors as when results are rounded to bfloat16, or more than TF32 explains: short sums in "
     "fp16 "
     "(`fiel explain exact-products`). The class of bf16 tasks; in an f32 task it is incorrect.",
     "Keep sums and intermediates in float."},
    {"fp8", "The class of tasks whose outputs are e4m3 or e5m2.", ""},
    {"integer", "Integer and boolean outputs: compared exactly.", ""},
    {"below",
     "Errors beyond what rounding to any floating type explains: a wrong formula, or sums "
     "accumulated in half precision.",
     "Look at the witness."},
}};

constexpr std::array<Text, 5> kSpeeds = {{
    {"faster",
     "The whole 95 % interval of the ratio against the headline baseline, the fastest that is at "
     "least as accurate, is above 1.01.",
     ""},
    {"same", "The whole 95 % interval of the ratio lies within 1/1.01 and 1.01.", ""},
    {"slower", "The whole 95 % interval of the ratio is below 1/1.01.", ""},
    {"ambiguous",
     "The interval lies over a border between faster, same and slower, and the time budget ended "
     "before more samples could shrink it, or too few samples stand.",
     "Give more --time-budget, or leave the GPU to the measurement."},
    {"not_measured", "No time was taken: the field `why` says why.", ""},
}};

constexpr std::array<Text, 6> kExitCodes = {{
    {"0", "Accepted: every kernel that was judged is correct.", ""},
    {"1", "Judged, and at least one kernel was not accepted.", ""},
    {"2", "The command line, or a file that you wrote (a task), is wrong.", ""},
    {"3",
     "Could not judge: something of the judge or the machine is at fault, or the device does not "
     "execute what the kernel uses. Says nothing about the kernel.",
     "`fiel doctor`"},
    {"5", "Nothing to judge: no kernel was found, or the task is void.", ""},
    {"130", "Interrupted from the keyboard.", ""},
}};

template <size_t N>
void append(std::vector<Explanation>& list, const std::array<Text, N>& texts, const char* kind) {
  for (const Text& t : texts)
    list.push_back({std::string(t.name), kind, std::string(t.text), std::string(t.remedy)});
}

}  // namespace

std::vector<Explanation> all_explanations() {
  std::vector<Explanation> list;
  append(list, kStatuses, "status");
  append(list, kProbes, "probe");
  append(list, kFindings, "finding");
#define FIEL_X(id, code, grade)                                                 \
  list.push_back({std::string(vgpu::code_of(vgpu::FindingKind::id)), "finding", \
                  std::string(vgpu::meaning_of(vgpu::FindingKind::id)), ""});
  FIEL_FINDINGS(FIEL_X)
#undef FIEL_X
  append(list, kNumerics, "numerics class");
  for (const Protocol p : all_protocols()) {
    ProtocolWords words = words_of(p);
    list.push_back(
        {std::string(name_of(p)), "protocol", std::move(words.text), std::move(words.remedy)});
  }
  append(list, kSpeeds, "speed");
  append(list, kExitCodes, "exit code");
  return list;
}

std::optional<Explanation> explain(std::string_view name) {
  for (Explanation& e : all_explanations())
    if (e.name == name) return std::move(e);
  return std::nullopt;
}

}  // namespace fiel::judge
