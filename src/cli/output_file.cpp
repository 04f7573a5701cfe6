#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

/// A pipe that nobody reads is an error and not a wait without end.
Status write_as_it_is(const fs::path& path, std::string_view bytes) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd)
    return fail(ErrorCode::usage,
                fmt::format("cannot write to {}: {}", path.string(), std::strerror(errno)));
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  const int why = write_all(fd.get(), bytes);
  if (why == 0) return {};
  return fail(ErrorCode::io,
              fmt::format("cannot write to {}: {}", path.string(), std::strerror(why)));
}

}  // namespace

Status write_output(const fs::path& path, std::string_view bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  switch (status.type()) {
    case fs::file_type::not_found:
      return write_file_atomic(path, bytes);
    case fs::file_type::regular: {
      const fs::path real = fs::canonical(path, error);
      return write_file_atomic(error ? path : real, bytes);
    }
    case fs::file_type::directory:
      return fail(ErrorCode::usage, path.string() + " is a folder");
    case fs::file_type::none:
      return fail(ErrorCode::usage,
                  fmt::format("cannot write to {}: {}", path.string(), error.message()));
    default:
      return write_as_it_is(path, bytes);
  }
}

}  // namespace fiel::cli
