// SharedBlock: one block of memory that waves, ferns and the ring of a PocketClassifier share by what they are worth.
//
//   waves | ferns | (unused) | ring        tiles from the front, ferns behind them, pages of rows from the back
//
// At each review shares move towards what the evidence says, by at most an eighth of the block. What an expert is worth
// now says little about what it would be worth with other memory: whoever has memory has worth. So nothing but the ring
// moves in the first rows, ferns have at most a quarter, and the ring grows beyond a quarter by a forecast: if 8 times
// as many rows have cut its mistakes by more than a tenth, what would they be in the largest ring? It may grow if they
// would be about as few as the mixture's. Computed in T, since chips have no doubles in hardware, and functions for
// them are long.
//
// F, the frame, is the learner: `config()`, `functions()`, `waves()`, `ferns()`, `ring()`, `place(i)`, `widths()`,
// `rng()`.
#pragma once

#include "experts/ferns.hpp"
#include "experts/ring.hpp"
#include "experts/waves.hpp"

POCKETKERNEL_BEGIN

template <class T>
class SharedBlock {
  public:
    // What the shares follow: running means over the recent rows.
    struct Evidence {
        std::uint64_t tiles;                   // of the waves
        double worth_of_waves, worth_of_ring;  // by how much the mixture's loss is larger without them
        double worth_of_ferns, loss;           // likewise; and the mixture's loss
        double mistakes, near, nearest;        // of the mixture; of the nearest row in the middle window, and in all
    };
    static_assert(part_of_state<Evidence, 64>);

    SharedBlock() = default;
    // Takes the block, and gives the experts their places in it. `numbers` are those of the waves.
    SharedBlock(Arena& arena, const Config& c, std::size_t functions, double* numbers, experts::Waves<T>& waves,
                experts::Ferns<T>& ferns, experts::Ring<T>& ring) {
        const bool may_be_sparse = c.features >= Tuning::wide_from;
        const std::size_t unit = FeaturePool<T>::bytes_per_frequency(c.features, functions, may_be_sparse);
        evidence_ = arena.take<Evidence>(1);
        unsigned char* memory = arena.take<unsigned char>(c.budget, unit);
        waves = {FeaturePool<T>(arena, memory, evidence_ ? &evidence_->tiles : nullptr, c.budget / lanes_of<T>,
                                c.features, functions, may_be_sparse),
                 numbers};
        ferns = experts::Ferns<T>(arena, c.features, functions);
        ring = experts::Ring<T>(arena, memory ? memory + c.budget * unit : nullptr, c.features, c.classes);
    }

    template <class F>
    void reset(F& f) {
        using First = Tuning::Block;
        const auto& of = f.functions() == 1 ? First::of_two_classes : First::of_several;
        const double whole = static_cast<double>(bytes(f));
        const double ferns = whole * of.ferns, waves = whole * (1.0 - of.ring) - ferns;
        evidence_->tiles = static_cast<std::uint64_t>(waves / static_cast<double>(tile_bytes(f)) + 0.5);
        f.ferns().resize(static_cast<std::size_t>(ferns / static_cast<double>(fern_bytes(f))));
        f.ring().reset();
        f.ring().resize(pages_left(f));
    }

    template <class F>
    static std::size_t bytes(const F& f) {
        return f.config().budget * FeaturePool<T>::bytes_per_frequency(f.config().features, f.functions(),
                                                                       f.config().features >= Tuning::wide_from);
    }
    template <class F>
    static std::size_t tile_bytes(const F& f) {
        return FeaturePool<T>::tile_bytes(f.config().features, f.functions(), f.config().features >= Tuning::wide_from);
    }
    template <class F>
    static std::size_t fern_bytes(const F& f) {
        return experts::Ferns<T>::bytes(f.functions());
    }
    // What each of them has.
    template <class F>
    static std::size_t waves_bytes(const F& f) {
        return f.waves().pool().tiles() * tile_bytes(f);
    }
    template <class F>
    static std::size_t ferns_bytes(const F& f) {
        return f.ferns().room() * fern_bytes(f);
    }
    template <class F>
    static std::size_t ring_bytes(const F& f) {
        return bytes(f) - waves_bytes(f) - ferns_bytes(f);
    }
    template <class F>
    static std::size_t pages_left(const F& f) {
        return pages_beside(f, waves_bytes(f) + ferns_bytes(f));
    }

