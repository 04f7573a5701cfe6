#include "forge/template.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "forge/ways.h"

namespace fiel::forge {

Point Template::start() const {
  Point at;
  for (const Axis& a : axes_) at.push_back(a.start);
  return at;
}

std::string Template::name_of(const Point& at) const {
  std::string text;
  for (size_t i = 0; i < axes_.size(); ++i)
    text += fmt::format("{}{}={}", i ? " " : "", axes_[i].name, axes_[i].values[at[i]]);
  return text;
}

Result<Point> Template::parse(std::string_view name) const {
  Point at = start();
  for (std::string_view word : split(name, ' ')) {
    const size_t equals = word.find('=');
    const auto axis = std::find_if(axes_.begin(), axes_.end(), [&](const Axis& a) {
      return equals != std::string_view::npos && a.name == word.substr(0, equals);
    });
    const auto wanted = [&](const std::string& v) { return v == word.substr(equals + 1); };
    if (axis == axes_.end() || std::none_of(axis->values.begin(), axis->values.end(), wanted))
      return fail(ErrorCode::parse,
                  fmt::format("'{}' is no choice of this template", printable(word, 60)));
    at[static_cast<size_t>(axis - axes_.begin())] = static_cast<size_t>(
        std::find_if(axis->values.begin(), axis->values.end(), wanted) - axis->values.begin());
  }
  return at;
}

Status Template::begin_at(std::string_view name) {
  auto at = parse(name);
  std::string axes;
  for (const Axis& a : axes_) {
    axes += (axes.empty() ? "" : ", ") + a.name + " (";
    for (size_t i = 0; i < a.values.size(); ++i) axes += (i ? " " : "") + a.values[i];
    axes += ")";
  }
  if (!at) return fail(ErrorCode::usage, at.error().what, "knobs: " + axes);
  if (!possible(*at))
    return fail(ErrorCode::usage, fmt::format("no GPU takes '{}'", name_of(*at)), "knobs: " + axes);
  for (size_t i = 0; i < axes_.size(); ++i) axes_[i].start = (*at)[i];
  return {};
}

bool Template::has_axis(std::string_view name) const {
  return std::any_of(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.name == name; });
}

const std::string& Template::value(const Point& at, std::string_view name) const {
  for (size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].name == name) return axes_[i].values[at[i]];
  static const std::string none = "-";
  return none;
}

int Template::number(const Point& at, std::string_view name) const {
  const std::string& text = value(at, name);
  int n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

Result<std::unique_ptr<Template>> template_of(const task::Task& task) {
  FIEL_TRY(Program program, program_of(task));
  switch (program.shape_class) {
    case ShapeClass::pointwise:
      return pointwise_template(std::move(program));
    case ShapeClass::product:
      return product_template(std::move(program));
    case ShapeClass::rows:
      break;
    case ShapeClass::columns:
    case ShapeClass::whole: {
      FIEL_TRY(auto programs, programs_of(task, program));
      return program.shape_class == ShapeClass::columns ? columns_template(std::move(programs))
                                                        : whole_template(std::move(programs));
    }
  }
  std::vector<Program> programs = {program};
  if (program.has_variance)
    for (const Variance variance : {Variance::shifted, Variance::one_pass}) {
      FIEL_TRY(Program other, program_of(task, {.variance = variance}));
      programs.push_back(std::move(other));
    }
  return rows_template(std::move(programs));
}

}  // namespace fiel::forge
