#include "judge/torch/bare_memory.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"

namespace fiel::judge::torch {
namespace {

constexpr size_t kMaxRank = 8;               ///< of fiel/kernel.h
constexpr uint64_t kMaxExtent = 1ull << 42;  ///< beyond any device
constexpr size_t kPieceBytes = 64u << 20;

bool same_tensors(const std::vector<BareMemory::Buffer>& have,
                  const std::vector<worker::Leaf>& want) {
  return std::equal(have.begin(), have.end(), want.begin(), want.end(),
                    [](const BareMemory::Buffer& b, const worker::Leaf& leaf) {
                      return b.leaf.dtype == leaf.dtype && b.leaf.shape == leaf.shape &&
                             b.leaf.stride == leaf.stride;
                    });
}

}  // namespace

uint64_t extent_of(const worker::DeviceTensor& t) {
  int64_t last = 1;
  for (size_t i = 0; i < t.shape.size(); ++i) {
    if (t.shape[i] == 0) return 0;
    last += (t.shape[i] - 1) * t.strides[i];
  }
  return static_cast<uint64_t>(last) * static_cast<uint64_t>(size_of(t.dtype));
}

Result<worker::DeviceTensor> describe_tensor(const worker::Leaf& leaf) {
  const auto dtype = worker::dtype_of(leaf);
  const std::string name = printable(leaf.path, 100);
  if (!dtype)
    return fail(ErrorCode::unsupported, fmt::format("'{}' is {}, which a bare kernel cannot get",
                                                    name, printable(leaf.dtype, 40)));
  if (leaf.shape.size() > kMaxRank || leaf.stride.size() != leaf.shape.size())
    return fail(ErrorCode::unsupported,
                fmt::format("'{}' has {} dimensions, a bare kernel gets at most {}", name,
                            leaf.shape.size(), kMaxRank));
  worker::DeviceTensor t;
  t.dtype = *dtype;
  t.shape.assign(leaf.shape.begin(), leaf.shape.end());
  t.strides.assign(leaf.stride.begin(), leaf.stride.end());
  uint64_t largest = 1;
  for (size_t i = 0; i < leaf.shape.size(); ++i) {
    const auto size = static_cast<uint64_t>(std::max<int64_t>(leaf.shape[i], 0));
    const auto step = static_cast<uint64_t>(std::max<int64_t>(leaf.stride[i], 1));
    if (leaf.shape[i] < 0 || leaf.stride[i] < 0 || size > kMaxExtent / step ||
        (largest += size * step) > kMaxExtent)
      return fail(ErrorCode::limit, fmt::format("the shape of '{}' is beyond any device", name));
  }
  return t;
}

BareMemory::~BareMemory() {
  for (const auto& [id, view] : views_) ::munmap(view.at, view.bytes);
}

Result<std::byte*> BareMemory::host_view(const worker::WindowHandle& window, uint64_t offset,
                                         uint64_t bytes) {
  auto [it, fresh] = views_.try_emplace(window.id);
  if (fresh) {
    void* p = ::mmap(nullptr, window.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     window.descriptor.get(), 0);
    if (p == MAP_FAILED) {
      views_.erase(it);
      return fail(ErrorCode::limit, "a window of tensors cannot be mapped");
    }
    it->second = {static_cast<std::byte*>(p), window.bytes};
  }
  if (offset > it->second.bytes || bytes > it->second.bytes - offset)
    return fail(ErrorCode::io, "a tensor leaves its window");
  return it->second.at + offset;
}

Result<std::vector<worker::DeviceTensor>> BareMemory::in_window(
    const worker::WindowHandle& window, const std::vector<worker::Leaf>& leaves) {
  auto [it, fresh] = imported_.try_emplace(window.id);
  if (fresh) {
    auto address = session_.import_window(window.descriptor.get(), window.bytes);
    if (!address) {
      imported_.erase(it);
      return fail(std::move(address).error().with_context("a window of tensors"));
    }
    it->second = *address;
  }
  std::vector<worker::DeviceTensor> all;
  for (const worker::Leaf& leaf : leaves) {
    FIEL_TRY(worker::DeviceTensor t, describe_tensor(leaf));
    const uint64_t bytes = extent_of(t);
    if (leaf.offset > window.bytes || bytes > window.bytes - leaf.offset)
      return fail(ErrorCode::io, "a tensor leaves its window");
    t.address = it->second + leaf.offset;
    all.push_back(std::move(t));
  }
  return all;
}

Status BareMemory::retire(std::vector<Buffer>& buffers) {
  for (const Buffer& b : std::exchange(buffers, {})) {
    // A kernel that kept the old pointer reads NaN or is told of a use after free.
    if (b.bytes > 0) FIEL_TRY_STATUS(session_.poison(b.tensor.address, b.bytes, 0xff));
    FIEL_TRY_STATUS(session_.free(b.tensor.address));
  }
  return {};
}

Result<std::vector<worker::DeviceTensor>> BareMemory::copies(
    Group group, const std::vector<worker::Leaf>& leaves) {
  std::vector<Buffer>& now = groups_[group];
  if (!same_tensors(now, leaves)) {
    // The earlier ones go after the new ones exist: no address repeats.
    std::vector<Buffer> old = std::exchange(now, {});
    for (const worker::Leaf& leaf : leaves) {
      Buffer b;
      b.leaf = leaf;
      FIEL_TRY(b.tensor, describe_tensor(leaf));
      b.bytes = extent_of(b.tensor);
      FIEL_TRY(b.tensor.address,
               session_.allocate(std::max<uint64_t>(b.bytes, 1), printable(leaf.path, 100)));
      now.push_back(std::move(b));
    }
    FIEL_TRY_STATUS(retire(old));
  }
  std::vector<worker::DeviceTensor> all;
  for (size_t i = 0; i < now.size(); ++i) {
    now[i].leaf.offset = leaves[i].offset;
    all.push_back(now[i].tensor);
  }
  return all;
}

void BareMemory::forget(int64_t window) {
  if (const auto at = views_.find(window); at != views_.end()) {
    ::munmap(at->second.at, at->second.bytes);
    views_.erase(at);
  }
  if (const auto at = imported_.find(window); at != imported_.end()) {
    (void)session_.drop_window(at->second);
    imported_.erase(at);
  }
}

Status BareMemory::fill(Group group, const worker::WindowHandle& from) {
  for (const Buffer& b : groups_[group]) {
    FIEL_TRY(const std::byte* bytes, host_view(from, b.leaf.offset, b.bytes));
    FIEL_TRY_STATUS(session_.write(b.tensor.address, std::span(bytes, b.bytes)));
  }
  return {};
}

Status BareMemory::bring_back(Group group, const worker::WindowHandle& into) {
  for (const Buffer& b : groups_[group]) {
    FIEL_TRY(std::byte * bytes, host_view(into, b.leaf.offset, b.bytes));
    FIEL_TRY_STATUS(session_.read(b.tensor.address, std::span(bytes, b.bytes)));
  }
  return {};
}

Status BareMemory::move(const worker::DeviceTensor& from, const worker::WindowHandle& into,
                        uint64_t offset, uint64_t bytes, bool window_is_host) {
  if (window_is_host) {
    FIEL_TRY(std::byte * at, host_view(into, offset, bytes));
    return session_.read(from.address, std::span(at, bytes));
  }
  FIEL_TRY_STATUS(in_window(into, {}));
  const uint64_t base = imported_.at(into.id);
  if (offset > into.bytes || bytes > into.bytes - offset)
    return fail(ErrorCode::io, "a tensor leaves its window");
  std::vector<std::byte> piece;
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min<uint64_t>(kPieceBytes, bytes - at));
    FIEL_TRY_STATUS(session_.read(from.address + at, piece));
    FIEL_TRY_STATUS(session_.write(base + offset + at, piece));
  }
  return {};
}

}  // namespace fiel::judge::torch
