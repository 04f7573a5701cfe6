// Where a thread is: all indices and extents of a grid in three dimensions, lanes and their masks,
// a grid without clusters, and sizes of shared memory.
#define READ(name)                                        \
  {                                                       \
    unsigned v;                                           \
    asm volatile("mov.u32 %0, %%" name ";" : "=r"(v));    \
    to[n++] = v;                                          \
  }
extern "C" __global__ void indices(unsigned* y) {
  __shared__ volatile unsigned four[100];
  extern __shared__ unsigned dynamic[];
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  four[t] = t;
  if (t < 16) dynamic[t] = t;
  unsigned* to = y + 32 * (b * blockDim.x * blockDim.y * blockDim.z + t);
  int n = 0;
  READ("tid.x") READ("tid.y") READ("tid.z")
  READ("ntid.x") READ("ntid.y") READ("ntid.z")
  READ("ctaid.x") READ("ctaid.y") READ("ctaid.z")
  READ("nctaid.x") READ("nctaid.y") READ("nctaid.z")
  READ("laneid")
  READ("lanemask_eq") READ("lanemask_le") READ("lanemask_lt") READ("lanemask_ge") READ("lanemask_gt")
  READ("cluster_ctaid.x") READ("cluster_nctaid.x") READ("cluster_nctaid.y") READ("cluster_ctarank") READ("cluster_nctarank")
  READ("clusterid.x") READ("clusterid.y") READ("nclusterid.x") READ("nclusterid.z")
  READ("dynamic_smem_size")
  READ("total_smem_size") READ("aggr_smem_size")
  to[n++] = four[t] + warpSize;
}
