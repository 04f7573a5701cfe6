// Calls a bare kernel once on inputs from files, so that a profiler can watch it: linked with the kernel's
// own source, since what fiel runs is out of a profiler's reach.
//
//   driver FOLDER                  a folder that `fiel profile --save-inputs` wrote: call.txt, 0.bin, …
//
// call.txt has a line a tensor: input|output DTYPE RANK EXTENT... [FILE]. No kernel but the candidate's own is
// launched. Exit code 0 where it ran to its end.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fiel/kernel.h>

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor*, int, cudaStream_t);

namespace {

struct Dtype {
  const char* name;
  int number, bytes;
};
constexpr Dtype kDtypes[] = {{"f64", FIEL_F64, 8},   {"f32", FIEL_F32, 4}, {"f16", FIEL_F16, 2},
                             {"bf16", FIEL_BF16, 2}, {"i8", FIEL_I8, 1},   {"i16", FIEL_I16, 2},
                             {"i32", FIEL_I32, 4},   {"i64", FIEL_I64, 8}, {"u8", FIEL_U8, 1},
                             {"bool", FIEL_BOOL, 1}};

int failed(const std::string& what) {
  std::fprintf(stderr, "driver: %s (%s)\n", what.c_str(), cudaGetErrorString(cudaGetLastError()));
  return 1;
}

bool read_tensor(std::istringstream& words, fiel_tensor& t, int& bytes) {
  std::string dtype;
  if (!(words >> dtype >> t.rank) || t.rank < 0 || t.rank > 8) return false;
  bytes = 0;
  for (const Dtype& d : kDtypes)
    if (dtype == d.name) t.dtype = d.number, bytes = d.bytes;
  for (int i = 0; i < t.rank; ++i) words >> t.shape[i];
  int64_t stride = 1;
  for (int i = t.rank - 1; i >= 0; --i) t.stride[i] = stride, stride *= t.shape[i];
  return words && bytes > 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: driver FOLDER\n"), 2;
  const std::string folder = arguments[1];
  std::vector<fiel_tensor> inputs, outputs;
  std::ifstream call(folder + "/call.txt");
  for (std::string line; std::getline(call, line);) {
    std::istringstream words(line);
    std::string kind, file;
    fiel_tensor t{};
    int element = 0;
    if (!(words >> kind) || !read_tensor(words, t, element)) return failed("call.txt: " + line);
    const size_t bytes = static_cast<size_t>(fiel_numel(&t)) * element;
    std::vector<char> data(bytes, 0x55);
    if (words >> file) {
      std::ifstream in(folder + "/" + file, std::ios::binary);
      if (!in.read(data.data(), static_cast<std::streamsize>(bytes))) return failed("cannot read " + file);
    }
    if (cudaMalloc(&t.data, bytes > 0 ? bytes : 1) != cudaSuccess) return failed("no memory");
    if (cudaMemcpy(t.data, data.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) return failed("copy");
    (kind == "input" ? inputs : outputs).push_back(t);
  }
  if (outputs.empty()) return failed("no outputs in call.txt");
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return failed("no stream");
  const int code = fiel_run(inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
                            static_cast<int>(outputs.size()), stream);
  if (code != 0) return failed("fiel_run returned " + std::to_string(code));
  if (cudaDeviceSynchronize() != cudaSuccess) return failed("the call failed");
  return 0;
}
