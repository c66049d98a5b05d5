#include "inc/nested/../../inc/seen.h"
namespace b {
static int same(int n) { return n > 50 ? seen(n) : -n; }
struct Local { int n = again(1); int get() { return n; } };
static int other = Local().get();
} // namespace b
