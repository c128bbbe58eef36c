// See kernels.hpp.
#include "copy_library/kernels.hpp"

#include <algorithm>
#include <numeric>

#include "copy_library/byteways_copy.h"
#include "copy_library/thread_state.hpp"
#include "interfaces/blocks/divisor.hpp"
#include "interfaces/kernel_copy/bulk_numbers.hpp"

namespace byteways::copy_library {
namespace {

// A simulated machine reads memory below 1 MiB that the host has written.
constexpr std::size_t kChunkBytes = (1 << 20) - 4096;
// Blocks of different sizes are moved in pieces of their greatest common divisor, if these are no smaller,
// and no more than so many a block: more addresses take longer to read than they save.
constexpr std::size_t kLeastPieceBytes = 512, kMostPieces = 8;

// The bytes of the pieces; 0: the sizes have no useful divisor.
std::size_t piece_of(const NonEmpty& blocks, const Survey& seen) {
  if (seen.uniform) return seen.largest;
  std::size_t piece = 0;
  for (std::size_t k = 0; k < blocks.count; ++k) piece = std::gcd(piece, blocks.bytes(k));
  const bool few = piece != 0 && seen.total_bytes / piece <= kMostPieces * blocks.count;
  return few && piece >= kLeastPieceBytes ? piece : 0;
}

}  // namespace

std::unique_ptr<Kernels> Kernels::open(const Driver& driver, int gpu, std::string& reason) {
  const std::string image = driver.image_of(KernelFile::loads, reason);
  if (image.empty()) return nullptr;
  std::unique_ptr<Kernels> made(new Kernels(driver, gpu));
  int code = driver.load_module(&made->module_, image.data());
  if (code == 0) code = driver.get_kernel(&made->covering_, made->module_, "copy_blocks");
  if (code == 0) code = driver.get_kernel(&made->resident_, made->module_, "copy_blocks_resident");
  if (code == 0) code = driver.most_shared_bytes(&made->most_shared_bytes_);
  if (code == 0) code = made->allocate();
  std::string no_bulk;
  const std::string bulk = code == 0 ? driver.image_of(KernelFile::bulk, no_bulk) : std::string();
  if (!bulk.empty() && driver.load_module(&made->bulk_module_, bulk.data()) == 0)
    driver.get_kernel(&made->bulk_, made->bulk_module_, "copy_blocks_bulk");
  if (code == 0) return made;
  reason = driver.error_text(code);
  return nullptr;
}

int Kernels::allocate() {
  for (void*& chunk : memory_)
    if (const int code = driver_->allocate_pinned(&chunk, kChunkBytes)) return code;
  for (Lease& lease : leases_)
    if (const int code = driver_->create_event(&lease.event, false)) return code;
  return 0;
}

// All is given back when no kernel runs any more, but for those of graphs, which the program has destroyed.
Kernels::~Kernels() {
  bool all_done = std::none_of(lost_.begin(), lost_.end(), [](bool lost) { return lost; });
  for (std::size_t k = 0; k < used_; ++k)
    all_done &= lease(k).state == Lease::State::recorded && driver_->synchronize_event(lease(k).event) == 0;
  for (const Module module : {module_, bulk_module_})
    if (module != nullptr && all_done) driver_->unload_module(module);
  for (void* chunk : memory_)
    if (chunk != nullptr) driver_->free_pinned(chunk);
  for (const Lease& lease : leases_)
    if (lease.event != nullptr) driver_->destroy_event(lease.event);
}

void Kernels::forget() {
  module_ = bulk_module_ = nullptr;
  memory_.fill(nullptr);
  leases_.fill({});
  used_ = 0;
}

bool Kernels::has_room_for_graph(const NonEmpty& blocks, const Survey& seen) {
  const std::size_t piece = piece_of(blocks, seen);
  const std::lock_guard lock(mutex_);
  return piece != 0 && of_graphs_ + seen.total_bytes / piece * sizeof(BlockPair) <= kChunkBytes;
}

// Gives back what has been read, the oldest first. Nothing is waited for.
void Kernels::reclaim() {
  for (; used_ != 0; first_ = (first_ + 1) % kLeases, --used_) {
    const Lease& oldest = lease(0);
    if (oldest.state == Lease::State::taken) return;
    if (oldest.state == Lease::State::recorded && driver_->query(oldest.event) != 0) return;
  }
}

bool Kernels::is_free(std::size_t chunk, std::size_t begin, std::size_t end) {
  if (lost_[chunk] || end > kChunkBytes) return false;
  for (std::size_t k = 0; k < used_; ++k)
    if (lease(k).chunk == chunk && lease(k).begin < end && begin < lease(k).end) return false;
  return true;
}

bool Kernels::take(std::size_t blocks, bool for_ever, Part& part) {
  const std::size_t bytes = blocks * sizeof(BlockPair);
  part = {nullptr, nullptr, blocks};
  if (for_ever) {
    if (of_graphs_ + bytes > kChunkBytes) return false;
    part.list = reinterpret_cast<BlockPair*>(static_cast<std::byte*>(memory_[kChunks]) + of_graphs_);
    of_graphs_ += bytes;
    return true;
  }
  reclaim();
  if (used_ == kLeases) return false;
  for (std::size_t left = kChunks; left != 0 && (lost_[chunk_] || at_ + bytes > kChunkBytes); --left) {
    chunk_ = (chunk_ + 1) % kChunks;
    at_ = 0;
  }
  if (!is_free(chunk_, at_, at_ + bytes)) return false;
  Lease& taken = lease(used_++);
  taken = {chunk_, at_, at_ + bytes, taken.event, Lease::State::taken};
  part.lease = &taken;
  part.list = reinterpret_cast<BlockPair*>(static_cast<std::byte*>(memory_[chunk_]) + at_);
  at_ += bytes;
  return true;
}

// Lists for all blocks, or none.
bool Kernels::take_all(std::vector<Part>& parts, std::size_t blocks, std::size_t most, bool for_ever) {
  const std::lock_guard lock(mutex_);
  const std::size_t before = of_graphs_;
  parts.clear();
  parts.reserve((blocks + most - 1) / most);  // no exception once a list is taken
  while (blocks != 0) {
    Part part;
    if (!take(std::min(blocks, most), for_ever, part)) {
      of_graphs_ = before;
      if (!for_ever) used_ -= parts.size();
      return false;
    }
    blocks -= part.blocks;
    parts.push_back(part);
  }
  return true;
}

void Kernels::write(const std::vector<Part>& parts, const NonEmpty& blocks, const Survey& seen,
                    std::size_t piece_bytes) {
  if (parts.size() == 1 && seen.uniform) {  // each block is one piece
    BlockPair* list = parts[0].list;
    for (std::size_t k = 0; k < blocks.count; ++k) list[k] = {blocks.from[k], blocks.to[k]};
    return;
  }
  std::size_t part = 0, at = 0;
  for (std::size_t k = 0; k < blocks.count; ++k) {
    const auto* from = static_cast<const std::byte*>(blocks.from[k]);
    auto* to = static_cast<std::byte*>(blocks.to[k]);
    for (std::size_t done = 0; done < blocks.bytes(k); done += piece_bytes) {
      if (at == parts[part].blocks) {
        ++part;
        at = 0;
      }
      parts[part].list[at++] = {from + done, to + done};
    }
  }
}

// As interface `bulk-blocks` launches them.
int Kernels::launch_bulk(const Part& part, std::size_t piece_bytes, Stream stream, const Grid& grid) const {
  const BulkNumbers numbers =
      bulk_numbers(grid.blocks, grid.chunk_bytes, grid.stages, part.blocks, piece_bytes);
  const std::uint64_t shared_bytes = numbers.shared_bytes(kBulkPairsBytes);
  if (shared_bytes > most_shared_bytes_) return kNotLaunched;
  BulkBlocksArguments arguments{};
  arguments.list = part.list;
  arguments.block_bytes = piece_bytes;
  arguments.chunks = static_cast<unsigned>(numbers.chunks);
  arguments.per_block = static_cast<unsigned>(numbers.piece_chunks);
  arguments.chunk_bytes = numbers.chunk_bytes;
  arguments.stages = numbers.stages;
  set_divisor(arguments);
  void* parameters[] = {&arguments};
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(numbers.blocks, numbers.chunks));
  return driver_->launch(bulk_, blocks, kBulkThreads, static_cast<unsigned>(shared_bytes), stream,
                         parameters);
}

