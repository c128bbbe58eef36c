// See team.hpp.
#include "runtimes/host/team.hpp"

#include "core/cpus.hpp"
#include "core/error.hpp"

namespace byteways {

CoreTeam::~CoreTeam() {
  stopping_.store(true);
  for (const auto& helper : helpers_) {
    helper->expected.fetch_add(1);
    helper->expected.notify_one();
  }
  for (const auto& helper : helpers_) {
    helper->thread.join();
    cores_->give_back(helper->cpu);
  }
  if (own_cpu_ >= 0) cores_->give_back(own_cpu_);
}

void CoreTeam::expect(unsigned size, unsigned launches) {
  if (launches == 0) return;
  const std::lock_guard lock(mutex_);
  while (helpers_.size() + 1 < size) add_helper();
  for (unsigned rank = 1; rank < size; ++rank) {
    std::atomic<unsigned>& expected = helpers_[rank - 1]->expected;
    if (expected.fetch_add(launches, std::memory_order_release) == 0) expected.notify_one();
  }
}

void CoreTeam::run(unsigned size, HostFunction function, const void* arguments) {
  take_core(size > 1);
  if (size <= 1) {
    function(arguments, {});
    return;
  }
  const Job job{function, arguments, size};
  std::vector<Helper*> helpers;
  {
    const std::lock_guard lock(mutex_);
    for (unsigned rank = 1; rank < size; ++rank) helpers.push_back(helpers_.at(rank - 1).get());
  }
  for (const Helper* helper : helpers)
    if (helper->expected.load(std::memory_order_relaxed) == 0)
      throw Error("launch", "team", "a launch that was not expected");
  taken_.store(0, std::memory_order_relaxed);
  for (Helper* helper : helpers) helper->job.store(&job, std::memory_order_release);
  function(arguments, {0, size, &barrier_, &results_, &taken_});
  barrier_.wait(size);
  for (Helper* helper : helpers) helper->expected.fetch_sub(1, std::memory_order_relaxed);
}

void CoreTeam::add_helper() {
  auto helper = std::make_unique<Helper>();
  const auto rank = static_cast<unsigned>(helpers_.size() + 1);
  // Member 0 takes its core first, so that a team fills the cores in order.
  if (own_cpu_ < 0) own_cpu_ = cores_->take();
  helper->cpu = cores_->take();
  try {
    helper->thread = std::thread([this, rank, &helper = *helper] { serve(helper, rank); });
  } catch (...) {
    cores_->give_back(helper->cpu);
    throw;
  }
  helpers_.push_back(std::move(helper));
}

void CoreTeam::serve(Helper& helper, unsigned rank) {
  bind_this_thread({helper.cpu});
  for (;;) {
    helper.expected.wait(0, std::memory_order_acquire);
    if (stopping_.load()) return;
    const Job* job = nullptr;
    spin_until([&] {
      job = helper.job.load(std::memory_order_acquire);
      return job != nullptr || helper.expected.load(std::memory_order_relaxed) == 0 || stopping_.load();
    });
    if (job == nullptr) continue;
    helper.job.store(nullptr, std::memory_order_relaxed);
    const unsigned size = job->size;  // the job is destroyed once the last member arrives
    job->function(job->arguments, {rank, size, &barrier_, &results_, &taken_});
    barrier_.wait(size);
  }
}

// A single thread may use any core of the domain, so that a busy core does not delay it; in a team every
// member has its own core.
void CoreTeam::take_core(bool with_others) {
  if (with_others == on_own_cpu_) return;
  bind_this_thread(with_others ? std::vector<int>{own_cpu_} : cores_->cpus());
  on_own_cpu_ = with_others;
}

}  // namespace byteways
