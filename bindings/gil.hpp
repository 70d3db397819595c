// WithoutGil, WithGil: nanobind's gil_scoped_release and gil_scoped_acquire, for threads that outlive the interpreter.
//
// Python ends a daemon thread that asks for the GIL while the interpreter is being finalized. Ending it unwinds the
// stack, which frames of C++ do not survive: the process would abort. Such a thread gives back its turns instead, and
// sleeps until the process is over.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "turns.hpp"

namespace nb = nanobind;

namespace pocketkernel::binding {
namespace {

class Interpreter {
  public:
    // Once, when the module is imported.
    static void watch_its_end() { nb::module_::import_("atexit").attr("register")(nb::cpp_function(end)); }

    // Whether this thread must not ask for the GIL any more.
    static bool is_over() { return over().load() && std::this_thread::get_id() != last_thread(); }

    // Calls take(), which takes the GIL.
    template <class Take>
    static void enter(Take&& take) {
        ++entering();
        if (is_over()) {
            --entering();
            Turns::Hold::abandon();
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
        take();
        --entering();
    }

  private:
    // Threads that are asking already get the GIL once more; Python ends them in its own code.
    static void end() {
        last_thread() = std::this_thread::get_id();
        over() = true;
        const nb::gil_scoped_release release;
        for (int tries = 0; entering() > 0 && tries < 5000; ++tries)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    static std::atomic<bool>& over() {
        static std::atomic<bool> flag{false};
        return flag;
    }
    static std::atomic<int>& entering() {
        static std::atomic<int> count{0};
        return count;
    }
    static std::thread::id& last_thread() {
        static std::thread::id id;
        return id;
    }
};

class WithoutGil {
  public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() {
        Interpreter::enter([&] { PyEval_RestoreThread(state_); });
    }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

  private:
    PyThreadState* state_;
};

class WithGil {
  public:
    WithGil() {
        Interpreter::enter([&] { state_ = PyGILState_Ensure(); });
    }
    ~WithGil() { PyGILState_Release(state_); }
    WithGil(const WithGil&) = delete;
    WithGil& operator=(const WithGil&) = delete;

  private:
    PyGILState_STATE state_{};
};

}  // namespace
}  // namespace pocketkernel::binding
