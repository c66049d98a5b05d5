#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8 };

struct entry {
  struct entry *next;
  int count;
  int length;
  char word[];
};

static struct entry *slots[SLOTS];
static int distinct;

static unsigned hash(const char *word, int length) {
  unsigned value = 5381;
  for (int i = 0; i < length; ++i)
    value = value * 33 + (unsigned char)word[i];
  return value % SLOTS;
}

static int same(const struct entry *entry, const char *word, int length) {
  if (entry->length != length)
    return 0;
  for (int i = 0; i < length; ++i)
    if (entry->word[i] != word[i])
      return 0;
  return 1;
}

static struct entry *find(const char *word, int length) {
  struct entry *entry = slots[hash(word, length)];
  while (entry && !same(entry, word, length))
    entry = entry->next;
  return entry;
}

void add(const char *word, int length) {
  struct entry *entry = find(word, length);
  if (!entry) {
    entry = malloc(sizeof *entry + (size_t)length);
    if (!entry)
      abort();
    memcpy(entry->word, word, (size_t)length);
    entry->length = length;
    entry->count = 0;
    struct entry **slot = &slots[hash(word, length)];
    entry->next = *slot;
    *slot = entry;
    ++distinct;
  }
  ++entry->count;
}

int distinct_words(void) { return distinct; }

int count_of(const char *word) {
  const struct entry *entry = find(word, (int)strlen(word));
  return entry ? entry->count : 0;
}
