// How the messages of an application pattern get from rank to rank: one transport a class, the same messages
// for all. A rank packs its messages on its device's stream, exchange() carries them, and unpacking follows
// on the same stream.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/evidence.hpp"
#include "interfaces/flow.hpp"
#include "runtimes/session.hpp"

namespace byteways {

// A message of this rank to another one, or from another one to this rank. Messages of equal ends are listed
// in the same order on both, and have equal tags and sizes there.
struct Parcel {
  int other = 0, tag = 0;
  std::byte* data = nullptr;  // in the memory of messages of this rank
  std::uint64_t bytes = 0;
  std::uint64_t place = 0;  // sent: offset in the other rank's memory of messages
};

// Whether a rank computes in the thread that calls MPI, as codes do on a CPU: a stream's thread would add
// what waking it takes to every kernel. Nothing is then enqueued on the stream. On a simulated machine
// streams keep the order of events.
inline bool computes_inline(const Session& session, const Device& device) {
  return device.is_host() && session.clock().runs_by_itself();
}

struct Parcels {
  std::vector<Parcel> sent, received;
};

// Memory of messages: what a rank packs, and what others send to it. Peers write the latter while the rank
// may still read what came before, so there are two of them, used in turn.
class Transport {
 public:
  virtual ~Transport() = default;
  // Where a message is packed. Valid for the transport's lifetime.
  virtual std::byte* packed_at(const Parcel& sent) const { return sent.data; }
  // Carries the messages that have been packed on `stream`. What is enqueued on it afterwards finds those
  // received in place. Every rank takes part, also without messages.
  virtual void exchange(const Parcels& parcels, Stream& stream) = 0;
  // An 8-byte allreduce, as codes compute a time step. Waits for it.
  virtual std::uint64_t sum(std::uint64_t mine, Stream& stream) = 0;
  const std::string& engine() const { return engine_; }  // for the record
  const std::string& evidence() const { return evidence_; }
  const Fallback& fallback() const { return fallback_; }

 protected:
  std::string engine_, evidence_;
  Fallback fallback_;
};

// Words of the option `transport`.
namespace transports {
inline constexpr const char *kMpi = "mpi", *kStaged = "mpi-staged", *kXccl = "xccl", *kHybrid = "hybrid",
                            *kCopies = "copies", *kKernels = "kernels";
}

// Makes the transport that the flow's option names. `messages` is the rank's memory of messages, `neighbours`
// are the ranks that it exchanges messages with. Collective: all ranks succeed, or throw Unsupported with the
// reason of the first that cannot. Where a neighbour's memory cannot be opened, `copies` and `kernels` fall
// back to staging in host memory on all ranks, and say so in evidence() and fallback().
std::unique_ptr<Transport> make_transport(Session& session, const Flow& flow, Buffer& messages,
                                          const std::vector<int>& neighbours);

// Throws Unsupported on all ranks, with the reason of the first rank that has one; collective. Empty: none.
void agree_possible(const Flow& flow, const std::string& reason);

}  // namespace byteways
