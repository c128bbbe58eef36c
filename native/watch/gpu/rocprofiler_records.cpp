// See rocprofiler_records.hpp. A copy's record has bytes, agents and the time on an engine, that of its call
// the name; both have one number, and either may come first.
#include "watch/gpu/rocprofiler_records.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "watch/histogram.hpp"
#include "watch/names.hpp"
#include "watch/snapshot.hpp"

namespace byteways::watch::rocprofiler {
namespace {

// kCause: other calls with copies as their effect.
enum class Role : std::uint8_t {
  kNone,
  kCopy,
  kCause,
  kSet,
  kAllocation,
  kRelease,
  kRegistration,
  kWait,
  kStreamWait
};

struct Call {
  std::uint16_t method = 0;
  Role role = Role::kNone;
  Memory memory = Memory::kUnknown;  // of an allocation
};

// A call whose record has come.
struct Seen {
  std::uint64_t correlation = 0;  // 0: none
  std::int64_t time = kUnknownTime, end = 0;
  std::int32_t operation = 0;
  bool counted = false;  // its time is in a bin
};

// A record that waits for its call's, for so many callbacks.
struct Waiting {
  std::uint8_t bytes[96];
  int left;
};

struct Range {
  std::uint64_t bytes;
  Memory memory;
};

constexpr std::size_t kMostSeen = 16384, kMostWaiting = 1024, kMostRanges = 4096, kMostAgents = 256;
// Records that are read together: far fewer than calls are remembered.
constexpr std::size_t kTogether = 2048;
constexpr int kPatience = 64;

std::mutex lock;
Kinds kinds;
std::int64_t offset = 0;
struct AgentPlace {
  std::uint64_t agent;
  std::int16_t place;  // as in a key
};
AgentPlace places[kMostAgents];
std::size_t agents = 0;
std::int16_t gpus = 0, domains = 0;
Call calls[kMostOperations];  // by operation
Seen seen[kMostSeen];
Waiting waiting[kMostWaiting];
std::size_t waiting_count = 0;
// What the program and the runtime have allocated, by address.
std::map<std::uint64_t, Range> ranges;
// Whether memory outside of all ranges is pageable: neither is the list too short, nor was memory registered.
bool all_ranges_known = true;

template <class Record>
Record read(const std::uint8_t* from, std::size_t place) {
  Record found;
  std::memcpy(&found, from + place, sizeof found);
  return found;
}

std::int64_t duration(std::uint64_t start, std::uint64_t end) {
  return start == 0 || end < start ? kUnknownTime : static_cast<std::int64_t>(end - start);
}

std::int64_t at(std::uint64_t time) { return static_cast<std::int64_t>(time) + offset; }

const Call* call_of(std::int32_t operation) {
  return operation >= 0 && static_cast<std::size_t>(operation) < kMostOperations ? &calls[operation]
                                                                                 : nullptr;
}

Seen* seen_call(std::uint64_t correlation) {
  Seen& one = seen[correlation % kMostSeen];
  return correlation != 0 && one.correlation == correlation ? &one : nullptr;
}

bool is_gpu(std::int16_t place) { return place >= 0; }

std::int16_t place_of(std::uint64_t agent) {
  for (std::size_t one = 0; one < agents; ++one)
    if (places[one].agent == agent) return places[one].place;
  return -1;
}

Memory memory_at(std::int16_t place, std::uint64_t address) {
  if (is_gpu(place)) return Memory::kDevice;
  if (place == -1 || address == 0) return Memory::kUnknown;
  const auto after = ranges.upper_bound(address);
  if (after != ranges.begin())
    if (const auto& [begin, range] = *std::prev(after); address - begin < range.bytes) return range.memory;
  return all_ranges_known ? Memory::kPageable : Memory::kUnknown;
}

// A call that has no record of a copy: a kernel of the runtime copied, or nothing did. Its size is not known.
void add_without_copy(Seen& call) {
  if (call.correlation == 0 || call.counted ||
      calls[static_cast<std::size_t>(call.operation)].role != Role::kCopy)
    return;
  call.counted = true;
  Key key;
  key.method = calls[static_cast<std::size_t>(call.operation)].method;
  histogram().add(key, 1, {kUnknownTime, call.time}, call.end);
}

void add_call_record(const std::uint8_t* place) {
  const auto record = read<Beginning>(place, 0);
  const Call* const call = call_of(record.operation);
  if (call == nullptr || call->role == Role::kNone) return;
  const std::size_t rest = record.size >= kNewCallBytes ? sizeof(std::uint64_t) : 0;
  const auto times = read<CallTimes>(place, sizeof(Beginning) + rest);
  const std::int64_t time = duration(times.start, times.end);
  if (record.correlation != 0) {
    Seen& one = seen[record.correlation % kMostSeen];
    add_without_copy(one);
    one = {record.correlation, time, at(times.end), record.operation};
  }
  if (call->role == Role::kRegistration) all_ranges_known = false;
  if (call->role != Role::kWait && call->role != Role::kStreamWait && call->role != Role::kSet) return;
  Key key;
  key.what = call->role == Role::kSet ? What::kSet : What::kSynchronisation;
  key.method = call->method;
  histogram().add(key, 1, {kUnknownTime, time, call->role == Role::kWait ? time : kUnknownTime},
                  at(times.end));
}

// The time of a call counts once, whatever number of records it has.
std::int64_t time_of_call(Seen* call) {
  if (call == nullptr || call->counted) return kUnknownTime;
  call->counted = true;
  return call->time;
}

void add_copy(const std::uint8_t* place, Seen* call) {
  const auto record = read<Beginning>(place, 0);
  const bool has_thread = record.size > kCopyWithoutThreadBytes;
  const std::size_t begin = sizeof(Beginning) + (has_thread ? sizeof(std::uint64_t) : 0);
  const auto copy = read<Copy>(place, begin);
  Addresses addresses{};
  if (record.size >= begin + sizeof(Copy) + sizeof(Addresses))
    addresses = read<Addresses>(place, begin + sizeof(Copy));
  Key key;
  key.source_gpu = place_of(copy.source_agent);
  key.destination_gpu = place_of(copy.destination_agent);
  key.source = memory_at(key.source_gpu, addresses.source);
  key.destination = memory_at(key.destination_gpu, addresses.destination);
  key.method = call != nullptr ? calls[call->operation].method : number_of("HSA copy");
  key.size = copy.bytes;
  histogram().add(key, 1, {duration(copy.start, copy.end), time_of_call(call)}, at(copy.end));
}

void keep_range(std::uint64_t address, Range range) {
  if (ranges.size() >= kMostRanges && !ranges.contains(address)) {
    all_ranges_known = false;
    return;
  }
  try {
    ranges[address] = range;
  } catch (const std::bad_alloc&) {
    all_ranges_known = false;
    note_failure("rocprofiler-partial");
  }
}

// Allocations that the runtime makes for itself are no operations of the program.
void add_allocation(const std::uint8_t* place, Seen* seen_as) {
  const auto record = read<Beginning>(place, 0);
  const std::size_t rest = record.size >= kNewAllocationBytes ? sizeof(std::uint64_t) : 0;
  const auto allocation = read<Allocation>(place, sizeof(Beginning) + rest + sizeof(std::uint64_t));
  const Call none{};
  const Call& call = seen_as == nullptr ? none : calls[static_cast<std::size_t>(seen_as->operation)];
  Key key;
  key.method = call.method;
  key.destination_gpu = place_of(allocation.agent);
  if (record.operation == kinds.allocate) {
    const bool of_program = call.role == Role::kAllocation;
    // Pageable: the runtime fills such memory from that of the program.
    key.destination = is_gpu(key.destination_gpu) && call.memory != Memory::kManaged ? Memory::kDevice
                      : of_program                                                   ? call.memory
                                                                                     : Memory::kPageable;
    keep_range(allocation.address, {allocation.bytes, key.destination});
    if (!of_program) return;
    key.what = What::kAllocation;
    key.size = allocation.bytes;
  } else if (record.operation == kinds.release) {
    const auto found = ranges.find(allocation.address);
    if (found != ranges.end()) {
      key.destination = found->second.memory;
      key.size = found->second.bytes;
      ranges.erase(found);
    }
    if (call.role != Role::kRelease) return;
    key.what = What::kRelease;
  } else {
    return;
  }
  histogram().add(key, 1, {kUnknownTime, duration(allocation.start, allocation.end)}, at(allocation.end));
}

void add_with_call(const std::uint8_t* place) {
  const auto record = read<Beginning>(place, 0);
  (record.kind == kinds.copies ? add_copy : add_allocation)(place, seen_call(record.correlation));
}

void keep_waiting(const std::uint8_t* place) {
  const auto record = read<Beginning>(place, 0);
  Waiting one{{}, kPatience};
  std::memcpy(one.bytes, place, std::min<std::size_t>(record.size, sizeof one.bytes));
  waiting[waiting_count++] = one;
}

// Adds those whose calls have come, and those that have waited long enough.
void add_waiting(bool all) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < waiting_count; ++at) {
    Waiting& one = waiting[at];
    if (!all && seen_call(read<Beginning>(one.bytes, 0).correlation) == nullptr && --one.left > 0)
      waiting[kept++] = one;
    else
      add_with_call(one.bytes);
  }
  waiting_count = kept;
}

