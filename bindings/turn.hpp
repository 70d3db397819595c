// PyTurn: a turn over several calls, of a learner of the core or of any object of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "learner.hpp"
#include "turns.hpp"

namespace pocketkernel::binding {
namespace {

// `with Turn(owner, changing)`. A turn of a learner lends it to the calls within; one of another object (an estimator,
// a fleet, a model of River) is for those who take one as well. With the GIL.
class PyTurn {
  public:
    PyTurn(nb::object owner, bool changing)
        : owner_(std::move(owner)), use_(changing ? Turns::changing : Turns::reading) {}

    void enter() {
        if (nb::isinstance<PyLearner>(owner_)) {
            guard_.emplace(nb::cast<PyLearner&>(owner_).turns(), use_, Turns::everything);
            return;
        }
        Shared& shared = all()[owner_.ptr()];
        shared.owner = owner_;
        ++shared.users;
        try {
            guard_.emplace(shared.turns, use_, Turns::reads);
        } catch (...) {
            leave();
            throw;
        }
        shared_ = true;
    }
    void exit(nb::handle, nb::handle, nb::handle) {
        guard_.reset();
        if (shared_) leave();
        shared_ = false;
    }

  private:
    // The turns of an object exist while somebody has one or waits.
    struct Shared {
        nb::object owner;  // so that no other object gets its address
        Turns turns;
        std::size_t users = 0;
    };
    // Never freed: a thread may be in a turn when the process ends.
    static std::unordered_map<PyObject*, Shared>& all() {
        static auto* all = new std::unordered_map<PyObject*, Shared>;
        return *all;
    }
    void leave() const {
        const auto found = all().find(owner_.ptr());
        if (--found->second.users == 0) all().erase(found);
    }

    nb::object owner_;
    const Turns::Use use_;
    bool shared_ = false;
    std::optional<Guard> guard_;
};

}  // namespace
}  // namespace pocketkernel::binding
