// See communicator.hpp.
#include "interfaces/direct/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <utility>

#include "interfaces/pattern.hpp"

namespace byteways {
namespace {

constexpr const char* kCall = "direct";
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
        kCall, "memory",
        "ranks open each other's device memory, and no " + std::string(memory_name(memory)) + " memory",
        buffer.device().name());
}

}  // namespace

PeerCommunicator::PeerCommunicator(Session& session, Device& device, int rank, int size)
    : session_(&session), device_(&device), rank_(rank), size_(size) {
  if (size < 2 || size > static_cast<int>(kDirectMostRanks))
    throw Unsupported(kCall, "ranks",
                      "from 2 to " + std::to_string(kDirectMostRanks) + " ranks, not " + std::to_string(size),
                      device.name());
  if (device.is_host())
    throw Unsupported(kCall, "device", "its kernels run on GPUs, and " + device.name() + " is a CPU");
  own_ = session.allocate(device, memory_for_flags(session, device), workspace_bytes(size), device);
  clear(session, device, own_->data(), words_in(own_->bytes()));
  device.runtime->synchronize(session.service_stream(device));
}

PeerCommunicator::PeerCommunicator(const Ranks& ranks, Session& session, Device& device)
    : session_(&session), device_(&device), rank_(ranks.rank()), size_(ranks.size()), ranks_(&ranks) {
  std::string failure;
  try {
    PeerCommunicator made(session, device, rank_, size_);
    own_ = std::move(made.own_);
  } catch (const Error& error) {
    failure = error.what();
  }
  std::vector<Buffer*> mine;
  if (own_) mine.push_back(own_.get());
  std::vector<PeerBuffers> shared = share(mine, failure);
  workspaces_ = std::move(shared.front());
  const std::vector<std::string> gpus = ranks.gather_bytes(device.info.uuid + device.name());
  ranks_of_device_ =
      static_cast<unsigned>(std::count(gpus.begin(), gpus.end(), device.info.uuid + device.name()));
}

std::vector<std::unique_ptr<PeerCommunicator>> PeerCommunicator::all(Session& session,
                                                                     const std::vector<Device*>& devices) {
  std::vector<std::unique_ptr<PeerCommunicator>> ranks;
  std::vector<std::vector<Buffer*>> workspaces;
  for (Device* device : devices) {
    const auto rank = static_cast<int>(ranks.size()), size = static_cast<int>(devices.size());
    ranks.emplace_back(new PeerCommunicator(session, *device, rank, size));  // its constructor is private
    workspaces.push_back({ranks.back()->own_.get()});
  }
  for (const auto& rank : ranks) {
    rank->workspaces_ = std::move(rank->share_here(workspaces).front());
    rank->ranks_of_device_ = static_cast<unsigned>(std::count(devices.begin(), devices.end(), rank->device_));
  }
  return ranks;
}

PeerCommunicator::~PeerCommunicator() {
  if (!kept_) return;
  static_cast<void>(own_.release());
  for (auto& buffer : workspaces_.opened) static_cast<void>(buffer.release());
}

// "uuid name bytes memory process address handle" for each buffer, a line each.
std::string PeerCommunicator::told(const std::vector<Buffer*>& mine) const {
  std::ostringstream text;
  text << "ok";
  for (const Buffer* buffer : mine) {
    require_kind(*buffer);
    const Offer<ProcessHandles>& handles = device_->runtime->capability<ProcessHandles>();
    const std::string handle = handles ? handles->handle_of(buffer->allocation()) : "none";
    const std::string uuid = device_->info.uuid.empty() ? "none" : device_->info.uuid;
    text << '\n'
         << uuid << ' ' << buffer->device().name() << ' ' << buffer->bytes() << ' ' << process_token() << ' '
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
        throw Unsupported(kCall, "peers", "rank " + std::to_string(rank) + ": " + all[rank]);
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
      require_kind(*buffers[each]);
      const Availability open = session_->open_to(*device_, *buffers[each]);
      if (!open.available) throw Unsupported(kCall, "peers", open.reason, device_->name());
      found[each].of_rank.push_back(buffers[each]->data());
    }
  return found;
}

std::vector<PeerBuffers> PeerCommunicator::opened(const std::vector<std::string>& told) const {
  std::vector<PeerBuffers> found;
  for (std::size_t from = 0; from < told.size(); ++from) {
    std::istringstream lines(told[from]);
    std::string line;
    std::getline(lines, line);  // "ok"
    for (std::size_t each = 0; std::getline(lines, line); ++each) {
      if (found.size() <= each) found.emplace_back();
      open(found[each], line, static_cast<int>(from));
    }
  }
  return found;
}

void PeerCommunicator::open(PeerBuffers& to, const std::string& line, int from) const {
  std::istringstream fields(line);
  std::string uuid, name, process, handle;
  std::uint64_t bytes = 0;
  std::uintptr_t address = 0;
  fields >> uuid >> name >> bytes >> process >> address >> handle;
  Device* owner = nullptr;
  for (const auto& device : session_->devices())
    if (uuid == "none" ? device->name() == name : device->info.uuid == uuid) owner = device.get();
  if (owner == nullptr)
    throw Unsupported(kCall, "peers",
                      "GPU " + uuid + " of rank " + std::to_string(from) + " is not visible to rank " +
                          std::to_string(rank_),
                      device_->name());
  const Availability access = session_->prove_peer(*device_, *owner);
  if (!access.available) throw Unsupported(kCall, "peers", access.reason, device_->name());
  if (process == process_token()) {
    to.of_rank.push_back(reinterpret_cast<std::byte*>(address));
    return;
  }
  to.opened.push_back(session_->open_exported(*owner, bytes, *device_, handle));
  to.of_rank.push_back(to.opened.back()->data());
}

}  // namespace byteways
