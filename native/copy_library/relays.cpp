// See relays.hpp. The same splitting and chains as those of interface `route`, which was measured.
#include "copy_library/relays.hpp"

#include <algorithm>

namespace byteways::copy_library {
namespace {

constexpr std::size_t kGrainBytes = 4096;  // parts are multiples of pages
// A relay that took so many times as long as the plan expects had to share its link. Twice: two equal users.
constexpr double kShared = 1.7;
// Calls that such a relay is left alone for, before it is tried again.
constexpr unsigned kRest = 16;

}  // namespace

// Returns nullptr where the GPU is no relay, or has too little staging memory.
Relays::Relay* Relays::find(int gpu, const Grid& grid) {
  for (const auto& relay : relays_)
    if (relay->gpu == gpu && relay->piece_bytes >= grid.piece_bytes && relay->chains.size() >= grid.depth)
      return relay.get();
  return nullptr;
}

int Relays::add(int gpu, std::size_t piece_bytes, unsigned depth) {
  const Current current(*driver_, gpu);
  if (current.failed() != 0) return current.failed();
  auto relay = std::make_unique<Relay>();
  relay->gpu = gpu;
  relay->piece_bytes = piece_bytes;
  relay->chains.resize(depth);
  for (Chain& chain : relay->chains) {
    int code = driver_->create_stream(&chain.stream);
    if (code == 0) code = driver_->allocate_device(&chain.staging, piece_bytes);
    if (code == 0) code = driver_->create_event(&chain.begin, true);
    if (code == 0) code = driver_->create_event(&chain.end, true);
    if (code != 0) {
      free(*relay);
      return code;
    }
  }
  const std::lock_guard lock(mutex_);
  relays_.push_back(std::move(relay));
  staging_bytes_ += piece_bytes * depth;
  return 0;
}

void Relays::free(Relay& relay) {
  for (Chain& chain : relay.chains) {
    if (chain.stream != nullptr) driver_->synchronize(chain.stream);
    if (chain.end != nullptr) driver_->destroy_event(chain.end);
    if (chain.begin != nullptr) driver_->destroy_event(chain.begin);
    if (chain.staging != nullptr) driver_->free_device(chain.staging);
    if (chain.stream != nullptr) driver_->destroy_stream(chain.stream);
  }
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

bool Relays::are_idle(const Grid& grid, Stream stream) {
  const std::lock_guard lock(mutex_);
  bool idle = true;
  for (const int gpu : grid.via) {
    Relay* relay = find(gpu, grid);
    if (relay == nullptr) return false;
    if (is_idle(*relay, stream)) continue;
    idle = false;
    if (relay->rest != 0) --relay->rest;
  }
  return idle;
}

// Copies of one stream may follow each other: they take turns anyway. Behind a copy of another stream, which
// may wait for anything, a piece could wait for ever.
bool Relays::is_idle(Relay& relay, Stream stream) {
  if (!relay.used) return true;
  double longest_ms = 0;
  for (const Chain& chain : relay.chains) {
    const int code = driver_->query(chain.end);
    if (code == kNotReady) return relay.user == stream && relay.rest == 0;
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
  std::vector<Relay*> used;
  bool idle = true;
  for (const int gpu : copy.grid->via) {
    used.push_back(find(gpu, *copy.grid));
    if (used.back() == nullptr) return Outcome::failed;
    idle = is_idle(*used.back(), copy.stream) && idle;
  }
  if (!idle) return Outcome::busy;
  if (driver_->record(copy.fork, copy.stream) != 0) return Outcome::failed;
  *code = enqueue_parts(copy, used);
  for (Relay* relay : used) {
    relay->used = true;
    relay->judged = false;
    relay->user = copy.stream;
    relay->expected_ns = copy.expected_ns;
  }
  return Outcome::done;
}

int Relays::pass_on(Chain& chain, const Copy& copy, std::size_t offset, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(copy.from) + offset;
  auto* to = static_cast<std::byte*>(copy.to) + offset;
  const int code = driver_->copy(chain.staging, from, bytes, chain.stream);
  return code != 0 ? code : driver_->copy(to, chain.staging, bytes, chain.stream);
}

// One piece of every relay at a time, so that all paths start together.
int Relays::enqueue_parts(const Copy& copy, const std::vector<Relay*>& used) {
  const unsigned depth = copy.grid->depth;
  const std::size_t piece = copy.grid->piece_bytes;
  std::vector<std::size_t> part(used.size()), first(used.size());
  std::size_t direct = copy.bytes, most = 0;
  for (std::size_t k = 0; k < used.size(); ++k) {
    part[k] = static_cast<std::size_t>(static_cast<double>(copy.bytes) * (*copy.parts)[k + 1]) / kGrainBytes *
              kGrainBytes;
    direct -= part[k];
    most = std::max(most, (part[k] + piece - 1) / piece);
  }
  std::size_t offset = direct;
  for (std::size_t k = 0; k < used.size(); ++k) {
    first[k] = offset;
    offset += part[k];
  }
  int code = 0;
  const auto try_to = [&code](int result) {
    if (code == 0) code = result;
    return result == 0;
  };
  for (Relay* relay : used)
    for (unsigned c = 0; c < depth; ++c) {
      try_to(driver_->wait(relay->chains[c].stream, copy.fork));
      try_to(driver_->record(relay->chains[c].begin, relay->chains[c].stream));
    }
  if (code == 0) try_to(driver_->copy(copy.to, copy.from, direct, copy.stream));
  for (std::size_t number = 0; number < most && code == 0; ++number)
    for (std::size_t k = 0; k < used.size() && code == 0; ++k) {
      const std::size_t done = number * piece;
      if (done < part[k])
        try_to(
            pass_on(used[k]->chains[number % depth], copy, first[k] + done, std::min(piece, part[k] - done)));
    }
  for (Relay* relay : used)
    for (unsigned c = 0; c < depth; ++c)
      if (try_to(driver_->record(relay->chains[c].end, relay->chains[c].stream)))
        try_to(driver_->wait(copy.stream, relay->chains[c].end));
  return code;
}

}  // namespace byteways::copy_library
