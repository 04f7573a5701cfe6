#include "base/text.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace fiel {
namespace {

TEST(DidYouMean, SuggestsOnlyWhatIsNear) {
  std::vector<std::string> verbs{"judge", "doctor", "explain"};
  EXPECT_EQ(did_you_mean("jugde", verbs), "judge");
  EXPECT_EQ(did_you_mean("explian", verbs), "explain");
  EXPECT_EQ(did_you_mean("xyzzy", verbs), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'a'), verbs), "");
}

TEST(Format, QuantitiesHaveUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(8ull << 30), "8.00 GiB");
  EXPECT_EQ(format_duration_ns(1234567), "1.23 ms");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(123), "123");
  EXPECT_EQ(format_double(0.1), "0.1");
}

TEST(Printable, KeepsTextAndDisarmsTheRest) {
  EXPECT_EQ(printable("a\x1b[31mb\n", 100), "a\\x1b[31mb\n");
  EXPECT_EQ(printable("\xc3\xa9\xff", 100), "\xc3\xa9\\xff");
  EXPECT_EQ(printable("\xc2\x9b\xc2\xa0", 100), "\\xc2\\x9b\xc2\xa0");
  EXPECT_EQ(printable("abcdef", 3), "abc… (3 bytes more)");
  EXPECT_EQ(printable(std::string_view("\0", 1), 10), "\\x00");
}

TEST(Demangled, ShowsNamesAsTheirAuthorWroteThem) {
  EXPECT_EQ(demangled("_Z7softmaxPKfPfi"), "softmax(float const*, float*, int)");
  EXPECT_EQ(demangled("softmax"), "softmax");
  EXPECT_EQ(demangled("_Z"), "_Z");
  EXPECT_EQ(demangled("_ZZZZ1"), "_ZZZZ1");
  EXPECT_EQ(demangled("_Z" + std::string(5000, 'N')).size(), 5002u);
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(split("", ',').size(), 1u);
  EXPECT_EQ(trim("  x\n"), "x");
  EXPECT_EQ(trim(" \t"), "");
}

TEST(Hash, Sha256IsTheOneThatEverybodyHas) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, DigestKeepsPartsApart) {
  EXPECT_NE(Digest().add("ab").add("c").hex(), Digest().add("a").add("bc").hex());
  EXPECT_EQ(Digest().add("ab").add("c").hex(), Digest().add("ab").add("c").hex());
}

}  // namespace
}  // namespace fiel
