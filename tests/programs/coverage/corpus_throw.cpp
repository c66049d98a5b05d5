// A small source of the fuzzer's corpus: instances of a template, both constructors of a class, an
// exception.
struct Held { Held(int n) : n(n) {} ~Held() { n = 0; } int n; };
template <class T> T twice(T t) { if (t > 2) throw t; return t + t; }
int main() {
  int sum = 0;
  for (int i = 0; i < 5; i++) try { Held h(i); sum += twice(h.n); sum += twice(0L); } catch (int n) { sum -= n; }
  return sum == -1;
}
