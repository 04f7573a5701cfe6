// Mutants of a CUDA source: one small change each, of a kind that people and models make by
// mistake.
//
//   FIEL_TRY(std::vector<Mutant> all, mutants_of(text));           // in the order of the text
//   for (const Mutant& m : sample(all, 30, seed)) compile(mutated(text, m));
//
// Only device functions are changed. Whether a mutant computes something else is not known here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::mutate {

enum class Kind : uint8_t {
  bounds,     ///< comparisons off by one, guards dropped, loops that start or end elsewhere
  index,      ///< subscripts off by one, another axis of a thread's place
  operation,  ///< + for -, && for ||, min for max, a comparison turned round
  constant,   ///< a number near to the right one
  barrier,    ///< __syncthreads, __syncwarp, fences dropped
  term,       ///< a summand, a factor or an accumulating statement dropped
  precision,  ///< fp16, bf16 or tf32 in between, double as float, fast intrinsics
  neutral,    ///< an accumulator that starts from the wrong element, padding that counts
};
inline constexpr std::array kKinds = {Kind::bounds,  Kind::index, Kind::operation, Kind::constant,
                                      Kind::barrier, Kind::term,  Kind::precision, Kind::neutral};
std::string_view name_of(Kind kind);
std::optional<Kind> parse_kind(std::string_view name);
std::vector<std::string> kind_names();

struct Mutant {
  Kind kind{};
  std::string rule;      ///< "guard dropped"
  std::string function;  ///< the device function
  size_t begin = 0, end = 0;
  uint32_t line = 0, column = 0;
  std::string original, replacement;

  /// "12:7 bounds: guard dropped": one of its source's mutants, and no other.
  std::string label() const;
};

/// By place, then by kind. No two make the same text.
Result<std::vector<Mutant>> mutants_of(std::string_view source);

std::string mutated(std::string_view source, const Mutant& mutant);

/// At most `count`, the kinds in turn (precision twice), in the order of the text; the same for the
/// same seed.
std::vector<Mutant> sample(const std::vector<Mutant>& mutants, size_t count, uint64_t seed);

}  // namespace fiel::mutate
