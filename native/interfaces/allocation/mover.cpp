// Interfaces `allocate`, `free`, `register`, `unregister`, `map-peer` and `open-ipc`: the cost of memory
// operations, timed by the host's clock. Preparing and undoing them happens before each batch and is not
// timed. Every step of a batch has its own memory. Of a pool the vendor's call alone is timed, which orders
// the step in a stream and returns: that is all a program waits for.
#include <algorithm>
#include <vector>

#include "interfaces/allocation/step.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

// Allocation or release of a device's memory.
class OwnMemory : public Step {
 public:
  OwnMemory(Session& session, const Flow& flow)
      : Step(session, flow),
        touched_(flow.word("touched", "no") == "yes"),
        keeps_(flow.word("pool", "empty") == "kept") {
    if (&owner() != flow.executor) refuse("memory is allocated and freed by the device that owns it");
    traits_.rotation = most_blocks();
    if (keeps_ && memory_ != Memory::pool) refuse("it comes from no pool that could keep any");
    if (in_order())
      traits_.engine_evidence =
          "one call of the vendor each, ordered in a stream; the stream is waited for untimed";
    if (keeps_) pools().keep(executor().ordinal, std::max(kMostBytes, most_blocks() * flow.size_bytes));
  }
  ~OwnMemory() override {
    blocks_.clear();
    try {
      settle();
      if (keeps_) pools().keep(executor().ordinal, 0);
    } catch (const std::exception&) {  // destructors never throw
    }
  }

 protected:
  bool in_order() const { return memory_ == Memory::pool; }
  MemoryPools& pools() const { return *executor().runtime->capability<MemoryPools>().object; }
  // Waits for allocations and releases that are ordered in a stream; untimed.
  void settle() const {
    if (in_order()) pools().settle(owner().ordinal);
  }
  std::unique_ptr<Allocation> block() const {
    auto made = in_order() ? pools().allocate_in_order(owner().ordinal, flow_.size_bytes)
                           : session_->bare_block(owner(), memory_, flow_.size_bytes);
    if (touched_) {
      settle();  // the kernel that touches it runs in another stream
      touch(made->data());
    }
    return made;
  }
  void touch(std::byte* data) const {
    if (owner().is_host()) return session_->host().touch(data, flow_.size_bytes);
    poison(*session_, owner(), data, flow_.size_bytes / kWord, kPageBytes / kWord);
    owner().runtime->synchronize(session_->service_stream(owner()));
  }

  std::vector<std::unique_ptr<Allocation>> blocks_;

 private:
  bool touched_, keeps_;
};

class Allocate final : public OwnMemory {
 public:
  using OwnMemory::OwnMemory;
  void restore() override {
    blocks_.clear();
    blocks_.reserve(most_blocks());
  }
  void enqueue(Stream&, std::uint64_t, std::uint64_t count) override {
    for (std::uint64_t k = 0; k < count; ++k) blocks_.push_back(block());
  }
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    settle();
    for (std::size_t k = 0; k < std::min<std::size_t>(kMostChecked, blocks_.size()); ++k) {
      std::byte* data = blocks_[blocks_.size() - 1 - k]->data();
      write(owner(), data);
      read(owner(), data, found);
    }
    return found;
  }
};

class Free final : public OwnMemory {
 public:
  using OwnMemory::OwnMemory;
  void restore() override {
    settle();
    while (blocks_.size() < most_blocks()) blocks_.push_back(block());
    settle();
  }
  void enqueue(Stream&, std::uint64_t, std::uint64_t count) override {
    const auto freed = std::min<std::size_t>(count, blocks_.size());
    if (in_order())
      for (std::size_t k = 0; k < freed; ++k)
        pools().free_in_order(std::move(blocks_[blocks_.size() - 1 - k]));
    blocks_.resize(blocks_.size() - freed);
  }
  // Freed memory cannot be checked: check that the rest still works.
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    settle();
    if (blocks_.empty()) return found;
    write(owner(), blocks_.front()->data());
    read(owner(), blocks_.front()->data(), found);
    return found;
  }
};

// Plain pages that a GPU's runtime locks and maps.
class Registering : public Step {
 public:
  Registering(Session& session, const Flow& flow)
      : Step(session, flow), touched_(flow.word("touched", "yes") == "yes") {
    traits_.rotation = most_blocks();
    if (!is_plain(memory_)) refuse("only plain pages are registered");
    if (executor().is_host()) refuse("a GPU's runtime registers memory");
  }

 protected:
  std::unique_ptr<Allocation> pages() const {
    const auto placed =
        session_->host().place_thread(owner().info.numa_domain);  // so that this thread is near the GPU
    auto made = session_->bare_block(owner(), memory_, flow_.size_bytes);
    if (touched_) session_->host().touch(made->data(), flow_.size_bytes);
    return made;
  }
  std::unique_ptr<Allocation> locked(std::unique_ptr<Allocation> pages) const {
    return executor().runtime->capability<PageLocking>()->lock(std::move(pages), executor().ordinal);
  }
  std::vector<std::unique_ptr<Allocation>> plain_, locked_;

