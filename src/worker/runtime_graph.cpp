// The stand-in runtime's graphs: capture, explicit nodes, instantiation, replay.
#include <algorithm>
#include <set>

#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

constexpr size_t kMaxGraphs = 4096, kMaxNodes = 1u << 14, kMaxEdges = 1u << 16;

bool shape_fits(const CopyRequest& c) {
  constexpr uint64_t kMax = 1ull << 40;
  uint64_t pitch = std::max({c.width, c.to_pitch, c.from_pitch, uint64_t{1}});
  return pitch <= kMax && c.height <= kMax / pitch;
}

/// Same node kinds joined by the same edges: what an update of an executable graph may change.
bool same_shape(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  auto index = [](const Graph& g, uint64_t id) {
    for (size_t i = 0; i < g.nodes.size(); ++i)
      if (g.nodes[i].id == id) return i;
    return g.nodes.size();
  };
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Graph::Node &x = a.nodes[i], &y = b.nodes[i];
    if (x.kind != y.kind || x.dependencies.size() != y.dependencies.size()) return false;
    for (size_t d = 0; d < x.dependencies.size(); ++d)
      if (index(a, x.dependencies[d]) != index(b, y.dependencies[d])) return false;
  }
  return true;
}

NodeKind kind_of(const Work& w) {
  switch (w.kind) {
    case Work::Kind::launch:
      return NodeKind::kernel;
    case Work::Kind::copy:
      return NodeKind::copy;
    case Work::Kind::fill:
      return NodeKind::fill;
    case Work::Kind::host:
      return NodeKind::host;
    case Work::Kind::graph:
      return NodeKind::child;
    default:
      return NodeKind::empty;
  }
}

}  // namespace

void RuntimeServer::capture_work(Capture& capture, uint64_t stream, Work work) {
  std::vector<uint64_t>& last = capture.last[stream];
  std::sort(last.begin(), last.end());
  last.erase(std::unique(last.begin(), last.end()), last.end());
  Graph::Node node;
  node.id = next_node_++;
  node.kind = kind_of(work);
  node.work = std::move(work);
  node.dependencies = last;
  last = {node.id};
  capture.graph->nodes.push_back(std::move(node));
}

uint64_t RuntimeServer::add_graph(std::shared_ptr<Graph> graph) {
  uint64_t handle = next_handle_;
  next_handle_ += kHandleStep;
  graphs_[handle] = std::move(graph);
  return handle;
}

int32_t RuntimeServer::on_capture(Rt op, WireReader& in, WireWriter& out) {
  uint64_t stream = Timeline::normal(in.get<uint64_t>());
  if (in.failed()) return -1;
  if (!timeline_.has_stream(stream)) return kCudaErrorInvalidResourceHandle;
  if (op == Rt::capture_begin) {
    if (stream == kLegacyStream) return kCudaErrorStreamCaptureUnsupported;
    if (capture_of(stream) || captures_.size() >= 64) return kCudaErrorIllegalState;
    auto c = std::make_shared<Capture>();
    c->graph = std::make_shared<Graph>();
    c->origin = stream;
    c->last[stream] = {};
    captures_.push_back(std::move(c));
    return kCudaSuccess;
  }
  auto it = std::find_if(captures_.begin(), captures_.end(),
                         [&](const auto& c) { return c->last.count(stream) != 0; });
  if (it == captures_.end()) return kCudaErrorIllegalState;
  if ((*it)->origin != stream) return kCudaErrorStreamCaptureUnmatched;
  std::shared_ptr<Capture> capture = *it;
  captures_.erase(it);
  if (graphs_.size() >= kMaxGraphs) return kCudaErrorMemoryAllocation;
  // Every joined stream's last node must be behind the origin's: else work would be lost.
  std::set<uint64_t> behind;
  std::vector<uint64_t> open = capture->last[stream];
  while (!open.empty()) {
    uint64_t id = open.back();
    open.pop_back();
    if (!behind.insert(id).second) continue;
    if (Graph::Node* n = capture->graph->find(id))
      open.insert(open.end(), n->dependencies.begin(), n->dependencies.end());
  }
  for (const Graph::Node& n : capture->graph->nodes)
    if (!behind.count(n.id)) return kCudaErrorStreamCaptureUnjoined;
  out.put(add_graph(capture->graph));
  return kCudaSuccess;
}

