// One rank of a job that calls every function of MPI that byteways uses, and compares every element that
// arrives. Arguments: what to check, the folder of the shims. Prints a line for each check; exit status 1:
// one has failed.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <type_traits>
#include <vector>

#include "runtimes/mpi/mpi.hpp"
#include "runtimes/mpi/shims/own_codes.hpp"

namespace {

using byteways::Communicator;
using byteways::Error;
using byteways::Mpi;
using byteways::Requests;
using byteways::Window;

int failures = 0;

// A rank's lines stay whole among those of others.
void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(1, text.data(), text.size()) < 0) ++failures;
}

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  say("WRONG " + what);
}

// What rank `from` sends to rank `to` at place k. Other for all of them, and small enough for any element.
std::uint64_t word(int from, int to, int k) { return static_cast<std::uint64_t>(1 + from * 31 + to * 7 + k); }

template <class Element>
constexpr BytewaysElement kind() {
  if (std::is_same_v<Element, float>) return kFloat;
  return sizeof(Element) == 1 ? kByte : sizeof(Element) == 4 ? kUnsigned32 : kUnsigned64;
}

template <class Element>
std::string name(const char* call) {
  const char* of[] = {" bytes", " floats", " words", " half words"};
  return call + std::string(of[kind<Element>()]);
}

constexpr int kCount = 5;  // odd, of no rank's number

template <class Element>
std::vector<Element> block(int from, int to) {
  std::vector<Element> made;
  for (int k = 0; k < kCount; ++k) made.push_back(static_cast<Element>(word(from, to, k)));
  return made;
}

template <class Element>
void expect_block(const Element* got, int from, int to, const std::string& what) {
  for (int k = 0; k < kCount; ++k)
    expect(got[k] == static_cast<Element>(word(from, to, k)),
           what + " element " + std::to_string(k) + " from rank " + std::to_string(from));
}

template <class Element>
void check_messages(const Communicator& ranks) {
  const int me = ranks.rank(), size = ranks.size(), next = (me + 1) % size, last = (me + size - 1) % size;
  const auto kElement = kind<Element>();
  std::vector<Element> got(kCount);
  if (size > 1) {  // a rank that sends to itself may wait for its own receive
    if (me % 2 == 0) ranks.send(block<Element>(me, next).data(), kCount, kElement, next, 3);
    ranks.receive(got.data(), kCount, kElement, last, 3);
    if (me % 2 == 1) ranks.send(block<Element>(me, next).data(), kCount, kElement, next, 3);
    expect_block(got.data(), last, me, name<Element>("send"));
  }

  // Every rank to every other at once; the tag tells two messages of a pair apart, whatever their order.
  Requests requests;
  std::vector<std::vector<Element>> in, out;
  for (int other = 0; other < size; ++other)
    for (int tag : {0, 1})
      in.push_back(std::vector<Element>(kCount)), out.push_back(block<Element>(me, other + tag));
  for (int other = 0; other < size; ++other)
    for (int tag : {0, 1})
      ranks.start_receive(requests, in[2 * other + tag].data(), kCount, kElement, other, tag);
  for (int other = 0; other < size; ++other)
    for (int tag : {1, 0})
      ranks.start_send(requests, out[2 * other + tag].data(), kCount, kElement, other, tag);
  if (sizeof(Element) == 1)
    while (!ranks.test(requests)) usleep(100);
  else
    ranks.wait(requests);
  expect(requests.empty(), "requests are left");
  for (int other = 0; other < size; ++other)
    for (int tag : {0, 1})
      expect_block(in[2 * other + tag].data(), other, me + tag, name<Element>("start_send"));
}

// One rank's part of what all ranks exchange: a block for each of them.
template <class Element>
std::vector<Element> blocks_from(int me, int size) {
  std::vector<Element> all;
  for (int to = 0; to < size; ++to)
    for (const Element each : block<Element>(me, to)) all.push_back(each);
  return all;
}

