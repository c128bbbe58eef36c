// See sampler.hpp.
#include "timing/sampler.hpp"

namespace byteways {
namespace {

constexpr int kMostOpenings = 2;  // maximum times that the watchdog may open the gate

}  // namespace

bool Sampler::note_opening(bool opened) {
  const bool any = team_->agree_any("gate opened by its watchdog", opened);
  if (any && ++openings_ > kMostOpenings) gated_ = false;
  return any;
}

double Sampler::wait_for_all(Clock& clock) const {
  if (team_->size() == 1) return 0;  // reading a simulated clock takes virtual time
  const Nanoseconds before = clock.now();
  team_->barrier("start of a batch");
  return static_cast<double>(clock.now() - before);
}

}  // namespace byteways
