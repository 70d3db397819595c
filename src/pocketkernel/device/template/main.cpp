// Learns a stream on the board, row by row, and saves the state at the end.
//
// Rows come from the file rows.bin, if the board can open it (PK_FEATURES values of type pk_value, then one int32 with
// the class, or PK_OUTPUTS doubles of a regressor): the host, and an emulator or a debugger with semihosting, can. Else
// they come from `sensor` below, which stands for a real one: replace it. The scores from before learning go to
// scores.bin, the state to state.bin.
#include "board/board.h"
#include "pk_model.h"

namespace {

#if PK_REGRESSION
struct Lesson {
    double targets[PK_OUTPUTS];
};
int learn(const pk_value* row, const Lesson& lesson, double* scores) { return pk_learn(row, lesson.targets, scores); }
#else
struct Lesson {
    int label;
};
int learn(const pk_value* row, const Lesson& lesson, double* scores) { return pk_learn(row, lesson.label, scores); }
#endif

// A signal of its own for every class, with noise: a stand-in for features of motion or sound.
void sensor(unsigned& seed, pk_value* row, Lesson& lesson) {
    const auto noise = [&] {
        seed = seed * 1664525u + 1013904223u;
        return static_cast<pk_value>(seed >> 8) / pk_value(1 << 24) - pk_value(0.5);
    };
#if PK_REGRESSION
    for (int k = 0; k < PK_FEATURES; ++k) row[k] = noise();
    for (int r = 0; r < PK_OUTPUTS; ++r) lesson.targets[r] = static_cast<double>(row[r % PK_FEATURES] * row[0]);
#else
    seed = seed * 1664525u + 1013904223u;
    lesson.label = static_cast<int>((seed >> 16) % PK_CLASSES);
    for (int k = 0; k < PK_FEATURES; ++k)
        row[k] = static_cast<pk_value>((lesson.label * (2 * k + 3) + k) % 7) / pk_value(7) + noise();
#endif
}

void print(const char* before, unsigned long number, const char* after) {
    char digits[24];
    char* at = digits + sizeof digits;
    *--at = '\0';
    do *--at = static_cast<char>('0' + number % 10);
    while (number /= 10);
    board_print(before);
    board_print(at);
    board_print(after);
}

pk_value row[PK_FEATURES];
double scores[PK_OUTPUTS];
unsigned char state[PK_STATE_BYTES];

}  // namespace

int main() {
    board_start();
    if (const int status = pk_start()) {
        print("pk_start failed: status ", static_cast<unsigned long>(-status), "\n");
        board_exit(1);
    }
    const int in = board_open("rows.bin", 0);
    const int out = in >= 0 ? board_open("scores.bin", 1) : -1;
    [[maybe_unused]] unsigned long mistakes = 0;
    unsigned long rows = 0, longest = 0;
    unsigned long long time = 0;
    unsigned seed = 1;
    for (; in >= 0 || rows < 2000; ++rows) {
        Lesson lesson;
        if (in < 0)
            sensor(seed, row, lesson);
        else if (board_read(in, row, sizeof row) < sizeof row || board_read(in, &lesson, sizeof lesson) < sizeof lesson)
            break;
        const unsigned long begin = board_time();
        const int answer = learn(row, lesson, scores);
        const unsigned long spent = board_elapsed(begin);
        if (answer < 0) {
            print("pk_learn refused row ", rows, ": ");
            print("status ", static_cast<unsigned long>(-answer), "\n");
            board_exit(1);
        }
        if (out >= 0) board_write(out, scores, sizeof scores);
        time += spent;
        if (spent > longest) longest = spent;
#if !PK_REGRESSION
        mistakes += answer != lesson.label;
#endif
        if (in < 0 && rows % 500 == 499) {
#if PK_REGRESSION
            print("rows ", rows + 1, "\n");
#else
            print("rows ", rows + 1, "");
            print(", mistakes ", mistakes, "\n");
#endif
        }
    }
    if (out >= 0) board_close(out);
    print("learned ", rows, " rows\n");
    if (rows > 0) {
        print("time per row ", static_cast<unsigned long>(time / rows), "");
        print(" (longest ", longest, ") " BOARD_TIME_UNIT "\n");
    }
    if (const unsigned long stack = board_stack_used()) print("stack ", stack, " bytes\n");
    const int file = board_open("state.bin", 1);
    if (file >= 0) {
        board_write(file, state, pk_save(state, sizeof state));
        board_close(file);
    }
    board_exit(0);
}
