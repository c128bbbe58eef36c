// Interface `halo`: CloverLeaf's pattern of communication. Each rank has a tile of a grid in two dimensions,
// of several fields with a halo around. An iteration is a pass of a five-point stencil over all fields, the
// exchange of their halos along x and then along y, each face packed into one message, and the sum of one
// word of every rank, as for a time step. With `timed` "exchange", an operation is that exchange alone.
//
// With `packing` "original" an iteration has the six exchanges of a step of CloverLeaf, each of the first
// fields of the tile: a kernel packs or unpacks one field of a face, and the host waits before each message.
// With "fused" it has one exchange of all fields, and a kernel packs a face.
//
// The pattern stands for CloverLeaf's communication (clover_exchange), not for its hydrodynamics: one stencil
// stands for all of its kernels.
#include "interfaces/exchange/application.hpp"
#include "interfaces/halo/arguments.hpp"
#include "interfaces/lattice/lattice.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr const char *kHaloStencil = "halo_stencil", *kHaloPack = "halo_pack", *kHaloUnpack = "halo_unpack",
                     *kHaloBoundary = "halo_boundary";

// Fields of the exchanges of a step (update_halo in CloverLeaf's hydro loop).
constexpr std::array<std::uint64_t, 6> kFieldsOfCalls = {5, 1, 1, 4, 6, 6};

// The tile of a rank. Messages lie in three parts: those packed, and twice those received, each part with the
// two faces of x and the two of y.
class Tile {
 public:
  explicit Tile(const Flow& flow)
      : width_(flow.count("width_cells", 1)),
        height_(flow.count("height_cells", 1)),
        depth_(flow.count("depth", 1)),
        fields_(flow.count("fields", 1)),
        fence_(flow.executor->runtime->stores_arrive_by_kernel_end() ? 0 : 1) {
    if (width_ < depth_ || height_ < depth_)
      throw Unsupported(flow.interface, "depth",
                        "a tile of " + std::to_string(width_) + " × " + std::to_string(height_) +
                            " cells has no face of " + std::to_string(depth_) + " cells");
  }
  HaloArguments arguments(const void* from, void* to, unsigned side) const {
    return {static_cast<const unsigned long long*>(from),
            static_cast<unsigned long long*>(to),
            width_,
            height_,
            depth_,
            fields_,
            side,
            fence_};
  }
  // The same with only the first fields.
  Tile with_fields(std::uint64_t count) const {
    Tile fewer = *this;
    fewer.fields_ = std::min(count, fields_);
    return fewer;
  }
  std::uint64_t fields() const { return fields_; }
  std::uint64_t field_bytes() const { return halo_field_words(arguments(nullptr, nullptr, kLeft)) * kWord; }
  std::uint64_t words() const { return fields_ * halo_field_words(arguments(nullptr, nullptr, kLeft)); }
  std::uint64_t state_bytes() const { return words() * kWord; }
  std::uint64_t face_words(unsigned side) const {
    const HaloArguments a = arguments(nullptr, nullptr, side);
    return fields_ * halo_rows(a) * halo_row_words(a);
  }
  std::uint64_t face_bytes(unsigned side) const { return face_words(side) * kWord; }
  // Of a face within its part.
  std::uint64_t face_offset(unsigned side) const {
    const std::uint64_t x = face_bytes(kLeft), y = face_bytes(kBottom);
    return side <= kRight ? side * x : 2 * x + (side - kBottom) * y;
  }
  std::uint64_t part_bytes() const { return 2 * (face_bytes(kLeft) + face_bytes(kBottom)); }
  std::uint64_t cells() const { return fields_ * width_ * height_; }
  Lattice lattice(const RankGrid& grid, std::uint64_t key, std::uint64_t steps) const {
    const std::uint64_t x = static_cast<std::uint64_t>(grid.column) * width_,
                        y = static_cast<std::uint64_t>(grid.row) * height_;
    return {width_ + 2 * depth_, height_ + 2 * depth_, fields_, key,
            lattice_power(kGrowth, steps) * lattice_power(kAcross, x) * lattice_power(kUp, y)};
  }

