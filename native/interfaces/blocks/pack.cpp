// Interface `pack-blocks`: CPU threads pack scattered blocks into page-locked memory, one copy moves them,
// and a kernel scatters them; or the other way round. Parts of the blocks follow each other, so that threads,
// copies and kernels work at the same time.
#include <algorithm>
#include <array>

#include "interfaces/blocks/blocks_kernel.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kPartBytes = 4 << 20;

class PackBlocks final : public BlocksMover {
 public:
  PackBlocks(Session& session, const Flow& flow)
      : BlocksMover(session, flow, false),
        loads_(flow.source->device().is_host()),
        host_(loads_ ? flow.source->device() : flow.destination->device()) {
    Buffer& near = loads_ ? *flow.destination : *flow.source;
    if (executor().is_host() || near.device().is_host() || !host_.is_host())
      refuse("blocks are packed between memory of the host and of a GPU, which executes");
    const Memory memory = (loads_ ? flow.source : flow.destination)->allocation().memory();
    if (is_managed(memory) || is_managed(near.allocation().memory()))
      refuse("managed pages would migrate to the threads that pack them");
    session.open_to(executor(), near);
    const std::string scattered = flow.word("scattered", "both");
    packs_ = scattered != (loads_ ? "destination" : "source") || is_plain(memory);
    scatters_ = scattered != (loads_ ? "source" : "destination");
    of_a_part_ = std::clamp<std::uint64_t>(kPartBytes / layout_.block_bytes(), 1,
                                           std::min<std::uint64_t>(layout_.blocks(), kMostListedBlocks));
    make_parts();
    prepare_threads(flow);
    if (scatters_) prepare_kernel(flow);
    describe();
  }

 private:
  // Staging memory for some of the blocks.
  struct Part {
    std::unique_ptr<Allocation> host, device;
    std::unique_ptr<Event> copied;
    std::uint64_t operation = 0, first = 0, blocks = 0;
    bool in_flight = false;
  };

  [[noreturn]] void refuse(const std::string& why) const {
    throw Unsupported(flow_.interface, "buffers", why, executor().name());
  }

  void make_parts() {
    const std::uint64_t bytes = of_a_part_ * layout_.block_bytes();
    Runtime& runtime = *executor().runtime;
    for (Part& part : parts_) {
      if (packs_)
        part.host = runtime.allocate(Memory::pinned, executor().ordinal, bytes, host_.info.numa_domain);
      if (scatters_) part.device = runtime.allocate(Memory::device, executor().ordinal, bytes, -1);
      part.copied = runtime.create_event(executor().ordinal);
    }
  }

  void prepare_threads(const Flow& flow) {
    if (!packs_) return;
    const auto cores = static_cast<unsigned>(std::max(1, host_.info.multiprocessors));
    team_ = {flow.count("threads", cores, kMostTeam), 1, 0};
    pack_ = require_kernel(flow, host_, "memcpy_blocks");
    threads_ = host_.runtime->create_stream(host_.ordinal);
    pairs_.resize(of_a_part_);
  }

  void prepare_kernel(Flow flow) {
    flow.options.erase("threads");  // those of the CPU
    const std::uint64_t all = addresses() | reinterpret_cast<std::uintptr_t>(parts_[0].device->data()) |
                              reinterpret_cast<std::uintptr_t>(parts_[1].device->data()) |
                              layout_.block_bytes();
    kernel_ = BlocksKernel(flow, layout_.block_bytes(), of_a_part_, all);
    ring_ = std::make_unique<ListRing>(executor(), of_a_part_);
    traits_.shape = kernel_.shape();
  }

