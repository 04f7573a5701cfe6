// The device's side of the stand-in CUDA runtime: one candidate's modules, memory, streams, graphs.
//
//   RuntimeServer server(*device, channel_fd);
//   CallOutcome ready = server.start(settings, deadline_ns);      // until the kernel is loaded
//   CallOutcome done = server.call(request, settings, deadline_ns);
//
// The channel's other end is hostile. Whatever it sends ends in an error reply or in status
// `protocol`; it can name only its own handles and the addresses of this device's memory. Messages
// are served only during start() and call(). It knows no processes: that is worker/bare_session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "device/queue.h"
#include "vgpu/device.h"
#include "worker/bare_session.h"
#include "worker/cuda_error.h"
#include "worker/frame_io.h"
#include "worker/host_region.h"
#include "worker/timeline.h"

namespace fiel::worker {

struct RunSettings {
  vgpu::Checks checks;
  vgpu::Schedule schedule;
  vgpu::Contract contract = vgpu::Contract::off;
  uint64_t instruction_budget = 50'000'000'000ull;
};

class RuntimeServer {
 public:
  /// `queue`: of a device that runs streams itself, the same object as `device`.
  RuntimeServer(vgpu::Device& device, int channel_fd, device::Queue* queue = nullptr);
  ~RuntimeServer();

  CallOutcome start(const RunSettings& settings, int64_t deadline_ns);
  CallOutcome call(const CallRequest& request, const RunSettings& settings, int64_t deadline_ns);

  /// Calls behind a hold, on a device that queues: each runs its host code and hands its work over,
  /// and what was handed over is waited for at the end.
  ///
  ///   server.begin_held(hold);
  ///   for (…) { CallOutcome o = server.call_held(request, settings, deadline_ns); … }
  ///   …                                       // somebody releases the hold
  ///   CallOutcome done = server.end_held(deadline_ns);     // times: of all the calls
  void begin_held(const device::Hold& hold);
  CallOutcome call_held(const CallRequest& request, const RunSettings& settings,
                        int64_t deadline_ns);
  CallOutcome end_held(int64_t deadline_ns);
  device::Queue* queue() { return queue_; }
  std::vector<vgpu::KernelInfo> kernels() const;
  bool usable() const { return end_ == End::none && sticky_ == kCudaSuccess; }

 private:
  enum class End : uint8_t { none, closed, malformed, timeout };
  struct Module {
    uint32_t device_module = 0;
    bool loaded = false;
    std::string error;
    struct Managed {
      uint64_t symbol = 0, bytes = 0;
      HostRegion* region = nullptr;
    };
    std::vector<Managed> managed;
  };
  struct Kernel {
    uint32_t module = 0;
    vgpu::KernelInfo info;
    uint32_t max_dynamic_shared = 0;
  };
  struct Capture {
    std::shared_ptr<Graph> graph;
    uint64_t origin = 0;
    std::map<uint64_t, std::vector<uint64_t>> last;  ///< per joined stream: nodes to follow
  };
  struct Event {
    Timeline::OpId op = 0;
    std::shared_ptr<Capture> capture;
    std::vector<uint64_t> nodes;
  };

  // runtime_server.cpp: the channel
  CallOutcome serve(int64_t deadline_ns);
  bool serve_one();
  int32_t dispatch(Rt op, WireReader& in, WireWriter& out);
  int32_t not_supported(const std::string& what);
  void reply(int32_t error, const WireWriter& results);
  bool needed_more_than_there_is() const;
  bool refuse_stray_requests();
  bool send(FromDevice type, std::span<const uint8_t> payload, int fd = -1, uint32_t sequence = 0);
  bool receive(FrameHeader& header);
  void end(IoStatus status, const std::string& why);
  bool callback(const CallbackHeader& header);
  void begin_outcome();
  CallOutcome finish_outcome();
  bool begin_timed(const CallRequest& request);
  void end_timed(int64_t host_ns, int64_t wall_ns);
  void end_profiled();
  bool settle_leftovers();
  bool run_host_code(const CallRequest& request);
  Timeline::OpId end_of(const CallRequest& request);

  // runtime_memory.cpp
  int32_t on_hello(WireWriter& out);
  int32_t on_allocate(WireReader& in, WireWriter& out);
  int32_t on_free(WireReader& in);
  int32_t on_allocate_host(WireReader& in, WireWriter& out);
  int32_t on_free_host(WireReader& in);
  int32_t on_memory_info(WireWriter& out);
  int32_t on_classify(WireReader& in, WireWriter& out);
  int32_t on_copy(Rt op, WireReader& in);
  int32_t on_fill(WireReader& in);
  HostRegion* new_region(uint64_t bytes, PointerKind kind, int32_t& error);
  void sweep_regions();
  int32_t upload_now(const CopyRequest& c, const std::byte* from);
  int32_t run_copy(const Work& work);
  int32_t run_fill(const FillRequest& f);

