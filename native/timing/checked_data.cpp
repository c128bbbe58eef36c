// See checked_data.hpp.
#include "timing/checked_data.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "interfaces/pattern.hpp"

namespace byteways {
namespace {

// A finding in the text form that ranks exchange.
std::string finding_text(const Verification& found) {
  std::ostringstream text;
  text << found.checked_bytes << ' ' << found.bad_count << ' ' << found.first_offset_bytes << ' '
       << found.expected << ' ' << found.got << ' ' << found.buffer_bytes << ' ' << found.guard_of;
  return text.str();
}

Verification parse_finding(const std::string& text) {
  Verification found;
  found.ok = false;
  std::istringstream(text) >> found.checked_bytes >> found.bad_count >> found.first_offset_bytes >>
      found.expected >> found.got >> found.buffer_bytes >> found.guard_of;
  return found;
}

}  // namespace

CheckedData::CheckedData(Session& session, std::vector<FlowRunner>& runners, std::uint64_t key, Team& team)
    : session_(&session),
      runners_(&runners),
      key_(key),
      team_(&team),
      firsts_(runners.size()),
      found_(runners.size()) {}

void CheckedData::prepare() {
  const Nanoseconds before = session_->clock().now();
  ++preparations_;
  untouched_ = true;
  for (std::size_t k = 0; k < runners_->size(); ++k) {
    FlowRunner& runner = (*runners_)[k];
    runner.mover->prepare((key_ << 20) + (preparations_ << 8) + k);
    const std::uint64_t rotation = runner.mover->traits().rotation;
    runner.next_operation = (runner.next_operation + rotation - 1) / rotation * rotation;
    firsts_[k] = runner.next_operation;
  }
  preparation_ns_ = static_cast<double>(session_->clock().now() - before);
}

void CheckedData::renew() {
  if (!untouched_) prepare();
}

void CheckedData::check_all() {
  look_at_all();
  conclude(!team_->agree_all("words as expected", ok_));
}

void CheckedData::look_at_all() {
  for (std::size_t k = 0; k < runners_->size(); ++k) {
    FlowRunner& runner = (*runners_)[k];
    note(k, runner.mover->verify(firsts_[k], runner.next_operation - firsts_[k]));
  }
}

void CheckedData::look_at_some(const std::vector<std::uint64_t>& firsts) {
  for (std::size_t k = 0; k < runners_->size(); ++k) {
    FlowRunner& runner = (*runners_)[k];
    note(k, runner.mover->spot_check(firsts[k], runner.next_operation - firsts[k]));
  }
}

void CheckedData::check_guards() {
  for (const Buffer* buffer : session_->guarded()) {
    const Words guard = buffer->guard();
    const CheckResult result = check(*session_, buffer->service_device(),
                                     buffer->data() + guard.first * kWord, guard.count, guard.first);
    if (result.bad_count == 0) continue;
    Verification found;
    found.note(result, guard.first * kWord);
    found.checked_bytes = guard.count * kWord;
    found.guard_of = buffer->device().name() + ':' + std::string(memory_name(buffer->allocation().memory()));
    found.buffer_bytes = buffer->bytes();
    note(0, found);
  }
  conclude(!team_->agree_all("words behind buffers as they were", ok_));
}

// An error stays recorded, whatever later checks find.
void CheckedData::note(std::size_t flow, const Verification& result) {
  Verification& total = found_[flow];
  const std::uint64_t checked = total.checked_bytes + result.checked_bytes;
  if (total.ok) total = result;
  total.checked_bytes = checked;
  ok_ = ok_ && result.ok;
}

void CheckedData::conclude(bool any_found_wrong) {
  ok_ = !any_found_wrong;
  if (ok_) return;
  for (Verification& found : found_) {
    const std::vector<double> wrong = team_->gather("verification of a flow", found.ok ? 0.0 : 1.0);
    const auto first = std::find(wrong.begin(), wrong.end(), 1.0);
    if (first == wrong.end()) continue;
    found = parse_finding(
        team_->broadcast("finding", finding_text(found), static_cast<int>(first - wrong.begin())));
  }
}

}  // namespace byteways
