// What the linker needs if libgcov is not there. Nothing of it runs for the counters to count.
void __gcov_merge_add(long long *counters, unsigned count) { (void)counters, (void)count; }
// Constructors call these, unless -fprofile-info-section is given.
void __gcov_init(void *object) { (void)object; }
void __gcov_exit(void) {}
