// Reductions of dimensions that others lie behind, and what is made of them: sums of columns,
// softmax over the first dimension, batch normalisation of rows of features.
//
// Neighbouring threads take neighbouring columns, so that a warp reads what lies side by side; the
// rows are shared among the block's threads, and among blocks where columns alone are too few.
// Few rows stay in registers between passes.
#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "forge/emit.h"
#include "forge/passes.h"
#include "forge/template.h"
#include "forge/ways.h"

namespace fiel::forge {
namespace {

constexpr int kMaxKept = 128;          // elements a thread keeps, in registers
constexpr int kRegisters = 65536;      // of a multiprocessor
constexpr int kMaxShared = 48 * 1024;  // bytes of a block, without asking for more
constexpr int kMultiprocessors = 132;  // that the first guess should fill

struct Choice {
  int threads = 256, lanes = 32, vector = 1, items = 0;
  int depth() const { return threads / lanes; }
};

class ColumnsTemplate : public Template {
 public:
  explicit ColumnsTemplate(std::vector<Program> programs) : programs_(std::move(programs)) {
    const Program& p = programs_[0];
    for (const Operand& o : p.inputs)
      if ((o.groups & 4) != 0) width_ = std::max(width_, size_of(o.dtype));
    axes_.push_back({"split", {"1", "2", "4", "8", "16", "32", "64"}, 0});
    axes_.push_back({"lanes", {"4", "8", "16", "32", "64", "128"}, 3});
    axes_.push_back({"threads", {"128", "256", "512", "1024"}, 1});
    axes_.push_back({"unroll", {"1", "2", "4", "8", "16"}, 2});
    axes_.push_back({"vector", {"4", "8", "16"}, 2});
    axes_.push_back({"loads", {"stream", "cache"}, 0});
    const Passes passes(p, {});
    if (passes.has_full_output()) axes_.push_back({"stores", {"plain", "stream"}, 0});
    if (p.passes > 0 && !passes.has_full_output())
      axes_.push_back({"finish", {"launch", "last"}, 0});
    for (Axis& a : ways_axes(p)) axes_.push_back(std::move(a));
    if (p.has_fast) axes_.push_back({"math", {"exact", "fast"}, 0});
    choose_start(p);
  }

  const char* family() const override { return "columns"; }

  bool possible(const Point& at) const override {
    const Choice c = choice(at);
    const Program& p = program(at);
    if (c.lanes > c.threads) return false;
    if (number(at, "vector") < width_) return false;
    const uint32_t parts = Passes(p, {}).most_parts();
    if (c.threads / std::max(c.lanes, 32) * c.lanes * c.vector * static_cast<int>(parts) * 4 >=
        kMaxShared)
      return false;
    if (packs_in_flight(p) * c.vector * number(at, "unroll") > 64) return false;
    // Threads without a column, and parts without a row.
    if (int64_t{c.lanes} * c.vector >= 2 * std::max<int64_t>(p.extents[2], 8)) return false;
    return int64_t{number(at, "split")} * c.depth() <= std::max<int64_t>(p.extents[1], c.depth());
  }

  std::string source(const Point& at) const override {
    const Choice c = choice(at);
    const Program& p = program(at);
    const PassChoice pass{number(at, "unroll"), value(at, "math") == "fast",
                          value(at, "finish") == "last"};
    const Passes passes(p, pass);
    const std::string sizes = fmt::format(
        "constexpr int kLanes = {}, kDepth = {}, kUnroll = {};  // across, and down\n"
        "constexpr int kBlock = kLanes * kDepth;\n",
        c.lanes, c.depth(), pass.unroll);
    return prelude(p, "Columns: " + name_of(at), value(at, "loads") == "stream",
                   value(at, "stores") == "stream", false) +
           passes.source(sizes, c.vector, passes.reads_again() ? c.items : 0, value(at, "split"));
  }

 private:
  static int packs_in_flight(const Program& p) {
    return static_cast<int>(std::count_if(p.inputs.begin(), p.inputs.end(), [](const Operand& o) {
      return (o.groups & 4) != 0 && o.span != Span::row;
    }));
  }

  const Program& program(const Point& at) const {
    return programs_[ways_index(value(at, "variance"), value(at, "softmax"), programs_[0])];
  }

  Choice choice(const Point& at) const {
    Choice c;
    c.threads = number(at, "threads");
    c.lanes = number(at, "lanes");
    c.vector = static_cast<int>(std::max<int64_t>(number(at, "vector") / width_, 1));
    // Beside what addresses and results take.
    const int registers = std::min(kMaxKept, kRegisters / c.threads - 40);
    const int64_t most =
        std::max(registers / c.vector / std::max(packs_in_flight(programs_[0]), 1), 1);
    const int64_t rows = (programs_[0].extents[1] + c.depth() - 1) / c.depth();
    // Rows that no thread could keep are read again; what is kept of smaller shapes is little.
    c.items = static_cast<int>(rows <= most ? rows : std::max(16 / c.vector, 1));
    return c;
  }

  /// As many parts as give every multiprocessor two blocks, of rows enough to pay.
  void choose_start(const Program& p) {
    auto& lanes = axes_[1];
    while (lanes.start > 0 && !possible(start())) --lanes.start;
    const Choice c = choice(start());
    const int64_t across = int64_t{c.lanes} * c.vector;
    const int64_t blocks = (p.extents[2] + across - 1) / across * p.extents[0];
    const int64_t wanted =
        std::max<int64_t>(2 * kMultiprocessors / std::max<int64_t>(blocks, 1), 1);
    axes_[0].start = std::min<size_t>(
        static_cast<size_t>(std::countr_zero(std::bit_floor(static_cast<uint64_t>(wanted)))),
        axes_[0].values.size() - 1);
    while (axes_[0].start > 0 && !possible(start())) --axes_[0].start;
  }

  std::vector<Program> programs_;
  int64_t width_ = 1;  ///< bytes of the widest element that is read in packs
};

}  // namespace

std::unique_ptr<Template> columns_template(std::vector<Program> by_ways) {
  return std::make_unique<ColumnsTemplate>(std::move(by_ways));
}

}  // namespace fiel::forge
