// The simulated machine's memory: allocation cost, location, and access. See world.hpp.
#include <algorithm>

#include "simulator/engine/thread_state.hpp"
#include "simulator/machine/world.hpp"

namespace byteways::sim {

void* World::allocate(Place owner, Kind kind, std::uint64_t bytes) {
  Lock lock = enter(model_.calls.enqueue_ns);
  const std::int64_t start = time_.now() / 1000;
  if (bytes == 0) throw Failure(Code::invalid, "a block of 0 bytes was asked for");
  devices_.check(owner);
  if (kind == Kind::pool) {
    const std::uint64_t fresh = accounting_.take_from_pool(owner.index, bytes);
    if (fresh > 0) time_.enter(lock, allocation_cost_.allocate_ns(kind, fresh));
  } else {
    accounting_.take(owner, bytes);
    time_.enter(lock, allocation_cost_.allocate_ns(kind, bytes));
  }
  Block& block = memory_.allocate(owner, kind, bytes);
  block.touched = !is_managed(kind);
  if (observer_ != nullptr) observer_->allocated(owner, block.data, bytes, start, time_.now() / 1000);
  return block.data;
}

void World::release(void* data) {
  Lock lock(mutex_);
  devices_.check(known(data).owner);
  wait_for_all(lock);
  const Block& block = known(data);
  if (block.physical != 0) throw Failure(Code::invalid, "something is still mapped there");
  const Place owner = block.owner;
  const Kind kind = block.kind;
  const std::int64_t start = time_.now() / 1000;
  const std::uint64_t bytes = block.bytes;
  const bool touched = block.touched;
  memory_.release(data);
  std::uint64_t given = bytes;
  if (kind == Kind::pool)
    given = accounting_.give_to_pool(owner.index, bytes);
  else if (kind != Kind::vmm)
    accounting_.give_back(owner, bytes);
  if (kind != Kind::vmm && given > 0) time_.enter(lock, allocation_cost_.free_ns(kind, given, touched));
  if (observer_ != nullptr) observer_->released(owner, data, start, time_.now() / 1000);
}

void World::set_kind(void* data, Kind kind) {
  Lock lock(mutex_);
  Block& block = known(data);
  if (kind == Kind::registered && block.kind != Kind::registered) {
    time_.enter(lock, allocation_cost_.lock_ns(block.bytes, block.kind, block.touched));
    block.touched = true;
  } else if (block.kind == Kind::registered) {
    time_.enter(lock, allocation_cost_.unlock_ns(block.bytes));
  }
  known(data).kind = kind;
}

bool World::register_own(void* data, std::uint64_t bytes, Place owner) {
  {
    const std::lock_guard lock(mutex_);
    if (!memory_.all_real() || memory_.find(data) != nullptr) return false;
    memory_.adopt(data, bytes, owner);
  }
  set_kind(data, Kind::registered);
  return true;
}

bool World::unregister_own(void* data) {
  {
    const std::lock_guard lock(mutex_);
    const Block* block = memory_.find(data);
    if (block == nullptr || block->reserved_bytes != 0 || block->kind != Kind::registered) return false;
  }
  set_kind(data, Kind::pageable);
  Lock lock(mutex_);
  wait_for_all(lock);
  memory_.release(data);
  return true;
}

Kind World::kind_of(const void* data) {
  const std::lock_guard lock(mutex_);
  return known(data).kind;
}

std::optional<World::Extent> World::extent_of(const void* data) {
  const std::lock_guard lock(mutex_);
  const Block* block = memory_.find(data);
  if (block == nullptr) return std::nullopt;
  return Extent{block->data, block->bytes, block->kind, block->owner, block->number};
}

Place World::owner_of(const void* data) {
  const std::lock_guard lock(mutex_);
  if (memory_.all_real() && memory_.find(data) == nullptr) return {Place::Kind::cpu, 0};
  Block& block = known(data);
  return place_of(block, static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - block.data));
}

std::map<int, std::uint64_t> World::placement(const void* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Block& block = known(data);
  if (!block.touched) return {};
  const auto first = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - block.data);
  std::map<int, std::uint64_t> pages;
  for (const auto& [place, held] : bytes_by_place(block, first, first + bytes)) {
    // For the operating system, memory that a GPU shares with a domain belongs to the domain.
    const bool on_host =
        place.kind == Place::Kind::cpu || (model_.host_access && place.index < model_.cpu.domains);
    if (on_host || model_.gpu_domains)
      pages[on_host ? place.index : model_.memory_domain(place.index)] +=
          (held + kPageBytes - 1) / kPageBytes;
  }
  return pages;
}

std::optional<Place> World::last_prefetch(const void* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Range range = range_of_call(data, bytes);
  if (!is_managed(range.block->kind)) throw Failure(Code::invalid, "only managed memory is prefetched");
  return sim::last_prefetch(*range.block, range.begin * kWordBytes, range.end_byte());
}

void World::hold(const void* data, bool hold) {
  const std::lock_guard lock(mutex_);
  Block& block = known(data);
  if (!is_managed(block.kind)) throw Failure(Code::invalid, "only managed memory takes advice");
  block.held = hold;
}

std::uint64_t World::free_bytes(Place place) {
  const std::lock_guard lock(mutex_);
  devices_.check(place);
  return accounting_.free_at(place);
}

void World::leave_to_first_touch(void* data) {
  const std::lock_guard lock(mutex_);
  known(data).touched = false;
}

