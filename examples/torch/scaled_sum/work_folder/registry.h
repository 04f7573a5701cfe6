// Kernels register themselves: binding.cpp knows none of them by name.
#pragma once
#include <pybind11/pybind11.h>

#include <vector>

using Registration = void (*)(pybind11::module_&);

inline std::vector<Registration>& registrations() {
  static std::vector<Registration> all;
  return all;
}

struct Registered {
  explicit Registered(Registration registration) { registrations().push_back(registration); }
};
