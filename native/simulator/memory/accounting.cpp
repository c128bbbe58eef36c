// See accounting.hpp.
#include "simulator/memory/accounting.hpp"

#include <algorithm>

namespace byteways::sim {

std::uint64_t MemoryAccounting::used_at(Place owner) const {
  const auto used = used_.find(index_of(costs_->memory_of(owner)));
  return used == used_.end() ? 0 : used->second;
}

std::uint64_t MemoryAccounting::free_at(Place owner) const {
  const bool device = costs_->memory_of(owner).kind == Place::Kind::gpu;
  const std::uint64_t all = device ? model_->gpu.memory_bytes : model_->cpu.memory_bytes;
  return all - std::min(all, used_at(owner));
}

void MemoryAccounting::take(Place owner, std::uint64_t bytes) {
  std::uint64_t& used = used_[index_of(costs_->memory_of(owner))];
  const Fault* fault = faults_->find(Fault::Kind::no_memory, name_of(owner));
  if (bytes > free_at(owner) || (fault != nullptr && used + bytes > fault->number))
    throw Failure(Code::out_of_memory, name_of(owner) + " has no " + std::to_string(bytes) + " bytes left");
  used += bytes;
}

void MemoryAccounting::give_back(Place owner, std::uint64_t bytes) {
  used_[index_of(costs_->memory_of(owner))] -= bytes;
}

std::uint64_t MemoryAccounting::take_from_pool(int gpu, std::uint64_t bytes) {
  Pool& pool = pools_[gpu];
  const std::uint64_t kept = std::min(bytes, pool.kept);
  take({Place::Kind::gpu, gpu}, bytes - kept);
  pool.kept -= kept;
  return bytes - kept;
}

std::uint64_t MemoryAccounting::give_to_pool(int gpu, std::uint64_t bytes) {
  keep_in_pool(gpu, bytes);
  return trim_to_threshold(gpu);
}

std::uint64_t MemoryAccounting::trim_pool(int gpu, std::uint64_t keep) {
  Pool& pool = pools_[gpu];
  if (pool.kept <= keep) return 0;
  const std::uint64_t given = pool.kept - keep;
  give_back({Place::Kind::gpu, gpu}, given);
  pool.kept = keep;
  return given;
}

void MemoryAccounting::open_pool(int gpu, int to, bool open) {
  if (open)
    pools_[gpu].open_to.insert(to);
  else
    pools_[gpu].open_to.erase(to);
}

bool MemoryAccounting::pool_is_open(int gpu, int to) const {
  const auto pool = pools_.find(gpu);
  return gpu == to || (pool != pools_.end() && pool->second.open_to.contains(to));
}

std::uint64_t MemoryAccounting::create_physical(Place owner, std::uint64_t bytes) {
  take(owner, bytes);
  physical_[next_physical_] = {owner, bytes, 1};
  return next_physical_++;
}

MemoryAccounting::Physical& MemoryAccounting::physical(std::uint64_t number) {
  const auto found = physical_.find(number);
  if (found == physical_.end()) throw Failure(Code::invalid, "there is no such physical memory");
  return found->second;
}

const MemoryAccounting::Physical& MemoryAccounting::use_physical(std::uint64_t number) {
  Physical& found = physical(number);
  ++found.uses;
  return found;
}

void MemoryAccounting::drop_physical(std::uint64_t number) {
  Physical& found = physical(number);
  if (--found.uses > 0) return;
  give_back(found.owner, found.bytes);
  physical_.erase(number);
}

}  // namespace byteways::sim
