// A CUDA-Agent work folder as one thing: its digest, and its files as one text that can be kept.
//
//   FIEL_TRY(const std::string text, work_folder_text("runs/softmax"));
//   for (const WorkFile& f : work_files(text)) …              // nothing where it is no such text
//   FIEL_TRY_STATUS(write_work_folder(text, to));             // the same files again
//
// Links are left out: a candidate is not given what they lead to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::kernel {

/// SHA-256 of the files and their names: what the candidate is given.
Result<std::string> work_folder_digest(const std::filesystem::path& folder);

/// Each file behind a line with its name and size. What holds zeros, and what would make the text
/// larger than 16 MiB, is there by its SHA-256 alone: two folders that differ have other texts.
Result<std::string> work_folder_text(const std::filesystem::path& folder);

struct WorkFile {
  std::string path;  ///< relative, and never out of the folder
  std::string_view text;
  bool kept = true;
};
/// Points into the text. Empty where it is none of a work folder.
std::vector<WorkFile> work_files(std::string_view text);

/// ErrorCode::not_found where a file was not kept.
Status write_work_folder(std::string_view text, const std::filesystem::path& folder);

}  // namespace fiel::kernel
