// See known_flow.hpp.
#include "timing/known_flow.hpp"

#include <algorithm>
#include <sstream>

#include "timing/measure.hpp"

namespace byteways {
namespace {

std::string identity_of(const Flow& flow, const MeasureOptions& options) {
  std::ostringstream text;
  text << flow.interface << ' ' << flow.executor->name() << ' ' << flow.size_bytes << ' ' << flow.cold << ' '
       << flow.sharing << ' ' << (flow.partner == nullptr ? "" : flow.partner->name());
  std::uint64_t smallest = UINT64_MAX;  // decides over how many slots operations rotate
  for (const Buffer* end : {flow.source, flow.second_source, flow.destination}) {
    text << ' ';
    if (end == nullptr) continue;
    text << end->device().name() << ':' << memory_name(end->allocation().memory()) << ':'
         << end->first_touch().name();
    smallest = std::min(smallest, end->bytes());
  }
  text << ' ' << smallest;
  for (const auto& [name, value] : flow.options) {
    text << ' ' << name << '=';
    std::visit([&](const auto& each) { text << each; }, value);
  }
  text << " | " << options.gate << ' ' << options.gate_timeout_s << ' ' << options.batch << ' '
       << options.cap_depth;
  for (const int core : options.cores) text << ' ' << core;
  return text.str();
}

std::shared_ptr<KnownFlow> known_by(Session& session, const std::string& identity) {
  std::shared_ptr<KnownFlow>& known = session.known_flows()[identity];
  if (known == nullptr) known = std::make_shared<KnownFlow>();
  return known;
}

}  // namespace

std::shared_ptr<KnownFlow> known_flow(Session& session, const Flow& flow, const MeasureOptions& options) {
  return known_by(session, identity_of(flow, options));
}

std::shared_ptr<KnownFlow> known_case(Session& session, const std::vector<Flow>& flows,
                                      const MeasureOptions& options) {
  std::string identity;
  for (const Flow& flow : flows) identity += (identity.empty() ? "" : " & ") + identity_of(flow, options);
  if (options.interference) identity += " interference";
  return known_by(session, identity);
}

}  // namespace byteways
