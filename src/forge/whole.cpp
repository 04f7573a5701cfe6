// Reductions of whole tensors, and of all dimensions but some between or before them: losses,
// norms, batch normalisation of images.
//
// Every multiprocessor's blocks take a part of the tensor; the parts' results go through memory and
// are combined in one order, by a second launch or by the block that comes last.
#include <fmt/core.h>

#include <algorithm>

#include "forge/emit.h"
#include "forge/passes.h"
#include "forge/template.h"
#include "forge/ways.h"

namespace fiel::forge {
namespace {

class WholeTemplate : public Template {
 public:
  explicit WholeTemplate(std::vector<Program> programs) : programs_(std::move(programs)) {
    const Program& p = programs_[0];
    for (const Operand& o : p.inputs)
      if ((o.groups & 4) != 0) width_ = std::max(width_, size_of(o.dtype));
    const Passes passes(p, {});
    axes_.push_back({"unroll", {"1", "2", "4", "8"}, 2});
    axes_.push_back({"walk", {"1", "2", "4", "8", "16"}, 2});
    axes_.push_back({"threads", {"128", "256", "512", "1024"}, 1});
    axes_.push_back({"vector", {"4", "8", "16", "32"}, 2});
    axes_.push_back({"loads", {"stream", "cache"}, 0});
    if (passes.has_full_output()) axes_.push_back({"stores", {"plain", "stream"}, 0});
    if (p.passes > 0 && !passes.has_full_output())
      axes_.push_back({"finish", {"launch", "last"}, 0});
    for (Axis& a : ways_axes(p)) axes_.push_back(std::move(a));
    if (p.has_fast) axes_.push_back({"math", {"exact", "fast"}, 0});
  }

  const char* family() const override { return "whole"; }

  bool possible(const Point& at) const override {
    if (number(at, "vector") < width_) return false;
    if (number(at, "walk") * number(at, "threads") > 2048 * 2) return false;
    const auto packs = std::count_if(program(at).inputs.begin(), program(at).inputs.end(),
                                     [](const Operand& o) { return (o.groups & 4) != 0; });
    return packs * vector_of(at) * number(at, "unroll") <= 96;
  }

  std::string source(const Point& at) const override {
    const Program& p = program(at);
    const PassChoice pass{number(at, "unroll"), value(at, "math") == "fast",
                          value(at, "finish") == "last"};
    const std::string sizes = fmt::format(
        "constexpr int kBlock = {}, kUnroll = {};\nconstexpr int kWarps = kBlock / 32;\n",
        value(at, "threads"), pass.unroll);
    return prelude(p, "Whole: " + name_of(at), value(at, "loads") == "stream",
                   value(at, "stores") == "stream", true) +
           Passes(p, pass).source(
               sizes, static_cast<int>(vector_of(at)), 0,
               fmt::format("parts(int64_t{{{}}} * multiprocessors(), results)", value(at, "walk")));
  }

 private:
  const Program& program(const Point& at) const {
    return programs_[ways_index(value(at, "variance"), value(at, "softmax"), programs_[0])];
  }
  int64_t vector_of(const Point& at) const {
    return std::max<int64_t>(number(at, "vector") / width_, 1);
  }

  std::vector<Program> programs_;
  int64_t width_ = 1;  ///< bytes of the widest element that is read in packs
};

}  // namespace

std::unique_ptr<Template> whole_template(std::vector<Program> by_ways) {
  return std::make_unique<WholeTemplate>(std::move(by_ways));
}

}  // namespace fiel::forge
