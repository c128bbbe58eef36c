// Interface `particles`: Quicksilver's communication pattern. Each rank has particles; some cross to the
// neighbours in the grid of ranks, in many small messages of irregular sizes, with varying counts per
// neighbour. An iteration tracks all particles, sends those that cross, tracks again and sends them back, and
// does an 8-byte allreduce to learn whether all ranks are done. With `timed` "exchange", an operation is both
// exchanges alone.
//
// With `packing` "original" a rank packs as Quicksilver does. A batch has a message for every neighbour. A
// core copies its particles, one by one, into memory that was allocated for this message, and out of the
// memory that receives. The buffers are freed when their sends are complete, and an 8-byte allreduce tests
// whether all ranks are done. With `packing` "fused" a kernel packs all messages to a neighbour at once, into
// memory that is kept.
//
// The pattern stands for Quicksilver's communication (MC_Particle_Buffer), not for its physics: one pass over
// all particles stands for the tracking.
#include <algorithm>
#include <cstring>
#include <utility>

#include "interfaces/exchange/core.hpp"
#include "interfaces/lattice/lattice.hpp"
#include "interfaces/particles/trips.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr const char *kParticlesTrack = "particles_track", *kParticlesPack = "particles_pack",
                     *kParticlesUnpack = "particles_unpack";

// Messages between this rank and one neighbour in one round, in the memory of messages and in the store.
struct Side {
  int other = kNobody;
  std::vector<Segment> segments;  // in_messages: from `offset` on
  std::uint64_t offset = 0;       // of the first message, in the part of this rank
  std::uint64_t place = 0;        // the same in the part of the neighbour
  std::size_t table = 0;          // index of the first segment among all
};

// Particles that a kernel moves between the store and the messages to or from one neighbour.
struct Gathered {
  std::byte* messages;
  const Segment* table;  // where kernels read it
  std::uint64_t segments, words;
};

// One of the two exchanges of a trip, all of it that is the same whenever it comes.
struct Passage {
  std::vector<Gathered> packed, unpacked;
  Parcels parcels;
  // For packing by a core: whose messages are sent and received, and those of the longest queue of any rank.
  const std::vector<Side>*out = nullptr, *in = nullptr;
  std::uint64_t part = 0;  // of the memory of messages, which receives
  std::size_t batches = 0;
  bool home_is_left = true;  // else it is come back to
};

// Of a trip: those of this rank that leave, and the guests that come. Both change roles on the way back.
struct Trip {
  std::vector<Side> leaving, guests;
  Passage there, back;
};

class ParticlesMover final : public ApplicationMover {
 public:
  ParticlesMover(Session& session, const Flow& flow)
      : ApplicationMover(
            session, flow,
            {kParticlesTrack, kParticlesPack, kParticlesUnpack, "lattice_fill", "lattice_check"}) {
    std::string reason;
    try {
      population_ = Population::of(flow);
      if (packs_as_original(flow))
        core_ = std::make_unique<Core>(session, flow,
                                       std::initializer_list<const char*>{kParticlesPack, kParticlesUnpack});
    } catch (const Error& error) {
      reason = error.text();
    }
    agree_possible(flow, reason);
    const std::uint64_t part = population_.part_bytes();
    if (flow.source->bytes() < flow.size_bytes + part || flow.destination->bytes() < 3 * part)
      throw Error(flow.interface, "size", "the particles or their messages do not fit the buffers");
    traits_.least_batch = kTrips;  // trips differ: every sample is of all
    for (std::uint64_t trip = 0; trip < kTrips; ++trip) trips_.push_back(plan(trip));
    if (!core_) store_tables();
    std::vector<int> others;
    for (const Side& side : trips_.front().leaving) others.push_back(side.other);
    open_transport(others, description());
    for (std::uint64_t number = 0; number < kTrips; ++number) {
      Trip& trip = trips_[number];
      trip.there = passage(trip.leaving, trip.guests, 1);
      trip.back = passage(trip.guests, trip.leaving, 2);
      trip.there.batches = trip.back.batches = longest_queue(number);
    }
  }

  void prepare(std::uint64_t key) override {
    key_ = key;
    steps_ = 0;
    forget_sums();
    Device& owner = owner_of_state();
    fill_lattice(session(), owner, flow().source->data(), lattice());
    poison(session(), owner, guests(), population_.part_bytes() / kWord, 1);
    owner.runtime->synchronize(session().service_stream(owner));
    poison_messages();
  }

  // Who leaves leaves zeros behind, so that a missing message shows in the store, and that of an earlier
  // iteration by the number of steps in its words. Exchanges alone repeat theirs.
  void spoil(std::uint64_t, std::uint64_t) override {
    if (!whole()) poison_messages();
  }

