// A Cortex-M whose debugger or emulator lends it the host's console and files (Arm semihosting), without a C library.
//
// Start-up code is here too: vector table, copy of .data, zeros of .bss, the FPU. For a real board, take the vendor's
// start-up code and linker script instead, and write board_print for its UART.
#include <cstdint>

#include "board.h"

extern "C" {
extern std::uint32_t board_data_from[], board_data[], board_data_end[], board_bss[], board_bss_end[];
extern std::uint32_t board_stack[], board_stack_end[];
int main();
void board_reset();
}

namespace {

constexpr std::uint32_t untouched = 0xa5a5a5a5;

std::uint32_t ask(std::uint32_t what, const void* with) {
    register std::uint32_t r0 __asm__("r0") = what;
    register const void* r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

volatile std::uint32_t& at(std::uint32_t address) { return *reinterpret_cast<volatile std::uint32_t*>(address); }

// SysTick counts down from 2^24 - 1. Under `qemu -icount shift=0` an instruction takes a nanosecond.
constexpr std::uint32_t tick_control = 0xe000e010, tick_reload = 0xe000e014, tick_value = 0xe000e018;

[[noreturn]] void fault() {
    board_print("fault\n");
    board_exit(1);
    for (;;) {
    }
}

}  // namespace

extern "C" {

// The stack and the first instruction, then the exceptions of the core.
__attribute__((section(".vectors"), used)) const void* const board_vectors[16] = {
    board_stack_end,
    reinterpret_cast<const void*>(board_reset),
    reinterpret_cast<const void*>(fault),
    reinterpret_cast<const void*>(fault),
    reinterpret_cast<const void*>(fault),
    reinterpret_cast<const void*>(fault),
    reinterpret_cast<const void*>(fault),
};

__attribute__((naked, used)) void board_reset() {
    // The first instructions paint the stack, so they must not use it.
    __asm__ volatile(
        ".syntax unified\n"
        "ldr r0, =board_stack\n"
        "ldr r1, =board_stack_end\n"
        "ldr r2, =0xa5a5a5a5\n"
        "1: str r2, [r0]\n"
        "adds r0, #4\n"
        "cmp r0, r1\n"
        "bne 1b\n"
        "bl board_begin\n");
}

__attribute__((used, noreturn)) void board_begin() {
#if defined(__ARM_FP)
    at(0xe000ed88) = at(0xe000ed88) | (0xfu << 20);  // access to the FPU
    __asm__ volatile("dsb\nisb");
#endif
    const std::uint32_t* from = board_data_from;
    for (std::uint32_t* to = board_data; to < board_data_end; ++to) *to = *from++;
    for (std::uint32_t* to = board_bss; to < board_bss_end; ++to) *to = 0;
    board_exit(main());
    for (;;) {
    }
}

void board_start(void) {
    at(tick_reload) = 0xffffff;
    at(tick_value) = 0;
    at(tick_control) = 5;  // the core's clock, no interrupt
}
void board_print(const char* text) { ask(0x04, text); }
void board_exit(int code) {
    const std::uint32_t block[2] = {0x20026, static_cast<std::uint32_t>(code)};  // ADP_Stopped_ApplicationExit
    ask(0x20, block);
}

int board_open(const char* name, int to_write) {
    std::uint32_t length = 0;
    while (name[length]) ++length;
    const std::uint32_t block[3] = {reinterpret_cast<std::uint32_t>(name), to_write ? 5u : 1u, length};
    return static_cast<int>(ask(0x01, block));
}
size_t board_read(int file, void* to, size_t bytes) {
    const std::uint32_t block[3] = {static_cast<std::uint32_t>(file), reinterpret_cast<std::uint32_t>(to), bytes};
    return bytes - ask(0x06, block);
}
void board_write(int file, const void* from, size_t bytes) {
    const std::uint32_t block[3] = {static_cast<std::uint32_t>(file), reinterpret_cast<std::uint32_t>(from), bytes};
    if (ask(0x05, block) != 0) board_exit(1);
}
void board_close(int file) {
    const std::uint32_t block[1] = {static_cast<std::uint32_t>(file)};
    ask(0x02, block);
}

unsigned long board_time(void) { return at(tick_value); }
unsigned long board_elapsed(unsigned long since) {
    return ((since - at(tick_value)) & 0xffffff) * BOARD_INSTRUCTIONS_PER_TICK;
}

unsigned long board_stack_used(void) {
    const std::uint32_t* deepest = board_stack;
    while (deepest < board_stack_end && *deepest == untouched) ++deepest;
    return static_cast<unsigned long>(board_stack_end - deepest) * 4;
}
}
