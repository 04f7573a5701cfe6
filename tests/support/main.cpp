// main() of the test executables that start sessions: the device process is this program again.
#include <gtest/gtest.h>

#include "worker/device_process.h"

int main(int argc, char** argv) {
  if (auto code = fiel::worker::hidden_verb(argc, argv)) return *code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
