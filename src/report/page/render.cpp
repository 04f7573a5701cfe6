#include "report/page/render.h"

#include "base/check.h"
#include "report/foreign_text.h"
#include "report/page/template.h"

namespace fiel::report {

Values shown(std::string_view bytes, size_t max_bytes) {
  return Values(clean_text(bytes, max_bytes));
}

void set_list(Values& page, const std::string& name, Values list) {
  page.set("has_" + name, Values(list.is_non_empty_list()));
  page.set(name, std::move(list));
}

Values fact(const std::string& name, const std::string& value) {
  Values row;
  row.set("name", Values(name));
  row.set("value", shown(value, 500));
  return row;
}

Values chart(const std::string& caption, const std::string& svg) {
  Values row;
  row.set("caption", Values(caption));
  row.set("svg", Values(svg));
  return row;
}

std::string tone_of(const Json& verdict) {
  const int64_t code = verdict["exit_code"].as_int(3);
  return code == 0 ? "good" : code == 1 ? "bad" : "warn";
}

std::string render_page(const char* body, const Values& page) {
  kainjow::mustache::mustache engine(std::string(kPageHead) + body);
  FIEL_CHECK(engine.is_valid(), "the pages' templates are ours");
  return engine.render(page);
}

}  // namespace fiel::report
