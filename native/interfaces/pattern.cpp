// See pattern.hpp.
#include "interfaces/pattern.hpp"

#include <algorithm>

#include "interfaces/device/geometry.hpp"
#include "interfaces/scratch_page.hpp"
#include "interfaces/service/arguments.hpp"

namespace byteways {
namespace {

constexpr unsigned kServiceThreads = 512;
constexpr std::uint64_t kMostGridThreads = 0xFFFFFFFF;  // HIP counts the threads of a grid in 32 bits
constexpr std::uint64_t kMostTile = 1024 * kTileAccesses;

void launch(Session& session, Device& by, const char* kernel, const PatternArguments& arguments) {
  by.runtime->launch(by.ordinal, by.runtime->prepare(by.ordinal, kernel),
                     full_shape(by, kernel, arguments.count / arguments.stride), &arguments, sizeof arguments,
                     session.service_stream(by));
}

}  // namespace

namespace {

bool has_limited_grid(const Flow& flow) {
  return flow.options.find("blocks") != flow.options.end() || flow.sharing > 1;
}

LaunchShape resident_shape(const Flow& flow, const KernelInfo& info, std::uint64_t accesses) {
  const unsigned usual = has_limited_grid(flow) ? kBlockThreads : kCoverThreads;
  const unsigned threads = std::min(flow.count("threads", usual), info.max_threads);
  const std::uint64_t useful = std::max<std::uint64_t>(1, (accesses + threads - 1) / threads);
  const auto processors = static_cast<std::uint64_t>(std::max(1, flow.executor->info.multiprocessors));
  const std::uint64_t each = std::uint64_t{info.blocks_per_multiprocessor} * info.max_threads / threads;
  const std::uint64_t room =
      std::max<std::uint64_t>(1, processors * std::max<std::uint64_t>(1, each) / flow.sharing);
  return {flow.count("blocks", static_cast<unsigned>(std::min(useful, room))), threads, 0};
}

}  // namespace

KernelChoice choose_kernel(const Flow& flow, const KernelForms& forms, std::uint64_t accesses,
                           unsigned per_thread, unsigned usual_threads) {
  Device& executor = *flow.executor;
  if (executor.is_host())
    return {require_kernel(flow, executor, forms.host != nullptr ? forms.host : forms.single), team_of(flow)};
  const char* covering = per_thread > 1 ? forms.tiled : forms.single;
  const bool fences = forms.stores && must_fence(executor, flow.destination->device());
  if (has_limited_grid(flow) || fences || accesses > kMostGridThreads - kMostTile) {
    const PreparedKernel kernel = require_kernel(flow, executor, forms.resident);
    return {kernel, resident_shape(flow, kernel.info, accesses)};
  }
  const PreparedKernel kernel = require_kernel(flow, executor, covering);
  const unsigned threads = std::min(flow.count("threads", usual_threads), kernel.info.max_threads);
  const std::uint64_t tile = std::uint64_t{threads} * per_thread;
  const std::uint64_t blocks = std::max<std::uint64_t>(1, (accesses + tile - 1) / tile);
  return {kernel, {static_cast<unsigned>(blocks), threads, 0}};
}

LaunchShape team_of(const Flow& flow) {
  if (flow.number("blocks") != 0)
    throw Unsupported(flow.interface, "blocks", "a CPU has no blocks; its threads are the option threads",
                      flow.executor->name());
  const auto cores = static_cast<unsigned>(std::max(1, flow.executor->info.multiprocessors));
  return {flow.count("threads", cores, kMostTeam), 1, 0};
}

LaunchShape full_shape(Device& device, const char* kernel, std::uint64_t items) {
  const auto processors = static_cast<unsigned>(std::max(1, device.info.multiprocessors));
  if (device.is_host()) {
    constexpr std::uint64_t kItemsWorthAThread = 1 << 15;
    return {static_cast<unsigned>(std::clamp<std::uint64_t>(items / kItemsWorthAThread, 1, processors)), 1,
            0};
  }
  const KernelInfo info = device.runtime->kernel_info(device.ordinal, kernel);
  const unsigned threads = std::min(kServiceThreads, info.max_threads);
  const std::uint64_t wanted = (items + threads - 1) / threads;
  const std::uint64_t room = std::uint64_t{processors} * std::max(1u, info.blocks_per_multiprocessor);
  return {static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, room)), threads, 0};
}

void fill(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t key) {
  launch(session, by, "fill", {static_cast<unsigned long long*>(data), words, key, 0, 1, nullptr});
}

void clear(Session& session, Device& by, void* data, std::uint64_t words) {
  launch(session, by, "poison", {static_cast<unsigned long long*>(data), words, 0, 0, 1, nullptr});
}

void poison(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t stride) {
  launch(session, by, "poison", {static_cast<unsigned long long*>(data), words, kPoison, 0, stride, nullptr});
}

CheckResult found_by(Session& session, Device& by, const std::function<void(CheckResult*)>& launch) {
  Stream& stream = session.service_stream(by);
  CheckResult& shared = session.shared_scratch(by).result;
  CheckResult* own = &session.own_scratch(by).result;
  shared = {0, ~0ull, 0, 0};
  by.runtime->copy(own, &shared, sizeof shared, stream);
  launch(own);
  by.runtime->copy(&shared, own, sizeof shared, stream);
  by.runtime->synchronize(stream);
  return shared;
}

Verification compare_word(Session& session, Device& by, const void* word, std::uint64_t expected,
                          std::uint64_t checked_bytes) {
  unsigned long long& shared = session.shared_scratch(by).word;
  by.runtime->copy(&shared, word, sizeof shared, session.service_stream(by));
  by.runtime->synchronize(session.service_stream(by));
  Verification verification;
  verification.expected = expected;
  verification.got = shared;
  verification.checked_bytes = checked_bytes;
  verification.ok = verification.got == expected;
  verification.bad_count = verification.ok ? 0 : 1;
  return verification;
}

CheckResult check(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t key,
                  const Strided& strided) {
  return found_by(session, by, [&](CheckResult* result) {
    launch(session, by, "check",
           {static_cast<unsigned long long*>(data), words, key, 0, strided.stride, result, strided.mask,
            kPoison & ~strided.mask});
  });
}

CheckResult check_sum(Session& session, Device& by, void* data, std::uint64_t words, const PatternSum& sum,
                      std::uint64_t stride) {
  return found_by(session, by, [&](CheckResult* result) {
    PatternArguments arguments{static_cast<unsigned long long*>(data), words, sum.key, 0, stride, result};
    arguments.key_step = sum.step;
    arguments.factor = sum.factor;
    arguments.own_key = sum.own_key;
    arguments.own_factor = sum.own_factor;
    arguments.terms = sum.terms;
    launch(session, by, "check", arguments);
  });
}

}  // namespace byteways
