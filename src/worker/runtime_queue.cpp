// The stand-in runtime on a device that runs streams itself: what is due becomes one batch, in
// which every stream of the candidate and every branch of a graph has a real stream of its own.
//
// Work still waits until something is synchronised that depends on it. So a kernel that forgets to
// join a stream finds its work undone, as on the virtual GPU, and a call that only submits work is
// one batch, queued whole before the GPU begins.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

/// Operations and streams that graphs need, apart from all that the timeline and clients number.
constexpr uint64_t kGraphOperation = uint64_t{1} << 63, kGraphStream = uint64_t{1} << 62;
constexpr uint64_t kMaxLanes = 16;

/// A graph's nodes on lanes: a node continues the lane of one it depends on, or opens another.
struct Lanes {
  std::vector<size_t> order;
  std::vector<uint64_t> lane;                  ///< 0: the stream that the graph was launched on
  std::vector<std::vector<size_t>> waits_for;  ///< nodes on other lanes
  std::vector<bool> awaited, last;
  bool several = false;
};

Lanes assign_lanes(const Graph& graph) {
  Lanes l;
  size_t n = graph.nodes.size();
  l.order = graph.order();
  l.lane.assign(n, 0);
  l.waits_for.resize(n);
  l.awaited.assign(n, false);
  l.last.assign(n, true);
  std::unordered_map<uint64_t, size_t> index;
  for (size_t i = 0; i < n; ++i) index[graph.nodes[i].id] = i;
  uint64_t opened = 0;
  for (size_t i : l.order) {
    bool placed = false;
    for (uint64_t d : graph.nodes[i].dependencies) {
      auto it = index.find(d);
      if (it == index.end() || !l.last[it->second] || placed) continue;
      l.lane[i] = l.lane[it->second];
      l.last[it->second] = false;
      placed = true;
    }
    if (!placed) l.lane[i] = opened++ % kMaxLanes;
    for (uint64_t d : graph.nodes[i].dependencies)
      if (auto it = index.find(d); it != index.end() && l.lane[it->second] != l.lane[i]) {
        l.waits_for[i].push_back(it->second);
        l.awaited[it->second] = true;
      }
    l.several |= l.lane[i] != 0;
  }
  return l;
}

}  // namespace

bool RuntimeServer::place(uint64_t operation, uint64_t stream, std::span<const uint64_t> after,
                          bool awaited) {
  Status placed = queue_->place(operation, stream, after, awaited);
  if (placed) return true;
  if (sticky_ == kCudaSuccess) sticky_ = kCudaErrorLaunchFailure;
  if (outcome_.message.empty()) outcome_.message = to_string(placed.error());
  return false;
}

void RuntimeServer::run_batch(std::vector<Timeline::Due> due) {
  queue_batch(std::move(due));
  finish_batch();
  if (sticky_ != kCudaSuccess) timeline_.drop_all();
}

/// Hands over what is due and waits for nothing.
void RuntimeServer::queue_batch(std::vector<Timeline::Due> due) {
  const bool any = std::any_of(due.begin(), due.end(), [](const Timeline::Due& d) {
    return d.work.kind != Work::Kind::marker;
  });
  if (any && first_work_ns_ == 0) first_work_ns_ = monotonic_ns();
  std::unordered_map<uint64_t, uint64_t> stream_of;
  std::set<uint64_t> awaited;
  for (const Timeline::Due& d : due) stream_of[d.id] = d.stream;
  for (const Timeline::Due& d : due)
    for (uint64_t a : d.after)
      if (auto it = stream_of.find(a); it != stream_of.end() && it->second != d.stream)
        awaited.insert(a);
  for (Timeline::Due& d : due) {
    if (sticky_ != kCudaSuccess || end_ != End::none) break;
    // A lone marker orders nothing: a batch that begins would be timed.
    if (d.work.kind == Work::Kind::marker && d.after.empty() && !awaited.count(d.id)) continue;
    if (!place(d.id, d.stream, d.after, awaited.count(d.id) != 0)) break;
    if (d.work.kind == Work::Kind::graph)
      run_graph(*d.work.graph, d.id, d.stream, awaited.count(d.id) != 0);
    else
      run(d.work);
  }
}

void RuntimeServer::run_graph(const Graph& graph, uint64_t operation, uint64_t stream,
                              bool awaited) {
  Lanes lanes = assign_lanes(graph);
  uint64_t first = kGraphOperation | next_graph_operation_;
  next_graph_operation_ += graph.nodes.size() + 1;
  auto id_of = [&](size_t i) { return first + 1 + i; };
  auto stream_of = [&](size_t i) {
    return lanes.lane[i] == 0 ? stream : kGraphStream | lanes.lane[i];
  };
  if (lanes.several && !place(first, stream, {}, true)) return;
  std::vector<uint64_t> ends;
  for (size_t i : lanes.order) {
    if (sticky_ != kCudaSuccess || end_ != End::none) return;
    std::vector<uint64_t> after;
    for (size_t w : lanes.waits_for[i]) after.push_back(id_of(w));
    if (lanes.lane[i] != 0 && graph.nodes[i].dependencies.empty()) after.push_back(first);
    bool joins = lanes.lane[i] != 0 && lanes.last[i];
    if (joins) ends.push_back(id_of(i));
    bool node_awaited = lanes.awaited[i] || joins;
    if (!place(id_of(i), stream_of(i), after, node_awaited)) return;
    Work work = graph.nodes[i].work;
    if (work.kind == Work::Kind::graph)
      run_graph(*work.graph, id_of(i), stream_of(i), node_awaited);
    else
      run(work);
  }
  place(operation, stream, ends, awaited);
}

/// Waits for what was queued; the device's error is the candidate's sticky one.
void RuntimeServer::finish_batch() {
  device::QueueEnd end = queue_->drain(deadline_ns_);
  print(end.printed);
  if (end.cuda_error == kCudaSuccess) return;
  timed_out_ |= end.timed_out;
  if (sticky_ != kCudaSuccess) return;
  sticky_ = end.cuda_error;
  outcome_.message = end.message;
}

}  // namespace fiel::worker
