// Interface `cold-load`: all that it takes to get data into new memory of a GPU, timed as one operation by
// the host's clock. It allocates memory of the GPU and of the host, writes the host's pages once where they
// are ordinary ones, reads the data into them by all cores, registers them if the memory kind says so, copies
// them to the GPU and waits. The data are in ordinary memory of the same NUMA domain, as files in the page
// cache.
#include <vector>

#include "interfaces/allocation/step.hpp"
#include "interfaces/kernel_copy/arguments.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

class ColdLoad final : public Step {
 public:
  ColdLoad(Session& session, const Flow& flow)
      : Step(session, flow), pages_(memory_ == Memory::registered ? Memory::pageable : memory_) {
    if (executor().is_host()) refuse("data are loaded into a GPU");
    if (!owner().is_host()) refuse("data are loaded through memory of the host");
    traits_.rotation = most_blocks();
    traits_.engine_evidence = "calls and copies of this process, one after the other";
    read_ = require_kernel(flow, owner(), "memcpy");
    const auto cores = static_cast<unsigned>(std::max(1, owner().info.multiprocessors));
    team_ = {std::min(cores, kMostTeam), 1, 0};
    const auto placed = near();
    data_ = session.bare_block(owner(), Memory::pageable, flow.size_bytes);
    session.host().touch(data_->data(), flow.size_bytes);
  }

  void prepare(std::uint64_t key) override {
    Step::prepare(key);
    fill(*session_, owner(), data_->data(), flow_.size_bytes / kWord, key);
    owner().runtime->synchronize(session_->service_stream(owner()));
  }

  // New memory may be what the last batch had, with its data: these are spoiled before it is released.
  void restore() override {
    for (const Loaded& one : loaded_)
      poison(*session_, executor(), one.on_gpu->data(), flow_.size_bytes / kWord, kSpoilStrideWords);
    if (!loaded_.empty()) executor().runtime->synchronize(session_->service_stream(executor()));
    loaded_.clear();
    loaded_.reserve(most_blocks());
  }

  void enqueue(Stream&, std::uint64_t, std::uint64_t count) override {
    for (std::uint64_t k = 0; k < count; ++k) loaded_.push_back(load());
  }

  Verification verify(std::uint64_t, std::uint64_t count) override {
    Verification found;
    for (std::size_t k = 0; k < std::min<std::size_t>(count, loaded_.size()); ++k) {
      std::byte* data = loaded_[loaded_.size() - 1 - k].on_gpu->data();
      found.note(check(*session_, executor(), data, flow_.size_bytes / kWord, key_), 0);
      found.checked_bytes += flow_.size_bytes;
    }
    return found;
  }

 private:
  struct Loaded {
    std::unique_ptr<Allocation> on_gpu, on_host;
  };

  // The pages that this thread writes first are those of the owner.
  std::shared_ptr<void> near() const { return session_->host().place_thread(owner().info.numa_domain); }

  Loaded load() const {
    const auto placed = near();
    Loaded made{session_->bare_block(executor(), Memory::device, flow_.size_bytes),
                session_->bare_block(owner(), pages_, flow_.size_bytes)};
    if (is_plain(pages_)) session_->host().touch(made.on_host->data(), flow_.size_bytes);
    read(made.on_host->data());
    if (memory_ == Memory::registered)
      made.on_host =
          executor().runtime->capability<PageLocking>()->lock(std::move(made.on_host), executor().ordinal);
    Stream& stream = session_->service_stream(executor());
    executor().runtime->copy(made.on_gpu->data(), made.on_host->data(), flow_.size_bytes, stream);
    executor().runtime->synchronize(stream);
    return made;
  }

  void read(std::byte* into) const {
    Stream& stream = session_->service_stream(owner());
    const CopyArguments arguments{.source = data_->data(),
                                  .destination = into,
                                  .bytes = flow_.size_bytes,
                                  .source_slots = 1,
                                  .destination_slots = 1,
                                  .operations = 1};
    owner().runtime->launch(owner().ordinal, read_, team_, &arguments, sizeof arguments, stream);
    owner().runtime->synchronize(stream);
  }

  Memory pages_;
  PreparedKernel read_;
  LaunchShape team_;
  std::unique_ptr<Allocation> data_;
  std::vector<Loaded> loaded_;
};

const RegisterInterface kColdLoad("cold-load", make<ColdLoad>);

}  // namespace
}  // namespace byteways
