// Any bytes as a manifest of pairs: refused, or pairs that name a task and a kernel.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/files.h"
#include "cli/pairing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fiel::Fd file(::memfd_create("manifest", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto pairs = fiel::cli::read_manifest("/proc/self/fd/" + std::to_string(file.get()));
  if (!pairs) return 0;
  for (const auto& pair : *pairs)
    if (pair.task.empty() || pair.kernel.empty()) std::abort();
  return 0;
}