// Calls first: their copies need them.
void add_some(RecordHeader** headers, std::size_t count) {
  const auto each = [&](auto act) {
    for (std::size_t at = 0; at < count; ++at)
      if (headers[at] != nullptr && headers[at]->category == kTracing && headers[at]->payload != nullptr)
        act(headers[at]->kind, static_cast<const std::uint8_t*>(headers[at]->payload));
  };
  each([](std::uint32_t kind, const std::uint8_t* place) {
    if (kind == kinds.calls && kind != 0) add_call_record(place);
  });
  add_waiting(false);
  each([](std::uint32_t kind, const std::uint8_t* place) {
    if (kind == 0 || (kind != kinds.copies && kind != kinds.allocations)) return;
    const bool known = seen_call(read<Beginning>(place, 0).correlation) != nullptr;
    if (known || kinds.calls == 0 || waiting_count >= kMostWaiting)
      add_with_call(place);
    else
      keep_waiting(place);
  });
}

}  // namespace

void begin_records(const Kinds& found, std::int64_t clock_offset) {
  kinds = found;
  offset = clock_offset;
}

void add_agent(std::uint64_t id, std::uint32_t type) {
  if (agents == kMostAgents || (type != kGpuAgent && type != kCpuAgent)) return;
  places[agents++] = {id, type == kGpuAgent ? gpus++ : cpu_number(domains++)};
}

