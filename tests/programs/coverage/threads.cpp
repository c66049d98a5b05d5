// Threads that count the same arcs.
#include <atomic>
#include <thread>
#include <vector>

static std::atomic<long> total;

static void work(int which) {
  for (int i = 0; i < 20000; i++)
    if ((i + which) % 3 == 0) total += i; else total -= 1;
}

int main() {
  std::vector<std::thread> threads;
  for (int which = 0; which < 4; which++) threads.emplace_back([which] { work(which); });
  for (std::thread &each : threads) each.join();
  return total == 5;
}
