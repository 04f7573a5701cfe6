// What ldmatrix, stmatrix and movmatrix move, each form beside its .trans twin.
#include <cstdint>

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
constexpr int kPitch = 24;  // halves a row: eight of them and room, so that no row follows the last

// Four matrices of 8 x 8 halves; y has 14 words a lane.
extern "C" __global__ void loads(const uint16_t* x, uint32_t* y) {
  __shared__ __align__(16) uint16_t rows[32 * kPitch];
  const int lane = threadIdx.x;
  for (int c = 0; c < 8; ++c) rows[lane * kPitch + c] = x[lane * 8 + c];
  __syncwarp();
  const uint32_t at = shared_address(rows + lane * kPitch);
  uint32_t r[14];
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[1]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[2]), "=r"(r[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[4]), "=r"(r[5]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[6]), "=r"(r[7]), "=r"(r[8]), "=r"(r[9]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]) : "r"(at));
  for (int i = 0; i < 14; ++i) y[i * 32 + lane] = r[i];
}

// Register i of lane l holds the halves 64 i + 2 l and the next; y has the 14 matrices as they lie.
extern "C" __global__ void stores(uint16_t* y) {
  __shared__ __align__(16) uint16_t rows[14 * 8 * kPitch];
  const int lane = threadIdx.x;
  uint32_t r[4];
  for (uint32_t i = 0; i < 4; ++i) r[i] = (64 * i + 2 * lane) | (64 * i + 2 * lane + 1) << 16;
  const uint32_t at = shared_address(rows + lane * kPitch), matrix = 8 * kPitch * 2;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               ::"r"(lane < 8 ? at : 0), "r"(r[0]) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               ::"r"(lane < 8 ? at + matrix : 0), "r"(r[0]) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};"
               ::"r"(lane < 16 ? at + 2 * matrix : 0), "r"(r[0]), "r"(r[1]) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};"
               ::"r"(lane < 16 ? at + 4 * matrix : 0), "r"(r[0]), "r"(r[1]) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
               ::"r"(at + 6 * matrix), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
               ::"r"(at + 10 * matrix), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
  __syncwarp();
  for (int i = lane; i < 14 * 64; i += 32) y[i] = rows[i / 8 * kPitch + i % 8];
}

extern "C" __global__ void moves(const uint32_t* x, uint32_t* y) {
  uint32_t d;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(x[threadIdx.x]));
  y[threadIdx.x] = d;
}
