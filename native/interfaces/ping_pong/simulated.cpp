// The ping-pong on the simulated machine.
#include <map>

#include "interfaces/ping_pong/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

// A waiting side of a ping-pong.
struct Answering {
  Place place;
  PingPongArguments arguments;
};
using AnsweringSides = std::map<const void*, Answering>;  // by the polled word

// Two communicating operations cannot be simulated one by one: the answering side is noted and ends at once;
// the leading side takes the time of both and leaves the results of both.
void ping_pong(Kernels& kernels, Operation& operation, const PingPongArguments& arguments,
               const KernelLaunch& launch) {
  kernels.must_be_real(arguments.rounds_done);
  auto& answering = kernels.state<AnsweringSides>();
  const Kernels::Reach writes = kernels.reach(operation, launch.executor, arguments.writes, kWordBytes);
  const Kernels::Reach polls = kernels.reach(operation, launch.executor, arguments.polls, kWordBytes);
  if (arguments.leads == 0) {
    answering[arguments.polls] = {launch.executor, arguments};
    return;
  }
  const auto found = answering.find(arguments.writes);
  const bool answered = found != answering.end() && found->second.arguments.writes == arguments.polls &&
                        found->second.arguments.first == arguments.first &&
                        found->second.arguments.rounds == arguments.rounds;
  if (!answered) throw Failure(Code::invalid, "a ping-pong begins that nobody answers");
  const Answering other = found->second;
  answering.erase(found);
  const double round_ns = kernels.costs().hand_over_ns(launch.executor, other.place, writes.place) +
                          kernels.costs().hand_over_ns(other.place, launch.executor, polls.place);
  operation.fixed += picoseconds(round_ns * static_cast<double>(arguments.rounds));
  operation.never_ends =
      kernels.hangs(launch.executor, other.place) || kernels.hangs(other.place, launch.executor);
  if (launch.on_gpu()) operation.processors = kernels.costs().processors(launch.executor.index);
  operation.on_end = [&kernels, arguments, answer = other.arguments, ours = writes.range,
                      theirs = polls.range] {
    kernels.memory().set(*ours.block, ours.begin, arguments.first + arguments.rounds);
    kernels.memory().set(*theirs.block, theirs.begin, arguments.first + arguments.rounds);
    *arguments.rounds_done = *answer.rounds_done = arguments.rounds;
  };
}

const RegisterSimulatedKernel<ping_pong> kPingPong{"ping_pong"};

}  // namespace
}  // namespace byteways::sim
