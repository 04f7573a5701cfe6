#include "case_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace fiel::vgpu::test {
namespace {

std::vector<std::byte> pack(const std::string& type, double value) {
  std::vector<std::byte> out(bytes_of_type(type));
  const auto store = [&](auto typed) { memcpy(out.data(), &typed, out.size()); };
  const auto integer = static_cast<int64_t>(value);
  if (type == "f32")
    store(static_cast<float>(value));
  else if (type == "f64")
    store(value);
  else if (type == "u64")
    store(value < 0 ? static_cast<uint64_t>(integer) : static_cast<uint64_t>(value));
  else
    store(integer);  // little endian: the low bytes
  return out;
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

double initial(const CaseBuffer& b, uint64_t i) {
  if (b.fill == "iota") return b.start + b.step * static_cast<double>(i);
  if (b.fill == "constant") return b.start;
  if (b.fill == "values") return i < b.values.size() ? b.values[i] : 0;
  return 0;
}

}  // namespace

Status CaseMemory::make() {
  for (const CaseBuffer& b : test_.buffers) FIEL_TRY_STATUS(make(b));
  return {};
}

Status CaseMemory::make(const CaseBuffer& b) {
  FIEL_TRY(const uint64_t at, device_.allocate(b.count * bytes_of_type(b.type), b.name));
  address_[b.name] = at;
  if (b.fill != "none") {
    std::vector<std::byte> bytes;
    for (uint64_t i = 0; i < b.fill_count; ++i) append(bytes, pack(b.type, initial(b, i)));
    FIEL_TRY_STATUS(device_.write(at, bytes));
  }
  if (b.output) FIEL_TRY_STATUS(device_.mark_output(at));
  return b.freed ? device_.free(at) : Status{};
}

void CaseMemory::release() {
  for (const CaseBuffer& b : test_.buffers)
    if (const uint64_t at = address(b.name); at != 0 && !b.freed)
      static_cast<void>(device_.free(at));
  address_.clear();
}

uint64_t CaseMemory::address(const std::string& buffer) const {
  const auto found = address_.find(buffer);
  return found == address_.end() ? 0 : found->second;
}

const CaseBuffer* CaseMemory::buffer(const std::string& name) const {
  for (const CaseBuffer& b : test_.buffers)
    if (b.name == name) return &b;
  return nullptr;
}

LaunchRequest CaseMemory::request(const CaseLaunch& launch, uint32_t module) const {
  LaunchRequest request;
  request.module = module;
  request.kernel = launch.kernel;
  request.grid = launch.grid;
  request.block = launch.block;
  request.dynamic_shared_bytes = launch.shared;
  request.cooperative = launch.cooperative;
  request.instruction_budget = launch.budget;
  request.parameters = parameters(launch, module);
  return request;
}

/// name, name+bytes, or type:value,value …
std::vector<std::byte> CaseMemory::argument(const std::string& text) const {
  std::vector<std::byte> bytes;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    const size_t plus = text.find('+');
    uint64_t value = address(text.substr(0, plus));
    if (plus != std::string::npos) value += std::stoull(text.substr(plus + 1));
    bytes.resize(8);
    memcpy(bytes.data(), &value, 8);
    return bytes;
  }
  std::string rest = text.substr(colon + 1);
  for (size_t comma = 0; comma != std::string::npos;) {
    comma = rest.find(',');
    append(bytes, pack(text.substr(0, colon), std::stod(rest.substr(0, comma))));
    if (comma != std::string::npos) rest = rest.substr(comma + 1);
  }
  return bytes;
}

std::vector<uint8_t> CaseMemory::parameters(const CaseLaunch& launch, uint32_t module) const {
  std::vector<uint8_t> out;
  auto info = device_.kernel(module, launch.kernel);
  if (!info) return out;
  out.resize(info->parameter_block_bytes);
  for (size_t i = 0; i < launch.args.size() && i < info->parameter_offsets.size(); ++i) {
    const std::vector<std::byte> bytes = argument(launch.args[i]);
    const size_t room = std::min<size_t>(bytes.size(), info->parameter_bytes[i]);
    memcpy(out.data() + info->parameter_offsets[i], bytes.data(), room);
  }
  return out;
}

Result<std::vector<std::byte>> CaseMemory::bytes(const CaseBuffer& b) const {
  std::vector<std::byte> bytes(b.count * bytes_of_type(b.type));
  FIEL_TRY_STATUS(device_.read(address(b.name), bytes));
  return bytes;
}

std::vector<std::string> CaseMemory::problems() const {
  std::vector<std::string> out;
  for (const CaseExpect::Buffer& rule : test_.expect.buffers)
    if (std::string text = problem(rule); !text.empty()) out.push_back(std::move(text));
  return out;
}

double CaseMemory::expected(const CaseExpect::Buffer& rule, uint64_t i) const {
  if (rule.rule == "values") return rule.values[i];
  if (rule.rule == "constant") return rule.start;
  if (rule.rule == "iota") return rule.start + rule.step * static_cast<double>(i);
  double sum = 0;
  for (const std::string& name : rule.of)
    if (const CaseBuffer* b = buffer(name)) sum += initial(*b, i);
  return sum;
}

std::string CaseMemory::problem(const CaseExpect::Buffer& rule) const {
  const CaseBuffer* b = buffer(rule.name);
  if (b == nullptr) return "no buffer " + rule.name;
  const auto bytes = this->bytes(*b);
  if (!bytes) return to_string(bytes.error());
  const uint64_t size = bytes_of_type(b->type);
  const uint64_t n =
      rule.rule == "values" ? std::min<uint64_t>(rule.values.size(), b->count) : b->count;
  if (rule.rule == "values" && n == 0) return "no values expected of " + rule.name;
  for (uint64_t i = 0; i < n; ++i) {
    const double want = expected(rule, i);
    const std::vector<std::byte> element = pack(b->type, want);
    if (memcmp(element.data(), bytes->data() + i * size, size) == 0) continue;
    uint64_t got = 0, wanted = 0;
    memcpy(&got, bytes->data() + i * size, size);
    memcpy(&wanted, element.data(), size);
    return fmt::format("{}[{}] is 0x{:x}, expected 0x{:x} ({})", rule.name, i, got, wanted, want);
  }
  return {};
}

}  // namespace fiel::vgpu::test
