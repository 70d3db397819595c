// A frame for experts: what they know of the learner, with nothing else around it.
#pragma once

#include "check.hpp"
#include "pocketkernel/experts/list.hpp"

namespace frame {

using namespace pocketkernel;

struct Place {
    double squares, loss, inverse_width;
    std::uint64_t tiles;
};

// Of rows of d columns, for so many widths; the tests move what they need.
template <class T>
class Frame {
  public:
    static constexpr double beyond_all = 1e12;

    Frame(std::size_t features, std::size_t functions, std::size_t widths = 0, bool may_be_sparse = false)
        : features_(features), functions_(functions), widths_(widths) {
        config_.features = features;
        config_.classes = functions == 1 ? 2 : functions;
        auto* pace = arena.take<typename Columns<T>::Pace>(1);
        columns_ = Columns<T>(arena, features, may_be_sparse, widths > 0, pace);
        lines_ = Lines<T>(arena, functions + 1, features, biases);
        work.query =
            QueryScratch<T>(arena, features, RowNorms(), Storage::full, may_be_sparse ? std::size_t(64) : features + 1);
        work.partial = arena.take<Pack<T>>(2 * functions + widths + 1);
        work.rows = arena.take<T>(4, padded<T>(features));
        CHECK(arena.used() <= sizeof block);
        columns_.reset();
        lines_.reset();
    }

    std::size_t functions() const { return functions_; }
    std::size_t features() const { return features_; }
    std::size_t widths() const { return widths_; }
    const Config& config() const { return config_; }
    Place& place(std::size_t i) const { return places[i]; }
    Rng& rng() { return rng_; }
    Columns<T>& columns() { return columns_; }
    const Columns<T>& columns() const { return columns_; }
    Lines<T>& lines() { return lines_; }
    const Lines<T>& lines() const { return lines_; }
    experts::Waves<T>& waves() { return waves_; }
    const experts::Waves<T>& waves() const { return waves_; }
    experts::Ring<T>& ring() { return ring_; }
    const experts::Ring<T>& ring() const { return ring_; }
    experts::Ferns<T>& ferns() { return ferns_; }
    const experts::Ferns<T>& ferns() const { return ferns_; }
    double mixed_slope(std::size_t i, std::size_t r) const {
        return 0.1 * static_cast<double>(i) + static_cast<double>(r);
    }
    template <class E>
    T* kept(const Workspace<T>& of) const {
        return of.rows;
    }

    // The z of a row, which is learned as the columns are.
    template <class U>
    Query<T> read(const U* values) {
        return columns_.learn(Row<U>{values, nullptr, 0}, work.query, ++rounds, true);
    }

    alignas(pack_bytes) unsigned char block[256 * 1024]{};
    Arena arena{block};
    Workspace<T> work;
    double biases[16] = {};
    mutable Place places[16] = {};
    std::uint64_t rounds = 0;

  private:
    std::size_t features_, functions_, widths_;
    Config config_;
    Rng rng_{11};
    Columns<T> columns_;
    Lines<T> lines_;
    experts::Waves<T> waves_;
    experts::Ring<T> ring_;
    experts::Ferns<T> ferns_;
};

}  // namespace frame