    // What a row tells of the three; `loss_without(from, to)` is the mixture's loss without places of it, asked of one
    // row in four.
    template <class F, class Found, class LossWithout>
    void gather(F& f, const Found& found, const std::uint8_t* rounded, std::size_t y, bool mistake, double loss,
                double recent, bool one_in_four, LossWithout&& loss_without) {
        Evidence& e = *evidence_;
        const auto label = static_cast<std::int32_t>(y);
        approach(e.loss, loss, recent);
        approach(e.mistakes, mistake ? 1.0 : 0.0, recent);
        approach(e.near, found.first(1) == label ? 0.0 : 1.0, recent);
        approach(e.nearest, found.first(2) == label ? 0.0 : 1.0, recent);
        if (!one_in_four) return;
        f.ring().try_other_distance(found, rounded, y);
        const auto without = [&](std::size_t from, std::size_t to, double& worth) {
            approach(worth, loss_without(from, to) - loss, larger(1.0, 0.25 * recent));
        };
        without(1, 1 + f.widths(), e.worth_of_waves);
        without(1 + f.widths(), 2 + f.widths(), e.worth_of_ring);
        without(2 + f.widths(), 3 + f.widths(), e.worth_of_ferns);
    }

    // Moves the shares. Whether waves have got more.
    template <class F>
    bool share(F& f, std::uint64_t rounds) {
        using B = Tuning::Block;
        const Evidence& e = *evidence_;
        experts::Ring<T>& rows = f.ring();
        const std::size_t all = bytes(f), had_ring = ring_bytes(f), had_ferns = ferns_bytes(f);
        const T whole = static_cast<T>(all), ring = static_cast<T>(had_ring);
        const bool full = rows.rows() == rows.capacity();
        if (rounds < B::ring_moves_from || rows.capacity() == 0) return false;
        const T nearest = static_cast<T>(e.nearest), good_enough = T(B::good_enough) * static_cast<T>(e.mistakes);
        const T gain = larger(nearest, T(1e-3)) / larger(static_cast<T>(e.near), T(1e-3));
        const double eights =
            logarithm(static_cast<double>(T(B::largest_ring) * whole / ring)) / 2.0794415416798357;  // ln 8
        const bool pays = gain < T(B::gain);
        const auto forecast = static_cast<T>(exponential(eights * logarithm(static_cast<double>(gain))));
        const bool grows = full && pays && nearest * forecast <= good_enough;
        const bool stays = 8 * had_ring >= B::stays_from_eighths * all && pays && nearest <= good_enough;
        if (rounds < B::all_move_from && !grows) return false;

        const auto worth = [](double of) { return larger(static_cast<T>(of), T(0)); };
        const T waves = worth(e.worth_of_waves), nearest_rows = worth(e.worth_of_ring),
                tables = worth(e.worth_of_ferns), some = T(B::some_worth) * static_cast<T>(e.loss) + T(1e-9);
        T fair_ring = ring, fair_ferns = static_cast<T>(had_ferns);
        if (grows || stays)
            fair_ring = T(B::largest_ring) * whole;
        else if (full)
            fair_ring =
                whole * larger(T(B::least_ring),
                               smaller(nearest_rows / (waves + nearest_rows + tables + T(1e-9)), T(B::usual_ring)));
        if (rounds >= B::all_move_from) {
            const T share = (whole - fair_ring) * (tables + some) / (waves + tables + T(2) * some);
            const T least = T(f.functions() == 1 ? B::least_ferns_two_classes : B::least_ferns_several);
            fair_ferns = larger(least * whole, smaller(share, T(B::most_ferns) * whole));
        }
        const T fair_waves = larger(whole - fair_ring - fair_ferns, T(B::least_waves) * whole);
        const std::size_t tile = tile_bytes(f), fern = fern_bytes(f);
        const auto step = [&](std::size_t had, T fair, std::size_t unit) {
            const auto wanted = static_cast<std::size_t>(fair / static_cast<T>(unit) + T(0.5));
            const std::size_t most_moved = larger(all / B::steps / unit, std::size_t(1));
            return wanted > had ? smaller(wanted, had + most_moved) : had - smaller(had - wanted, most_moved);
        };
        const FeaturePool<T>& pool = f.waves().pool();
        const std::size_t tiles =
            larger(step(pool.tiles(), fair_waves, tile), smaller(pool.most_tiles(), std::size_t(1)));
        const std::size_t had = f.ferns().room(), ferns = step(had, fair_ferns, fern);
        if ((ferns > had ? ferns - had : had - ferns) * fern < tile && tiles == pool.tiles()) return false;
        if (tiles * tile > all) return false;
        return rearrange(f, tiles, smaller(ferns, (all - tiles * tile) / fern));
    }

