// Ctrl-C during work without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "engine.hpp"
#include "gil.hpp"

namespace nb = nanobind;

namespace pocketkernel::binding {
namespace {

// Runs Python's signal handlers, if any are pending for this thread, and throws what they raise. Needs the GIL.
void stop_if_asked() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}
constexpr std::size_t rows_between_signals = std::size_t(1) << 20;  // of labels and weights, some milliseconds

// Checks for signals periodically during work without the GIL: often enough that Ctrl-C takes effect at once, rarely
// enough that waiting for the GIL costs nothing.
class Pulse {
  public:
    void beat() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(50) || Interpreter::is_over()) return;
        const WithGil acquire;
        stop_if_asked();
        last_ = std::chrono::steady_clock::now();
    }

  private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Ctrl-C in the middle of something that takes long; it is thrown afterwards, with the GIL.
class Long : public Watch {
  public:
    void stop_if_asked() const {
        if (error_) std::rethrow_exception(error_);
    }

  protected:
    ~Long() = default;

  private:
    bool is_over() override {
        if (stopped_) return true;
        try {
            pulse_.beat();
        } catch (...) {
            error_ = std::current_exception();
            stopped_ = true;
        }
        return stopped_;
    }

    Pulse pulse_;
    std::exception_ptr error_;
};

// A row. The state is copied before one that takes long, in memory that is freed after the call; without memory for
// that it runs to its end.
class LongRow final : public Long {
    void keep(unsigned char* state, std::size_t size) override {
        if (!copy_) copy_.reset(new (std::nothrow) unsigned char[size]);
        kept_ = copy_ != nullptr;
        if (!kept_) return;
        state_ = state;
        size_ = size;
        std::memcpy(copy_.get(), state, size);
    }
    void put_back() override {
        if (stopped_) std::memcpy(state_, copy_.get(), size_);
        kept_ = false;
    }

    std::unique_ptr<unsigned char[]> copy_;
    unsigned char* state_ = nullptr;
    std::size_t size_ = 0;
};

// The building of a learner, which is then not used.
class LongBuild final : public Long {
  public:
    LongBuild() { kept_ = true; }

  private:
    void keep(unsigned char*, std::size_t) override {}
    void put_back() override {}
};

}  // namespace
}  // namespace pocketkernel::binding
