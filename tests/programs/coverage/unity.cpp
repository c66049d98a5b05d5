// A unity build of several units: the same header and the same names come through several paths.
#include "inc/seen.h"
#include "inc/../inc/again.h"
#include "./linked/seen_by_link.h"
#include "inc/nested/../again_nested.h"
#include "unity_a.cpp"
#include "unity_b.cpp"

int main() { return seen(2) + again(3) + by_link(4) + again_nested(5) + a::same(6) + b::same(7) == 0; }