int32_t RuntimeServer::on_graph(Rt op, WireReader& in, WireWriter& out) {
  if (graphs_.size() + execs_.size() >= kMaxGraphs &&
      (op == Rt::graph_create || op == Rt::graph_clone || op == Rt::graph_instantiate))
    return kCudaErrorMemoryAllocation;
  if (op == Rt::graph_create) {
    out.put(add_graph(std::make_shared<Graph>()));
    return kCudaSuccess;
  }
  uint64_t handle = in.get<uint64_t>();
  uint64_t stream = op == Rt::graph_launch ? in.get<uint64_t>() : 0;
  if (in.failed()) return -1;
  bool on_exec = op == Rt::graph_launch || op == Rt::exec_destroy;
  auto& table = on_exec ? execs_ : graphs_;
  auto it = table.find(handle);
  if (it == table.end()) return kCudaErrorInvalidValue;
  switch (op) {
    case Rt::graph_destroy:
    case Rt::exec_destroy:
      table.erase(it);
      return kCudaSuccess;
    case Rt::graph_clone:
      out.put(add_graph(std::make_shared<Graph>(*it->second)));
      return kCudaSuccess;
    case Rt::graph_instantiate: {
      if (!it->second->nodes.empty() && it->second->order().empty())
        return kCudaErrorInvalidValue;  // a cycle
      uint64_t exec = next_handle_;
      next_handle_ += kHandleStep;
      execs_[exec] = std::make_shared<Graph>(*it->second);
      out.put(exec);
      return kCudaSuccess;
    }
    case Rt::graph_launch: {
      Work w;
      w.kind = Work::Kind::graph;
      // A private copy: later updates of the executable graph touch later launches only.
      w.graph = std::make_shared<Graph>(*it->second);
      return submit(stream, std::move(w));
    }
    default:
      return -1;
  }
}

int32_t RuntimeServer::read_node(WireReader& in, Graph::Node& node) {
  node.kind = static_cast<NodeKind>(in.get<uint32_t>());
  Work& w = node.work;
  w = {};
  switch (node.kind) {
    case NodeKind::kernel:
      return read_launch(in, w);
    case NodeKind::copy:
      w.kind = Work::Kind::copy;
      w.copy = in.get<CopyRequest>();
      return w.copy.host_side > 2 || !shape_fits(w.copy) ? kCudaErrorInvalidValue : kCudaSuccess;
    case NodeKind::fill: {
      w.kind = Work::Kind::fill;
      w.fill = in.get<FillRequest>();
      CopyRequest shape;
      shape.width = w.fill.width;
      shape.height = w.fill.height;
      shape.to_pitch = w.fill.pitch;
      return shape_fits(shape) ? kCudaSuccess : kCudaErrorInvalidValue;
    }
    case NodeKind::host:
      w.kind = Work::Kind::host;
      w.host.function = in.get<uint64_t>();
      w.host.data = in.get<uint64_t>();
      w.host.kind = static_cast<uint32_t>(CallbackKind::host_function);
      return kCudaSuccess;
    case NodeKind::child: {
      auto it = graphs_.find(in.get<uint64_t>());
      if (it == graphs_.end()) return kCudaErrorInvalidValue;
      for (const Graph::Node& n : it->second->nodes)
        if (n.kind == NodeKind::child) return not_supported("a graph in a graph in a graph");
      w.kind = Work::Kind::graph;
      w.graph = std::make_shared<Graph>(*it->second);
      return kCudaSuccess;
    }
    case NodeKind::empty:
      return kCudaSuccess;
  }
  return kCudaErrorNotSupported;
}