bool add_call(std::int32_t operation, std::string_view name) {
  if (operation < 0 || static_cast<std::size_t>(operation) >= kMostOperations) return false;
  Call call;
  const auto begins = [name](std::string_view with) { return name.starts_with(with); };
  if (begins("hipMemcpy") || begins("hipDrvMemcpy")) {
    call.role = Role::kCopy;
  } else if (begins("hipGraphLaunch") || begins("hipMemPrefetch")) {
    call.role = Role::kCause;
  } else if (begins("hipMemset")) {
    call.role = Role::kSet;
  } else if (begins("hipMallocHost") || begins("hipHostMalloc") || begins("hipHostAlloc") ||
             begins("hipMemAllocHost") || begins("hipExtHostAlloc")) {
    call.role = Role::kAllocation;
    call.memory = Memory::kPinned;
  } else if (begins("hipMalloc") || begins("hipExtMalloc") || begins("hipMemAlloc")) {
    call.role = Role::kAllocation;
    call.memory = name.find("Managed") != name.npos ? Memory::kManaged : Memory::kDevice;
  } else if (begins("hipFree") || begins("hipHostFree")) {
    call.role = Role::kRelease;
  } else if (begins("hipHostRegister")) {
    call.role = Role::kRegistration;
  } else if (begins("hipStreamWaitEvent")) {
    call.role = Role::kStreamWait;
  } else if (name.ends_with("Synchronize")) {
    call.role = Role::kWait;
  }
  if (call.role == Role::kNone) return false;
  call.method = number_of(name);
  calls[static_cast<std::size_t>(operation)] = call;
  return true;
}

void add_records(RecordHeader** headers, std::size_t count) noexcept {
  const std::lock_guard held(lock);
  for (std::size_t at = 0; at < count; at += kTogether)
    add_some(headers + at, std::min(kTogether, count - at));
}

void finish_records() noexcept {
  const std::lock_guard held(lock);
  add_waiting(true);
  for (Seen& call : seen) add_without_copy(call);
}

}  // namespace byteways::watch::rocprofiler
