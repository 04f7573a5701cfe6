#include "cli/run_keeper.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <chrono>
#include <ctime>
#include <filesystem>

#include "cli/run_flags.h"

namespace fiel::cli {
std::string fresh_run_name(const std::string& task, int64_t begun_ms) {
  const std::time_t seconds = begun_ms / 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char stamp[32] = {};
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
  uint16_t tail = 0;
  if (getrandom(&tail, sizeof tail, 0) != sizeof tail) tail = 0;
  std::string what = std::filesystem::path(task).stem().string();
  for (char& c : what)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return fmt::format("{}-{}-{:04x}", stamp, what.substr(0, 40), tail);
}

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

Result<RunKeeper> RunKeeper::begin(const JudgePlan& plan, const Context& context) {
  RunKeeper keeper(context);
  keeper.begun_ms_ = now_ms();
  if (plan.arguments.has("--no-store")) return keeper;
  keeper.named_ = plan.arguments.has("--run") || plan.arguments.has("--resume");
  auto store = store::Store::open({});
  if (!store) {
    FIEL_TRY_STATUS(keeper.failed(store.error()));
    return keeper;
  }
  if (!store->note().empty() && plan.several) context.story("fiel: " + store->note() + "\n");
  keeper.store_.emplace(std::move(*store));
  const Status begun = keeper.begin_run(plan);
  if (!begun) FIEL_TRY_STATUS(keeper.failed(begun.error()));
  return keeper;
}

Status RunKeeper::begin_run(const JudgePlan& plan) {
  if (const auto resumed = plan.arguments.value("--resume")) {
    FIEL_TRY(const store::RunHeader header, store_->find(*resumed));
    run_ = header.id;
    name_ = header.name;
    begun_ms_ = header.begun_ms;
    return store_->set_state(run_, "open", now_ms());
  }
  store::NewRun run;
  run.name =
      plan.arguments.value("--run").value_or(fresh_run_name(plan.pairs.front().task, begun_ms_));
  run.folder = std::filesystem::current_path().string();
  run.words = words_to_keep(plan.arguments);
  run.begun_ms = begun_ms_;
  run.entries = plan.pairs;
  FIEL_TRY(run_, store_->begin_run(run));
  name_ = run.name;
  return {};
}

Status RunKeeper::begin_entry(size_t place) {
  if (!store_) return {};
  const Status begun = store_->begin_entry(run_, place, now_ms());
  return begun ? begun : failed(begun.error());
}

Status RunKeeper::keep(const store::Evidence& evidence) {
  if (!store_) return {};
  const Status kept = store_->keep(run_, evidence);
  return kept ? kept : failed(kept.error());
}

void RunKeeper::end(std::string_view state) {
  if (!store_) return;
  const Status ended = store_->set_state(run_, state, now_ms());
  if (!ended) static_cast<void>(failed(ended.error()));
}

Status RunKeeper::failed(const Error& error) {
  store_.reset();
  name_.clear();
  if (named_ || error.code == ErrorCode::limit) return fail(error);
  context_->story(fmt::format("fiel: warning: evidence is not kept: {}\n", to_string(error)));
  return {};
}

}  // namespace fiel::cli
