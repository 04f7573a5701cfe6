// What a case needs and a machine may lack.
#pragma once

#include <string>
#include <vector>

namespace fiel::cli {

/// The first need that is not there: a program, or a module of the Python that has PyTorch; empty
/// where all are. `python`: that interpreter, empty where there is none.
std::string first_missing(const std::vector<std::string>& needs, const std::string& python);

}  // namespace fiel::cli
