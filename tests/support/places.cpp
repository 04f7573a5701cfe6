#include "places.h"

namespace fiel {

std::string in_source(const std::string& path) { return FIEL_SOURCE_DIR "/" + path; }
std::string in_build(const std::string& path) { return FIEL_BINARY_DIR "/" + path; }

}  // namespace fiel
