/* Implements a ring per thread: the handler on that thread writes it, the debugger reads it. The
 * authoritative positions are in private memory. The shared tail only says how much is free; an
 * invalid tail means that nothing is free. */
#include <time.h>

#include "agent/agent.h"

static struct tally_wire_slot *slot_of(const struct thread *thread) {
  const uint64_t row = (uint64_t)(thread - threads);
  return (struct tally_wire_slot *)(void *)(agent.base + tally_wire_slots_at()) + row;
}

bool ring_begin(struct ring_writer *writer, struct thread *thread) {
  const uint64_t row = (uint64_t)(thread - threads);
  if (row >= agent.slots)
    return false;
  struct tally_wire_slot *slot = slot_of(thread);
  const uint64_t used = thread->head - __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
  const uint64_t room = used <= agent.ring_bytes ? agent.ring_bytes - used : 0;
  if (room < sizeof(struct tally_wire_record) + sizeof(uint64_t))
    return false;
  writer->thread = thread;
  writer->data =
      (unsigned char *)agent.base + tally_wire_rings_at(agent.slots) + row * agent.ring_bytes;
  writer->shared_head = &slot->head;
  writer->mask = agent.ring_bytes - 1;
  writer->at = thread->head + sizeof(struct tally_wire_record);
  writer->room = room - sizeof(struct tally_wire_record);
  return true;
}

void ring_word(struct ring_writer *writer, uint64_t word) {
  if (writer->room < sizeof word)
    return;
  *(uint64_t *)(void *)(writer->data + (writer->at & writer->mask)) = word;
  writer->at += sizeof word;
  writer->room -= sizeof word;
}

unsigned ring_pieces(const struct ring_writer *writer, uint64_t bytes, void *piece[2],
                     uint64_t size[2]) {
  const uint64_t offset = writer->at & writer->mask;
  const uint64_t to_end = writer->mask + 1 - offset;
  piece[0] = writer->data + offset;
  size[0] = bytes < to_end ? bytes : to_end;
  piece[1] = writer->data;
  size[1] = bytes - size[0];
  return size[1] == 0 ? 1 : 2;
}

void ring_end(struct ring_writer *writer, uint32_t kind, uint32_t weight) {
  struct thread *thread = writer->thread;
  const uint64_t bytes = writer->at - thread->head;
  /* Written as words, so that a header that wraps is written correctly. */
  const uint64_t first = (uint64_t)kind << 32 | bytes;
  const uint64_t second = (uint64_t)weight << 32 | (uint32_t)thread->tid;
  *(uint64_t *)(void *)(writer->data + (thread->head & writer->mask)) = first;
  *(uint64_t *)(void *)(writer->data + ((thread->head + 8) & writer->mask)) = second;
  /* Uses libc's function, which needs no system call: the program may not be allowed to make the
   * system call. */
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  *(uint64_t *)(void *)(writer->data + ((thread->head + 16) & writer->mask)) = nanoseconds(&now);
  thread->head = writer->at;
  __atomic_store_n(writer->shared_head, thread->head, __ATOMIC_RELEASE);
}

void count_lost(uint64_t ticks) {
  const uint64_t all = __atomic_add_fetch(&agent.lost, ticks, __ATOMIC_RELAXED);
  __atomic_store_n(&agent.shared->lost, all, __ATOMIC_RELAXED);
}
