// Twin of T02: a worker lives from call to call, sleeping between them. Each call waits for its own job.
#include <fiel/kernel.h>

#include <future>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

__global__ void gelu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.f + erff(x[i] * 0.70710678f));
}

struct Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::packaged_task<int()>> jobs;

  Worker() { std::thread([this] { run(); }).detach(); }
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [this] { return !jobs.empty(); });
      std::packaged_task<int()> job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
    }
  }
  std::future<int> add(std::packaged_task<int()> job) {
    std::future<int> done = job.get_future();
    std::lock_guard<std::mutex> lock(mutex);
    jobs.push_back(std::move(job));
    changed.notify_one();
    return done;
  }
};

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static Worker& worker = *new Worker;  // outlives the program's end on purpose
  std::packaged_task<int()> job([=] {
    gelu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
    return (int)cudaGetLastError();
  });
  return worker.add(std::move(job)).get();
}
