// The first of two objects; see shared.h.
#include "shared.h"

int second(int n);
int main() { Shared s(3); return all_of<20>(4) + beside_it(1) + s.twice() + second(3) == 1; }
