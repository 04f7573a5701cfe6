#include "cli/saved_call.h"

#include <fmt/format.h>

#include "base/files.h"

namespace fiel::cli {
namespace {

std::string line_of(const char* kind, const graph::TensorType& type) {
  std::string line = fmt::format("{} {} {}", kind, name_of(type.dtype), type.shape.size());
  for (const int64_t extent : type.shape) line += fmt::format(" {}", extent);
  return line;
}

}  // namespace

Status save_call(const std::filesystem::path& folder, const task::Instance& at,
                 const std::vector<Tensor>& inputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = fmt::format("{}.bin", i);
    const auto bytes = inputs[i].bytes();
    FIEL_TRY_STATUS(write_file_atomic(folder / name,
                                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    text += fmt::format("{} {}\n", line_of("input", at.inputs[i]), name);
  }
  for (const graph::TensorType& type : at.outputs) text += line_of("output", type) + "\n";
  return write_file_atomic(folder / "call.txt", text);
}

}  // namespace fiel::cli
