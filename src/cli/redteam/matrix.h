// The red team's result: cases × protocols, who was fooled, and the two rates that matter.
//
//   Matrix m;  m.add(c, Protocol::naive, "virtual", verdict_json);
//   m.rates(Protocol::strict).cheats.let_through …;  m.held();  to_markdown(m);
//
// Rates carry Wilson's 95 % interval: with 40 cheats caught of 40 the honest claim is "at most 9
// %".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/redteam/case_folder.h"
#include "judge/rate.h"

namespace fiel::cli {

enum class Outcome : uint8_t {
  caught,    ///< a cheat, not accepted
  fooled,    ///< a cheat, accepted
  harmless,  ///< a cheat whose values are right and that gains nothing: accepted, and rightly so
  accepted,  ///< an honest kernel
  rejected,  ///< an honest kernel
  unable,    ///< the machine's fault, or something it lacks
};
std::string_view name_of(Outcome outcome);

struct Cell {
  std::string name, id, title, device;
  bool honest = false, harmless = false;
  judge::Protocol protocol{};
  Outcome outcome = Outcome::unable;
  bool held = true;     ///< expect.toml agrees
  std::string why_not;  ///< where it does not
  std::string status, reason;
};

/// What the verdict means for the case.
Cell cell_of(const CaseFolder& c, judge::Protocol protocol, const std::string& device,
             const Json& verdict);

struct Matrix {
  std::vector<judge::Protocol> protocols;
  std::vector<Cell> cells;  ///< by case, then device, then protocol
  struct Rates {
    judge::Rate let_through, rejected;
  };
  Rates rates(judge::Protocol protocol) const;
  bool held() const;
  bool unable() const;
};

Json to_json(const Matrix& matrix);
std::string to_text(const Matrix& matrix);
std::string to_markdown(const Matrix& matrix);

}  // namespace fiel::cli
