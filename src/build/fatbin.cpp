#include "build/fatbin.h"

#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fiel::build {
namespace {

constexpr uint32_t kFatbinMagic = 0xBA55ED50;
constexpr uint16_t kKindPtx = 1, kKindElf = 2;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000;
constexpr size_t kMaxEntries = 1024;

template <typename T>
T at(std::span<const uint8_t> bytes, size_t offset) {
  T v{};
  std::memcpy(&v, bytes.data() + offset, sizeof v);
  return v;
}

Error malformed(const std::string& what) {
  return {ErrorCode::parse, "malformed fat binary: " + what, {}, {}};
}

Result<std::string> zstd_decode(std::span<const uint8_t> in, uint64_t expected) {
  std::string out(expected, '\0');
  size_t n = ZSTD_decompress(out.data(), out.size(), in.data(), in.size());
  if (ZSTD_isError(n)) return fail(malformed(std::string("zstd: ") + ZSTD_getErrorName(n)));
  out.resize(n);
  return out;
}

/// A fat binary pads PTX with zeros; the text ends at the first.
std::string until_nul(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

struct Entry {
  uint16_t kind = 0;
  uint64_t flags = 0, uncompressed = 0;
  FatbinPtx info;
  std::span<const uint8_t> payload;
};

Result<std::string> payload_text(const Entry& e) {
  if ((e.flags & (kFlagLz4 | kFlagZstd)) == 0)
    return until_nul({reinterpret_cast<const char*>(e.payload.data()), e.payload.size()});
  if (e.uncompressed == 0 || e.uncompressed > kMaxPtxBytes)
    return fail(ErrorCode::limit, fmt::format("compressed PTX claims {} bytes; at most {} are read",
                                              e.uncompressed, kMaxPtxBytes));
  Result<std::string> text = (e.flags & kFlagZstd) ? zstd_decode(e.payload, e.uncompressed)
                                                   : lz4_block_decode(e.payload, e.uncompressed);
  if (!text) return text;
  return until_nul(std::move(*text));
}

/// Reads the entry at `offset` and moves past it.
Result<Entry> read_entry(std::span<const uint8_t> bytes, size_t& offset) {
  if (bytes.size() - offset < 64) return fail(malformed("entry header is cut"));
  auto head = bytes.subspan(offset);
  Entry e;
  e.kind = at<uint16_t>(head, 0);
  uint32_t header_size = at<uint32_t>(head, 4);
  uint64_t payload_size = at<uint64_t>(head, 8);
  uint32_t compressed = at<uint32_t>(head, 16);
  e.info.version_minor = at<uint16_t>(head, 24);
  e.info.version_major = at<uint16_t>(head, 26);
  e.info.arch = at<uint32_t>(head, 28);
  e.flags = at<uint64_t>(head, 40);
  e.uncompressed = at<uint64_t>(head, 56);
  if (header_size < 64 || header_size > head.size())
    return fail(malformed(fmt::format("entry header of {} bytes", header_size)));
  if (payload_size > head.size() - header_size)
    return fail(malformed(fmt::format("payload of {} bytes does not fit", payload_size)));
  e.payload = head.subspan(header_size, payload_size);
  if (e.flags & (kFlagLz4 | kFlagZstd)) {
    if (compressed > payload_size) return fail(malformed("compressed size beyond the payload"));
    if (compressed != 0) e.payload = e.payload.first(compressed);
  }
  offset += header_size + payload_size;
  return e;
}

bool looks_like_ptx(std::span<const uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                        std::min<size_t>(bytes.size(), 4096));
  return text.find(".version") != std::string_view::npos;
}

}  // namespace

