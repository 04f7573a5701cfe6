#include "build/fatbin.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <random>

namespace fiel::build {
namespace {

const std::string kText =
    ".version 9.0\n.target sm_90\n.address_size 64\n" + std::string(3000, 'x');

template <typename T>
void put(std::vector<uint8_t>& out, size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

/// One entry as virtual_gpu's table of offsets has it: header of 80 bytes, payload padded to 8.
std::vector<uint8_t> entry(uint16_t kind, uint32_t arch, std::vector<uint8_t> payload,
                           uint64_t flags, uint64_t uncompressed) {
  uint32_t compressed = uncompressed ? static_cast<uint32_t>(payload.size()) : 0;
  payload.resize((payload.size() + 7) / 8 * 8);
  std::vector<uint8_t> e(80);
  put<uint16_t>(e, 0, kind);
  put<uint16_t>(e, 2, 0x0101);
  put<uint32_t>(e, 4, 80);
  put<uint64_t>(e, 8, payload.size());
  put<uint32_t>(e, 16, compressed);
  put<uint16_t>(e, 26, 9);
  put<uint32_t>(e, 28, arch);
  put<uint64_t>(e, 40, flags | 0x11);
  put<uint64_t>(e, 56, uncompressed);
  e.insert(e.end(), payload.begin(), payload.end());
  return e;
}
std::vector<uint8_t> fatbin(const std::vector<std::vector<uint8_t>>& entries) {
  std::vector<uint8_t> f(16);
  put<uint32_t>(f, 0, 0xBA55ED50);
  put<uint16_t>(f, 4, 1);
  put<uint16_t>(f, 6, 16);
  for (const auto& e : entries) f.insert(f.end(), e.begin(), e.end());
  put<uint64_t>(f, 8, f.size() - 16);
  return f;
}
std::vector<uint8_t> bytes(const std::string& s) { return {s.begin(), s.end()}; }
std::vector<uint8_t> zstd(const std::string& s) {
  std::vector<uint8_t> out(ZSTD_compressBound(s.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), s.data(), s.size(), 3));
  return out;
}
/// "abc" then 40 times the byte before: literals 3, distance 1, match 40, then 5 last literals.
const std::vector<uint8_t> kLz4 = {0x3f, 'a', 'b', 'c', 1,   0,  40 - 4 - 15,
                                   0x50, 'd', 'e', 'f', 'g', 'h'};
const std::string kLz4Text = "abc" + std::string(40, 'c') + "defgh";

TEST(Fatbin, PlainTextEndsAtItsPadding) {
  auto found = read_fatbin(fatbin({entry(1, 90, bytes(kText + "\n"), 0, 0)}));
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].text, kText + "\n");
  EXPECT_EQ((*found)[0].arch, 90u);
  EXPECT_EQ((*found)[0].version_major, 9u);
}
TEST(Fatbin, ZstdIsUnpacked) {
  auto found = read_fatbin(fatbin({entry(1, 90, zstd(kText), 0x8000, kText.size())}));
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ((*found)[0].text, kText);
}
TEST(Fatbin, Lz4IsUnpacked) {
  auto found = read_fatbin(fatbin({entry(1, 90, kLz4, 0x2000, kLz4Text.size())}));
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ((*found)[0].text, kLz4Text);
}
TEST(Fatbin, MachineCodeAloneIsUnsupportedAndSaysWhatToDo) {
  auto found = read_fatbin(fatbin({entry(2, 90, bytes("ELF"), 0, 0)}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unsupported);
  EXPECT_NE(found.error().hint.find("compute_90"), std::string::npos);
}
TEST(Fatbin, TheHighestArchitectureThatFitsIsChosen) {
  auto pick = select_ptx({{80, 9, 0, "a"}, {90, 9, 0, "b"}, {100, 9, 0, "c"}}, 90);
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->text, "b");
  auto none = select_ptx({{100, 9, 0, "c"}}, 90);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
}
TEST(Fatbin, AClaimOfGigabytesIsRefusedUnread) {
  auto found = read_fatbin(fatbin({entry(1, 90, zstd(kText), 0x8000, 1ull << 40)}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::limit);
}
TEST(Fatbin, EveryTruncationIsAnErrorOrAPrefix) {
  auto whole =
      fatbin({entry(1, 90, bytes(kText), 0, 0), entry(1, 80, zstd(kText), 0x8000, kText.size())});
  for (size_t n = 0; n < whole.size(); n += 7) {
    auto found = read_fatbin({whole.data(), n});
    EXPECT_FALSE(found) << n;
  }
}
TEST(Fatbin, MutationsNeverCrash) {
  auto whole =
      fatbin({entry(1, 90, bytes(kText), 0, 0), entry(1, 80, zstd(kText), 0x8000, kText.size()),
              entry(1, 75, kLz4, 0x2000, kLz4Text.size())});
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    auto m = whole;
    for (int k = 0; k < 3; ++k) {
      size_t at = random() % 4 ? random() % 96 : random() % m.size();
      m[at] = static_cast<uint8_t>(random());
    }
    auto found = read_fatbin(m);
    if (!found) continue;
    for (const auto& e : *found) EXPECT_LE(e.text.size(), kMaxPtxBytes);
  }
}
TEST(Lz4, RefusesWhatDoesNotBelong) {
  EXPECT_FALSE(lz4_block_decode(kLz4, kLz4Text.size() - 1));  // more than promised
  EXPECT_FALSE(lz4_block_decode(kLz4, kLz4Text.size() + 1));  // less
  std::vector<uint8_t> far = {0x10, 'a', 9, 0};               // distance beyond the start
  EXPECT_FALSE(lz4_block_decode(far, 100));
  std::vector<uint8_t> zero = {0x10, 'a', 0, 0};
  EXPECT_FALSE(lz4_block_decode(zero, 100));
  std::vector<uint8_t> cut = {0xf0, 255, 255};  // a length that never ends
  EXPECT_FALSE(lz4_block_decode(cut, 1000));
  EXPECT_TRUE(lz4_block_decode({}, 0));
}

}  // namespace
}  // namespace fiel::build
