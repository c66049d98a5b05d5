// Firmware for a Cortex-M3 that counts itself, so that tests can compare coverage with the truth.
//
// It uses no C library. startup.c is compiled without --coverage, because it runs before the
// counters are cleared:
//
//   CC='arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -g -Og -ffreestanding'
//   $CC -c startup.c
//   $CC --coverage -fprofile-info-section -c main.c frames.c
//   $CC -nostdlib -Wl,--gc-sections -T firmware.ld startup.o main.o frames.o -lgcov -o firmware.elf
//   qemu-system-arm -M mps2-an385 -nographic -kernel firmware.elf
//
// Without -fprofile-info-section, gcov_stub.o takes the place of -lgcov; .gcov_info is empty then.
#pragma once

// Each source that is counted has an array with an element for each of its lines.
#define LINES 100
extern volatile unsigned main_ran[LINES], frames_ran[LINES];

// Receives a byte. Returns the length of the frame that it completes, -1 if it ends a damaged one,
// and otherwise 0.
int receive(unsigned char byte);

// Does nothing: a place for a breakpoint. It is in startup.c, so that it is not counted.
void checkpoint(unsigned number);