 private:
  std::uint64_t width_, height_, depth_, fields_;
  unsigned fence_;
};

class HaloMover final : public ApplicationMover {
 public:
  HaloMover(Session& session, const Flow& flow)
      : ApplicationMover(
            session, flow,
            {kHaloStencil, kHaloPack, kHaloUnpack, kHaloBoundary, "lattice_fill", "lattice_check"}),
        tile_(flow),
        original_(packs_as_original(flow)) {
    if (flow.source->bytes() < 2 * tile_.state_bytes() || flow.destination->bytes() < 3 * tile_.part_bytes())
      throw Error(flow.interface, "size", "the fields or their messages do not fit the buffers");
    std::vector<Tile> tiles;  // of the exchanges of an iteration
    if (original_)
      for (const std::uint64_t count : kFieldsOfCalls) tiles.push_back(tile_.with_fields(count));
    else
      tiles.push_back(tile_);
    std::vector<int> others;
    std::uint64_t sent = 0;
    for (unsigned side = kLeft; side <= kTop; ++side) {
      const int other = grid().neighbours()[side];
      if (other == kNobody) continue;
      others.push_back(other);
      for (const Tile& tile : tiles) sent += tile.face_bytes(side);
    }
    open_transport(others, std::to_string(others.size() * tiles.size()) + " messages of " +
                               std::to_string(sent) + " bytes in all from this rank");
    if (!original_) tiles.push_back(tile_);  // for the other turn
    for (const Tile& tile : tiles) add_exchange(tile);
  }

  void prepare(std::uint64_t key) override {
    key_ = key;
    steps_ = 0;
    forget_sums();
    current_ = 0;
    Device& owner = owner_of_state();
    fill_lattice(session(), owner, state(0), tile_.lattice(grid(), key_, 0));
    poison(session(), owner, state(1), tile_.words(), 1);
    owner.runtime->synchronize(session().service_stream(owner));
    poison_messages();
    spoil(0, 1);
  }

  // A missing iteration, or the message of an earlier one, shows by the number of steps in every word. An
  // exchange alone leaves the fields as they are: their halos are overwritten, from poisoned messages.
  void spoil(std::uint64_t, std::uint64_t) override {
    if (whole()) return;
    poison_messages();
    for (const Phase& phase : exchanges_.back()) unpack(phase);
    wait();
  }

