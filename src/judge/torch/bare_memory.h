// Where the tensors of a bare kernel lie: in a window of the oracle's as they are, or in
// allocations of their own.
//
//   FIEL_TRY(auto x, memory.in_window(window, leaves));          // shared, nothing is copied
//   FIEL_TRY(auto y, memory.copies(Group::inputs, leaves));      // exactly as long as the tensors
//   FIEL_TRY_STATUS(memory.fill(Group::inputs, window));  …call…  memory.bring_back(…)
//
// Copies exist where windows are host memory (the virtual GPU with an oracle on the CPU): there the
// device sees the first byte outside a tensor, and reads of what was never written. Addresses stay
// while the tensors of a group keep their shapes. It knows no values and no answers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "worker/bare_session.h"
#include "worker/torch_oracle.h"

namespace fiel::judge::torch {

class BareMemory {
 public:
  enum class Group : uint8_t { inputs, outputs, weights };
  struct Buffer {
    worker::Leaf leaf;  ///< with its place in the window
    worker::DeviceTensor tensor;
    uint64_t bytes = 0;
  };

  explicit BareMemory(worker::BareSession& session) : session_(session) {}
  ~BareMemory();
  BareMemory(const BareMemory&) = delete;
  BareMemory& operator=(const BareMemory&) = delete;

  Result<std::vector<worker::DeviceTensor>> in_window(const worker::WindowHandle& window,
                                                      const std::vector<worker::Leaf>& leaves);
  Result<std::vector<worker::DeviceTensor>> copies(Group group,
                                                   const std::vector<worker::Leaf>& leaves);
  const std::vector<Buffer>& buffers(Group group) { return groups_[group]; }

  void forget(int64_t window);                                       ///< what is mapped of it
  Status fill(Group group, const worker::WindowHandle& from);        ///< by the leaves' offsets
  Status bring_back(Group group, const worker::WindowHandle& into);  ///< the same way
  /// One tensor's bytes from anywhere on the device into a window.
  Status move(const worker::DeviceTensor& from, const worker::WindowHandle& into, uint64_t offset,
              uint64_t bytes, bool window_is_host);

 private:
  struct View {
    std::byte* at = nullptr;
    uint64_t bytes = 0;
  };
  Result<std::byte*> host_view(const worker::WindowHandle& window, uint64_t offset, uint64_t bytes);
  Status retire(std::vector<Buffer>& buffers);

  worker::BareSession& session_;
  std::map<Group, std::vector<Buffer>> groups_;
  std::map<int64_t, uint64_t> imported_;  ///< window: device address
  std::map<int64_t, View> views_;
};

/// Bytes from a tensor's first element to behind its last.
uint64_t extent_of(const worker::DeviceTensor& tensor);
/// Errors name what fiel/kernel.h has no word for: a dtype, a rank above 8.
Result<worker::DeviceTensor> describe_tensor(const worker::Leaf& leaf);

}  // namespace fiel::judge::torch