template <class Element>
void check_collectives(const Communicator& ranks) {
  const int me = ranks.rank(), size = ranks.size(), root = size - 1;
  const auto kElement = kind<Element>();
  const auto blocks = static_cast<std::size_t>(size) * kCount;
  std::vector<Element> mine = block<Element>(me, 0), all(blocks), got(kCount);

  got = me == root ? mine : std::vector<Element>(kCount);
  ranks.broadcast(got.data(), kCount, kElement, root);
  expect_block(got.data(), root, 0, name<Element>("broadcast"));

  ranks.allgather(mine.data(), all.data(), kCount, kElement);
  for (int from = 0; from < size; ++from)
    expect_block(&all[from * kCount], from, 0, name<Element>("allgather"));
  std::vector<Element> in_place(blocks);
  std::copy(mine.begin(), mine.end(), in_place.begin() + me * kCount);
  ranks.allgather(nullptr, in_place.data(), kCount, kElement);
  expect(in_place == all, name<Element>("allgather in place"));

  all.assign(blocks, Element{});
  ranks.gather(mine.data(), all.data(), kCount, kElement, root);
  for (int from = 0; from < size && me == root; ++from)
    expect_block(&all[from * kCount], from, 0, name<Element>("gather"));

  const std::vector<Element> sent = blocks_from<Element>(me, size);
  ranks.scatter(sent.data(), got.data(), kCount, kElement, root);
  expect_block(got.data(), root, me, name<Element>("scatter"));
  got = mine;
  ranks.scatter(sent.data(), me == root ? nullptr : got.data(), kCount, kElement, root);
  expect_block(got.data(), me == root ? me : root, me == root ? 0 : me, name<Element>("scatter in place"));

  ranks.alltoall(sent.data(), all.data(), kCount, kElement);
  for (int from = 0; from < size; ++from)
    expect_block(&all[from * kCount], from, me, name<Element>("alltoall"));
  in_place = sent;
  ranks.alltoall(nullptr, in_place.data(), kCount, kElement);
  expect(in_place == all, name<Element>("alltoall in place"));
}

template <class Element>
Element sum(int size, int to, int k) {
  std::uint64_t total = 0;
  for (int from = 0; from < size; ++from) total += word(from, to, k);
  return static_cast<Element>(total);
}

template <class Element>
void check_reductions(const Communicator& ranks) {
  const int me = ranks.rank(), size = ranks.size(), root = size - 1;
  const auto kElement = kind<Element>();
  const auto sums = [&](int to) {
    std::vector<Element> made;
    for (int k = 0; k < kCount; ++k) made.push_back(sum<Element>(size, to, k));
    return made;
  };
  const std::vector<Element> mine = block<Element>(me, 0), zeros(kCount);
  std::vector<Element> got = zeros;
  ranks.reduce(mine.data(), got.data(), kCount, kElement, root);
  expect(got == (me == root ? sums(0) : zeros), name<Element>("reduce"));
  got = mine;
  ranks.reduce(me == root ? nullptr : mine.data(), got.data(), kCount, kElement, root);
  expect(got == (me == root ? sums(0) : mine), name<Element>("reduce in place"));
  got = zeros;
  ranks.allreduce(mine.data(), got.data(), kCount, kElement);
  expect(got == sums(0), name<Element>("allreduce"));
  got = mine;
  ranks.allreduce(nullptr, got.data(), kCount, kElement);
  expect(got == sums(0), name<Element>("allreduce in place"));
  got = zeros;
  ranks.reduce_scatter(blocks_from<Element>(me, size).data(), got.data(), kCount, kElement);
  expect(got == sums(me), name<Element>("reduce_scatter"));
}

// Each rank puts a block into the next one's memory and gets another one from there.
template <class Element>
void check_one_sided(const Communicator& ranks, bool fences) {
  const int me = ranks.rank(), size = ranks.size(), next = (me + 1) % size, last = (me + size - 1) % size;
  constexpr std::int64_t kBytes = kCount * sizeof(Element);
  std::vector<Element> exposed(2 * kCount), got(kCount);
  const std::vector<Element> mine = block<Element>(me, next), own = block<Element>(me, me);
  std::copy(own.begin(), own.end(), exposed.begin());
  {
    Window window(ranks, exposed.data(), 2 * kBytes);
    if (fences)
      window.fence();
    else
      window.lock_all();
    window.put(mine.data(), kBytes, next, kBytes);
    window.get(got.data(), kBytes, next, 0);
    if (fences)
      window.fence();
    else
      window.flush(next);
    expect_block(got.data(), next, next, name<Element>("get"));
    ranks.barrier();
    if (!fences) window.sync();
    expect_block(&exposed[kCount], last, me, name<Element>("put"));
  }
  expect_block(exposed.data(), me, me, name<Element>("window"));
}

void check_all(const Communicator& ranks) {
  check_messages<unsigned char>(ranks);
  check_messages<float>(ranks);
  check_messages<std::uint32_t>(ranks);
  check_messages<std::uint64_t>(ranks);
  check_collectives<unsigned char>(ranks);
  check_collectives<float>(ranks);
  check_collectives<std::uint32_t>(ranks);
  check_collectives<std::uint64_t>(ranks);
  check_reductions<float>(ranks);
  check_reductions<std::uint32_t>(ranks);
  check_reductions<std::uint64_t>(ranks);
  ranks.barrier();
}

