/* words FILE [WORD]: prints the number of different words in a file, or how often one occurs. The
 * examples of Tally's documents use this program. */
#include <ctype.h>
#include <stdio.h>

#include "table.h"

static char text[1 << 20];

static void read_words(const char *begin, const char *end) {
  const char *word = begin;
  for (const char *at = begin; at < end; ++at)
    if (!isalpha((unsigned char)*at)) {
      if (at > word)
        add(word, (int)(at - word));
      word = at + 1;
    }
}

int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (!file) {
    fprintf(stderr, "usage: words FILE [WORD]\n");
    return 2;
  }
  read_words(text, text + fread(text, 1, sizeof text, file));
  fclose(file);
  if (argc > 2)
    printf("%s: %d\n", argv[2], count_of(argv[2]));
  else
    printf("%d different words\n", distinct_words());
  return 0;
}
