// Pieces that all families of kernels are written with.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forge/program.h"

namespace fiel::forge {

/// Replaces every @name@; a name that is not given is our mistake.
std::string fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string>> values);

/// "float", "__half", "__nv_bfloat16", "unsigned char", "long long".
const char* c_type(DType dtype);
/// The head of a file: what it is, includes, packs of elements with 16-byte accesses, hints.
std::string prelude(const Program& p, const std::string& what, bool stream_loads,
                    bool stream_stores, bool persistent);
/// "const float* __restrict__ in0, …, float* __restrict__ out0"
std::string parameters(const Program& p);
std::string arguments(const Program& p);  ///< the same as fiel_run hands them over
/// fiel_run's checks of numbers and types, up to `whole`, the tensor that has the whole shape.
std::string checks(const Program& p);
/// Extents of the others, once `rows` and `columns` are known.
std::string extent_checks(const Program& p);
/// "aligned(in0) && …" of every tensor that is read or written in packs.
std::string alignment(const Program& p);

/// Of the host: `workspace<float>(n, stream)`, memory that launches of one call share.
inline constexpr std::string_view kWorkspace = R"(
/// Memory for partial results, grown where a call asks for more; no result outlives its call.
template <typename T> T* workspace(int64_t count, cudaStream_t stream) {
  static T* memory = nullptr;
  static int64_t room = 0;
  if (room < count) {
    cudaFree(memory);  // waits for what uses it
    memory = nullptr, room = 0;
    if (cudaMalloc(&memory, (size_t)count * sizeof(T)) != cudaSuccess) return nullptr;
    cudaMemsetAsync(memory, 0, (size_t)count * sizeof(T), stream);
    room = count;
  }
  return memory;
}
)";

/// "v7", "s7", or the number itself.
std::string name_of(const Program& p, uint32_t step);
/// "const float v7 = …;" for an apply step.
std::string statement(const Program& p, uint32_t step, bool fast);
/// What has to be computed an element for `targets`, in order, without what is `known`.
std::vector<uint32_t> needed(const Program& p, const std::vector<uint32_t>& targets,
                             const std::set<uint32_t>& known);

}  // namespace fiel::forge
