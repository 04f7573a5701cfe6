// main() of the tests that run sessions on the fake device.
#include <gtest/gtest.h>

#include "fake_device.h"
#include "worker/device_process.h"

int main(int argc, char** argv) {
  if (auto code = fiel::worker::hidden_verb(argc, argv, fiel::worker::make_fake_device))
    return *code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
