// Learns rows that arrive over the serial line, and answers each with what it would have guessed.
//
// A line has PK_FEATURES numbers and, to learn, the class (from 0 on) or the targets: "0.1 2.5 -3 1". Without them it only
// predicts. A missing value is "nan".
// "save" prints the state in hexadecimal, for Python:
//   device.from_bytes("the_model_that_was_exported", bytes.fromhex(text))
#include <PocketModel.h>

#if PK_REGRESSION
static const int lesson = PK_OUTPUTS;
#else
static const int lesson = 1;
#endif
static char line[26 * (PK_FEATURES + PK_OUTPUTS)];
static size_t length = 0;
static unsigned char state[PK_STATE_BYTES];
static double scores[PK_OUTPUTS];

static void save() {
    const size_t bytes = pk_save(state, sizeof state);
    for (size_t n = 0; n < bytes; ++n) {
        if (state[n] < 16) Serial.print('0');
        Serial.print(state[n], HEX);
    }
    Serial.println();
}

static void complain() {
    Serial.print("not a row: it has ");
    Serial.print(PK_FEATURES);
    Serial.print(" numbers, and to learn so many more: ");
    Serial.println(lesson);
}

static void answer() {
    if (strcmp(line, "save") == 0) return save();
    static double numbers[PK_FEATURES + lesson];
    static pk_value row[PK_FEATURES];
    int count = 0;
    for (char* at = strtok(line, " ,;\t"); at; at = strtok(nullptr, " ,;\t")) {
        char* end = at;
        const double number = strtod(at, &end);
        if (*end != '\0' || count == PK_FEATURES + lesson) return complain();
        numbers[count++] = number;
    }
    if (count != PK_FEATURES && count != PK_FEATURES + lesson) return complain();
    for (int k = 0; k < PK_FEATURES; ++k) row[k] = static_cast<pk_value>(numbers[k]);
#if PK_REGRESSION
    const int status = count == PK_FEATURES ? pk_score(row, scores) : pk_learn(row, numbers + PK_FEATURES, scores);
    if (status == 0)
        for (int r = 0; r < PK_OUTPUTS; ++r) Serial.println(scores[r], 6);
#else
    int label = PK_CLASSES;  // which pk_learn refuses, as it does all that are no class
    for (int c = 0; count > PK_FEATURES && c < PK_CLASSES; ++c)
        if (numbers[PK_FEATURES] == c) label = c;
    const int status = count == PK_FEATURES ? pk_score(row, scores) : pk_learn(row, label, scores);
    if (status >= 0) Serial.println(pk_labels[status]);
#endif
    if (status < 0) {
        Serial.print("refused: status ");
        Serial.println(-status);
    }
}

void setup() {
    Serial.begin(115200);
    if (pk_start() != 0) Serial.println("pk_start failed");
}

void loop() {
    while (Serial.available() > 0) {
        const char next = static_cast<char>(Serial.read());
        if (next != '\n' && next != '\r') {
            if (length < sizeof line) line[length++] = next;
        } else if (length > 0) {
            const bool whole = length < sizeof line;
            line[whole ? length : 0] = '\0';
            length = 0;
            whole ? answer() : complain();
        }
    }
}
