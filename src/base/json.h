// A JSON value that keeps the order of its keys and bounds what it reads.
//
//   Json j = Json::object();  j["status"] = "correct";  j["probes"].push_back(3);
//   std::string text = j.dump(2);
//   Result<Json> back = Json::parse(text);          // bounded by Limits, unless told otherwise
//
// Numbers: integers keep 64 bits, anything else is double; NaN and infinity are written as null
// (strict JSON). Not for streams of gigabytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace fiel {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;
  enum class Kind : uint8_t { null, boolean, integer, number, string, array, object };
  struct Limits {
    size_t max_bytes = 64u << 20;
    uint32_t max_depth = 64;
    /// Two bytes of text make a value of 40, a member of 72: memory needs a bound of its own.
    size_t max_values = 8u << 20;
  };

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool v) : value_(v) {}
  Json(int v) : value_(int64_t{v}) {}
  Json(unsigned v) : value_(int64_t{v}) {}
  Json(long v) : value_(int64_t{v}) {}
  Json(long long v) : value_(static_cast<int64_t>(v)) {}
  Json(unsigned long v) : value_(static_cast<int64_t>(v)) {}
  Json(unsigned long long v) : value_(static_cast<int64_t>(v)) {}
  Json(double v) : value_(v) {}
  Json(const char* v) : value_(std::string(v)) {}
  Json(std::string v) : value_(std::move(v)) {}
  Json(std::string_view v) : value_(std::string(v)) {}
  Json(Array v) : value_(std::move(v)) {}
  static Json array() { return Json(Array{}); }
  static Json object() {
    Json j;
    j.value_ = Object{};
    return j;
  }
  static Json object(std::initializer_list<Member> members) {
    Json j;
    j.value_ = Object(members);
    return j;
  }

  /// Of a key that comes twice the last value counts, in the place of the first.
  static Json object_of(Object members);

  static Result<Json> parse(std::string_view text, const Limits& limits);
  static Result<Json> parse(std::string_view text) { return parse(text, Limits{}); }
  /// indent < 0: one line. Invalid UTF-8 is replaced by U+FFFD.
  std::string dump(int indent = -1) const;

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_null() const { return kind() == Kind::null; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_object() const { return kind() == Kind::object; }
  bool is_boolean() const { return kind() == Kind::boolean; }
  bool is_integer() const { return kind() == Kind::integer; }
  bool is_number() const { return kind() == Kind::number || kind() == Kind::integer; }

  /// Lenient readers: the fallback where the kind differs.
  bool as_bool(bool fallback = false) const;
  int64_t as_int(int64_t fallback = 0) const;
  double as_double(double fallback = 0) const;
  const std::string& as_string() const;  ///< empty string where it is none
  const Array& items() const;            ///< empty where it is no array
  const Object& members() const;         ///< empty where it is no object

  /// Object access; null becomes an object first. The const form returns null for what is missing.
  Json& operator[](std::string_view key);
  const Json& operator[](std::string_view key) const;
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  const Json& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  const Json* find(std::string_view key) const;
  void push_back(Json v);
  size_t size() const;

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace fiel
