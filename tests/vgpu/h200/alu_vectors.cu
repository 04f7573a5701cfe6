// Runs every instruction of alu_instructions.txt on a GPU of compute capability 9.0 and prints what
// came out: the text that tests/vgpu/golden/alu_sm90.txt holds.
//
//   nvcc -std=c++17 -arch=sm_90 -o alu_vectors tests/vgpu/h200/alu_vectors.cu -lcuda
//   ./alu_vectors tests/vgpu/h200/alu_instructions.txt > tests/vgpu/golden/alu_sm90.txt
//
// One line an instruction: `text <tab> classes <tab> v0 v1 … v31 [| w0 …]`, hexadecimal, one value a
// thread of one warp; after `|` the second destination, after `^` the carry. Operands are made by
// ../alu/operands.h from a hash of the text, so the test makes the same ones. The instructions are
// PTX that the driver compiles; operands come from memory, so nothing is folded.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "../alu/operands.h"
#include "../alu/vector_operands.h"

using namespace fiel::vgpu::alu;

#define CHECK(call)                                                        \
  do {                                                                     \
    CUresult error_ = (call);                                              \
    if (error_ != CUDA_SUCCESS) {                                          \
      const char* what_ = nullptr;                                         \
      cuGetErrorString(error_, &what_);                                    \
      std::fprintf(stderr, "%s: %s (line %d)\n", #call, what_, __LINE__);  \
      return 1;                                                            \
    }                                                                      \
  } while (0)

struct Line {
  std::string text, classes;
};

// "%r0|%p1" and "%r0" of "op %r0|%p1, …": names of the registers, in order.
std::vector<std::string> registers_of(const std::string& text) {
  std::vector<std::string> names;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    size_t end = i + 1;
    while (end < text.size() && isalnum(static_cast<unsigned char>(text[end]))) ++end;
    names.push_back(text.substr(i, end - i));
    i = end - 1;
  }
  return names;
}

// %L holds 64 bits; moves them to a register of the class, or back.
std::string to_register(const std::string& name) {
  switch (name[1]) {
    case 'p':
      return "setp.ne.u64 " + name + ", %L, 0;\n";
    case 'h':
    case 'e':
    case 'g':
      return "cvt.u16.u64 " + name + ", %L;\n";
    case 'f':
      return "cvt.u32.u64 %T, %L;\nmov.b32 " + name + ", %T;\n";
    case 'l':
    case 'd':
      return "mov.b64 " + name + ", %L;\n";
    default:
      return "cvt.u32.u64 " + name + ", %L;\n";
  }
}
std::string from_register(const std::string& name) {
  switch (name[1]) {
    case 'p':
      return "selp.u64 %L, 1, 0, " + name + ";\n";
    case 'h':
    case 'e':
    case 'g':
      return "cvt.u64.u16 %L, " + name + ";\n";
    case 'f':
      return "mov.b32 %T, " + name + ";\ncvt.u64.u32 %L, %T;\n";
    case 'l':
    case 'd':
      return "mov.b64 %L, " + name + ";\n";
    default:
      return "cvt.u64.u32 %L, " + name + ";\n";
  }
}

