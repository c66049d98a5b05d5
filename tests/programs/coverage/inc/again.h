template <class T> T again(T n) { return n > 0 ? again(n - 1) + 1 : 0; }
