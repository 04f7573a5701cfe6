// The judge's end of the channel against workers that answer wrongly, late, too much or not at all.
#include "worker/torch_worker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process.h"
#include "places.h"
#include "worker/python_launch.h"
#include "worker/torch_oracle.h"
#include "worker/torch_pool.h"
#include "worker/trusted_child.h"

namespace fiel::worker {
namespace {

const std::string kScript = in_source("tests/worker/fake_torch/worker.py");

std::unique_ptr<TorchWorker> fake(const std::string& behaviour, bool trusted = true) {
  auto ends = make_channel();
  auto python = find_program("python3");
  EXPECT_TRUE(ends && python);
  TrustedRequest q{{python->string(), kScript, behaviour}, {}, ends->theirs.get()};
  auto child = start_trusted(q);
  EXPECT_TRUE(child) << (child ? "" : to_string(child.error()));
  return std::make_unique<TorchWorker>(std::move(*child), std::move(ends->ours), trusted);
}

const Json kRequest = Json::object({{"op", "hello"}});

WorkerFault fault_of(const std::string& behaviour, int64_t timeout_ms = 120'000) {
  auto worker = fake(behaviour);
  auto reply = worker->ask(kRequest, {.timeout_ms = timeout_ms});
  EXPECT_FALSE(reply) << behaviour << " gave " << (reply ? reply->dump() : "");
  if (reply) return {};
  // Dead for good, unless the worker itself said what is wrong.
  if (reply.error().kind >= Fault::crash) {
    EXPECT_FALSE(worker->alive()) << behaviour;
    auto again = worker->ask(kRequest);
    EXPECT_FALSE(again);
  }
  return reply.error();
}

TEST(TorchWorker, AsksAndIsAnswered) {
  auto worker = fake("echo");
  for (int i = 0; i < 3; ++i) {
    auto reply = worker->ask(Json::object({{"op", "hello"}, {"i", i}}));
    ASSERT_TRUE(reply) << reply.error().what;
    EXPECT_EQ((*reply)["request"]["i"].as_int(), i);
  }
  EXPECT_TRUE(worker->alive());
}

TEST(TorchWorker, DescriptorsGoAlong) {
  auto worker = fake("echo");
  const int a = ::memfd_create("a", MFD_CLOEXEC), b = ::memfd_create("b", MFD_CLOEXEC);
  auto reply = worker->ask(kRequest, {.descriptors = {a, b}});
  ASSERT_TRUE(reply);
  EXPECT_EQ((*reply)["descriptors"].as_int(), 2);
  EXPECT_EQ((*reply)["request"]["fds"].as_int(), 2);
  ::close(a);
  ::close(b);
}

TEST(TorchWorker, ATrustedWorkerSendsDescriptorsACandidateDoesNot) {
  auto oracle = fake("one_descriptor");
  auto window = TorchOracle(*oracle).window(4096);
  ASSERT_TRUE(window) << window.error().what;
  EXPECT_EQ(window->id, 5);
  EXPECT_GE(window->descriptor.get(), 3);
  auto candidate = fake("one_descriptor", false);
  ASSERT_TRUE(candidate->ask(kRequest));
  EXPECT_TRUE(candidate->take_descriptors().empty());
}

TEST(TorchWorker, ProgressIsTold) {
  auto worker = fake("events");
  int64_t last = -1;
  auto reply =
      worker->ask(kRequest, {.progress = [&](const std::string& what, int64_t done, int64_t) {
                    EXPECT_EQ(what, "building");
                    last = done;
                  }});
  ASSERT_TRUE(reply);
  EXPECT_EQ(last, 2);
}

TEST(TorchWorker, SendingAndReceivingMayBeApart) {
  auto worker = fake("echo");
  ASSERT_TRUE(worker->send(kRequest));
  EXPECT_TRUE(worker->waiting());
  auto second = worker->send(kRequest);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, Fault::worker);
  EXPECT_TRUE(worker->receive());
  EXPECT_FALSE(worker->receive());
  EXPECT_TRUE(worker->ask(kRequest));
}

TEST(TorchWorker, GarbageIsAProtocolFault) {
  for (const char* behaviour :
       {"lying_length", "short_length", "wrong_magic", "wrong_version", "wrong_kind",
        "wrong_sequence", "two_replies", "garbage", "not_json", "no_object", "deep", "no_ok",
        "ok_is_text", "fault_forged", "large_event", "event_flood", "many_descriptors", "close"})
    EXPECT_EQ(fault_of(behaviour).kind, Fault::protocol) << behaviour;
}

TEST(TorchWorker, AnAnswerToARequestThatIsStillToComeIsAProtocolFault) {
  auto worker = fake("answer_ahead");
  const auto first = worker->ask(kRequest);
  const auto second = worker->ask(kRequest);
  ASSERT_FALSE(second);
  if (first) {
    EXPECT_EQ(second.error().kind, Fault::protocol);
    EXPECT_NE(second.error().what.find("no request"), std::string::npos) << second.error().what;
  }
}

TEST(TorchWorker, ACandidateSaysLessThanATrustedWorker) {
  EXPECT_TRUE(fake("large_claim")->ask(kRequest));
  const auto claim = fake("large_claim", false)->ask(kRequest);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().kind, Fault::protocol);
}

