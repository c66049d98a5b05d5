// Two objects have a copy each of these functions, and the program has one: in the counters of the
// other object they did not run.
#pragma once

template <int N> int in_one_line(int n) { return n > N ? n - N : N; } inline int beside_it(int n) { return n ? 2 : 3; }
template <int N> int all_of(int n) { return in_one_line<N>(n) + all_of<N - 1>(n); }
template <> inline int all_of<0>(int) { return 0; }
struct Shared {
  explicit Shared(int n) : n(n) {}
  virtual ~Shared() { n = 0; }
  virtual int twice() { return n * 2; }
  int n;
};