    template <class F>
    bool valid(const F& f) const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        const Evidence& e = *evidence_;
        bool good = e.tiles <= f.waves().pool().most_tiles() && f.ferns().counts_valid() &&
                    f.ferns().room() <= (bytes(f) - waves_bytes(f)) / fern_bytes(f);
        for (double worth : {e.worth_of_waves, e.worth_of_ring, e.worth_of_ferns})
            good = good && within(worth, -f.beyond_all, f.beyond_all);
        good = good && within(e.loss, 0.0, f.beyond_all);
        for (double share : {e.mistakes, e.near, e.nearest}) good = good && within(share, 0.0, 1.0);
        return good;
    }

    // The block has words of several sizes, and its shares move: what an Arena cannot know. Swaps the bytes of its
    // words, in a state at `to` that is laid out as the learner's own, which is at `from`.
    template <class F>
    static void convert(const F& f, const unsigned char* from, unsigned char* to) {
        const FeaturePool<T>& pool = f.waves().pool();
        const std::size_t tile = tile_bytes(f), fern = fern_bytes(f);
        const std::size_t tiles = smaller(pool.tiles(), pool.most_tiles());
        const std::size_t thresholds = fern - experts::Ferns<T>::tests * sizeof(std::uint16_t);
        const std::size_t ferns = smaller(f.ferns().size(), (bytes(f) - tiles * tile) / fern);
        unsigned char* at = to + (pool.begin() - from);
        for (std::size_t n = 0; n < tiles; ++n, at += tile)
            swap_words(at, tile - f.config().features * lanes_of<T>, sizeof(T));
        for (std::size_t n = 0; n < ferns; ++n, at += fern) {
            swap_words(at, thresholds, sizeof(T));
            swap_words(at + thresholds, fern - thresholds, sizeof(std::uint16_t));
        }
    }

  private:
    // Of the ring, if others have so many bytes of the block.
    template <class F>
    static std::size_t pages_beside(const F& f, std::size_t others) {
        return (bytes(f) - others) / experts::Ring<T>::page_bytes(f.config().features, f.config().classes);
    }

    template <class F>
    static POCKETKERNEL_FOLD bool rearrange(F& f, std::size_t tiles, std::size_t ferns) {
        FeaturePool<T>& pool = f.waves().pool();
        const auto loss_of = [&](std::size_t i) { return 2.0 * f.place(i).loss + f.place(i + 1).loss; };
        const std::size_t owners = f.waves().owners(f);
        // First the ring, which may have to save rows from where others grow.
        f.ring().resize(pages_beside(f, tiles * tile_bytes(f) + ferns * fern_bytes(f)));
        const unsigned char* before = pool.end();
        const bool more = pool.tiles() < tiles;
        TilesOf search(pool.tiles());
        while (pool.tiles() > tiles) {
            // Of the owner that predicts worst, but rather of one that has several.
            std::size_t giver = 0;
            for (std::uint64_t at_least = 2; giver == 0; --at_least)
                for (std::size_t i = 1; i <= owners; ++i)
                    if (f.place(i).tiles >= at_least && (giver == 0 || loss_of(i) > loss_of(giver))) giver = i;
            search.found(giver, pool.drop(giver, search.next(giver)));
            --f.place(giver).tiles;
        }
        f.ferns().resize(ferns);
        // All at once, not tile by tile: so the cost is linear in the block.
        std::memmove(pool.end() + (tiles - pool.tiles()) * tile_bytes(f), before, f.ferns().size() * fern_bytes(f));
        while (pool.tiles() < tiles) {
            std::size_t taker = 1;
            for (std::size_t i = 2; i <= owners; ++i)
                if (loss_of(i) < loss_of(taker)) taker = i;
            pool.add(f.rng(), taker);
            ++f.place(taker).tiles;
        }
        // What nobody uses is 0: words that are left there would have the byte order of the machine in a saved state.
        unsigned char* unused = pool.end() + f.ferns().size() * fern_bytes(f);
        std::memset(unused, 0, static_cast<std::size_t>(f.ring().begin() - unused));
        return more;
    }

    Evidence* evidence_ = nullptr;
};

POCKETKERNEL_END
