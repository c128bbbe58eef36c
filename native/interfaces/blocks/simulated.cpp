// Copies of scattered blocks on the simulated machine.
#include <algorithm>
#include <vector>

#include "interfaces/blocks/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

// The blocks of a list that lie in one block of memory on each side, as most do.
struct BlockGroup {
  Range to, from;  // these span them
  BlockMove move;
};

// Lists that were resolved before: a program moves equal blocks again and again.
struct ResolvedList {
  std::vector<BlockPair> pairs;  // relative to the first one
  Word block_bytes = 0;
  std::shared_ptr<const BlockPlaces> places;
  Word first = 0;  // of the list: the block with the least destination
};

constexpr std::size_t kKeptLists = 8;

Word bytes_between(const void* from, const void* to) {
  return static_cast<Word>(static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from));
}

ResolvedList resolve_list(const std::vector<BlockPair>& list, Word block_bytes) {
  ResolvedList made{{}, block_bytes, nullptr, 0};
  std::vector<std::size_t> order(list.size());
  for (std::size_t k = 0; k < list.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return list[a].destination < list[b].destination; });
  made.first = order.front();
  const BlockPair& head = list[made.first];
  auto places = std::make_shared<BlockPlaces>();
  for (const std::size_t k : order)
    places->push_back({bytes_between(head.destination, list[k].destination) / kWordBytes,
                       static_cast<Word>(static_cast<long long>(bytes_between(head.source, list[k].source)) /
                                         static_cast<long long>(kWordBytes)),
                       block_bytes / kWordBytes});
  made.places = std::move(places);
  return made;
}

const ResolvedList& resolved_list(Kernels& kernels, const std::vector<BlockPair>& list, Word block_bytes) {
  auto& known = kernels.state<std::vector<ResolvedList>>();
  const BlockPair& head = list.front();
  const auto equal = [&](const ResolvedList& other) {
    if (other.block_bytes != block_bytes || other.pairs.size() != list.size()) return false;
    for (std::size_t k = 0; k < list.size(); ++k)
      if (bytes_between(head.source, list[k].source) != bytes_between(nullptr, other.pairs[k].source) ||
          bytes_between(head.destination, list[k].destination) !=
              bytes_between(nullptr, other.pairs[k].destination))
        return false;
    return true;
  };
  const auto found = std::find_if(known.begin(), known.end(), equal);
  if (found != known.end()) return *found;
  if (known.size() == kKeptLists) known.erase(known.begin());
  ResolvedList made = resolve_list(list, block_bytes);
  for (const BlockPair& pair : list)
    made.pairs.push_back({reinterpret_cast<const void*>(bytes_between(head.source, pair.source)),
                          reinterpret_cast<void*>(bytes_between(head.destination, pair.destination))});
  return known.emplace_back(std::move(made));
}

// The blocks of memory that a list reaches, in the order of the list.
std::vector<std::vector<BlockPair>> by_memory(Kernels& kernels, const BlockPair* list, Word blocks) {
  std::vector<std::vector<BlockPair>> groups;
  std::vector<std::pair<Block*, Block*>> ends;
  for (Word k = 0; k < blocks; ++k) {
    const BlockPair& pair = list[k];
    // Neighbours in a list are mostly neighbours in memory.
    const auto within = [](const Block* block, const void* data) {
      const auto* address = static_cast<const std::byte*>(data);
      return block != nullptr && address >= block->data && address < block->data + block->bytes;
    };
    auto known = std::find_if(ends.rbegin(), ends.rend(), [&](const auto& end) {
      return within(end.first, pair.source) && within(end.second, pair.destination);
    });
    if (known == ends.rend()) {
      ends.emplace_back(kernels.memory().find(pair.source), kernels.memory().find(pair.destination));
      groups.emplace_back();
      known = ends.rbegin();
    }
    groups[ends.size() - 1 - static_cast<std::size_t>(known - ends.rbegin())].push_back(pair);
  }
  return groups;
}

std::vector<BlockGroup> groups_of(Kernels& kernels, const BlockPair* list, Word blocks, Word block_bytes) {
  std::vector<BlockGroup> groups;
  for (const std::vector<BlockPair>& pairs : by_memory(kernels, list, blocks)) {
    const auto span = [&](auto side) {
      const auto [least, most] =
          std::minmax_element(pairs.begin(), pairs.end(),
                              [&](const BlockPair& a, const BlockPair& b) { return side(a) < side(b); });
      return kernels.memory().range(side(*least), bytes_between(side(*least), side(*most)) + block_bytes);
    };
    const Range from = span([](const BlockPair& pair) { return pair.source; });
    const Range to = span([](const BlockPair& pair) { return static_cast<const void*>(pair.destination); });
    const ResolvedList& known = resolved_list(kernels, pairs, block_bytes);
    const BlockPair& head = pairs[known.first];
    groups.push_back({to,
                      from,
                      {kernels.memory().range(head.destination, block_bytes).begin,
                       kernels.memory().range(head.source, block_bytes).begin, known.places}});
  }
  return groups;
}

// Memory and links carry whole lines.
double bytes_of_blocks(Word blocks, Word block_bytes) {
  return static_cast<double>(blocks * ((block_bytes + kLineBytes - 1) / kLineBytes * kLineBytes));
}

