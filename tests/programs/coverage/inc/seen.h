#ifndef SEEN
#define SEEN
inline int seen(int n) {
  return n % 2 ? n : n / 2;
}
#endif
