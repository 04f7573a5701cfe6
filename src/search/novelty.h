// Whether a kernel was judged before, or one that is as good as the same.
//
//   if (const auto n = likeness(source, history, Novelty::words); n.share > kTooAlike) reject();
//
// Comments and space do not count; in a PyTorch module indentation does. `words`: the share of
// five-word pieces that both have (Jaccard).
#pragma once

#include <string>

#include "search/candidate.h"
#include "search/proposer.h"

namespace fiel::search {

struct Likeness {
  double share = 0;     ///< 1: the same
  uint32_t number = 0;  ///< the candidate that is most alike; 0: none
};
Likeness likeness(const std::string& source, const History& history, Novelty novelty);

/// Beyond this a kernel is no new one: one number changed in some hundred words stays below.
inline constexpr double kTooAlike = 0.995;

/// The words of a kernel without comments: of CUDA, or of Python where it defines ModelNew.
std::vector<std::string> words_of(std::string_view source);

}  // namespace fiel::search