// A thread reads the address of its block before it reads the block. The list is read again when the kernel
// runs: a program that writes another one meanwhile moves other blocks.
void move_listed(Kernels& kernels, Operation& operation, const BlockPair* listed, Word blocks,
                 Word block_bytes, Transfer transfer) {
  if (blocks == 0) return;
  const Place executor = transfer.executor;
  kernels.must_be_real(listed);
  const Kernels::Reach list = kernels.reach(operation, executor, listed, blocks * sizeof(BlockPair));
  operation.fixed +=
      picoseconds(kernels.costs().latency_ns(executor, list.place, static_cast<double>(list.range.bytes())));
  Kernels::Reach from, to;
  for (const BlockGroup& group : groups_of(kernels, listed, blocks, block_bytes)) {
    from = kernels.reach(operation, executor, group.from);
    to = kernels.reach(operation, executor, group.to);
    operation.never_ends |= kernels.hangs(from.place, to.place);
  }
  transfer.from = from.place;
  transfer.to = to.place;
  transfer.bytes = bytes_of_blocks(blocks, block_bytes);
  transfer.part = std::min(from.part, to.part);
  kernels.costs().add(operation, transfer);
  operation.on_end = [=, &kernels] {
    for (const BlockGroup& group : groups_of(kernels, listed, blocks, block_bytes))
      kernels.move_blocks(group.to, group.from, group.move, executor);
  };
}

void copy_blocks(Kernels& kernels, Operation& operation, const BlocksArguments& arguments,
                 const KernelLaunch& launch) {
  Transfer transfer{Mechanism::kernel, launch.executor, {}, {}};
  transfer.threads = launch.threads();
  move_listed(kernels, operation, arguments.list, arguments.accesses / arguments.per_block,
              Word{arguments.per_block} * arguments.access_bytes, transfer);
}

void copy_blocks_bulk(Kernels& kernels, Operation& operation, const BulkBlocksArguments& arguments,
                      const KernelLaunch& launch) {
  if (arguments.stages == 0) return;  // as on a device: nothing is copied
  Transfer transfer{Mechanism::bulk, launch.executor, {}, {}};
  transfer.threads = launch.shape.blocks;
  move_listed(kernels, operation, arguments.list, arguments.chunks / arguments.per_block,
              arguments.block_bytes, transfer);
}

void memcpy_blocks(Kernels& kernels, Operation& operation, const MemcpyBlocksArguments& arguments,
                   const KernelLaunch& launch) {
  const Word first = arguments.first_operation, operations = arguments.operations;
  const Word different = std::min(operations, arguments.slots);  // further ones have no effect
  const auto slot = [&kernels, arguments](Word operation) {
    const Word offset = operation % arguments.slots * arguments.stride / kWordBytes;
    std::vector<BlockGroup> groups =
        groups_of(kernels, arguments.list, arguments.blocks, arguments.block_bytes);
    for (BlockGroup& group : groups) {
      for (Range* range : {&group.to, &group.from}) {
        range->begin += offset;
        range->end += offset;
      }
      group.move.to += offset;
      group.move.from += offset;
    }
    return groups;
  };
  Kernels::Reach from, to;
  for (const BlockGroup& group : slot(first)) {
    from = kernels.reach(operation, launch.executor, group.from);
    to = kernels.reach(operation, launch.executor, group.to);
    operation.never_ends |= kernels.hangs(from.place, to.place);
  }
  kernels.begin_on_cores(operation, launch, operations);
  const double each = bytes_of_blocks(arguments.blocks, arguments.block_bytes);
  kernels.costs().add(operation, Transfer{Mechanism::core, launch.executor, from.place, to.place,
                                          each * static_cast<double>(operations), 2, launch.threads(),
                                          arguments.slots == 1 ? 2 * each : 0, std::min(from.part, to.part)});
  operation.on_end = [&kernels, slot, launch, first, operations, different] {
    for (Word k = first + operations - different; k < first + operations; ++k)
      for (const BlockGroup& group : slot(k))
        kernels.move_blocks(group.to, group.from, group.move, launch.executor);
  };
}

void check_blocks(Kernels& kernels, Operation& operation, const CheckBlocksArguments& arguments,
                  const KernelLaunch& launch) {
  kernels.must_be_real(arguments.result);
  kernels.must_be_real(arguments.map);
  const std::uint64_t bytes = arguments.count * kWordBytes;
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, arguments.words, bytes);
  kernels.costs().add(operation, Transfer{launch.mechanism(), launch.executor, reached.place, launch.executor,
                                          static_cast<double>(bytes), 1, launch.threads(), 0, reached.part});
  const bool lost = kernels.lies(launch.executor, reached.place);
  operation.on_end = [&kernels, range = reached.range, arguments, lost] {
    const BlockPlaces places(arguments.map, arguments.map + arguments.blocks);
    CheckResult found = kernels.memory().check_blocks(range, arguments.first, arguments.slot_words, places,
                                                      arguments.key, arguments.gap);
    if (lost) found = {arguments.count, 0, pattern_word(arguments.key, 0), 0};
    *arguments.result = found;
  };
}

const RegisterSimulatedKernel<copy_blocks> kCopyBlocks{"copy_blocks", "copy_blocks_resident"};
const RegisterSimulatedKernel<copy_blocks_bulk> kCopyBlocksBulk{"copy_blocks_bulk"};
const RegisterSimulatedKernel<memcpy_blocks> kMemcpyBlocks{"memcpy_blocks"};
const RegisterSimulatedKernel<check_blocks> kCheckBlocks{"check_blocks"};

}  // namespace
}  // namespace byteways::sim
