// Start-up of the C++ tests on a Cortex-M that QEMU emulates: newlib's own, behind a vector table and an enabled FPU.
extern "C" {
extern unsigned board_stack_end[];
void _start();

__attribute__((naked, used)) void board_reset() {
#if defined(__ARM_FP)
    __asm__ volatile(
        "ldr r0, =0xe000ed88\n"
        "ldr r1, [r0]\n"
        "orr r1, r1, #0xf00000\n"
        "str r1, [r0]\n"
        "dsb\n"
        "isb\n");
#endif
    __asm__ volatile("b _start\n");
}

__attribute__((section(".vectors"), used)) const void* const board_vectors[16] = {
    board_stack_end,
    reinterpret_cast<const void*>(board_reset),
};
}
