// So many instances are on one line that the order in which gcov's sort leaves them is visible.
template <class T, int N> int added(T x) { for (int i = 0; i < N; i++) x += i; return x; } template <int N> int chosen() { return N ? 3 : 4; }
template <int N> int all() { return added<int, N>(1) + chosen<N>() + all<N - 1>(); }
template <> int all<0>() { return 0; }
int main() { return all<40>() == 1; }
