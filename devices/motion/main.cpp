// Predicts the motion of every window and learns it, on the board.
#include "board/board.h"
#include "features.hpp"
#include "pk_model.h"

static_assert(PK_FEATURES == axes * features_per_axis, "export the model again: python train.py");

namespace {

struct Window {
    float values[samples][axes];
    int label;
};

// From the file windows.bin of the host: replace it by an accelerometer and a button.
bool next_window(Window& window) {
    static const int file = board_open("windows.bin", 0);
    return file >= 0 && board_read(file, &window, sizeof window) == sizeof window;
}

void print(const char* before, unsigned long number, const char* after) {
    char digits[12] = {};
    int at = 11;
    do digits[--at] = static_cast<char>('0' + number % 10);
    while (number /= 10);
    board_print(before);
    board_print(digits + at);
    board_print(after);
}

Window window;
pk_value row[PK_FEATURES];
unsigned char state[PK_STATE_BYTES];

}  // namespace

int main() {
    board_start();
    if (pk_start() != 0) board_exit(1);
    unsigned long windows = 0, mistakes = 0;
    while (next_window(window)) {
        features_of(window.values, row);
        const int guess = pk_learn(row, window.label, nullptr);
        if (guess < 0) board_exit(1);
        mistakes += guess != window.label;
        if (++windows % 100 == 0) {
            print("windows ", windows, "");
            print(": mistakes in the last 100: ", mistakes, ", last motion ");
            board_print(pk_labels[window.label]);
            board_print("\n");
            mistakes = 0;
        }
    }
    const int file = board_open("state.bin", 1);
    if (file >= 0) {
        board_write(file, state, pk_save(state, sizeof state));
        board_close(file);
    }
    board_exit(0);
}
