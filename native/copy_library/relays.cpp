// See relays.hpp. Parts and chains are those of interface `route`, which was measured.
#include "copy_library/relays.hpp"

#include <algorithm>

#include "interfaces/route/parts.hpp"

namespace byteways::copy_library {
namespace {

// A relay that took so many times as long as the plan expects had to share its link. Twice: two equal users.
constexpr double kShared = 1.7;
// Calls that such a relay is left alone for, before it is tried again.
constexpr unsigned kRest = 16;

}  // namespace

// Returns nullptr where the GPU is no relay, or has too little staging memory.
Relays::Relay* Relays::find(int gpu, const Grid& grid) {
  for (const auto& relay : relays_)
    if (relay->gpu == gpu && relay->staging_bytes >= grid.staging_bytes() &&
        relay->chains.size() >= grid.depth)
      return relay.get();
  return nullptr;
}

Relays::User Relays::user_of(Stream stream, int by) {
  // CU_STREAM_PER_THREAD, hipStreamPerThread; of the handles below, too, each GPU has its own.
  constexpr std::uintptr_t kPerThread = 2;
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  return {stream, by, handle == kPerThread ? std::this_thread::get_id() : std::thread::id()};
}

int Relays::add(int gpu, std::size_t staging_bytes, unsigned depth) {
  const Current current(*driver_, gpu);
  if (current.failed() != 0) return current.failed();
  auto relay = std::make_unique<Relay>();
  relay->gpu = gpu;
  relay->chains.resize(depth);
  const std::lock_guard lock(mutex_);
  relays_.reserve(relays_.size() + 1);  // no exception once something is allocated
  int code = driver_->allocate_device(&relay->staging, staging_bytes);
  for (Chain& chain : relay->chains) {
    if (code == 0) code = driver_->create_stream(&chain.stream);
    if (code == 0) code = driver_->create_event(&chain.begin, true);
    if (code == 0) code = driver_->create_event(&chain.end, true);
  }
  if (code != 0) {
    free(*relay);
    return code;
  }
  relay->staging_bytes = staging_bytes;
  relays_.push_back(std::move(relay));
  staging_bytes_ += staging_bytes;
  return 0;
}

void Relays::free(Relay& relay) {
  for (Chain& chain : relay.chains) {
    if (chain.stream != nullptr) driver_->synchronize(chain.stream);
    if (chain.end != nullptr) driver_->destroy_event(chain.end);
    if (chain.begin != nullptr) driver_->destroy_event(chain.begin);
    if (chain.stream != nullptr) driver_->destroy_stream(chain.stream);
  }
  if (relay.staging != nullptr) driver_->free_device(relay.staging);
}

void Relays::forget(int gpu) {
  const std::lock_guard lock(mutex_);
  std::erase_if(relays_, [&](const auto& relay) {
    if (relay->gpu != gpu) return false;
    staging_bytes_ -= relay->staging_bytes;
    return true;
  });
}

void Relays::release() {
  const std::lock_guard lock(mutex_);
  for (const auto& relay : relays_) {
    const Current current(*driver_, relay->gpu);
    if (current.failed() == 0) free(*relay);
  }
  relays_.clear();
  staging_bytes_ = 0;
}

bool Relays::are_idle(const Grid& grid, Stream stream, int by) {
  const std::lock_guard lock(mutex_);
  const User user = user_of(stream, by);
  bool idle = true;
  for (const int gpu : grid.via) {
    Relay* relay = find(gpu, grid);
    if (relay == nullptr) return false;
    if (is_idle(*relay, grid, user)) continue;
    idle = false;
    if (relay->rest != 0) --relay->rest;
  }
  return idle;
}

// Copies of one stream may follow each other: they take turns anyway. Behind a copy of another stream, which
// may wait for anything, a piece could wait for ever.
bool Relays::is_idle(Relay& relay, const Grid& grid, const User& user) {
  if (relay.broken) return false;
  if (!relay.used) return true;
  double longest_ms = 0;
  for (std::size_t c = 0; c < relay.depth; ++c) {
    const Chain& chain = relay.chains[c];
    const int code = driver_->query(chain.end);
    if (code == kNotReady)
      return relay.user == user && relay.rest == 0 && relay.piece_bytes == grid.piece_bytes &&
             relay.depth == grid.depth;
    if (code != 0) return false;  // the peer was lost
    float took_ms = 0;
    if (!relay.judged && driver_->elapsed_ms(&took_ms, chain.begin, chain.end) == 0)
      longest_ms = std::max(longest_ms, static_cast<double>(took_ms));
  }
  if (!relay.judged && 1e6 * longest_ms > kShared * relay.expected_ns) relay.rest = kRest;
  relay.judged = true;
  return relay.rest == 0;
}

Relays::Outcome Relays::enqueue(const Copy& copy, int* code) {
  const std::lock_guard lock(mutex_);
  const User user = user_of(copy.stream, copy.by);
  std::vector<Share> shares;
  bool idle = true;
  for (const int gpu : copy.grid->via) {
    Relay* relay = find(gpu, *copy.grid);
    if (relay == nullptr) return Outcome::failed;
    idle = is_idle(*relay, *copy.grid, user) && idle;
    shares.push_back({relay, 0, 0});
  }
  if (!idle) return Outcome::busy;
  // Without a word for each path all bytes go over the direct one: no relay would gain anything.
  if (part_grain(copy.bytes, copy.row->parts.size()) >= sizeof(std::uint64_t))
    split_over_paths(copy.bytes, copy.row->parts, [&shares](std::size_t path, std::size_t bytes) {
      if (path != 0) shares[path - 1].bytes = bytes;
    });
  std::size_t passed_on = 0;
  for (Share& share : shares) {
    share.offset = passed_on;
    passed_on += share.bytes;
  }
  if (driver_->record(copy.fork, copy.stream) != 0) return Outcome::failed;
  *code = enqueue_parts(copy, shares, passed_on);
  for (const Share& share : shares) {
    share.relay->used = true;
    share.relay->judged = false;
    share.relay->broken = *code != 0;
    share.relay->user = user;
    share.relay->piece_bytes = copy.grid->piece_bytes;
    share.relay->depth = copy.grid->depth;
    share.relay->expected_ns = copy.expected_ns;
  }
  return Outcome::done;
}

int Relays::pass_on(const Share& share, const Copy& copy, std::size_t number) {
  const std::size_t piece = copy.grid->piece_bytes, done = number * piece, at = share.offset + done;
  const std::size_t bytes = std::min(piece, share.bytes - done), turn = number % copy.grid->depth;
  const Stream stream = share.relay->chains[turn].stream;
  auto* staging = static_cast<std::byte*>(share.relay->staging) + turn * piece;
  const int code = driver_->copy(staging, static_cast<const std::byte*>(copy.from) + at, bytes, stream);
  return code != 0 ? code : driver_->copy(static_cast<std::byte*>(copy.to) + at, staging, bytes, stream);
}

// One piece of every relay at a time, so that all paths start together.
int Relays::enqueue_parts(const Copy& copy, const std::vector<Share>& shares, std::size_t passed_on) {
  const unsigned depth = copy.grid->depth;
  const std::size_t piece = copy.grid->piece_bytes;
  std::size_t most = 0;
  for (const Share& share : shares) most = std::max(most, (share.bytes + piece - 1) / piece);
  int code = 0;
  const auto try_to = [&code](int result) {
    if (code == 0) code = result;
    return result == 0;
  };
  for (const Share& share : shares)
    for (unsigned c = 0; c < depth; ++c) {
      const Chain& chain = share.relay->chains[c];
      try_to(driver_->wait(chain.stream, copy.fork));
      try_to(driver_->record(chain.begin, chain.stream));
    }
  // The direct path has the last part, so that each begins at a page where the copy does.
  if (code == 0)
    try_to(driver_->copy(static_cast<std::byte*>(copy.to) + passed_on,
                         static_cast<const std::byte*>(copy.from) + passed_on, copy.bytes - passed_on,
                         copy.stream));
  for (std::size_t number = 0; number < most && code == 0; ++number)
    for (const Share& share : shares)
      if (code == 0 && number * piece < share.bytes) try_to(pass_on(share, copy, number));
  for (const Share& share : shares)
    for (unsigned c = 0; c < depth; ++c) {
      const Chain& chain = share.relay->chains[c];
      if (try_to(driver_->record(chain.end, chain.stream))) try_to(driver_->wait(copy.stream, chain.end));
    }
  return code;
}

}  // namespace byteways::copy_library