int32_t RuntimeServer::on_graph_add(WireReader& in, WireWriter& out) {
  auto it = graphs_.find(in.get<uint64_t>());
  size_t n = in.count(8, kMaxEdges);
  Graph::Node node;
  for (size_t i = 0; i < n; ++i) node.dependencies.push_back(in.get<uint64_t>());
  int32_t error = read_node(in, node);
  if (in.failed()) return -1;
  if (error != kCudaSuccess) return error;
  if (it == graphs_.end() || it->second->nodes.size() >= kMaxNodes) return kCudaErrorInvalidValue;
  for (uint64_t d : node.dependencies)
    if (!it->second->find(d)) return kCudaErrorInvalidValue;
  node.id = next_node_++;
  out.put(node.id);
  it->second->nodes.push_back(std::move(node));
  return kCudaSuccess;
}

int32_t RuntimeServer::on_graph_set_node(WireReader& in) {
  uint64_t handle = in.get<uint64_t>(), id = in.get<uint64_t>();
  Graph::Node node;
  int32_t error = read_node(in, node);
  if (in.failed()) return -1;
  if (error != kCudaSuccess) return error;
  std::vector<Graph*> targets;
  if (handle == 0)  // a node is named without its graph
    for (auto& [h, g] : graphs_) targets.push_back(g.get());
  else if (auto e = execs_.find(handle); e != execs_.end())
    targets.push_back(e->second.get());
  for (Graph* g : targets)
    if (Graph::Node* n = g->find(id); n && n->kind == node.kind) {
      n->work = std::move(node.work);
      return kCudaSuccess;
    }
  return kCudaErrorInvalidValue;
}

int32_t RuntimeServer::on_graph_nodes(WireReader& in, WireWriter& out) {
  uint64_t handle = in.get<uint64_t>();
  if (in.failed()) return -1;
  auto it = graphs_.find(handle);
  if (it == graphs_.end()) return kCudaErrorInvalidValue;
  out.put(static_cast<uint32_t>(it->second->nodes.size()));
  for (const Graph::Node& n : it->second->nodes)
    out.put(n.id)
        .put(static_cast<uint32_t>(n.kind))
        .put(static_cast<uint32_t>(n.dependencies.size()));
  return kCudaSuccess;
}

int32_t RuntimeServer::on_exec_update(WireReader& in) {
  auto exec = execs_.find(in.get<uint64_t>());
  auto graph = graphs_.find(in.get<uint64_t>());
  if (in.failed()) return -1;
  if (exec == execs_.end() || graph == graphs_.end()) return kCudaErrorInvalidValue;
  if (!same_shape(*exec->second, *graph->second)) return kCudaErrorGraphExecUpdateFailure;
  for (size_t i = 0; i < exec->second->nodes.size(); ++i)
    exec->second->nodes[i].work = graph->second->nodes[i].work;
  return kCudaSuccess;
}

int32_t RuntimeServer::on_graph_add_edges(WireReader& in) {
  auto it = graphs_.find(in.get<uint64_t>());
  std::vector<std::pair<uint64_t, uint64_t>> edges(in.count(16, kMaxEdges));
  for (auto& [from, to] : edges) {
    from = in.get<uint64_t>();
    to = in.get<uint64_t>();
  }
  if (in.failed()) return -1;
  if (it == graphs_.end()) return kCudaErrorInvalidValue;
  for (auto [from, to] : edges) {
    Graph::Node* node = it->second->find(to);
    if (!node || !it->second->find(from) || node->dependencies.size() >= kMaxEdges)
      return kCudaErrorInvalidValue;
    node->dependencies.push_back(from);
  }
  return kCudaSuccess;
}

}  // namespace fiel::worker
