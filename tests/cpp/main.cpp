#include <cstring>

#include "check.hpp"

// Runs all tests, or those whose name contains the first argument.
int main(int count, char** arguments) {
    const char* part = count > 1 ? arguments[1] : "";
    for (check::Test* test = check::Test::first; test; test = test->next) {
        if (!std::strstr(test->name, part)) continue;
        check::running = test->name;
        test->run();
    }
    std::printf("bits %016llx\n", static_cast<unsigned long long>(check::bits));
    std::printf("%d passed, %d failed\n", check::passed, check::failed);
    return check::failed > 0 || (check::passed == 0 && !*part);
}