void World::touch(void* data, std::uint64_t bytes, Place by) {
  Lock lock(mutex_);
  Block& block = known(data);
  if (block.touched) return;
  block.touched = true;
  if (!is_device(block.kind)) block.pages = {{0, by}};
  time_.enter(lock, allocation_cost_.touch_ns(block.kind, bytes));
}

bool World::can_access_peer(int gpu, int peer) {
  const std::lock_guard lock(mutex_);
  devices_.check(gpu_place(gpu));
  return devices_.linked(gpu, peer);
}

void World::enable_peer(int gpu, int peer) {
  Lock lock = enter(model_.calls.enqueue_ns);
  devices_.check(gpu_place(gpu));
  devices_.enable_peer(gpu, peer);
  time_.enter(lock, allocation_cost_.open_ns(accounting_.used_at(gpu_place(peer))));
}

void World::disable_peer(int gpu, int peer) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  devices_.disable_peer(gpu, peer);
}

void World::open_pool(int owner, int gpu, bool open) {
  Lock lock = enter(model_.calls.enqueue_ns);
  require_link(owner, gpu);
  accounting_.open_pool(owner, gpu, open);
  if (open) time_.enter(lock, allocation_cost_.open_ns(accounting_.used_at(gpu_place(owner))));
}

void World::set_pool_threshold(int owner, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  accounting_.set_pool_threshold(owner, bytes);
}

void World::trim_pool(int owner, std::uint64_t keep) {
  const std::lock_guard lock(mutex_);
  accounting_.trim_pool(owner, keep);
}

void World::release_to_pool(void* data) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  const Block& block = known(data);
  devices_.check(block.owner);
  if (block.kind != Kind::pool) throw Failure(Code::invalid, "this memory is of no pool");
  const int gpu = block.owner.index;
  const auto [first, end] = released_to_pool_.equal_range(gpu);
  if (std::any_of(first, end, [data](const auto& one) { return one.second == data; }))
    throw Failure(Code::invalid, "this memory was released before");
  accounting_.keep_in_pool(gpu, block.bytes);
  released_to_pool_.emplace(gpu, data);
}

void World::settle_pool(Lock& lock, int gpu) {
  const auto [first, end] = released_to_pool_.equal_range(gpu);
  if (first == end) return;
  std::for_each(first, end, [this](const auto& one) { memory_.release(one.second); });
  released_to_pool_.erase(first, end);
  if (const std::uint64_t given = accounting_.trim_to_threshold(gpu); given > 0)
    time_.enter(lock, allocation_cost_.free_ns(Kind::pool, given, true));
}

std::uint64_t World::create_physical(int gpu, std::uint64_t bytes) {
  Lock lock = enter(model_.calls.enqueue_ns);
  devices_.check(gpu_place(gpu));
  time_.enter(lock, allocation_cost_.allocate_ns(Kind::vmm, bytes));
  return accounting_.create_physical(gpu_place(gpu), bytes);
}

void World::release_physical(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  accounting_.drop_physical(number);
}

void* World::reserve(std::uint64_t bytes) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  return memory_.allocate(gpu_place(0), Kind::vmm, bytes).data;
}

void World::map(void* data, std::uint64_t bytes, std::uint64_t number) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  Block& block = known(data);
  if (block.kind != Kind::vmm || block.data != data || block.bytes != bytes || block.physical != 0)
    throw Failure(Code::invalid, "memory is mapped to the whole of addresses that were reserved for it");
  const MemoryAccounting::Physical& physical = accounting_.use_physical(number);
  block.physical = number;
  block.owner = physical.owner;
  block.pages = {{0, physical.owner}};
}

void World::unmap(void* data) {
  Lock lock = enter(model_.calls.enqueue_ns);
  wait_for_all(lock);
  Block& block = known(data);
  time_.enter(lock, allocation_cost_.free_ns(Kind::vmm, block.bytes, true));
  accounting_.drop_physical(block.physical);
  block.physical = 0;
  block.open_to.clear();
}

void World::open_mapping(void* data, int gpu, bool open) {
  Lock lock = enter(model_.calls.enqueue_ns);
  Block& block = known(data);
  if (block.physical == 0) throw Failure(Code::invalid, "nothing is mapped there");
  if (open) time_.enter(lock, allocation_cost_.open_ns(block.bytes));
  require_link(block.owner.index, gpu);
  if (open)
    block.open_to.insert(gpu);
  else
    block.open_to.erase(gpu);
}

void* World::open_shared(void* data, int gpu) {
  Lock lock = enter(model_.calls.enqueue_ns);
  Block& block = known(data);
  const bool whole = block.data == data && is_device(block.kind);
  if (!whole || block.kind == Kind::pool || block.kind == Kind::vmm)
    throw Failure(Code::invalid, "handles are of whole blocks of device memory");
  const Place owner = block.owner;
  require_link(owner.index, gpu);
  time_.enter(lock, allocation_cost_.open_ns(block.bytes));
  if (owner.index != gpu) devices_.open_peer(gpu, owner.index);
  block.opened_by.insert(process_of_caller());
  return data;
}

void World::close_shared(void* data) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  std::multiset<int>& openers = known(data).opened_by;
  if (const auto found = openers.find(process_of_caller()); found != openers.end()) openers.erase(found);
}

void World::require_link(int owner, int gpu) {
  if (owner != gpu && !devices_.linked(gpu, owner))
    throw Failure(Code::no_peer_access,
                  "no link leads from " + name_of(gpu_place(gpu)) + " to " + name_of(gpu_place(owner)));
}

}  // namespace byteways::sim