void check_parts(const Communicator& world) {
  const int me = world.rank(), size = world.size();
  auto part = world.split(me % 2, -me);
  expect(part.has_value() && part->size() == (size + 1 - me % 2) / 2, "size of a part");
  if (part) {
    int below = 0;  // keys are negative: the highest rank of the world comes first
    for (int other = me + 2; other < size; other += 2) ++below;
    expect(part->rank() == below, "order of a part");
    check_all(*part);
  }
  const auto others = world.split(me == 0 ? -1 : 0, 0);
  expect(others.has_value() == (me != 0), "a rank in no part");
  if (others) expect(others->size() == size - 1, "size of the rest");
  const Communicator here = world.split_by_host();
  expect(here.size() == size && here.rank() == me, "ranks of this host");
  std::string own = "what is mine", sent = own + std::string(own.size(), ' ');
  world.message_to_self(reinterpret_cast<std::byte*>(sent.data()), static_cast<std::int64_t>(own.size()));
  expect(sent == own + own, "message_to_self");
  std::string text(static_cast<std::size_t>(1000 * me), static_cast<char>('a' + me));
  const std::vector<std::string> all = world.gather_bytes(text);
  for (int from = 0; from < size; ++from)
    expect(all[from] == std::string(static_cast<std::size_t>(1000 * from), static_cast<char>('a' + from)),
           "gather_bytes");
  expect(world.broadcast_bytes(me == 1 ? "of rank 1" : "", 1) == "of rank 1", "broadcast_bytes");
}

// The call must throw an Error; its words are for the test that started this job.
void fails(const std::string& what, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    std::string words = error.what();
    for (char& each : words)
      if (each == '\n') each = ' ';
    return say("FAILED " + what + ": " + words);
  }
  expect(false, what + " did not fail");
}

void check_failures(Mpi& mpi) {
  const Communicator& world = mpi.world();
  const int me = world.rank();
  std::vector<float> few(4);
  fails("invalid rank", [&] { world.send(few.data(), 4, kFloat, world.size() + 3, 0); });
  fails("invalid rank in a part", [&] { world.split(0, 0)->send(few.data(), 4, kFloat, 99, 0); });
  fails("negative count", [&] { world.send(few.data(), -1, kFloat, 0, 0); });
  fails("count beyond any type", [&] { world.send(few.data(), INT64_MAX, kFloat, 0, 0); });
  fails("unknown element", [&] { world.send(few.data(), 4, static_cast<BytewaysElement>(9), 0, 0); });
  fails("too many to reduce",
        [&] { world.allreduce(few.data(), few.data(), std::int64_t{1} << 31, kFloat); });
  if (me == 0) {
    world.send(few.data(), 4, kFloat, 1, 0);
    Requests requests;
    world.start_send(requests, few.data(), 4, kFloat, 1, 1);
    world.wait(requests);
  } else if (me == 1) {
    fails("truncated", [&] { world.receive(few.data(), 2, kFloat, 0, 0); });
    Requests requests;
    world.start_receive(requests, few.data(), 2, kFloat, 0, 1);
    fails("truncated later", [&] { world.wait(requests); });
    expect(requests.empty(), "a failed request is no longer under way");
  }
  world.barrier();
  mpi.finalize();
  fails("after the end", [&] { world.barrier(); });
}

// More elements than an int counts. What was sent differs from its neighbours in each part of the type made
// for it.
void check_large(const Communicator& world) {
  constexpr std::int64_t kBytes = (std::int64_t{1} << 31) + (3 << 20) + 5;
  void* memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw Error("mmap", "memory", "no room");
  auto* bytes = static_cast<unsigned char*>(memory);
  const std::int64_t places[] = {0,          (1 << 20) - 1, 1 << 20, INT32_MAX, std::int64_t{1} << 31,
                                 kBytes - 6, kBytes - 1};
  if (world.rank() == 0)
    for (const std::int64_t place : places) bytes[place] = static_cast<unsigned char>(1 + place % 251);
  if (world.rank() == 0)
    world.send(bytes, kBytes, kByte, 1, 0);
  else
    world.receive(bytes, kBytes, kByte, 0, 0);
  std::int64_t others = 0;
  for (std::int64_t k = 0; k < kBytes; ++k) others += bytes[k] != 0;
  for (const std::int64_t place : places) {
    expect(bytes[place] == static_cast<unsigned char>(1 + place % 251), "byte " + std::to_string(place));
    others -= bytes[place] != 0;
  }
  expect(others == 0, "bytes that nobody sent");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const std::string what = arguments[1];
  Mpi mpi({arguments[2], {}, {}});
  const Communicator& world = mpi.world();
  say("rank " + std::to_string(world.rank()) + " of " + std::to_string(world.size()) + " over " +
      mpi.report().version);
  if (what == "table") {
    check_all(world);
    check_parts(world);
    // Not in parts: in Open MPI 4.1.4 windows of disjoint communicators share a file, and one rank has none.
    for (const bool fences : {false, true}) {
      check_one_sided<unsigned char>(world, fences);
      check_one_sided<std::uint64_t>(world, fences);
    }
  } else if (what == "failures") {
    check_failures(mpi);
  } else if (what == "large") {
    check_large(world);
  } else {
    return 2;
  }
  mpi.finalize();
  say(failures == 0 ? "GOOD" : "BAD");
  return failures == 0 ? 0 : 1;
}
