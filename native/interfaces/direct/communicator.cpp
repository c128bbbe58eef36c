// See communicator.hpp.
#include "interfaces/direct/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <utility>

#include "interfaces/pattern.hpp"

namespace byteways {
namespace {

constexpr const char* kDirectCall = "direct";
// Flags must be seen while kernels run: in memory that other GPUs' stores reach coherently, where a vendor
// tells kinds apart (HIP), else in plain device memory.
constexpr Memory kForFlags[] = {Memory::device_fine, Memory::device_uncached, Memory::device};

// Another number in each process, on whatever host.
std::string process_token() {
  static const std::uint64_t random = [] {
    std::random_device source;
    return static_cast<std::uint64_t>(source()) << 32 | source();
  }();
  return std::to_string(getpid()) + "-" + std::to_string(random);
}

std::uint64_t workspace_bytes(int ranks) {
  return sizeof(DirectWorkspace) + 2 * static_cast<std::uint64_t>(ranks) * kFlaggedRankBytes;
}

Memory memory_for_flags(const Session& session, const Device& device) {
  for (const Memory memory : kForFlags)
    if (session.offers(device, memory).available) return memory;
  return Memory::device;
}

// Other kinds are opened to each GPU apart, have no handles, or move.
void require_kind(const Buffer& buffer) {
  const Memory memory = buffer.allocation().memory();
  if (std::find(std::begin(kForFlags), std::end(kForFlags), memory) == std::end(kForFlags))
    throw Unsupported(
        kDirectCall, "memory",
        "ranks open each other's device memory, and no " + std::string(memory_name(memory)) + " memory",
        buffer.device().name());
}

}  // namespace

PeerCommunicator::PeerCommunicator(Session& session, Device& device, int rank, int size)
    : session_(&session), device_(&device), rank_(rank), size_(size) {
  if (size < 2 || size > static_cast<int>(kDirectMostRanks))
    throw Unsupported(kDirectCall, "ranks",
                      "from 2 to " + std::to_string(kDirectMostRanks) + " ranks, not " + std::to_string(size),
                      device.name());
  if (device.is_host())
    throw Unsupported(kDirectCall, "device", "its kernels run on GPUs, and " + device.name() + " is a CPU");
}

// The first rank that lacks access tells why, to all.
PeerCommunicator::PeerCommunicator(const Ranks& ranks, Session& session, Device& device)
    : PeerCommunicator(session, device, ranks.rank(), ranks.size()) {
  ranks_ = &ranks;
  const std::vector<std::string> all = ranks.gather_bytes(introduction());
  agree_on_grids(all);
  for (const std::string& lack : ranks.gather_bytes(lacks(all)))
    if (obstacle_.empty()) obstacle_ = lack;
  const bool one_process = std::all_of(
      all.begin(), all.end(), [](const std::string& one) { return one.ends_with(' ' + process_token()); });
  if (!obstacle_.empty() && !one_process)
    throw Unsupported(kDirectCall, "peers",
                      obstacle_ + "; ranks of one process exchange through host memory (launch = thread)",
                      device.name());
  std::string failure;
  try {
    allocate_workspace();
  } catch (const Error& error) {
    failure = error.what();
  }
  std::vector<Buffer*> mine;
  if (own_) mine.push_back(own_.get());
  workspaces_ = std::move(share(mine, failure).front());
}

std::vector<std::unique_ptr<PeerCommunicator>> PeerCommunicator::all(Session& session,
                                                                     const std::vector<Device*>& devices) {
  std::vector<std::unique_ptr<PeerCommunicator>> ranks;
  std::vector<std::string> introductions;
  for (Device* device : devices) {
    const auto rank = static_cast<int>(ranks.size()), size = static_cast<int>(devices.size());
    ranks.emplace_back(new PeerCommunicator(session, *device, rank, size));  // its constructor is private
    introductions.push_back(ranks.back()->introduction());
  }
  std::string obstacle;
  for (const auto& rank : ranks) {
    rank->agree_on_grids(introductions);
    if (obstacle.empty()) obstacle = rank->lacks(introductions);
  }
  std::vector<std::vector<Buffer*>> workspaces;
  for (const auto& rank : ranks) {
    rank->obstacle_ = obstacle;
    rank->allocate_workspace();
    workspaces.push_back({rank->own_.get()});
  }
  for (const auto& rank : ranks) rank->workspaces_ = std::move(rank->share_here(workspaces).front());
  return ranks;
}

// Zeros: flags that no epoch has.
void PeerCommunicator::allocate_workspace() {
  const std::uint64_t bytes = workspace_bytes(size_);
  if (obstacle_.empty()) {
    own_ = session_->allocate(*device_, memory_for_flags(*session_, *device_), bytes, *device_);
  } else {
    Device& host = session_->host_beside(*device_);
    own_ = session_->allocate(host, Memory::pinned, bytes, host, device_);
  }
  clear(*session_, *device_, own_->data(), words_in(bytes));
  device_->runtime->synchronize(session_->service_stream(*device_));
}

// "uuid name processors/architecture process"
std::string PeerCommunicator::introduction() const {
  const std::string uuid = device_->info.uuid.empty() ? "none" : device_->info.uuid;
  return uuid + ' ' + device_->name() + ' ' + std::to_string(device_->info.multiprocessors) + '/' +
         device_->info.architecture + ' ' + process_token();
}

// Block b of each rank waits for block b of all others, so that all have as many: as many as are resident on
// the GPU with the most ranks.
void PeerCommunicator::agree_on_grids(const std::vector<std::string>& introductions) {
  std::map<std::string, unsigned> ranks_of;
  std::string first;
  for (const std::string& introduction : introductions) {
    std::istringstream fields(introduction);
    std::string uuid, name, kind;
    fields >> uuid >> name >> kind;
    ranks_of_device_ = std::max(ranks_of_device_, ++ranks_of[uuid + name]);
    if (first.empty()) first = kind;
    if (kind != first)
      throw Unsupported(kDirectCall, "grids",
                        "ranks launch grids of one size, and their GPUs differ in multiprocessors or "
                        "architecture: " +
                            first + " and " + kind,
                        device_->name());
  }
}

Device& PeerCommunicator::known(const std::string& uuid, const std::string& name) const {
  for (const auto& device : session_->devices())
    if (uuid == "none" ? device->name() == name : device->info.uuid == uuid) return *device;
  throw Unsupported(kDirectCall, "peers", "GPU " + uuid + " of another rank is not visible to this one",
                    device_->name());
}

std::string PeerCommunicator::lacks(const std::vector<std::string>& introductions) const {
  try {
    for (const std::string& introduction : introductions) {
      std::istringstream fields(introduction);
      std::string uuid, name;
      fields >> uuid >> name;
      Device& other = known(uuid, name);
      const Availability access = session_->prove_peer(*device_, other);
      if (!access.available)
        return device_->name() + " and " + other.name() + " have no peer access: " + access.reason;
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

PeerCommunicator::~PeerCommunicator() {
  if (!kept_) return;
  static_cast<void>(own_.release());
  for (auto& buffer : workspaces_.opened) static_cast<void>(buffer.release());
}

// What introduction() says, "bytes address handle" for each buffer, a line each.
std::string PeerCommunicator::told(const std::vector<Buffer*>& mine) const {
  std::ostringstream text;
  text << "ok";
  for (const Buffer* buffer : mine) {
    std::string handle = "none";
    if (obstacle_.empty()) {
      require_kind(*buffer);
      const Offer<ProcessHandles>& handles = device_->runtime->capability<ProcessHandles>();
      if (handles) handle = handles->handle_of(buffer->allocation());
    }
    text << '\n'
         << introduction() << ' ' << buffer->bytes() << ' '
         << reinterpret_cast<std::uintptr_t>(buffer->data()) << ' ' << handle;
  }
  return text.str();
}

std::vector<PeerBuffers> PeerCommunicator::share(const std::vector<Buffer*>& mine,
                                                 const std::string& failure) const {
  const auto attempt = [](const auto& action) -> std::string {
    try {
      return action();
    } catch (const Error& error) {
      return error.what();
    }
  };
  const auto require_all = [](const std::vector<std::string>& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      if (!all[rank].starts_with("ok"))
        throw Unsupported(kDirectCall, "peers", "rank " + std::to_string(rank) + ": " + all[rank], {},
                          static_cast<int>(rank));
  };
  const auto all = ranks_->gather_bytes(failure.empty() ? attempt([&] { return told(mine); }) : failure);
  require_all(all);
  std::vector<PeerBuffers> found;
  const std::string mistake = attempt([&] {
    found = opened(all);
    return std::string("ok");
  });
  require_all(ranks_->gather_bytes(mistake));
  return found;
}

std::vector<PeerBuffers> PeerCommunicator::share_here(
    const std::vector<std::vector<Buffer*>>& of_ranks) const {
  std::vector<PeerBuffers> found(of_ranks.front().size());
  for (const std::vector<Buffer*>& buffers : of_ranks)
    for (std::size_t each = 0; each < buffers.size(); ++each) {
      if (obstacle_.empty()) {
        require_kind(*buffers[each]);
        const Availability open = session_->open_to(*device_, *buffers[each]);
        if (!open.available) throw Unsupported(kDirectCall, "peers", open.reason, device_->name());
      }
      found[each].of_rank.push_back(buffers[each]->data());
    }
  return found;
}

std::vector<PeerBuffers> PeerCommunicator::opened(const std::vector<std::string>& told) const {
  std::vector<PeerBuffers> found;
  for (const std::string& text : told) {
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);  // "ok"
    for (std::size_t each = 0; std::getline(lines, line); ++each) {
      if (found.size() <= each) found.emplace_back();
      open(found[each], line);
    }
  }
  return found;
}

void PeerCommunicator::open(PeerBuffers& to, const std::string& line) const {
  std::istringstream fields(line);
  std::string uuid, name, kind, process, handle;
  std::uint64_t bytes = 0;
  std::uintptr_t address = 0;
  fields >> uuid >> name >> kind >> process >> bytes >> address >> handle;
  if (process == process_token()) {
    to.of_rank.push_back(reinterpret_cast<std::byte*>(address));
    return;
  }
  to.opened.push_back(session_->open_exported(known(uuid, name), bytes, *device_, handle, false));
  to.of_rank.push_back(to.opened.back()->data());
}

}  // namespace byteways
