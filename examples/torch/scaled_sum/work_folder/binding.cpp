#include "registry.h"

PYBIND11_MODULE(cuda_extension, m) {
  for (Registration registration : registrations()) registration(m);
}
