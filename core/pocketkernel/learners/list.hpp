// The registry of learners. A learner is a file in this folder and a line in `with_learner`.
#pragma once

#include "lkm_books.hpp"
#include "m_omd_h.hpp"
#include "m_omd_s.hpp"
#include "multiclass_m_omd_s.hpp"
#include "pocket_classifier.hpp"
#include "raker.hpp"

POCKETKERNEL_BEGIN

template <class L>
struct Kind {
    using type = L;
};

// Not std::string_view: a function of the standard library compiled for one level could serve another.
inline bool same_name(const char* a, const char* b) {
    for (; *a && *a == *b; ++a) ++b;
    return *a == *b;
}

// Calls f(Kind<L>{}) with the learner of that name in precision T; answers false if there is none.
template <class T, class F>
bool with_learner(const char* name, F&& f) {
    const auto visit = [&](auto kind) {
        if (!same_name(name, decltype(kind)::type::name)) return false;
        f(kind);
        return true;
    };
    return visit(Kind<MOMDS<T>>{}) || visit(Kind<MOMDH<T>>{}) || visit(Kind<LKMBooks<T>>{}) ||
           visit(Kind<Raker<T>>{}) || visit(Kind<MulticlassMOMDS<T>>{}) || visit(Kind<PocketClassifier<T>>{});
}

POCKETKERNEL_END
