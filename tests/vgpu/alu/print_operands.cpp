// For ptxas_oracle.py: the operands of each instruction of a list, as vector_operands.h makes them.
#include <cstdio>
#include <fstream>
#include <string>

#include "vector_operands.h"

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "tests/vgpu/h200/alu_instructions.txt");
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string text = line.substr(0, tab), classes = line.substr(tab + 1);
    uint64_t values[8 * 32] = {};
    fiel::vgpu::alu::make_operands(text, classes, values);
    std::printf("%s\t%s", text.c_str(), classes.c_str());
    for (int lane = 0; lane < 32; ++lane) {
      std::printf("\t");
      for (size_t k = 0; k < classes.size(); ++k)
        std::printf("%s%llx", k ? "," : "", static_cast<unsigned long long>(values[32 * k + lane]));
    }
    std::printf("\n");
  }
}
