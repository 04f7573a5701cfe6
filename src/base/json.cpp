#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/check.h"

namespace fiel {
namespace {

using Tree = nlohmann::ordered_json;

/// nlohmann's SAX interface building our value, with limits of ours.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const Json::Limits& limits) : limits_(limits) {}
  bool null() override { return add(Json()); }
  bool boolean(bool v) override { return add(Json(v)); }
  bool number_integer(int64_t v) override { return add(Json(static_cast<long long>(v))); }
  bool number_unsigned(uint64_t v) override {
    return add(v <= static_cast<uint64_t>(INT64_MAX) ? Json(static_cast<long long>(v))
                                                     : Json(static_cast<double>(v)));
  }
  bool number_float(double v, const std::string&) override { return add(Json(v)); }
  bool string(std::string& v) override { return add(Json(std::move(v))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool key(std::string& v) override {
    stack_.back().key = std::move(v);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    message = e.what();
    return false;
  }
  Json root;
  std::string message;

 private:
  struct Open {
    bool object = false;
    std::string key;  ///< of the member that comes next
    Json::Array items;
    Json::Object members;
  };

  bool add(Json v) {
    if (++values_ > limits_.max_values) {
      message = "more than " + std::to_string(limits_.max_values) + " values";
      return false;
    }
    if (stack_.empty())
      root = std::move(v);
    else if (Open& top = stack_.back(); top.object)
      top.members.emplace_back(std::move(top.key), std::move(v));
    else
      top.items.push_back(std::move(v));
    return true;
  }
  bool open(bool object) {
    if (stack_.size() >= limits_.max_depth) {
      message = "nested deeper than " + std::to_string(limits_.max_depth);
      return false;
    }
    stack_.emplace_back().object = object;
    return true;
  }
  bool close() {
    Open top = std::move(stack_.back());
    stack_.pop_back();
    return add(top.object ? Json::object_of(std::move(top.members)) : Json(std::move(top.items)));
  }
  const Json::Limits& limits_;
  size_t values_ = 0;
  std::vector<Open> stack_;
};

/// Places of `members`, ordered by key and then by place. A hostile object has a million keys: to
/// look each one up among those before it would take hours.
std::vector<size_t> places_by_key(const Json::Object& members) {
  std::vector<size_t> places(members.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::sort(places.begin(), places.end(), [&](size_t a, size_t b) {
    const int order = members[a].first.compare(members[b].first);
    return order != 0 ? order < 0 : a < b;
  });
  return places;
}

Tree to_tree(const Json& j) {
  switch (j.kind()) {
    case Json::Kind::null:
      return nullptr;
    case Json::Kind::boolean:
      return j.as_bool();
    case Json::Kind::integer:
      return j.as_int();
    case Json::Kind::number:
      return std::isfinite(j.as_double()) ? Tree(j.as_double()) : Tree();
    case Json::Kind::string:
      return j.as_string();
    case Json::Kind::array: {
      Tree t = Tree::array();
      for (const Json& item : j.items()) t.push_back(to_tree(item));
      return t;
    }
    case Json::Kind::object: {
      Tree t = Tree::object();
      // Keys are unique here; t[key] would search for each among those before it.
      auto& members = t.get_ref<Tree::object_t&>();
      for (const auto& [key, value] : j.members()) members.emplace_back(key, to_tree(value));
      return t;
    }
  }
  return nullptr;
}

}  // namespace

Json Json::object_of(Object members) {
  const std::vector<size_t> places = places_by_key(members);
  std::vector<bool> repeated(members.size());
  for (size_t i = 0, first = 0; i < places.size(); ++i) {
    if (i == 0 || members[places[i]].first != members[places[first]].first) {
      first = i;
      continue;
    }
    members[places[first]].second = std::move(members[places[i]].second);
    repeated[places[i]] = true;
  }
  Json j;
  Object& kept = j.value_.emplace<Object>();
  if (std::find(repeated.begin(), repeated.end(), true) == repeated.end()) {
    kept = std::move(members);
    return j;
  }
  for (size_t i = 0; i < members.size(); ++i)
    if (!repeated[i]) kept.push_back(std::move(members[i]));
  return j;
}

Result<Json> Json::parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(ErrorCode::limit, "JSON text has " + std::to_string(text.size()) +
                                      " bytes; at most " + std::to_string(limits.max_bytes) +
                                      " are read");
  Builder builder(limits);
  bool ok = false;
  try {
    ok = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception& e) {
    builder.message = e.what();
  }
  if (!ok) return fail(ErrorCode::parse, "not valid JSON: " + builder.message);
  return std::move(builder.root);
}

std::string Json::dump(int indent) const {
  return to_tree(*this).dump(indent, ' ', false, Tree::error_handler_t::replace);
}

bool Json::as_bool(bool fallback) const {
  const bool* v = std::get_if<bool>(&value_);
  return v ? *v : fallback;
}
int64_t Json::as_int(int64_t fallback) const {
  if (const auto* v = std::get_if<int64_t>(&value_)) return *v;
  if (const auto* d = std::get_if<double>(&value_); d && std::fabs(*d) < 9.2e18)
    return static_cast<int64_t>(*d);
  return fallback;
}
double Json::as_double(double fallback) const {
  if (const auto* v = std::get_if<double>(&value_)) return *v;
  if (const auto* v = std::get_if<int64_t>(&value_)) return static_cast<double>(*v);
  return fallback;
}
const std::string& Json::as_string() const {
  static const std::string empty;
  const auto* v = std::get_if<std::string>(&value_);
  return v ? *v : empty;
}
const Json::Array& Json::items() const {
  static const Array empty;
  const auto* v = std::get_if<Array>(&value_);
  return v ? *v : empty;
}
const Json::Object& Json::members() const {
  static const Object empty;
  const auto* v = std::get_if<Object>(&value_);
  return v ? *v : empty;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  auto* object = std::get_if<Object>(&value_);
  FIEL_CHECK(object != nullptr, "Json::operator[] with a key on a value that is no object");
  for (auto& [name, value] : *object)
    if (name == key) return value;
  return object->emplace_back(std::string(key), Json()).second;
}
const Json& Json::operator[](std::string_view key) const {
  static const Json null;
  const Json* found = find(key);
  return found ? *found : null;
}
const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : members())
    if (name == key) return &value;
  return nullptr;
}
void Json::push_back(Json v) {
  if (is_null()) value_ = Array{};
  auto* array = std::get_if<Array>(&value_);
  FIEL_CHECK(array != nullptr, "Json::push_back on a value that is no array");
  array->push_back(std::move(v));
}
size_t Json::size() const { return is_array() ? items().size() : members().size(); }

}  // namespace fiel
