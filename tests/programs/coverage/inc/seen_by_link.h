#include "nested/deep.h"
inline int by_link(int n) { return deep(n) + seen(n); }