  // runtime_launch.cpp
  int32_t on_register_module(WireReader& in, WireWriter& out);
  int32_t on_unregister_module(WireReader& in);
  int32_t on_kernel(WireReader& in, WireWriter& out);
  int32_t on_symbol(WireReader& in, WireWriter& out);
  int32_t on_managed_symbol(WireReader& in, WireWriter& out);
  int32_t on_launch(WireReader& in);
  int32_t on_occupancy(WireReader& in, WireWriter& out);
  int32_t on_set_kernel_attribute(WireReader& in);
  int32_t read_launch(WireReader& in, Work& work) const;
  int32_t check_launch(const LaunchHeader& launch, size_t parameter_bytes) const;
  void run_launch(const Work& work);
  void copy_managed(Module& module, bool to_device);
  void print(std::string_view text);
  void record(const LaunchHeader& launch, const Kernel& kernel, vgpu::LaunchReport report);

  // runtime_streams.cpp
  int32_t on_stream(Rt op, WireReader& in, WireWriter& out);
  int32_t on_event(Rt op, WireReader& in, WireWriter& out);
  int32_t on_host_function(WireReader& in);
  int32_t submit(uint64_t stream, Work work);
  int32_t run_until(Timeline::OpId op);
  void run(Work& work);
  void run_all(std::vector<Work> work);
  Capture* capture_of(uint64_t stream);

  // runtime_queue.cpp
  bool place(uint64_t operation, uint64_t stream, std::span<const uint64_t> after, bool awaited);
  void run_batch(std::vector<Timeline::Due> due);
  void queue_batch(std::vector<Timeline::Due> due);
  void run_graph(const Graph& graph, uint64_t operation, uint64_t stream, bool awaited);
  void finish_batch();

  // runtime_graph.cpp
  int32_t on_capture(Rt op, WireReader& in, WireWriter& out);
  int32_t on_graph(Rt op, WireReader& in, WireWriter& out);
  int32_t on_graph_add(WireReader& in, WireWriter& out);
  int32_t on_graph_set_node(WireReader& in);
  int32_t on_graph_nodes(WireReader& in, WireWriter& out);
  int32_t on_exec_update(WireReader& in);
  int32_t on_graph_add_edges(WireReader& in);
  int32_t read_node(WireReader& in, Graph::Node& node);
  uint64_t add_graph(std::shared_ptr<Graph> graph);
  void capture_work(Capture& capture, uint64_t stream, Work work);

  vgpu::Device& device_;
  device::Queue* queue_;
  int channel_;
  int64_t deadline_ns_ = 0;
  int64_t call_begin_ns_ = 0, first_work_ns_ = 0;  ///< of a call; 0: the device has had none
  RunSettings settings_;
  std::vector<uint8_t> message_;
  int reply_fd_ = -1;
  End end_ = End::none;
  std::string end_reason_;
  int32_t sticky_ = kCudaSuccess;
  bool ready_ = false, returned_ = false, timed_out_ = false;
  uint32_t call_number_ = 0;  ///< of the latest `run`: its `returned` carries it too
  int32_t return_code_ = 0, last_error_ = 0;
  std::string load_failure_;
  std::string beyond_;  ///< what the call asked for first that this device does not do

  Fd window_fd_;
  std::byte* window_ = nullptr;
  std::vector<Module> modules_;
  std::vector<Kernel> kernels_;
  std::map<uint64_t, uint64_t> allocations_;  ///< the candidate's own
  std::map<uint64_t, std::unique_ptr<HostRegion>> regions_;
  uint64_t region_bytes_ = 0;
  Timeline timeline_;
  uint64_t stream_ = 0;  ///< the one that fiel_run gets
  uint64_t next_handle_ = kFirstHandle;
  std::map<uint64_t, Event> events_;
  std::vector<std::shared_ptr<Capture>> captures_;
  std::map<uint64_t, std::shared_ptr<Graph>> graphs_;
  std::map<uint64_t, std::shared_ptr<Graph>> execs_;
  uint64_t next_node_ = 1, next_graph_operation_ = 0;

  CallOutcome outcome_;
  size_t metric_lines_ = 0;
};

}  // namespace fiel::worker
