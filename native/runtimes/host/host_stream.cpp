// See host_stream.hpp.
#include "runtimes/host/host_stream.hpp"

#include <utility>

#include "core/cpus.hpp"
#include "runtimes/factories.hpp"

namespace byteways {

HostStream::HostStream(CorePool& cores, int cpu)
    : cores_(&cores), cpu_(cpu), team_(cores), thread_([this] { serve(); }) {}

HostStream::~HostStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void HostStream::enqueue(std::function<void()> task) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake = sleeping_;
  }
  if (wake) changed_.notify_one();
}

std::shared_ptr<Passing> HostStream::enqueue_passing() {
  auto passing = std::make_shared<Passing>();
  enqueue([this, passing] {
    passing->error = error_;
    passing->time = host_clock().now();
    passing->passed.store(1, std::memory_order_release);
    passing->passed.notify_all();
  });
  return passing;
}

void HostStream::synchronize() {
  const auto passing = enqueue_passing();
  enqueue([this] { error_ = nullptr; });  // reported here; makes the stream usable again
  passing->wait();
  if (passing->error) std::rethrow_exception(passing->error);
}

void HostStream::serve() {
  bind_this_thread(cpu_ < 0 ? cores_->cpus() : std::vector<int>{cpu_});
  std::deque<std::function<void()>> batch;  // taken all at once, to lock once for many tasks
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      sleeping_ = true;
      changed_.wait(lock, [&] { return !tasks_.empty() || stopping_; });
      sleeping_ = false;
      if (tasks_.empty()) return;
      batch.swap(tasks_);
    }
    for (; !batch.empty(); batch.pop_front()) perform(batch.front());
  }
}

void HostStream::perform(const std::function<void()>& task) {
  try {
    task();
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace byteways