bool starts_with(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// in: sources k at [k * 32 + thread]; out: destination, second destination, carry likewise.
std::string kernel_of(const Line& line, int number) {
  const auto names = registers_of(line.text);
  const bool pair = line.text.find('|') != std::string::npos;
  const size_t destinations = pair ? 2 : 1;
  std::string body;
  const auto at = [](const char* base, size_t k) {
    return std::string("[") + base + "+" + std::to_string(256 * k) + "]";
  };
  size_t source = destinations;
  for (size_t k = 0; k < line.classes.size(); ++k) {
    if (line.classes[k] == 'i') continue;
    body += "ld.global.u64 %L, " + at("%in", k) + ";\n";
    if (line.classes[k] == 'c')
      body += "cvt.u32.u64 %carry, %L;\n";
    else
      body += to_register(names[source++]);
  }
  const bool subtract = starts_with(line.text, "sub");
  const bool carry_out = line.text.find(".cc.") != std::string::npos;
  if (line.classes.back() == 'c')
    body += subtract ? "sub.cc.u32 %T, 0, %carry;\n" : "add.cc.u32 %T, %carry, 0xffffffff;\n";
  body += line.text + "\n";
  if (carry_out) body += subtract ? "subc.u32 %T, 0, 0;\n" : "addc.u32 %T, 0, 0;\n";
  if (carry_out) body += "and.b32 %T, %T, 1;\ncvt.u64.u32 %L, %T;\nst.global.u64 [%out+512], %L;\n";
  for (size_t k = 0; k < destinations; ++k)
    body += from_register(names[k]) + "st.global.u64 " + at("%out", k) + ", %L;\n";
  return ".visible .entry k" + std::to_string(number) +
         "(.param .u64 in, .param .u64 out)\n{\n"
         ".reg .pred %p<8>; .reg .b16 %h<8>, %e<8>, %g<8>; .reg .b32 %r<8>, %s<8>, %x<8>, %y<8>;\n"
         ".reg .f32 %f<8>; .reg .b64 %l<8>; .reg .f64 %d<8>;\n"
         ".reg .b64 %L, %in, %out, %off; .reg .b32 %T, %carry, %thread;\n"
         "mov.u32 %thread, %tid.x; mul.wide.u32 %off, %thread, 8;\n"
         "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n"
         "add.u64 %in, %in, %off; add.u64 %out, %out, %off;\n" +
         body + "ret;\n}\n";
}

int run_module(const std::vector<Line>& lines, size_t first, size_t last) {
  std::string ptx = ".version 8.7\n.target sm_90\n.address_size 64\n";
  for (size_t i = first; i < last; ++i) ptx += kernel_of(lines[i], static_cast<int>(i));
  static char log[8192];
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module;
  if (cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values) != CUDA_SUCCESS) {
    std::fprintf(stderr, "%s\n", log);
    return 1;
  }
  static uint64_t host_in[8 * 32], host_out[3 * 32];
  CUdeviceptr in, out;
  CHECK(cuMemAlloc(&in, sizeof host_in));
  CHECK(cuMemAlloc(&out, sizeof host_out));
  for (size_t i = first; i < last; ++i) {
    const Line& line = lines[i];
    make_operands(line.text, line.classes, host_in);
    CHECK(cuMemcpyHtoD(in, host_in, sizeof host_in));
    CHECK(cuMemsetD8(out, 0, sizeof host_out));
    CUfunction kernel;
    CHECK(cuModuleGetFunction(&kernel, module, ("k" + std::to_string(i)).c_str()));
    void* arguments[] = {&in, &out};
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(host_out, out, sizeof host_out));
    std::printf("%s\t%s\t", line.text.c_str(), line.classes.c_str());
    const auto print = [&](int part) {
      for (int t = 0; t < 32; ++t)
        std::printf("%s%llx", t ? " " : "", static_cast<unsigned long long>(host_out[32 * part + t]));
    };
    print(0);
    if (line.text.find('|') != std::string::npos) std::printf(" | "), print(1);
    if (line.text.find(".cc.") != std::string::npos) std::printf(" ^ "), print(2);
    std::printf("\n");
  }
  cuMemFree(in);
  cuMemFree(out);
  cuModuleUnload(module);
  return 0;
}

int main(int argc, char** argv) {
  std::vector<Line> lines;
  std::ifstream file(argc > 1 ? argv[1] : "tests/vgpu/h200/alu_instructions.txt");
  for (std::string text; std::getline(file, text);) {
    const size_t tab = text.find('\t');
    if (tab != std::string::npos) lines.push_back({text.substr(0, tab), text.substr(tab + 1)});
  }
  if (argc > 2 && std::string(argv[2]) == "--ptx") {  // for ptxas, without a GPU
    std::printf(".version 8.7\n.target sm_90\n.address_size 64\n");
    for (size_t i = 0; i < lines.size(); ++i)
      std::printf("%s", kernel_of(lines[i], static_cast<int>(i)).c_str());
    return 0;
  }
  cudaDeviceProp properties;
  if (lines.empty() || cudaGetDeviceProperties(&properties, 0) != cudaSuccess ||
      cudaSetDevice(0) != cudaSuccess || cudaFree(nullptr) != cudaSuccess) {
    std::fprintf(stderr, "no GPU, or no list of instructions\n");
    return 1;
  }
  std::printf("# %zu instructions on %s, compute capability %d.%d\n", lines.size(), properties.name,
              properties.major, properties.minor);
  int failed = 0;
  for (size_t i = 0; i < lines.size(); i += 100)
    failed |= run_module(lines, i, i + 100 < lines.size() ? i + 100 : lines.size());
  return failed;
}
