/* What main.cpp asks of a board. board_host.cpp answers on a computer, board_semihosting.cpp on a Cortex-M in QEMU or
 * under a debugger; write your own for a UART. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void board_start(void);
void board_print(const char* text);
void board_exit(int code);

/* Files of the host. A negative number if there is no such file, or no files at all. */
int board_open(const char* name, int to_write);
size_t board_read(int file, void* to, size_t bytes); /* how many were read */
void board_write(int file, const void* from, size_t bytes);
void board_close(int file);

/* A clock, and the time since a moment of it, in the unit that BOARD_TIME_UNIT names. */
unsigned long board_time(void);
unsigned long board_elapsed(unsigned long since);
#if defined(__arm__) && !defined(__linux__)
#define BOARD_TIME_UNIT "instructions"
#else
#define BOARD_TIME_UNIT "ns"
#endif

/* The most bytes of stack used so far; 0 if unknown. */
unsigned long board_stack_used(void);

#ifdef __cplusplus
}
#endif

#endif
