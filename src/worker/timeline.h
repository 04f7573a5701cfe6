// Streams, events and graphs of the virtual device: what must run before what.
//
//   Timeline t;  uint64_t s = t.create_stream(false);
//   t.submit(s, work);                       // nothing runs yet
//   for (Work* w : t.due(t.tail(s))) …       // what a synchronise on s has to run, in order
//
// Work waits until something is synchronised that depends on it, so that a kernel which forgets to
// join a side stream really finds its work undone. It holds order only; runtime_server runs things.
// Rules are CUDA's: the legacy default stream waits for all blocking streams and they for it;
// non-blocking streams stand apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "worker/runtime_protocol.h"

namespace fiel::worker {

struct Graph;

/// One thing that a stream or a graph node does. Only the fields of its kind are used.
struct Work {
  enum class Kind : uint8_t { marker, launch, copy, fill, host, graph, free_memory };
  Kind kind = Kind::marker;
  LaunchHeader launch;
  std::vector<uint8_t> parameters;
  CopyRequest copy;  ///< host_side 1 or 2: the candidate's memory, through a callback
  std::shared_ptr<std::vector<std::byte>> snapshot;  ///< source of an upload, taken at the call
  FillRequest fill;
  CallbackHeader host;
  std::shared_ptr<const Graph> graph;
  uint64_t address = 0;  ///< free_memory
};

/// Nodes in the order they were added; dependencies name earlier or later nodes by id.
struct Graph {
  struct Node {
    uint64_t id = 0;
    NodeKind kind = NodeKind::empty;
    Work work;
    std::vector<uint64_t> dependencies;
  };
  std::vector<Node> nodes;
  Node* find(uint64_t id);
  /// Indices such that every node follows its dependencies; empty when there is a cycle.
  std::vector<size_t> order() const;
};

class Timeline {
 public:
  using OpId = uint64_t;  ///< 0: nothing

  uint64_t create_stream(bool non_blocking);
  bool destroy_stream(uint64_t stream);  ///< its pending work stays, as on a GPU
  bool has_stream(uint64_t stream) const { return streams_.count(normal(stream)) != 0; }
  bool is_non_blocking(uint64_t stream) const;
  size_t streams() const { return streams_.size(); }

  OpId submit(uint64_t stream, Work work);
  void wait(uint64_t stream, OpId op);  ///< later work of `stream` follows `op`
  OpId tail(uint64_t stream);           ///< marks the stream's present end
  OpId tail_of_everything();

  bool pending(OpId op) const { return pending_.count(op) != 0; }
  size_t pending_count() const { return pending_.size(); }
  size_t pending_work() const;  ///< without markers
  uint64_t snapshot_bytes() const { return snapshot_bytes_; }
  /// The pending closure of `op`, in an order that respects all dependencies, taken out.
  std::vector<Work> due(OpId op);
  struct Due {
    OpId id = 0;
    uint64_t stream = 0;
    std::vector<OpId> after;  ///< may name what has run
    Work work;
  };
  /// The same with its orders, for a device that keeps them itself; markers included.
  std::vector<Due> due_with_order(OpId op);
  void drop_all();

  static uint64_t normal(uint64_t stream) { return stream == 0 ? kLegacyStream : stream; }

 private:
  struct Stream {
    bool non_blocking = false;
    OpId last = 0;
  };
  struct Op {
    uint64_t stream = 0;
    Work work;
    std::vector<OpId> after;
  };
  std::map<uint64_t, Stream> streams_{{kLegacyStream, {}}, {kPerThreadStream, {}}};
  std::map<OpId, Op> pending_;
  OpId next_op_ = 1;
  uint64_t next_stream_ = kFirstHandle;
  uint64_t snapshot_bytes_ = 0;
};

}  // namespace fiel::worker