// As interface `kernel-blocks` launches them.
int Kernels::launch(const Part& part, std::size_t piece_bytes, Stream stream, const Grid& grid) const {
  BlocksArguments arguments{};
  arguments.list = part.list;
  arguments.access_bytes = kAccessBytes;
  arguments.per_block = static_cast<unsigned>(piece_bytes / kAccessBytes);
  arguments.accesses = static_cast<unsigned>(part.blocks * arguments.per_block);
  set_divisor(arguments);
  const bool covers = grid.blocks == 0;
  const unsigned usual = covers ? kCoverThreads : kBlockThreads;
  const unsigned threads = grid.threads == 0 ? usual : std::min(grid.threads, kBlockThreads);
  const unsigned tile = threads * (covers ? kTileAccesses : kCopyInFlight);
  const unsigned tiles = (arguments.accesses + tile - 1) / tile;
  const unsigned shared_bytes = (covers ? 1 : 2) * threads * static_cast<unsigned>(sizeof(BlockPair));
  void* parameters[] = {&arguments};
  return driver_->launch(covers ? covering_ : resident_, covers ? tiles : std::min(grid.blocks, tiles),
                         threads, shared_bytes, stream, parameters);
}

Kernels::Outcome Kernels::enqueue(const Copy& copy, const Grid& grid, int* code) {
  std::vector<Part>& parts = of_this_thread<Parts>().list;
  const std::size_t piece = piece_of(copy.blocks, copy.seen);
  if (piece == 0 || piece / kAccessBytes > kMostBlockAccesses) return Outcome::failed;
  const std::size_t most =
      std::min<std::size_t>(kMostListedBlocks, kMostBlockAccesses / (piece / kAccessBytes));
  const Current current(*driver_, gpu_);
  if (current.failed() != 0) return Outcome::failed;
  if (!take_all(parts, copy.seen.total_bytes / piece, most, copy.capturing)) return Outcome::busy;
  write(parts, copy.blocks, copy.seen, piece);
  std::size_t launched = 0;
  for (const Part& part : parts) {
    if (*code == 0)
      *code = grid.method == BW_METHOD_BULK ? launch_bulk(part, piece, copy.stream, grid)
                                            : launch(part, piece, copy.stream, grid);
    launched += *code == 0 ? 1 : 0;
    if (part.lease == nullptr) continue;
    // Without the event nobody knows when the list has been read: its memory is not written again. The event
    // of a list that no kernel reads has happened.
    const bool known = *code != 0 || driver_->record(part.lease->event, copy.stream) == 0;
    const std::lock_guard lock(mutex_);
    part.lease->state = known ? Lease::State::recorded : Lease::State::lost;
    lost_[part.lease->chunk] |= !known;
  }
  return launched == 0 ? Outcome::failed : Outcome::done;
}

}  // namespace byteways::copy_library
