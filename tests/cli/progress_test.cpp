#include "cli/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace fiel::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A terminal, or none, and a clock that the test moves.
class StatusLineTest : public testing::Test {
 protected:
  void SetUp() override {
    context_.err = std::tmpfile();
    context_.progress = true;
  }
  void TearDown() override { std::fclose(context_.err); }
  StatusLine line() {
    return StatusLine(context_, [this] { return std::chrono::steady_clock::time_point(now_); });
  }
  /// What was written since the last look.
  std::string written() {
    std::string text(static_cast<size_t>(std::ftell(context_.err)), '\0');
    std::rewind(context_.err);
    text.resize(std::fread(text.data(), 1, text.size(), context_.err));
    std::rewind(context_.err);
    return text;
  }
  Context context_;
  std::chrono::nanoseconds now_ = seconds(1000);
};

TEST_F(StatusLineTest, SaysHowFarItIsAndAboutHowLongItWillTake) {
  StatusLine line = this->line();
  line.show("softmax: outliers", 1, 4);
  EXPECT_EQ(written(), "\r\x1b[K 25 %  softmax: outliers");  // too early to tell
  now_ += seconds(10);
  line.show("softmax: outliers", 1, 4);
  EXPECT_EQ(written(), "\r\x1b[K 25 %  softmax: outliers  about 30 s left");
  now_ += seconds(10);
  line.show("softmax: zeros", 2, 4);
  EXPECT_EQ(written(), "\r\x1b[K 50 %  softmax: zeros  about 20 s left");
  now_ += seconds(600);
  line.show("softmax: \x1b[2J", 2, 4);
  const std::string late = written();
  EXPECT_NE(late.find("about 620 s left"), std::string::npos) << late;
  EXPECT_EQ(late.find("\x1b[2J"), std::string::npos);
  line.clear();
  EXPECT_EQ(written(), "\r\x1b[K");
  line.clear();
  EXPECT_EQ(written(), "");
}

TEST_F(StatusLineTest, IsWrittenTenTimesASecondAtMost) {
  StatusLine line = this->line();
  for (uint32_t i = 0; i < 100; ++i) {
    line.show("a", i, 100);
    now_ += milliseconds(10);
  }
  const std::string all = written();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\r'), 10) << all;
}

TEST_F(StatusLineTest, OfUnknownLengthPromisesNothing) {
  StatusLine line = this->line();
  now_ += seconds(50);
  line.show("compiling k.cu", 0, 0);
  EXPECT_EQ(written(), "\r\x1b[K  0 %  compiling k.cu");
}

TEST_F(StatusLineTest, WritesNothingWhereThereIsNoTerminal) {
  context_.progress = false;
  {
    StatusLine line = this->line();
    line.show("softmax: outliers", 1, 4);
    now_ += seconds(10);
    line.show("softmax: outliers", 2, 4);
  }
  EXPECT_EQ(written(), "");
}

}  // namespace
}  // namespace fiel::cli
