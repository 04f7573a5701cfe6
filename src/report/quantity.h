// Numbers as a person reads them, in tables, pages and charts.
#pragma once

#include <string>

#include "report/measured.h"

namespace fiel::report {

/// "1.83x [1.79, 1.86]".
std::string ratio_text(const MeasuredRatio& ratio);
/// "1.83x", "12x", "0.0412x": three digits, never 0.00x.
std::string times_text(double ratio);
/// "45.6 µs"; "not measured" where there is none.
std::string time_text(const std::optional<double>& ns);
/// "1.50 GiB"; "not measured" where there is none.
std::string bytes_text(const std::optional<double>& bytes);
/// "3.02e-07", "0.5": what a table has room for; "nan" and "inf" are words for errors only.
std::string number_text(double v);

}  // namespace fiel::report
