#include "check.hpp"

int main() {
    for (check::Test* test = check::Test::first; test; test = test->next) {
        check::running = test->name;
        test->run();
    }
    std::printf("bits %016llx\n", static_cast<unsigned long long>(check::bits));
    std::printf("%d passed, %d failed\n", check::passed, check::failed);
    return check::failed > 0 || check::passed == 0;
}
