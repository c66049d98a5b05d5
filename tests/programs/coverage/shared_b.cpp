// The second of two objects; see shared.h.
#include "shared.h"

template <class T> static T own(T t) { return t ? t : 1; }
int second(int n) { Shared s(n); return all_of<31>(n) + beside_it(n) + s.twice() + own(n) + own(2L) > 0; }