Result<std::string> lz4_block_decode(std::span<const uint8_t> in, uint64_t expected) {
  if (expected > kMaxPtxBytes) return fail(ErrorCode::limit, "LZ4 block claims too many bytes");
  std::string out;
  size_t i = 0;
  auto broken = [] { return fail(malformed("LZ4 block")); };
  // Lengths of 15 go on in further bytes until one is below 255.
  auto extend = [&](size_t length) -> size_t {
    uint8_t b = 255;
    while (b == 255 && i < in.size() && length <= expected) length += (b = in[i++]);
    return b == 255 ? SIZE_MAX : length;
  };
  while (i < in.size()) {
    uint8_t token = in[i++];
    size_t literals = token >> 4;
    if (literals == 15) literals = extend(literals);
    if (literals > in.size() - i || literals > expected - out.size()) return broken();
    out.append(reinterpret_cast<const char*>(in.data()) + i, literals);
    i += literals;
    if (i == in.size()) break;  // the last sequence has no match
    if (in.size() - i < 2) return broken();
    size_t distance = size_t{in[i]} | size_t{in[i + 1]} << 8;
    i += 2;
    size_t match = token & 15u;
    if (match == 15) match = extend(match);
    if (match == SIZE_MAX) return broken();
    match += 4;
    if (distance == 0 || distance > out.size() || match > expected - out.size()) return broken();
    for (size_t k = 0; k < match; ++k) out.push_back(out[out.size() - distance]);
  }
  if (out.size() != expected) return broken();
  return out;
}

Result<std::vector<FatbinPtx>> read_fatbin(std::span<const uint8_t> bytes) {
  std::vector<FatbinPtx> found;
  if (bytes.size() < 16) return fail(malformed("shorter than its header"));
  if (at<uint32_t>(bytes, 0) != kFatbinMagic) {
    if (!looks_like_ptx(bytes)) return fail(malformed("wrong magic number"));
    if (bytes.size() > kMaxPtxBytes) return fail(ErrorCode::limit, "PTX of more than 64 MiB");
    found.push_back(
        {0, 0, 0, until_nul({reinterpret_cast<const char*>(bytes.data()), bytes.size()})});
    return found;
  }
  uint16_t header_size = at<uint16_t>(bytes, 6);
  uint64_t following = at<uint64_t>(bytes, 8);
  if (header_size < 16 || header_size > bytes.size() || following > bytes.size() - header_size)
    return fail(malformed("its size goes beyond the bytes that there are"));
  auto body = bytes.subspan(header_size, following);
  uint32_t cubins = 0;
  size_t offset = 0;
  uint64_t total = 0;
  for (size_t n = 0; offset < body.size(); ++n) {
    if (n == kMaxEntries) return fail(ErrorCode::limit, "fat binary with more than 1024 entries");
    FIEL_TRY(Entry e, read_entry(body, offset));
    if (e.kind == kKindElf) ++cubins;
    if (e.kind != kKindPtx) continue;
    FIEL_TRY(e.info.text, payload_text(e));
    total += e.info.text.size();
    if (total > kMaxPtxBytes) return fail(ErrorCode::limit, "more than 64 MiB of PTX in all");
    found.push_back(std::move(e.info));
  }
  if (found.empty())
    return fail(ErrorCode::unsupported,
                cubins ? "the object holds machine code only, and the virtual GPU executes PTX"
                       : "the object holds no device code",
                "compile with -gencode arch=compute_90,code=compute_90");
  return found;
}

Result<FatbinPtx> select_ptx(std::vector<FatbinPtx> entries, uint32_t arch) {
  FatbinPtx* best = nullptr;
  uint32_t lowest = UINT32_MAX;
  for (FatbinPtx& e : entries) {
    lowest = std::min(lowest, e.arch);
    if (e.arch <= arch && (!best || e.arch > best->arch)) best = &e;
  }
  if (!best)
    return fail(ErrorCode::unsupported,
                fmt::format("its PTX is for sm_{} and later, this device is sm_{}", lowest, arch),
                fmt::format("compile with -gencode arch=compute_{0},code=compute_{0}", arch));
  return std::move(*best);
}

}  // namespace fiel::build
