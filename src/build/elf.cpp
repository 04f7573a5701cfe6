#include "build/elf.h"

#include <elf.h>

#include <cstring>

namespace fiel::build {
namespace {

template <typename T>
bool read_at(std::span<const uint8_t> file, uint64_t offset, T& out) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, file.data() + offset, sizeof(T));
  return true;
}

std::optional<std::span<const uint8_t>> range(std::span<const uint8_t> file, uint64_t offset,
                                              uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.subspan(offset, size);
}

std::string_view string_at(std::span<const uint8_t> table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* begin = reinterpret_cast<const char*>(table.data()) + offset;
  return {begin, ::strnlen(begin, table.size() - offset)};
}

struct Sections {
  std::vector<Elf64_Shdr> headers;
  std::span<const uint8_t> names;
};

std::optional<Sections> read_sections(std::span<const uint8_t> file) {
  Elf64_Ehdr h;
  if (!read_at(file, 0, h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
      h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  Sections s;
  for (uint16_t i = 0; i < h.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read_at(file, h.e_shoff + uint64_t{i} * sizeof section, section)) return std::nullopt;
    s.headers.push_back(section);
  }
  if (h.e_shstrndx >= s.headers.size()) return std::nullopt;
  const Elf64_Shdr& names = s.headers[h.e_shstrndx];
  auto bytes = range(file, names.sh_offset, names.sh_size);
  if (!bytes) return std::nullopt;
  s.names = *bytes;
  return s;
}

}  // namespace

std::optional<std::span<const uint8_t>> elf_section(std::span<const uint8_t> file,
                                                    std::string_view name) {
  auto sections = read_sections(file);
  if (!sections) return std::nullopt;
  for (const Elf64_Shdr& h : sections->headers)
    if (h.sh_type != SHT_NOBITS && string_at(sections->names, h.sh_name) == name)
      return range(file, h.sh_offset, h.sh_size);
  return std::nullopt;
}

std::vector<std::string> elf_exports(std::span<const uint8_t> file) {
  std::vector<std::string> names;
  auto symbols = elf_section(file, ".dynsym"), strings = elf_section(file, ".dynstr");
  if (!symbols || !strings) return names;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size() && names.size() < 65536;
       at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols->data() + at, sizeof symbol);
    if (symbol.st_shndx != SHN_UNDEF) names.emplace_back(string_at(*strings, symbol.st_name));
  }
  return names;
}

}  // namespace fiel::build
