// What runs before main() and after it: the vector table, the initial values of variables, and the
// timer.
#include "firmware.h"

extern unsigned data_in_flash[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];
int main(void);
void tick(void);

void checkpoint(unsigned number) { __asm__ volatile("" : : "r"(number)); }

void finished(void) {
  for (;;)
    __asm__ volatile("wfi");
}

void reset(void) {
  volatile unsigned *from = data_in_flash; // volatile: GCC makes no calls of memcpy() of it
  for (volatile unsigned *to = data_begin; to < data_end;)
    *to++ = *from++;
  for (volatile unsigned *to = bss_begin; to < bss_end;)
    *to++ = 0;
  volatile unsigned *const systick = (volatile unsigned *)0xe000e010;
  systick[1] = 1000; // cycles between two interrupts
  systick[2] = 0;
  systick[0] = 7;
  main();
  systick[0] = 0;
  finished();
}

static void fault(void) {
  for (;;)
    ;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, tick,
};