 private:
  bool touched_;
};

class Register final : public Registering {
 public:
  using Registering::Registering;
  void restore() override {
    locked_.clear();
    while (plain_.size() < most_blocks()) plain_.push_back(pages());
  }
  void enqueue(Stream&, std::uint64_t, std::uint64_t count) override {
    for (std::uint64_t k = 0; k < count; ++k) {
      locked_.push_back(locked(std::move(plain_.back())));
      plain_.pop_back();
    }
  }
  // The GPU can access it, and the host sees what it wrote.
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    for (std::size_t k = 0; k < std::min<std::size_t>(kMostChecked, locked_.size()); ++k) {
      write(executor(), locked_[k]->data());
      read(owner(), locked_[k]->data(), found);
    }
    return found;
  }
};

class Unregister final : public Registering {
 public:
  using Registering::Registering;
  void restore() override {
    plain_.clear();
    while (locked_.size() < most_blocks()) {
      locked_.push_back(locked(pages()));
      if (locked_.size() + kMostChecked > most_blocks()) write(executor(), locked_.back()->data());
    }
  }
  void enqueue(Stream&, std::uint64_t, std::uint64_t count) override {
    for (std::uint64_t k = 0; k < count; ++k) {
      plain_.push_back(executor().runtime->capability<PageLocking>()->unlock(std::move(locked_.back())));
      locked_.pop_back();
    }
  }
  // The pages still exist, with what the GPU wrote.
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    for (std::size_t k = 0; k < std::min<std::size_t>(kMostChecked, plain_.size()); ++k)
      read(owner(), plain_[k]->data(), found);
    return found;
  }
};

// Access of one GPU to a block of another's memory. Peer access is switched for all memory of the other, so
// there is one step per batch.
class MapPeer final : public Step {
 public:
  MapPeer(Session& session, const Flow& flow) : Step(session, flow) {
    if (!is_device(memory_) || executor().is_host() || &owner() == flow.executor)
      refuse("one GPU is given access to another's memory");
    if (flow.size_bytes > flow.source->bytes())
      throw Error(flow.interface, "size", "larger than its buffer", executor().name());
    require_access(session, flow);  // report missing peer access before timing
  }
  ~MapPeer() override {
    try {
      open();                          // other code relies on it
    } catch (const std::exception&) {  // destructors never throw
    }
  }
  void restore() override {
    if (needs_grant(memory_))
      peers().revoke(flow_.source->allocation(), executor().ordinal);
    else
      peers().disable(executor().ordinal, owner().ordinal);
  }
  void enqueue(Stream&, std::uint64_t, std::uint64_t) override {
    const Availability opened = open();
    if (!opened.available) refuse(opened.reason);
  }
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    spoil_ends();  // otherwise the words of the previous sample would be accepted
    write(executor(), flow_.source->data());
    read(owner(), flow_.source->data(), found);
    return found;
  }

 private:
  void spoil_ends() const {
    for (const std::uint64_t offset : {std::uint64_t{0}, flow_.size_bytes - kWord})
      poison(*session_, owner(), flow_.source->data() + offset, 1, 1);
    owner().runtime->synchronize(session_->service_stream(owner()));
  }
  PeerAccess& peers() const { return *executor().runtime->capability<PeerAccess>().object; }
  Availability open() const {
    return needs_grant(memory_) ? peers().grant(flow_.source->allocation(), executor().ordinal)
                                : peers().enable(executor().ordinal, owner().ordinal);
  }
};

// A handle of another process's memory (option `handle`: its bytes in hexadecimal digits), which
// Session::allocate filled there. Opening it again before it is closed would only count references, so there
// is one step per batch.
class OpenIpc final : public Step {
 public:
  OpenIpc(Session& session, const Flow& flow) : Step(session, flow), handle_(flow.word("handle")) {
    if (handle_.empty()) refuse("no other process gave a handle of its memory");
  }
  void restore() override { opened_.reset(); }
  void enqueue(Stream&, std::uint64_t, std::uint64_t) override {
    opened_ =
        executor().runtime->capability<ProcessHandles>()->open(handle_, executor().ordinal, flow_.size_bytes);
  }
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    read(executor(), opened_->data(), 0, found);
    return found;
  }

 private:
  std::string handle_;
  std::unique_ptr<Allocation> opened_;
};

const RegisterInterface kAllocate("allocate", make<Allocate>);
const RegisterInterface kFree("free", make<Free>);
const RegisterInterface kRegister("register", make<Register>);
const RegisterInterface kUnregister("unregister", make<Unregister>);
const RegisterInterface kMapPeer("map-peer", make<MapPeer>);
const RegisterInterface kOpenIpc("open-ipc", make<OpenIpc>);

}  // namespace
}  // namespace byteways
