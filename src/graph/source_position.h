// Errors that show where: "task.toml:12:9: message", the line, and a caret under the column.
#pragma once

#include <string>

#include "base/result.h"
#include "graph/graph.h"

namespace fiel::graph {

/// `line` counts as the file does (source.first_line is the text's first), `column` from 1.
Error error_at(ErrorCode code, const Source* source, uint32_t line, uint32_t column,
               const std::string& message, std::string hint = {});

}  // namespace fiel::graph
