// C++ code whose lines are hard to count: instances of a template, both constructors of a class,
// lambdas, exceptions, static initializers, loops on one line, many statements on a line, functions
// inlined from a header.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "inlined.h"

namespace {

int started = [] { return small_square(3); }();
const std::string name_at_start = std::string("n") + std::to_string(started);

struct Base {
  explicit Base(int n) : n_(n) { if (n < 0) throw std::invalid_argument("below 0"); }
  virtual ~Base() { n_ = -1; }
  virtual int value() const { return n_; }
  int n_;
};
struct Left : virtual Base { Left(int n) : Base(n) {} };
struct Right : virtual Base { Right(int n) : Base(n + 1) {} int value() const override { return n_ * 2; } };
struct Both final : Left, Right {
  Both(int n) : Base(n), Left(n), Right(n) {}
  int value() const override { return n_ + 100; }
};

template <class T> T largest(const std::vector<T> &of) {
  T out{};
  for (const T &each : of)
    if (out < each)
      out = each;
  return out;
}
template <class T> int one_line(T t) { int n = 0; for (T i = 0; i < t; i++) { if (i % 2) n += 2; else n--; } return n; }

int guarded(int n) {
  try {
    Both both(n);
    if (n > 3) throw n;
    return both.value();
  } catch (const std::invalid_argument &) { return -1; }
  catch (int caught) { return caught; }
}

int nested(int n) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) for (int k = j; k < i; k++) s += k; return s; }
int conditions(int a, int b) { return a && b ? a || b ? 1 : 2 : !a && (b || a) ? 3 : 4; } int beside(int a) { return a; }

int once() {
  static const int kept = small_square(5);
  return kept;
}

int never(int n) {
  if (n) return n;
  return small_square(n);
}

#line 500 "elsewhere.inc"
int moved(int n) {
  int s = n;
  while (s > 10) s -= 3;
  return s;
}
#line 70 "shapes.cpp"

} // namespace

int main(int argc, char **) {
  int sum = started + static_cast<int>(name_at_start.size());
  auto add = [&sum](int n) { sum += n; return sum; };
  for (int n : {-1, 0, 2, 5}) add(guarded(n));
  const auto twice = [&](auto n) { return add(n) + add(static_cast<int>(n)); };
  sum += twice(2) + static_cast<int>(twice(3.5));
  sum += largest<int>({3, 9, 4}) + static_cast<int>(largest<std::string>({"a", "c", "b"}).size());
  sum += one_line(7) + static_cast<int>(one_line(4L)) + one_line<short>(0) + nested(6);
  for (int i = 0; i < 4; i++) sum += conditions(i & 1, i & 2) + beside(i);
  sum += once() + once() + moved(30); std::printf("%d\n", sum); if (argc > 5) return never(argc);
  return 0;
}
