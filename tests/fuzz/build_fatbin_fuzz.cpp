// Any bytes as a fat binary, an LZ4 block and a shared object: refused, or within the bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "build/elf.h"
#include "build/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  if (const auto entries = fiel::build::read_fatbin(bytes))
    for (const auto& e : *entries)
      if (e.text.size() > fiel::build::kMaxPtxBytes) std::abort();
  if (const auto text = fiel::build::lz4_block_decode(bytes, 1u << 16))
    if (text->size() != 1u << 16) std::abort();
  (void)fiel::build::elf_section(bytes, ".nv_fatbin");
  (void)fiel::build::elf_exports(bytes);
  return 0;
}
