// A computer as a board, for trying the project without one.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "board.h"

namespace {

constexpr int most_files = 8;
std::FILE* files[most_files];

}  // namespace

extern "C" {

void board_start(void) {}
void board_print(const char* text) { std::fputs(text, stdout); }
void board_exit(int code) { std::exit(code); }

int board_open(const char* name, int to_write) {
    for (int n = 0; n < most_files; ++n) {
        if (files[n]) continue;
        files[n] = std::fopen(name, to_write ? "wb" : "rb");
        return files[n] ? n : -1;
    }
    return -1;
}
size_t board_read(int file, void* to, size_t bytes) { return std::fread(to, 1, bytes, files[file]); }
void board_write(int file, const void* from, size_t bytes) {
    if (std::fwrite(from, 1, bytes, files[file]) != bytes) board_exit(1);
}
void board_close(int file) {
    if (std::fclose(files[file]) != 0) board_exit(1);
    files[file] = nullptr;
}

unsigned long board_time(void) {
    std::timespec now;
    std::timespec_get(&now, TIME_UTC);
    return static_cast<unsigned long>(now.tv_sec) * 1000000000ul + static_cast<unsigned long>(now.tv_nsec);
}
unsigned long board_elapsed(unsigned long since) { return board_time() - since; }

unsigned long board_stack_used(void) { return 0; }
}
