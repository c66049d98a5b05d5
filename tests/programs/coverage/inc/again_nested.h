template <class T> T again_nested(T n) { return n > 0 ? again_nested(n - 1) + 1 : 0; }