TEST(TorchWorker, SilenceIsATimeout) {
  for (const char* behaviour : {"hang", "half_header", "half_payload"})
    EXPECT_EQ(fault_of(behaviour, 1'500).kind, Fault::timeout) << behaviour;
}

TEST(TorchWorker, AnEndIsACrash) {
  WorkerFault f = fault_of("crash");
  EXPECT_EQ(f.kind, Fault::crash);
  EXPECT_EQ(f.signal, 11);
  EXPECT_NE(f.output.find("about to die"), std::string::npos) << f.output;
  f = fault_of("exit");
  EXPECT_EQ(f.kind, Fault::crash);
  EXPECT_EQ(f.exit_code, 7);
  EXPECT_EQ(fault_of("exit_zero").kind, Fault::crash);
}

TEST(TorchWorker, AReplyBeforeTheEndCounts) {
  auto worker = fake("reply_and_exit");
  EXPECT_TRUE(worker->ask(kRequest));
  auto next = worker->ask(kRequest);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().kind, Fault::crash);
}

TEST(TorchWorker, WhatTheWorkerSaysIsWrongIsTold) {
  WorkerFault f = fault_of("fault_task");
  EXPECT_EQ(f.kind, Fault::task);
  EXPECT_EQ(f.what, "no Model");
  EXPECT_EQ(f.detail, "line 3");
  EXPECT_EQ(fault_of("fault_candidate").kind, Fault::candidate);
  EXPECT_EQ(fault_of("fault_memory").kind, Fault::memory);
  f = fault_of("fault_long");
  EXPECT_LE(f.what.size(), 600u);
  EXPECT_LE(f.detail.size(), 8192u);
}

TEST(TorchWorker, AFaultLeavesTheWorkerAlive) {
  auto worker = fake("echo");
  EXPECT_FALSE(worker->ask(Json::object({{"behave", "fault_task"}})));
  EXPECT_TRUE(worker->ask(kRequest));
}

TEST(TorchWorker, LargeRepliesAndFloodsOfOutputPass) {
  for (const char* behaviour : {"large_reply", "flood_output", "not_utf8"}) {
    auto worker = fake(behaviour);
    auto reply = worker->ask(kRequest);
    // Invalid UTF-8 may be refused, but never passes as it is.
    if (std::string(behaviour) == "not_utf8") continue;
    EXPECT_TRUE(reply) << behaviour << ": " << reply.error().what;
  }
}

TEST(TorchWorker, OutputIsBoundedAndKeepsTheEnd) {
  auto worker = fake("flood_output");
  ASSERT_TRUE(worker->ask(kRequest));
  worker->process().pump(50);
  EXPECT_LE(worker->process().output.size(), 256u << 10);
  EXPECT_GT(worker->process().output_bytes, 20u << 20);
  EXPECT_NE(worker->process().output.find("the last words"), std::string::npos);
}

TEST(TorchWorker, EndsWhenTheUserStopsUs) {
  auto worker = fake("hang");
  bool stopped = false;
  worker->stop_when([&] { return stopped; });
  const auto reply = worker->ask(kRequest, {.meanwhile = [&] { stopped = true; }});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, Fault::worker);
  EXPECT_FALSE(worker->alive());
}

