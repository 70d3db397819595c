// The registry of learners. A learner is a file in this folder, included here and named in `any_learner`.
#pragma once

#include "lkm_books.hpp"
#include "m_omd_h.hpp"
#include "m_omd_s.hpp"
#include "multiclass_m_omd_s.hpp"
#include "pocket_classifier.hpp"
#include "pocket_regressor.hpp"
#include "raker.hpp"
#include "shared_m_omd_h.hpp"

POCKETKERNEL_BEGIN

template <class L>
struct Kind {
    using type = L;
};

// Calls f(Kind<L>{}) for each learner until one call returns true; returns whether one did.
template <class T, class F>
bool any_learner(F&& f) {
    return f(Kind<MOMDS<T>>{}) || f(Kind<MOMDH<T>>{}) || f(Kind<LKMBooks<T>>{}) || f(Kind<Raker<T>>{}) ||
           f(Kind<MulticlassMOMDS<T>>{}) || f(Kind<PocketClassifier<T>>{}) || f(Kind<PocketRegressor<T>>{}) ||
           f(Kind<SharedMOMDH<T>>{});
}

// Not std::string_view: the linker could use a library function compiled for one level in another.
inline bool same_name(const char* a, const char* b) {
    for (; *a && *a == *b; ++a) ++b;
    return *a == *b;
}

// Calls f(Kind<L>{}) with the learner of that name in precision T; returns false if there is none.
template <class T, class F>
bool with_learner(const char* name, F&& f) {
    return any_learner<T>([&](auto kind) {
        if (!same_name(name, decltype(kind)::type::name)) return false;
        f(kind);
        return true;
    });
}

POCKETKERNEL_END
