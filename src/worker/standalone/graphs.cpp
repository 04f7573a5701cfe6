// The stand-in's graphs: recorded on the device's side, launched as a replay.
#include <vector>

#include "kernels.h"

namespace fiel::standin {
namespace {

using namespace worker;

Handle pt(Handle stream) { return stream == 0 ? kPerThreadStream : stream; }

Error with_handles(Rt op, Handle a, Handle* out) {
  WireWriter w;
  w.put(a);
  Reply reply;
  Error e = call(op, w, out ? &reply : nullptr);
  if (e == kCudaSuccess && out) *out = reply.reader().get<uint64_t>();
  return e;
}

WireWriter node_header(NodeKind kind) {
  WireWriter w;
  w.put(static_cast<uint32_t>(kind));
  return w;
}
void append(WireWriter& w, const WireWriter& tail) {
  w.append(tail.bytes().data(), tail.bytes().size());
}

Error add(Handle* node, Handle graph, const Handle* deps, size_t n, const WireWriter& body) {
  if (n > 65536 || (n && !deps)) return set_error(kCudaErrorInvalidValue);
  WireWriter w;
  w.put(graph).put(static_cast<uint32_t>(n));
  for (size_t i = 0; i < n; ++i) w.put(deps[i]);
  append(w, body);
  Reply reply;
  Error e = call(Rt::graph_add, w, &reply);
  if (e == kCudaSuccess && node) *node = reply.reader().get<uint64_t>();
  return e;
}
Error set_node(Handle exec, Handle node, const WireWriter& body) {
  WireWriter w;
  w.put(exec).put(node);
  append(w, body);
  return call(Rt::graph_set_node, w);
}

Error kernel_body(const KernelNodeParams* p, WireWriter& w) {
  if (!p || !p->kernel_params) return set_error(kCudaErrorInvalidValue);
  w = node_header(NodeKind::kernel);
  return pack_launch(p->func, p->grid, p->block, p->kernel_params, p->dynamic_shared_bytes, 0,
                     false, w);
}
Error fill_body(const MemsetParams* p, WireWriter& w) {
  if (!p) return set_error(kCudaErrorInvalidValue);
  uint32_t v = p->value, byte = v & 0xff;
  bool same_bytes = p->element_size == 1 || (p->element_size == 2 && v == byte * 0x101u) ||
                    (p->element_size == 4 && v == byte * 0x01010101u);
  if (!same_bytes) return not_supported("a graph's memset of elements of several bytes");
  FillRequest f;
  f.to = reinterpret_cast<uint64_t>(p->dst);
  f.pitch = p->pitch;
  f.width = p->width * p->element_size;
  f.height = p->height;
  f.value = byte;
  w = node_header(NodeKind::fill);
  w.put(f);
  return kCudaSuccess;
}
Error copy_body(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                size_t height, int32_t kind, WireWriter& w) {
  if (kind == kDefault || kind == kHostToHost) return set_error(kCudaErrorInvalidMemcpyDirection);
  CopyRequest c;
  c.to = reinterpret_cast<uint64_t>(to);
  c.from = reinterpret_cast<uint64_t>(from);
  c.to_pitch = to_pitch;
  c.from_pitch = from_pitch;
  c.width = width;
  c.height = height;
  if (kind == kHostToDevice && !find_region(from).kind) c.host_side = 1;
  if (kind == kDeviceToHost && !find_region(to).kind) c.host_side = 2;
  w = node_header(NodeKind::copy);
  w.put(c);
  return kCudaSuccess;
}
Error copy_body(const Memcpy3DParms* p, WireWriter& w) {
  if (!p) return set_error(kCudaErrorInvalidValue);
  if (p->src_array || p->dst_array || p->extent.depth > 1)
    return not_supported("a graph's copy of an array or a volume");
  auto* from = static_cast<char*>(p->src_ptr.ptr) + p->src_pos.x + p->src_pos.y * p->src_ptr.pitch;
  auto* to = static_cast<char*>(p->dst_ptr.ptr) + p->dst_pos.x + p->dst_pos.y * p->dst_ptr.pitch;
  return copy_body(to, p->dst_ptr.pitch, from, p->src_ptr.pitch, p->extent.width, p->extent.height,
                   p->kind, w);
}
WireWriter host_body(const HostNodeParams* p) {
  WireWriter w = node_header(NodeKind::host);
  w.put(reinterpret_cast<uint64_t>(p->fn)).put(reinterpret_cast<uint64_t>(p->user_data));
  return w;
}

struct NodeInfo {
  Handle id;
  uint32_t kind, n_dependencies;
};
Error list_nodes(Handle graph, std::vector<NodeInfo>& nodes) {
  WireWriter w;
  w.put(graph);
  Reply reply;
  if (Error e = call(Rt::graph_nodes, w, &reply); e != kCudaSuccess) return e;
  WireReader r = reply.reader();
  for (size_t i = 0, n = r.count(16, 1u << 20); i < n; ++i) {
    Handle id = r.get<uint64_t>();
    uint32_t kind = r.get<uint32_t>();
    nodes.push_back({id, kind, r.get<uint32_t>()});
  }
  return kCudaSuccess;
}
Error give_nodes(Handle graph, Handle* out, size_t* n, bool roots_only) {
  std::vector<NodeInfo> nodes;
  if (Error e = list_nodes(graph, nodes); e != kCudaSuccess) return e;
  size_t room = out ? *n : 0, count = 0;
  for (const NodeInfo& node : nodes) {
    if (roots_only && node.n_dependencies != 0) continue;
    if (count < room) out[count] = node.id;
    ++count;
  }
  *n = out ? (count < room ? count : room) : count;
  return kCudaSuccess;
}

}  // namespace

FIEL_CUDART Error cudaStreamBeginCapture(Handle s, int32_t) {
  return with_handles(Rt::capture_begin, s, nullptr);
}
FIEL_CUDART Error cudaStreamBeginCapture_ptsz(Handle s, int32_t) {
  return with_handles(Rt::capture_begin, pt(s), nullptr);
}
FIEL_CUDART Error cudaStreamEndCapture(Handle s, Handle* graph) {
  if (graph) *graph = 0;
  return with_handles(Rt::capture_end, s, graph);
}
FIEL_CUDART Error cudaStreamEndCapture_ptsz(Handle s, Handle* graph) {
  return cudaStreamEndCapture(pt(s), graph);
}

FIEL_CUDART Error cudaGraphCreate(Handle* graph, unsigned) {
  Reply reply;
  Error e = call(Rt::graph_create, {}, &reply);
  if (e == kCudaSuccess) *graph = reply.reader().get<uint64_t>();
  return e;
}
FIEL_CUDART Error cudaGraphDestroy(Handle g) { return with_handles(Rt::graph_destroy, g, nullptr); }
FIEL_CUDART Error cudaGraphClone(Handle* clone, Handle g) {
  return with_handles(Rt::graph_clone, g, clone);
}
FIEL_CUDART Error cudaGraphInstantiate(Handle* exec, Handle g, unsigned long long) {
  return with_handles(Rt::graph_instantiate, g, exec);
}
FIEL_CUDART Error cudaGraphInstantiateWithFlags(Handle* exec, Handle g, unsigned long long) {
  return with_handles(Rt::graph_instantiate, g, exec);
}
FIEL_CUDART Error cudaGraphInstantiateWithParams(Handle* exec, Handle g,
                                                 GraphInstantiateParams* p) {
  if (p) p->result = 0;
  return with_handles(Rt::graph_instantiate, g, exec);
}
FIEL_CUDART Error cudaGraphInstantiateWithParams_ptsz(Handle* exec, Handle g,
                                                      GraphInstantiateParams* p) {
  return cudaGraphInstantiateWithParams(exec, g, p);
}
FIEL_CUDART Error cudaGraphExecGetFlags(Handle, unsigned long long* flags) {
  *flags = 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaGraphExecDestroy(Handle e) {
  return with_handles(Rt::exec_destroy, e, nullptr);
}
FIEL_CUDART Error cudaGraphUpload(Handle, Handle) { return kCudaSuccess; }
FIEL_CUDART Error cudaGraphUpload_ptsz(Handle, Handle) { return kCudaSuccess; }
FIEL_CUDART Error cudaGraphLaunch(Handle exec, Handle s) {
  WireWriter w;
  w.put(exec).put(s);
  return call(Rt::graph_launch, w);
}
FIEL_CUDART Error cudaGraphLaunch_ptsz(Handle exec, Handle s) {
  return cudaGraphLaunch(exec, pt(s));
}
FIEL_CUDART Error cudaGraphExecUpdate(Handle exec, Handle g, GraphExecUpdateResultInfo* info) {
  WireWriter w;
  w.put(exec).put(g);
  Error e = call(Rt::exec_update, w);
  // 0: updated; 1: it did not fit.
  if (info) *info = {e == kCudaSuccess ? 0 : 1, 0, 0};
  return e;
}

FIEL_CUDART Error cudaGraphAddKernelNode(Handle* node, Handle g, const Handle* deps, size_t n,
                                         const KernelNodeParams* p) {
  WireWriter w;
  Error e = kernel_body(p, w);
  return e == kCudaSuccess ? add(node, g, deps, n, w) : e;
}
FIEL_CUDART Error cudaGraphAddMemsetNode(Handle* node, Handle g, const Handle* deps, size_t n,
                                         const MemsetParams* p) {
  WireWriter w;
  Error e = fill_body(p, w);
  return e == kCudaSuccess ? add(node, g, deps, n, w) : e;
}
FIEL_CUDART Error cudaGraphAddMemcpyNode(Handle* node, Handle g, const Handle* deps, size_t n,
                                         const Memcpy3DParms* p) {
  WireWriter w;
  Error e = copy_body(p, w);
  return e == kCudaSuccess ? add(node, g, deps, n, w) : e;
}
FIEL_CUDART Error cudaGraphAddMemcpyNode1D(Handle* node, Handle g, const Handle* deps, size_t n,
                                           void* to, const void* from, size_t count, int32_t kind) {
  WireWriter w;
  Error e = copy_body(to, count, from, count, count, 1, kind, w);
  return e == kCudaSuccess ? add(node, g, deps, n, w) : e;
}
FIEL_CUDART Error cudaGraphAddHostNode(Handle* node, Handle g, const Handle* deps, size_t n,
                                       const HostNodeParams* p) {
  return add(node, g, deps, n, host_body(p));
}
FIEL_CUDART Error cudaGraphAddEmptyNode(Handle* node, Handle g, const Handle* deps, size_t n) {
  return add(node, g, deps, n, node_header(NodeKind::empty));
}
FIEL_CUDART Error cudaGraphAddChildGraphNode(Handle* node, Handle g, const Handle* deps, size_t n,
                                             Handle child) {
  WireWriter w = node_header(NodeKind::child);
  w.put(child);
  return add(node, g, deps, n, w);
}
FIEL_CUDART Error cudaGraphAddDependencies(Handle g, const Handle* from, const Handle* to,
                                           const void*, size_t n) {
  WireWriter w;
  w.put(g).put(static_cast<uint32_t>(n));
  for (size_t i = 0; i < n; ++i) w.put(from[i]).put(to[i]);
  return call(Rt::graph_add_edges, w);
}
FIEL_CUDART Error cudaGraphKernelNodeSetParams(Handle node, const KernelNodeParams* p) {
  WireWriter w;
  Error e = kernel_body(p, w);
  return e == kCudaSuccess ? set_node(0, node, w) : e;
}
FIEL_CUDART Error cudaGraphExecKernelNodeSetParams(Handle exec, Handle node,
                                                   const KernelNodeParams* p) {
  WireWriter w;
  Error e = kernel_body(p, w);
  return e == kCudaSuccess ? set_node(exec, node, w) : e;
}
FIEL_CUDART Error cudaGraphExecMemcpyNodeSetParams1D(Handle exec, Handle node, void* to,
                                                     const void* from, size_t count, int32_t kind) {
  WireWriter w;
  Error e = copy_body(to, count, from, count, count, 1, kind, w);
  return e == kCudaSuccess ? set_node(exec, node, w) : e;
}
FIEL_CUDART Error cudaGraphExecMemsetNodeSetParams(Handle exec, Handle node,
                                                   const MemsetParams* p) {
  WireWriter w;
  Error e = fill_body(p, w);
  return e == kCudaSuccess ? set_node(exec, node, w) : e;
}
FIEL_CUDART Error cudaGraphExecHostNodeSetParams(Handle exec, Handle node,
                                                 const HostNodeParams* p) {
  return set_node(exec, node, host_body(p));
}
FIEL_CUDART Error cudaGraphGetNodes(Handle g, Handle* nodes, size_t* n) {
  return give_nodes(g, nodes, n, false);
}
FIEL_CUDART Error cudaGraphGetRootNodes(Handle g, Handle* nodes, size_t* n) {
  return give_nodes(g, nodes, n, true);
}

}  // namespace fiel::standin