TEST(TorchPool, KeepsTrustedWorkersThatLive) {
  TorchPool pool(1);
  auto worker = fake("echo");
  TorchWorker* kept = worker.get();
  pool.give_back(std::move(worker));
  EXPECT_EQ(pool.idle(), 1u);
  auto again = pool.take({});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->get(), kept);
  EXPECT_TRUE((*again)->send(kRequest));
  pool.give_back(std::move(*again));  // it owes an answer
  pool.give_back(fake("echo", false));
  auto dead = fake("garbage");
  EXPECT_FALSE(dead->ask(kRequest));
  pool.give_back(std::move(dead));
  EXPECT_EQ(pool.idle(), 0u);
  pool.give_back(fake("echo"));
  pool.give_back(fake("echo"));
  EXPECT_EQ(pool.idle(), 1u);
}

TEST(TorchWorker, ADeadWorkerDoesNotTouchTheNext) {
  fault_of("garbage");
  auto next = fake("echo");
  EXPECT_TRUE(next->ask(kRequest));
}

TEST(TorchOracle, TimedCallsFailByOutputsThatAreLate) {
  const Json right = Json::object({{"structure", Json()}, {"round", 3}, {"runner", 1}});
  EXPECT_TRUE(read_verified(right).passed());
  Json missing = right, changed = right;
  missing["missing_at_done"] = 2;
  changed["changed_after_done"] = true;
  EXPECT_FALSE(read_verified(missing).passed());
  EXPECT_FALSE(read_verified(changed).passed());
  EXPECT_EQ(read_verified(missing).call->round, 3);
}

TEST(TorchOracle, ReadsTheComponentwiseErrorAsANumber) {
  Json row = Json::object({{"path", "0"}, {"componentwise", 2.5}});
  Json reply = Json::object({{"outputs", Json::array()}});
  reply["outputs"].push_back(row);
  EXPECT_EQ(read_verified(reply).outputs.at(0).componentwise, 2.5);
}

TEST(TorchOracle, TimesAChunkAndGoesOn) {
  auto worker = fake("clock");
  TorchOracle oracle(*worker);
  OpenClock clock{.case_id = 2, .runners = {{.slots = 5, .control = 1, .trusted = true}}};
  clock.seed = ~uint64_t{0};
  auto timed = oracle.time(clock, {.rounds = 12, .calls = 64, .leave = false}, {});
  ASSERT_TRUE(timed) << timed.error().what;
  EXPECT_TRUE(timed->held);
  EXPECT_EQ(timed->calls, 16u);
  EXPECT_EQ(*timed->mode_why, "runner 1: its queue is short");
  EXPECT_EQ(timed->samples.at(0).tail_ns, 2e4);
  EXPECT_FALSE(timed->failures.at(0).passed());
  EXPECT_EQ(timed->failures.at(0).call->call, 70u);
  EXPECT_EQ(*timed->runners.at(1).ended, "it hung");
  const Json& asked = timed->raw["asked"];
  EXPECT_EQ(asked["runners"].items()[0]["slots"].as_int(), 5);
  EXPECT_EQ(asked["samples_max"].as_int(), 12);
  EXPECT_TRUE(asked["held"].as_bool());
  EXPECT_GE(asked["seed"].as_int(-1), 0);

  auto next = oracle.time_on(timed->clock, {.calls = 1, .held = false}, {});
  ASSERT_TRUE(next) << next.error().what;
  EXPECT_EQ(next->raw["asked"]["clock"].as_int(), 4);
  EXPECT_FALSE(next->raw["asked"]["held"].as_bool(true));
}

TEST(TorchOracle, LaysOutSlotsOrSaysHowLargeTheyAre) {
  auto worker = fake("echo");
  TorchOracle oracle(*worker);
  auto sizes = oracle.slots({.case_id = 2, .count = 32});
  ASSERT_TRUE(sizes) << sizes.error().what;
  EXPECT_TRUE(sizes->id.is_null());
}

}  // namespace
}  // namespace fiel::worker