  // Every word of every particle, all of which are at home, as a single rank would have computed it.
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    found.checked_bytes = flow().size_bytes;
    found.note(check_lattice(session(), owner_of_state(), flow().source->data(), lattice()), 0);
    note_sums(found);
    return found;
  }

 private:
  void iterate() override {
    const Trip& trip = trips_[trip_++ % kTrips];
    track();
    exchange(trip.there);
    track();
    exchange(trip.back);
    if (whole()) reduce();
  }

  void track() {
    if (!whole()) return;
    const std::uint64_t words = (flow().size_bytes + population_.part_bytes()) / kWord;
    launch(track_, TrackArguments{words_at(flow().source->data()), words}, words);
    ++steps_;
  }

  void exchange(const Passage& passage) {
    if (core_) {
      wait();  // what the core packs has been tracked
      for (std::size_t batch = 0; batch < passage.batches; ++batch) exchange_by_core(passage, batch);
      return;
    }
    for (const Gathered& gathered : passage.packed) move(pack_, gathered);
    transport().exchange(passage.parcels, stream());
    for (const Gathered& gathered : passage.unpacked) move(unpack_, gathered);
  }

  void exchange_by_core(const Passage& passage, std::size_t batch) {
    std::vector<std::unique_ptr<Allocation>> sent;  // until all sends are complete
    std::vector<std::pair<Segment, std::byte*>> received;
    Parcels parcels;
    for (const Side& side : *passage.out) {
      if (batch >= side.segments.size()) continue;
      const Segment& particles = side.segments[batch];
      const std::uint64_t bytes = particles.words * kWord;
      sent.push_back(core_->new_block(*flow().destination, bytes));
      move_by_core(kParticlesPack, particles, sent.back()->data(), passage.home_is_left);
      const std::uint64_t place = passage.part * population_.part_bytes() + side.place;
      parcels.sent.push_back({side.other, static_cast<int>(batch), sent.back()->data(), bytes,
                              place + particles.in_messages * kWord});
    }
    for (const Side& side : *passage.in) {
      if (batch >= side.segments.size()) continue;
      const Segment& particles = side.segments[batch];
      std::byte* const at = flow().destination->data() + passage.part * population_.part_bytes() +
                            side.offset + particles.in_messages * kWord;
      received.emplace_back(particles, at);
      parcels.received.push_back({side.other, static_cast<int>(batch), at, particles.words * kWord, 0});
    }
    transport().exchange(parcels, stream());
    wait();
    for (const auto& [particles, at] : received)
      move_by_core(kParticlesUnpack, particles, at, !passage.home_is_left);
    sent.clear();
    reduce();
  }

  // Those that leave home are scattered there, in the order in which they were found to leave; guests lie in
  // that of their message.
  void move_by_core(const char* kernel, const Segment& particles, std::byte* message, bool at_home) {
    const Segment one{particles.in_store, 0, particles.words};
    const std::uint64_t step = at_home ? scattering_step(particles.words / kParticleWords) : 1;
    core_->run(kernel,
               SegmentsArguments{words_at(flow().source->data()), words_at(message), &one, 1, 0, step});
  }

  // The most messages that a rank sends to one neighbour in a trip: all ranks take part in as many tests.
  std::size_t longest_queue(std::uint64_t number) const {
    std::size_t most = 0;
    for (int rank = 0; rank < flow().ranks->size(); ++rank)
      for (const Group& group : groups_of(population_, grid(), rank, number))
        most = std::max(most, group.particles.size());
    return most;
  }

  Passage passage(const std::vector<Side>& out, const std::vector<Side>& in, std::uint64_t part) {
    const std::uint64_t part_bytes = population_.part_bytes();
    std::byte* messages = flow().destination->data();
    Passage made;
    made.out = &out;
    made.in = &in;
    made.part = part;
    made.home_is_left = part == 1;
    if (core_) return made;
    for (const Side& side : out) {
      const Parcel first{side.other, 0, messages + side.offset, 0, part * part_bytes + side.place};
      made.packed.push_back(gathered(side, transport().packed_at(first)));
      list(side, first, made.parcels.sent);
    }
    for (const Side& side : in) {
      std::byte* const from = messages + part * part_bytes + side.offset;
      made.unpacked.push_back(gathered(side, from));
      list(side, {side.other, 0, from, 0, 0}, made.parcels.received);
    }
    return made;
  }

  // Adds the messages of a side, which lie from `first` on.
  static void list(const Side& side, const Parcel& first, std::vector<Parcel>& parcels) {
    int tag = 0;
    for (const Segment& segment : side.segments) {
      const std::uint64_t at = segment.in_messages * kWord;
      parcels.push_back({side.other, tag++, first.data + at, segment.words * kWord, first.place + at});
    }
  }

  Gathered gathered(const Side& side, std::byte* messages) const {
    std::uint64_t words = 0;
    for (const Segment& segment : side.segments) words += segment.words;
    return {messages, reinterpret_cast<const Segment*>(table_->data()) + side.table, side.segments.size(),
            words};
  }

  void move(const Kernel& kernel, const Gathered& gathered) {
    launch(
        kernel,
        SegmentsArguments{words_at(flow().source->data()), words_at(gathered.messages), gathered.table,
                          gathered.segments, executor().runtime->stores_arrive_by_kernel_end() ? 0u : 1u, 0},
        gathered.words);
  }

  Trip plan(std::uint64_t number) const {
    const int rank = flow().ranks->rank();
    Trip trip;
    const std::vector<Group> groups = groups_of(population_, grid(), rank, number);
    const std::vector<std::vector<Segment>> homes = segments_of(population_, groups, rank, number);
    std::uint64_t offset = 0;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const int other = groups[k].other;
      trip.leaving.push_back({other, homes[k], offset, guests_before(other, rank, number), 0});
      offset += groups[k].words() * kWord;
    }
    for (const int other : grid().neighbours()) {
      if (other == kNobody) continue;
      Side side{other, {}, guests_before(rank, other, number), 0, 0};
      for (const Group& group : groups_of(population_, grid(), other, number)) {
        if (group.other == rank) {
          add_guests(group, side);
          break;
        }
        side.place += group.words() * kWord;
      }
      trip.guests.push_back(std::move(side));
    }
    return trip;
  }

  // Guests live beyond the rank's own particles, as they lie in the messages.
  void add_guests(const Group& group, Side& side) const {
    std::uint64_t at = 0;
    for (const std::uint64_t size : group.particles) {
      const std::uint64_t words = size * kParticleWords;
      side.segments.push_back({(flow().size_bytes + side.offset) / kWord + at, at, words});
      at += words;
    }
  }

  // Bytes that come to rank `to` before those of rank `from`.
  std::uint64_t guests_before(int to, int from, std::uint64_t number) const {
    std::uint64_t bytes = 0;
    for (const int other : seen_by(grid(), to).neighbours()) {
      if (other == from) break;
      if (other == kNobody) continue;
      for (const Group& group : groups_of(population_, grid(), other, number))
        if (group.other == to) bytes += group.words() * kWord;
    }
    return bytes;
  }

  // Puts the segments of all trips where kernels read them.
  void store_tables() {
    std::vector<Segment> all;
    for (Trip& trip : trips_)
      for (std::vector<Side>* sides : {&trip.leaving, &trip.guests})
        for (Side& side : *sides) {
          side.table = all.size();
          all.insert(all.end(), side.segments.begin(), side.segments.end());
        }
    const std::uint64_t bytes = std::max<std::size_t>(1, all.size()) * sizeof(Segment);
    Device& by = executor();
    if (by.is_host()) {
      table_ = session().allocate(by, Memory::pageable, bytes, by);
      std::memcpy(table_->data(), all.data(), all.size() * sizeof(Segment));
      return;
    }
    Device& host = session().device("cpu0");
    const auto staged = session().allocate(host, Memory::pinned, bytes, host, &by);
    std::memcpy(staged->data(), all.data(), all.size() * sizeof(Segment));
    table_ = session().allocate(by, Memory::device, bytes, by);
    by.runtime->copy(table_->data(), staged->data(), bytes, stream());
    by.runtime->synchronize(stream());
  }

  std::string description() const {
    std::uint64_t least = UINT64_MAX, most = 0, bytes = 0, count = 0;
    for (const Trip& trip : trips_)
      for (const Side& side : trip.leaving)
        for (const Segment& segment : side.segments) {
          const std::uint64_t size = segment.words * kWord;
          least = std::min(least, size);
          most = std::max(most, size);
          bytes += size;
          ++count;
        }
    return std::to_string(count / kTrips) + " messages out of this rank and as many back, of " +
           std::to_string(least) + " to " + std::to_string(most) + " bytes, " +
           std::to_string(bytes / kTrips) + " bytes in all each way" +
           (core_ ? ", packed by a core in new memory each" : "");
  }

  static unsigned long long* words_at(std::byte* data) { return reinterpret_cast<unsigned long long*>(data); }
  std::byte* guests() const { return flow().source->data() + flow().size_bytes; }
  Lattice lattice() const {
    const auto rank = static_cast<std::uint64_t>(flow().ranks->rank());
    return {kParticleWords, population_.particles, 1, key_,
            lattice_power(kGrowth, steps_) * lattice_power(kUp, rank * population_.particles)};
  }

  const Kernel &track_ = kernel(kParticlesTrack), &pack_ = kernel(kParticlesPack),
               &unpack_ = kernel(kParticlesUnpack);
  Population population_;
  std::unique_ptr<Core> core_;  // null: kernels pack
  std::vector<Trip> trips_;
  std::unique_ptr<Buffer> table_;
  std::uint64_t key_ = 0, steps_ = 0, trip_ = 0;
};

const gpu::RegisterKernels<TrackArguments> kParticlesTracking("interfaces/particles/kernel.cu",
                                                              {kParticlesTrack});
const gpu::RegisterKernels<SegmentsArguments> kParticlesMoving("interfaces/particles/kernel.cu",
                                                               {kParticlesPack, kParticlesUnpack});
const RegisterInterface kParticles("particles", make<ParticlesMover>);

}  // namespace
}  // namespace byteways
