// fiel explain: what a status, finding, probe, numerics class, protocol or exit code means.
#include <fmt/core.h>

#include "base/text.h"
#include "cli/command.h"
#include "judge/codes.h"

namespace fiel::cli {
namespace {

/// Greedy lines of at most `width` columns.
std::string wrapped(std::string_view text, size_t width, std::string_view indent) {
  std::string out;
  size_t column = 0;
  for (std::string_view word : split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    }
    if (column == 0) {
      out += indent;
      column = indent.size();
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

Json to_json(const judge::Explanation& e) {
  Json j = Json::object();
  j["name"] = e.name;
  j["kind"] = e.kind;
  j["text"] = e.text;
  j["remedy"] = e.remedy;
  return j;
}

std::string listing() {
  std::string text, kind;
  for (const judge::Explanation& e : judge::all_explanations()) {
    if (e.kind != kind) text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", e.kind);
    kind = e.kind;
    const std::string first = e.text.substr(0, e.text.find(". "));
    text += fmt::format("  {:<28}{}\n", e.name,
                        first.size() > 68 ? first.substr(0, first.rfind(' ', 66)) + " …" : first);
  }
  return text;
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() > 1)
    return fail(ErrorCode::usage, "'fiel explain' takes one word");
  Json document = Json::object({{"schema_version", Json(1)}, {"explanations", Json::array()}});
  if (arguments.positional.empty()) {
    for (const auto& e : judge::all_explanations()) document["explanations"].push_back(to_json(e));
    if (arguments.has("--json")) {
      context.print_json(document);
    } else {
      context.print(listing());
    }
    return 0;
  }
  const std::string& name = arguments.positional[0];
  const auto found = judge::explain(name);
  if (!found) {
    std::vector<std::string> names;
    for (const auto& e : judge::all_explanations()) names.push_back(e.name);
    const std::string near = did_you_mean(name, names);
    return fail(
        ErrorCode::usage, fmt::format("nothing is known as '{}'", printable(name, 60)),
        near.empty() ? "'fiel explain' lists every word" : fmt::format("did you mean '{}'?", near));
  }
  if (arguments.has("--json")) {
    document["explanations"].push_back(to_json(*found));
    context.print_json(document);
    return 0;
  }
  context.print(
      fmt::format("{} ({})\n\n{}", found->name, found->kind, wrapped(found->text, 88, "  ")));
  if (!found->remedy.empty()) context.print("\nWhat to do\n\n" + wrapped(found->remedy, 88, "  "));
  return 0;
}

}  // namespace

Command explain_command() {
  return {{"explain",
           "[WORD]",
           "what a status, finding, probe, class, protocol or exit code means",
           {kJsonFlag},
           "Without a word it lists all of them."},
          run};
}

}  // namespace fiel::cli
