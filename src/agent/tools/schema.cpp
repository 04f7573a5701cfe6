#include "agent/tools/schema.h"

#include "base/text.h"

namespace fiel::agent {
namespace {

bool is_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_integer();
  return true;
}

std::string object_misfit(const Json& schema, const Json& value, const std::string& place) {
  for (const Json& name : schema["required"].items())
    if (value.find(name.as_string()) == nullptr)
      return place + "'" + name.as_string() + "' is missing";
  for (const auto& [name, member] : value.members()) {
    const Json* known = schema["properties"].find(name);
    if (known == nullptr) return place + "there is no argument '" + printable(name, 60) + "'";
    if (std::string why = misfit(*known, member, place + name + ": "); !why.empty()) return why;
  }
  return "";
}

}  // namespace

std::string misfit(const Json& schema, const Json& value, const std::string& place) {
  const std::string& type = schema["type"].as_string();
  if (!is_type(value, type)) return place + "must be of type " + type;
  if (type == "object") return object_misfit(schema, value, place);
  if (type == "array")
    for (size_t i = 0; i < value.items().size(); ++i)
      if (std::string why =
              misfit(schema["items"], value.items()[i], place + "[" + std::to_string(i) + "] ");
          !why.empty())
        return why;
  return "";
}

Json property(const char* type, const char* description) {
  return Json::object({{"type", type}, {"description", description}});
}

Json object_schema(Json::Object properties, std::vector<std::string> required) {
  Json names = Json::array();
  for (std::string& name : required) names.push_back(std::move(name));
  return Json::object({{"type", "object"},
                       {"properties", Json::object_of(std::move(properties))},
                       {"required", names},
                       {"additionalProperties", false}});
}

}  // namespace fiel::agent
