// Kernels for a task as a family with knobs: every choice of knobs is a complete bare `.cu`.
//
//   FIEL_TRY(auto family, template_of(task));      // unsupported where there is none, and why
//   Point at = family->start();                    // a good first guess for the timed shape
//   std::string cu = family->source(at);           // include/fiel/kernel.h, any shape
//
// Sources are ours and depend on the expression graph and the timed shape alone. Whether a choice
// is right or fast is for the judge: coarse functions and one-pass variances are among the knobs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "forge/program.h"
#include "task/task.h"

namespace fiel::forge {

/// One knob: values in an order in which neighbours are alike.
struct Axis {
  std::string name;
  std::vector<std::string> values;
  size_t start = 0;
};
using Point = std::vector<size_t>;  ///< an index an axis

class Template {
 public:
  virtual ~Template() = default;
  virtual const char* family() const = 0;
  virtual std::string source(const Point& at) const = 0;
  /// Whether the choice fits a GPU at all: threads of a block, registers, shared memory.
  virtual bool possible(const Point& at) const = 0;

  /// The most telling axis first.
  const std::vector<Axis>& axes() const { return axes_; }
  Point start() const;
  /// Makes a choice the first one; knobs that it does not name stay. ErrorCode::usage where it
  /// names what there is not, or what no GPU takes.
  Status begin_at(std::string_view name);
  /// "threads=256 vector=16": what is kept of a choice, and read back.
  std::string name_of(const Point& at) const;
  Result<Point> parse(std::string_view name) const;

 protected:
  const std::string& value(const Point& at, std::string_view axis) const;
  int number(const Point& at, std::string_view axis) const;
  bool has_axis(std::string_view axis) const;
  std::vector<Axis> axes_;
};

Result<std::unique_ptr<Template>> template_of(const task::Task& task);

std::unique_ptr<Template> pointwise_template(Program program);
/// Rows need a program for each way of computing a variance.
std::unique_ptr<Template> rows_template(std::vector<Program> by_variance);
/// A program for each way (forge/ways.h).
std::unique_ptr<Template> columns_template(std::vector<Program> by_ways);
std::unique_ptr<Template> whole_template(std::vector<Program> by_ways);
std::unique_ptr<Template> product_template(Program program);

}  // namespace fiel::forge
