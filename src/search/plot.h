// How a search went, as one SVG: the best kernel so far against judged kernels, and against cost.
//
//   FIEL_TRY_STATUS(write_file_atomic("search.svg", plot(history, "softmax, climb, scripted")));
//
// The axis says what was measured: a speed-up on a GPU, a stand-in on the virtual GPU, else only
// how many kernels were right. The same history gives the same bytes.
#pragma once

#include <string>

#include "search/candidate.h"

namespace fiel::search {

std::string plot(const History& history, const std::string& title);

}  // namespace fiel::search