  // Every word with its halo and corners, as a single rank would have computed it.
  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification found;
    found.checked_bytes = tile_.state_bytes();
    found.note(
        check_lattice(session(), owner_of_state(), state(current_), tile_.lattice(grid(), key_, steps_)),
        current_ * tile_.state_bytes());
    note_sums(found);
    return found;
  }

 private:
  void iterate() override {
    if (whole()) {
      launch(stencil_, tile_.arguments(state(current_), state(1 - current_), kLeft), tile_.cells());
      current_ = 1 - current_;
      ++steps_;
    }
    const std::size_t first = original_ ? 0 : turn(), count = original_ ? exchanges_.size() : 1;
    for (std::size_t k = first; k < first + count; ++k)
      for (const Phase& phase : exchanges_[k]) exchange(phase);
    if (whole()) reduce();
  }

  // A face of this rank: its neighbour, or the edge of the grid.
  struct Face {
    unsigned side;
    bool edge;
    std::byte *packed, *received;
  };
  // The exchange along x or y, of the halos beyond two faces.
  struct Phase {
    Tile tile;  // of the fields that are exchanged
    std::array<Face, 2> faces;
    Parcels parcels;
  };
  using Exchange = std::array<Phase, 2>;  // along x and along y

  // Exchanges take turns with the halves of the memory of messages.
  void add_exchange(const Tile& tile) {
    const std::uint64_t half = exchanges_.size() % kTurns;
    exchanges_.push_back({plan(tile, kLeft, half), plan(tile, kBottom, half)});
  }

  // All of it that is the same in every iteration.
  Phase plan(const Tile& tile, unsigned low, std::uint64_t half) {
    Phase made{tile, {}, {}};
    for (const unsigned side : {low, low + 1}) {
      const int other = grid().neighbours()[side];
      Face& face = made.faces[side - low] = {side, other == kNobody, nullptr, nullptr};
      if (face.edge) continue;
      const unsigned opposite = side ^ 1;  // the neighbour's face
      const Parcel sent{other, static_cast<int>(opposite), message(0, side), tile.face_bytes(side),
                        received_part(half) * tile_.part_bytes() + tile_.face_offset(opposite)};
      face.packed = transport().packed_at(sent);
      face.received = message(received_part(half), side);
      made.parcels.sent.push_back(sent);
      made.parcels.received.push_back({other, static_cast<int>(side), face.received, tile.face_bytes(side)});
    }
    return made;
  }

  // Of a neighbour by a message, at the edge of the grid as the boundary wants it.
  void exchange(const Phase& phase) {
    for (const Face& face : phase.faces) {
      if (!face.edge)
        pack(phase.tile, face);
      else if (whole())
        launch(boundary_, phase.tile.arguments(state(current_), state(current_), face.side),
               phase.tile.face_words(face.side));
    }
    transport().exchange(phase.parcels, stream());
    unpack(phase);
  }

  void pack(const Tile& tile, const Face& face) {
    for_kernels(tile, face.side, [&](const Tile& part, std::uint64_t in_state, std::uint64_t in_message) {
      launch(pack_, part.arguments(state(current_) + in_state, face.packed + in_message, face.side),
             part.face_words(face.side));
    });
    if (original_) wait();
  }

  void unpack(const Phase& phase) {
    for (const Face& face : phase.faces) {
      if (face.edge) continue;
      for_kernels(
          phase.tile, face.side, [&](const Tile& part, std::uint64_t in_state, std::uint64_t in_message) {
            launch(unpack_, part.arguments(face.received + in_message, state(current_) + in_state, face.side),
                   part.face_words(face.side));
          });
      if (original_) wait();
    }
  }

  // Calls action(fields of a kernel, bytes before them in the state, and in the message).
  template <class Action>
  void for_kernels(const Tile& tile, unsigned side, const Action& action) const {
    if (!original_) return action(tile, 0, 0);
    const Tile one = tile.with_fields(1);
    for (std::uint64_t field = 0; field < tile.fields(); ++field)
      action(one, field * one.field_bytes(), field * one.face_bytes(side));
  }

  static std::uint64_t received_part(std::uint64_t half) { return 1 + half; }
  std::byte* state(unsigned number) const { return flow().source->data() + number * tile_.state_bytes(); }
  std::byte* message(std::uint64_t part, unsigned side) const {
    return flow().destination->data() + part * tile_.part_bytes() + tile_.face_offset(side);
  }

  const Tile tile_;
  const Kernel &stencil_ = kernel(kHaloStencil), &pack_ = kernel(kHaloPack), &unpack_ = kernel(kHaloUnpack),
               &boundary_ = kernel(kHaloBoundary);
  const bool original_;
  std::vector<Exchange> exchanges_;  // of an iteration, or one for each turn
  std::uint64_t key_ = 0, steps_ = 0;
  unsigned current_ = 0;
};

const gpu::RegisterKernels<HaloArguments> kHaloKernels("interfaces/halo/kernel.cu",
                                                       {kHaloStencil, kHaloPack, kHaloUnpack, kHaloBoundary});
const RegisterInterface kHalo("halo", make<HaloMover>);

}  // namespace
}  // namespace byteways
