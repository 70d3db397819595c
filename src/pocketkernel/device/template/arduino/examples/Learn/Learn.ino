// Learns rows that arrive over the serial line, and answers each with what it would have guessed.
//
// A line has PK_FEATURES numbers and, to learn, the class or the targets: "0.1 2.5 -3 1". Without them it only predicts.
// "save" prints the state in hexadecimal, for Python:
//   device.from_bytes("the_model_that_was_exported", bytes.fromhex(text))
#include <PocketModel.h>

static char line[16 * (PK_FEATURES + PK_OUTPUTS) + 32];
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

static void answer() {
    if (strcmp(line, "save") == 0) return save();
    double numbers[PK_FEATURES + PK_OUTPUTS];
    pk_value row[PK_FEATURES];
    int count = 0;
    for (char* at = strtok(line, " ,;\t"); at && count < PK_FEATURES + PK_OUTPUTS; at = strtok(nullptr, " ,;\t"))
        numbers[count++] = atof(at);
    if (count < PK_FEATURES) return;
    for (int k = 0; k < PK_FEATURES; ++k) row[k] = static_cast<pk_value>(numbers[k]);
#if PK_REGRESSION
    const int status = count == PK_FEATURES ? pk_score(row, scores) : pk_learn(row, numbers + PK_FEATURES, scores);
    if (status == 0)
        for (int r = 0; r < PK_OUTPUTS; ++r) Serial.println(scores[r], 6);
#else
    const int status = count == PK_FEATURES ? pk_score(row, scores)
                                            : pk_learn(row, static_cast<int>(numbers[PK_FEATURES]), scores);
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
            if (length + 1 < sizeof line) line[length++] = next;
        } else if (length > 0) {
            line[length] = '\0';
            length = 0;
            answer();
        }
    }
}
