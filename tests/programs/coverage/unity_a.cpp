namespace a {
static int same(int n) { return n > 5 ? seen(n) : -n; }
struct Local { int n = seen(1); int get() { return n; } };
static int other = Local().get();
} // namespace a
