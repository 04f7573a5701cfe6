// Bytes in any pieces: events, heads, waiting times, calls.
#include <gtest/gtest.h>

#include "agent/model/call_builder.h"
#include "agent/model/failure.h"
#include "agent/model/response_head.h"
#include "agent/model/sse.h"

namespace fiel::agent {
namespace {

std::vector<std::string> events_of(std::string_view text, size_t piece) {
  std::vector<std::string> out;
  SseReader reader([&](const SseEvent& e) {
    out.push_back(e.name + "|" + e.data);
    return true;
  });
  for (size_t at = 0; at < text.size(); at += piece) reader.take(text.substr(at, piece));
  reader.finish();
  return out;
}

TEST(Sse, EventsAreTheSameInAnyPieces) {
  const std::string text =
      "\xEF\xBB\xBF: hello\r\ndata: one\r\n\r\nevent:two\rdata:a\rdata: b\r\rdata\n\n\n"
      "id: 7\nretry: 3\n\ndata:  last";
  const std::vector<std::string> expected = {"|one", "two|a\nb", "|", "| last"};
  for (const size_t piece : {1u, 2u, 3u, 7u, 1000u}) EXPECT_EQ(events_of(text, piece), expected);
}

TEST(Sse, AnEndlessEventIsRefused) {
  SseReader reader([](const SseEvent&) { return true; }, 1000);
  EXPECT_TRUE(reader.take("data: x"));
  EXPECT_FALSE(reader.take(std::string(2000, 'y')));
  EXPECT_TRUE(reader.too_long());
}

TEST(ResponseHead, InterimAnswersArePassedOver) {
  const std::string text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/2 429\r\nRetry-After:  5 \r\n\r\nbody";
  for (const size_t piece : {1u, 5u, 1000u}) {
    ResponseHeadReader reader;
    std::string body;
    bool in_body = false;
    for (size_t at = 0; at < text.size(); at += piece) {
      if (in_body) {
        body += text.substr(at, piece);
        continue;
      }
      const auto rest = reader.take(std::string_view(text).substr(at, piece));
      ASSERT_TRUE(rest);
      if (*rest) {
        in_body = true;
        body = **rest;
      }
    }
    EXPECT_EQ(reader.head().status, 429);
    EXPECT_EQ(reader.head().value("RETRY-AFTER"), "5");
    EXPECT_EQ(body, "body");
  }
}

TEST(ResponseHead, WhatIsNoHttpIsRefused) {
  EXPECT_FALSE(ResponseHeadReader().take("SSH-2.0-OpenSSH\r\n\r\n"));
  EXPECT_FALSE(ResponseHeadReader().take(std::string(300'000, 'a')));
}

TEST(RetryAfter, SecondsAndDates) {
  const int64_t now = 1'792'567'680'000;  // Wed, 21 Oct 2026 07:28:00 GMT
  EXPECT_EQ(parse_retry_after("7", 0), 7000);
  EXPECT_EQ(parse_retry_after(" 0.5 ", 0), 500);
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2026 07:28:30 GMT", now), 30'000);
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2026 07:27:00 GMT", now), 0);
  for (const char* bad : {"", "soon", "-3", "nan", "7 apples"})
    EXPECT_EQ(parse_retry_after(bad, 0), -1) << bad;
}

TEST(CallBuilder, PiecesOfInterleavedCallsFindTheirOwn) {
  CallBuilder b("p_");
  b.piece({"a", 0, "read", "{\"x\""});
  b.piece({"b", 1, "grep", "{\"y\""});
  b.piece({"", 0, "", ":1}"});
  b.piece({"", 1, "", ":2}"});
  const auto calls = b.finish();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].arguments["x"].as_int(), 1);
  EXPECT_EQ(calls[1].arguments["y"].as_int(), 2);
}

TEST(CallBuilder, AnInventedIdIsNeverTheServersOwn) {
  CallBuilder b("p_");
  b.piece({"p_1", 0, "read", "{}"});
  b.piece({"", 1, "grep", "{}"});
  b.piece({"p_1_", 2, "glob", "{}"});
  const auto calls = b.finish();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].id, "p_1");
  EXPECT_NE(calls[1].id, calls[0].id);
  EXPECT_NE(calls[2].id, calls[1].id);
}

TEST(CallBuilder, ArgumentsThatAreNoObjectAreNull) {
  for (const char* text : {"[1]", "{\"a\":", "\"x\"", "7"}) {
    CallBuilder b("p_");
    b.piece({"a", 0, "read", text});
    EXPECT_TRUE(b.finish()[0].arguments.is_null()) << text;
    EXPECT_EQ(b.finish()[0].arguments_text, text);
  }
}

TEST(CallBuilder, ThereIsAnEndToCallsAndArguments) {
  CallBuilder many("p_");
  bool taken = true;
  for (int i = 0; i < 100; ++i) taken = many.piece({std::to_string(i), i, "read", "{}"});
  EXPECT_FALSE(taken);
  CallBuilder long_one("p_");
  EXPECT_FALSE(long_one.piece({"a", 0, "read", std::string(9u << 20, 'x')}));
}

}  // namespace
}  // namespace fiel::agent
