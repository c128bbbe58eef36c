// How the simulated MPI moves bytes: by operations of the engine over the machine's own links, memories,
// cores and copy engines, so that messages contend with everything else there. Who may send what to whom, and
// when, is in messages.hpp.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/machine/streams.hpp"
#include "simulator/mpi/bytes.hpp"
#include "simulator/mpi/settings.hpp"

namespace byteways::sim::mpi {

struct Rank {
  int number = 0;
  Place place;  // the NUMA domain of its core
};

class Transfers {
 public:
  using Done = std::function<void()>;  // is called once, at the time at which it has happened

  Transfers(const Model& model, Engine& engine, Streams& streams, Kernels& kernels);

  Bytes& bytes() { return bytes_; }
  const Model& model() const { return *model_; }
  // How many calls of MPI a rank has made on this machine, that one included.
  std::uint64_t count_call(int rank) { return ++calls_[rank]; }

  // Until one core sees what another wrote.
  void notify(const Rank& from, const Rank& to, Done done);
  void after(double ns, Done done);
  // Bytes that a core or a GPU brings from one buffer to another, after `fixed_ns` of its own; `cached`:
  // where they fit, they stay in the core's caches. Nothing moves in memory: `done` does that.
  void by_core(const Rank& rank, const End& to, const End& from, double bytes, bool cached, double fixed_ns,
               Done done);
  void by_gpu(const Rank& rank, Place gpu, const End& to, const End& from, double bytes, Done done);
  // … and the rank's core waits for its end as a program does.
  void by_gpu_waited_for(const Rank& rank, Place gpu, const End& to, const End& from, double bytes,
                         Done done);
  // Piece by piece through buffers of the library in host memory: each is filled while the one before it is
  // emptied.
  void staged(const Rank& sender, const Rank& receiver, const End& to, const End& from, double bytes,
              Done done);
  // From the memory of one host to that of another, by their NICs.
  void by_network(const Rank& sender, const End& to, const End& from, double bytes, Done done);
  // Whether the ranks are on different hosts: there is one rank on each, if there are several hosts.
  bool between_hosts(int a, int b) const { return model_->hosts > 1 && a != b; }
  // Time of a message between hosts that is too short for others to share the NICs with it.
  double network_ns(double bytes) const;
  // Device memory that cores read and write themselves; those of an APU as far as its core copies messages.
  bool is_short(double bytes) const;
  // Whether a reduction of so many bytes of device memory is made in host memory, or in a buffer of the
  // library on the GPU.
  bool reduces_on_host(double bytes) const;
  bool reduces_in_own_buffer(double bytes) const;
  // to += from, by whose memory it is.
  void add(const Rank& rank, const End& to, const End& from, double bytes, Done done);

  // A buffer of the library in memory of that kind, with whatever is in it; `real` as Block::real().
  void* take_buffer(Place place, Kind kind, std::uint64_t bytes, bool real);
  void give_back(void* buffer);
  // Notes that these ranks have it open, as libraries have what they keep for good.
  void open_for(const void* buffer, const std::vector<int>& ranks);
  std::size_t spare_buffers() const { return spare_buffers_.size(); }

  bool joined_by_links(Place a, Place b) const;  // GPUs that reach each other's memory
  const LibrarySettings& settings() const { return settings_; }
  // Time of opening a GPU's buffer for a rank: 0 when it has it open already.
  double registration_ns(const Rank& rank, const End& end);

 private:
  std::unique_ptr<Operation> copy_by_core(const Rank& rank, const End& to, const End& from, double bytes,
                                          bool cached) const;
  std::unique_ptr<Operation> copy_by_gpu(Place gpu, const End& to, const End& from, double bytes) const;
  void submit(Engine::Queue& queue, std::unique_ptr<Operation> operation, double delay_ns, Done done);
  Engine::Queue& core(const Rank& rank) { return queue({rank.number, -1}); }
  Engine::Queue& device(const Rank& rank, Place gpu) { return queue({rank.number, gpu.index}); }
  Engine::Queue& nic(const Rank& rank) { return queue({rank.number, -2}); }
  Engine::Queue& queue(std::pair<int, int> of);

  const Model* model_;
  const LibrarySettings settings_;
  Engine* engine_;
  Streams* streams_;
  Kernels* kernels_;
  Bytes bytes_;
  bool happening_ = false;                                // inside of a Done
  std::map<int, std::uint64_t> calls_;                    // by rank
  std::map<std::pair<int, int>, Engine::Queue*> queues_;  // of a rank's NIC (-2), core (-1) and GPUs
  std::vector<Engine::Queue*> unused_;                    // for after()
  std::vector<Block*> spare_buffers_;                     // nobody has them
};

}  // namespace byteways::sim::mpi
