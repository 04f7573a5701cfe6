// What strict makes of a task before it looks at a kernel: the planned shapes, the input sets and
// what the reference says to them. Judgements of many kernels of one task may share it.
//
//   options.groundwork = std::make_shared<Groundwork>();      // one task, one seed, one effort
//   for (const auto& start : kernels) judge_sessions(task, start, options, {});
//
// It changes no verdict: the seed decides what is made, this only keeps it. It holds everything it
// was ever asked for; not for several threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/prepared.h"
#include "judge/shapes.h"

namespace fiel::judge {

class Groundwork {
 public:
  using Make = std::function<Result<std::vector<Preparation>>()>;
  using Plan = std::function<Result<ShapePlan>()>;

  /// What was made under this name, or what `make` makes now.
  Result<std::vector<Preparation>> inputs(const std::string& name, const Make& make);
  Result<std::shared_ptr<const ShapePlan>> plan(const Plan& make);

 private:
  std::map<std::string, std::vector<Preparation>> inputs_;
  std::shared_ptr<const ShapePlan> plan_;
};

}  // namespace fiel::judge
