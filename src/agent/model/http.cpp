#include "agent/model/http.h"

#include <cstring>

namespace fiel::agent {

std::string Secret::redact(std::string text) const {
  // Shorter ones would hit ordinary words.
  if (value_.size() < 8) return text;
  for (size_t at = text.find(value_); at != std::string::npos; at = text.find(value_, at))
    text.replace(at, value_.size(), "[key]");
  return text;
}

std::string_view HttpHead::value(std::string_view name) const {
  for (const Header& h : headers)
    if (h.name.size() == name.size() && strncasecmp(h.name.data(), name.data(), name.size()) == 0)
      return h.value;
  return {};
}

}  // namespace fiel::agent
