// Workspace: what scoring needs besides the learner itself. Each thread that scores has its own.
#pragma once

#include "kernels/bank.hpp"
#include "row.hpp"

POCKETKERNEL_BEGIN

template <class T>
struct Workspace {
    QueryScratch<T> query;
    Pack<T>* partial = nullptr;  // one running sum per function
    double* values = nullptr;    // their values at x, up to a whole pack
    T* rows = nullptr;           // of a learner that asks for them, each up to a whole pack

    Workspace() = default;
    Workspace(Arena& arena, const Config& config, const KernelBank<T>& bank, std::size_t functions,
              std::size_t sparse_from, std::size_t more_rows = 0, std::size_t own_values = 0)
        : query(arena, config.features, bank.count() > 0 ? norms_for(bank.metrics(), config.features) : RowNorms(),
                config.storage, sparse_from),
          partial(arena.take<Pack<T>>(functions)),
          values(arena.take<double>(padded<double>(larger(functions, own_values)))),
          rows(more_rows > 0 ? arena.take<T>(more_rows, padded<T>(config.features)) : nullptr) {}
};

POCKETKERNEL_END