  void describe() {
    traits_.synchronous = true;
    traits_.entries_per_operation = 0;
    traits_.entries_per_batch = 1;
    traits_.concurrency_obstacle = "its CPU threads are waited for";
    traits_.engine = packs_ ? "cpu + kernel" : "kernel";
    if (!scatters_) traits_.engine = packs_ ? "cpu" : "copy-engine";
    traits_.engine_evidence = std::string("the vendor's copy call") +
                              (packs_ ? ", own threads that pack or unpack" : "") +
                              (scatters_ ? ", an own kernel that scatters or gathers" : "");
  }

  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    for (std::uint64_t k = first; k < first + count; ++k) {
      for (std::uint64_t block = 0, turn = 0; block < layout_.blocks(); block += of_a_part_, ++turn) {
        Part& part = parts_[turn % parts_.size()];
        finish(part);
        part.operation = k;
        part.first = block;
        part.blocks = std::min(of_a_part_, layout_.blocks() - block);
        loads_ ? load(stream, part) : unload(stream, part);
        part.in_flight = true;
        if (!loads_) finish(parts_[(turn + 1) % parts_.size()]);  // the one before, while this one moves
      }
      for (Part& part : parts_) finish(part);
      executor().runtime->synchronize(stream);
    }
  }

  // Waits until the part's memory of the host has been read or written, and unpacks what was.
  void finish(Part& part) {
    if (!part.in_flight) return;
    part.in_flight = false;
    executor().runtime->synchronize(*part.copied);
    if (!loads_ && packs_) by_threads(part);
  }

  void load(Stream& stream, Part& part) {
    if (packs_) by_threads(part);
    copy(stream, part);
    if (scatters_) by_kernel(stream, part);
  }

  void unload(Stream& stream, Part& part) {
    if (scatters_) by_kernel(stream, part);
    copy(stream, part);
  }

  // The contiguous bytes of a part, from one side's memory or staging to the other's.
  void copy(Stream& stream, Part& part) {
    const std::byte* source = source_slot(part.operation) + layout_.sources[part.first];
    std::byte* destination = destination_slot(part.operation) + layout_.destinations[part.first];
    if (loads_ ? packs_ : scatters_) source = (loads_ ? part.host : part.device)->data();
    if (loads_ ? scatters_ : packs_) destination = (loads_ ? part.device : part.host)->data();
    executor().runtime->copy(destination, source, part.blocks * layout_.block_bytes(), stream);
    executor().runtime->record(*part.copied, stream);
  }

  // A list between the blocks of one side, of the sources or of the destinations, and staging memory.
  void write_pairs(BlockPair* list, const Part& part, std::byte* staging, bool of_sources) {
    write_list(list, part.operation, part.first, part.blocks);
    for (std::uint64_t k = 0; k < part.blocks; ++k) {
      std::byte* place = staging + k * layout_.block_bytes();
      if (of_sources)
        list[k].destination = place;
      else
        list[k].source = place;
    }
  }

  void by_threads(const Part& part) {
    write_pairs(pairs_.data(), part, part.host->data(), loads_);
    const MemcpyBlocksArguments arguments{pairs_.data(), part.blocks, layout_.block_bytes(), 1, 0, 0, 1};
    host_.runtime->launch(host_.ordinal, pack_, team_, &arguments, sizeof arguments, *threads_);
    host_.runtime->synchronize(*threads_);
  }

  void by_kernel(Stream& stream, const Part& part) {
    BlockPair* list = ring_->next();
    write_pairs(list, part, part.device->data(), !loads_);
    kernel_.launch(executor(), stream, list, part.blocks);
    ring_->launched(stream);
  }

  bool loads_;  // from the host to the GPU
  Device& host_;
  bool packs_ = true, scatters_ = true;  // whether the host's side, and the GPU's, is not contiguous
  std::uint64_t of_a_part_ = 0;          // blocks
  std::array<Part, 2> parts_;
  LaunchShape team_;
  PreparedKernel pack_;
  std::unique_ptr<Stream> threads_;
  std::vector<BlockPair> pairs_;
  BlocksKernel kernel_;
  std::unique_ptr<ListRing> ring_;
};

const RegisterInterface kPackBlocks("pack-blocks", make<PackBlocks>);

}  // namespace
}  // namespace byteways
