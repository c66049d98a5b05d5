/* A hash table that counts words. */
void add(const char *word, int length);
int distinct_words(void);
int count_of(const char *word);
