// What the movers of application patterns share: a grid of ranks, memory of messages, and the kernels of this
// rank, which one stream carries out. An operation is one iteration of every rank, or its exchange alone, and
// the host waits for its end, as a code does that computes its next time step.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/exchange/exchange.hpp"
#include "interfaces/mover.hpp"
#include "interfaces/pattern.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {

inline constexpr int kNobody = -1;

// Ranks as a grid, row by row. Not periodic: of a 2 × 2, every rank has two neighbours.
struct RankGrid {
  int columns = 1, rows = 1, column = 0, row = 0;
  // The neighbours on the left, right, bottom and top; kNobody beyond the edge.
  std::array<int, 4> neighbours() const;
};

// Whether a rank packs as the code does that the pattern stands for, or fewer kernels do it at once.
inline bool packs_as_original(const Flow& flow) { return flow.word("packing", "fused") == "original"; }

// Throws Unsupported where the ranks do not fill whole rows.
RankGrid grid_of(const Flow& flow);

class ApplicationMover : public Mover {
 public:
  ~ApplicationMover() override;
  // One iteration or exchange after the other, each waited for.
  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) final;

 protected:
  // Agrees with the other ranks that all have these kernels: throws Unsupported on all where one has not.
  ApplicationMover(Session& session, const Flow& flow, const std::vector<const char*>& kernels);

  virtual void iterate() = 0;
  // The halves of the memory of messages that take turns.
  static constexpr std::uint64_t kTurns = 2;
  std::uint64_t turn() const { return operations_ % kTurns; }
  // Whether an operation is a whole iteration: compute, exchange and an 8-byte allreduce.
  bool whole() const { return whole_; }
  const RankGrid& grid() const { return grid_; }
  const Flow& flow() const { return flow_; }
  Session& session() const { return *session_; }
  Device& owner_of_state() const { return flow_.source->service_device(); }
  Stream& stream() const { return *stream_; }
  Transport& transport() const { return *transport_; }
  // Opens the transport; collective.
  void open_transport(const std::vector<int>& neighbours, const std::string& described);
  // An 8-byte allreduce.
  void reduce();
  // Adds the sums since forget_sums() that were not the number of ranks.
  void note_sums(Verification& found) const { found.note(sums_, 0); }
  void forget_sums() { sums_ = {0, ~0ull, 0, 0}; }
  struct Kernel {
    PreparedKernel prepared;
    HostFunction on_host = nullptr;  // called by this thread
  };
  // Of those that the constructor was given; looked up once, not in every iteration.
  const Kernel& kernel(std::string_view name) const { return kernels_.find(name)->second; }
  template <class Arguments>
  void launch(const Kernel& kernel, const Arguments& arguments, std::uint64_t items) {
    if (kernel.on_host != nullptr) return kernel.on_host(&arguments, TeamMember{});
    Device& by = executor();
    by.runtime->launch(by.ordinal, kernel.prepared, shape(kernel, items), &arguments, sizeof arguments,
                       *stream_);
  }
  // Until this rank's kernels are done.
  void wait() const;
  // Fills the memory of messages with poison, and waits.
  void poison_messages();

 private:
  LaunchShape shape(const Kernel& kernel, std::uint64_t items) const;

  Session* session_;
  Flow flow_;
  RankGrid grid_;
  bool whole_, inline_;
  std::uint64_t operations_ = 0;
  CheckResult sums_{0, ~0ull, 0, 0};
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace byteways
