// Takes the place of libgcov, whose functions need files. None of them has to run for the counters
// to count.
void __gcov_merge_add(long long *counters, unsigned count) { (void)counters, (void)count; }
// Constructors and destructors call these, unless -fprofile-info-section is given.
void __gcov_init(void *object) { (void)object; }
void __gcov_exit(void) {}
