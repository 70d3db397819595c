// FeaturePool: random features in tiles, each tile lent to two neighbouring kernel widths.
//
//   w_j      a frequency, N(0, I) rounded to 1/32, within +-127/32, in d bytes; a tile has one in every lane of a pack
//   a_j      w_j'z / width_i, the angle, where i is the owner of the tile
//   f_i      sum_j theta_j . (cos a_j, sin a_j)      over the tiles of owner i, the same
//            + theta'_j . (cos 2a_j, sin 2a_j)       over those of owner i - 1, whose width is twice as large
//
// So every frequency, kept once, serves two widths; the second one's waves come by doubling the angle. A tile can
// change hands: it starts again from theta = 0, so no score jumps but those of the losers. A pool on a block that it
// shares with others has tiles at the front of it, and can be given more of them or fewer.
#pragma once

#include "arena.hpp"
#include "config.hpp"
#include "hypothesis.hpp"
#include "kernels/list.hpp"
#include "math.hpp"
#include "normal.hpp"
#include "row.hpp"
#include "watch.hpp"

POCKETKERNEL_BEGIN

// Whether the first kernels are a linear one, then none or several widths: Gaussians, each half as wide as the last.
inline bool is_linear_and_halving(const Config& c, std::size_t widths) {
    bool suited = c.kernels[0].family == Family::linear && widths != 1;
    for (std::size_t i = 1; i <= widths; ++i)
        suited = suited && c.kernels[i].family == Family::gaussian &&
                 (i == 1 || 2.0 * c.kernels[i].parameter == c.kernels[i - 1].parameter);
    return suited;
}

// Where to go on looking for tiles of each owner, so that a series of searches takes one pass over all tiles. In a
// program for one model tiles are few, and each search begins where the first one did.
class TilesOf {
  public:
    explicit TilesOf(std::size_t first) : first_(first) {
        for (std::size_t& one : next_) one = first;
    }
    std::size_t next(std::size_t owner) const { return remembers ? next_[owner] : first_; }
    void found(std::size_t owner, std::size_t tile) {
        if (remembers) next_[owner] = tile;
    }

  private:
    static constexpr bool remembers = parts::kernels == 0;
    std::size_t first_, next_[remembers ? max_kernels : 1];
};

template <class T>
class FeaturePool {
  public:
    static constexpr std::size_t W = lanes_of<T>, waves = 4;

    FeaturePool() = default;
    // With memory of its own. The frequencies are constants, see `plan`, unless there are many columns.
    FeaturePool(Arena& arena, std::size_t frequencies, std::size_t features, std::size_t functions, bool may_be_sparse)
        : tiles_(packs_for<T>(frequencies)),
          features_(features),
          functions_(functions),
          owner_(arena.take<std::uint8_t>(tiles_)),
          theta_(arena.take<T>(tiles_, functions, waves * W)),
          at_zero_(may_be_sparse ? arena.take<T>(tiles_, W) : nullptr),
          frequencies_(features <= Constants::most_columns ? nullptr : arena.take<std::int8_t>(tiles_, features, W)),
          from_tile_to_tile_{functions * waves * W, W, features * W} {}

    // At the front of a block, in up to `most` tiles of `tile_bytes`; `in_use` is part of the state and counts them.
    // The scratch of a tile is in it, so that whoever has the bytes has all of them.
    FeaturePool(Arena& arena, unsigned char* block, std::uint64_t* in_use, std::size_t most, std::size_t features,
                std::size_t functions, bool may_be_sparse)
        : tiles_(most),
          features_(features),
          functions_(functions),
          in_use_(in_use),
          owner_(arena.take<std::uint8_t>(most)) {
        const std::size_t bytes = tile_bytes(features, functions, may_be_sparse), numbers = bytes / sizeof(T);
        from_tile_to_tile_ = {numbers, numbers, bytes};
        if (!block) return;
        theta_ = reinterpret_cast<T*>(block);
        angles_ = theta_ + functions * waves * W;
        if (may_be_sparse) at_zero_ = angles_ + W;
        frequencies_ = reinterpret_cast<std::int8_t*>(block + bytes - features * W);
    }
    static constexpr std::size_t bytes_per_frequency(std::size_t features, std::size_t functions, bool may_be_sparse) {
        return (waves * functions + may_be_sparse + 1) * sizeof(T) + features;
    }
    static constexpr std::size_t tile_bytes(std::size_t features, std::size_t functions, bool may_be_sparse) {
        return W * bytes_per_frequency(features, functions, may_be_sparse);
    }

    // What is not part of the state, of a pool that has its own memory: scratch, and the frequencies, which the seed
    // alone decides.
    void plan(Arena& arena) {
        angles_ = arena.take<T>(tiles_, W);
        if (is_constant()) frequencies_ = arena.take<std::int8_t>(tiles_, features_, W);
    }

    void draw(Rng& rng) {
        Normal normal(rng);
        for (std::size_t tile = 0; tile < tiles() && !Watch::give_up(); ++tile) draw(tile, normal);
    }
    // Whether the frequencies are not part of the state: in a shared block they are.
    bool is_constant() const {
        return from_tile_to_tile_.frequencies == features_ * W && features_ <= Constants::most_columns;
    }
    Constants constants() const {
        if (!is_constant()) return {};
        return {reinterpret_cast<unsigned char*>(frequencies_), tiles_ * features_ * W, sizeof *frequencies_};
    }
    // Lends the tiles to owners 1 .. `owners` in turn.
    void reset(std::size_t owners) {
        for (std::size_t tile = 0; tile < tiles(); ++tile) owner_[tile] = static_cast<std::uint8_t>(1 + tile % owners);
    }

    std::size_t tiles() const { return in_use_ ? static_cast<std::size_t>(*in_use_) : tiles_; }
    std::size_t most_tiles() const { return tiles_; }
    // In a shared block: the tiles, and what is behind them.
    const unsigned char* begin() const { return reinterpret_cast<const unsigned char*>(theta_); }
    unsigned char* end() const { return reinterpret_cast<unsigned char*>(theta(tiles(), 0)); }
    std::size_t tiles_of(std::size_t owner) const {
        std::size_t count = 0;
        for (std::size_t tile = 0; tile < tiles(); ++tile) count += owner_[tile] == owner;
        return count;
    }
    double frequency(std::size_t j, std::size_t k) const {
        return static_cast<double>(frequencies(j / W)[k * W + j % W]) / per_unit;
    }

    // The first tile of an owner that has one goes to another. Returns which it was: the next search for one of that
    // owner, which has got no others in between, may begin there.
    std::size_t lend(std::size_t from, std::size_t to, std::size_t tile = 0) {
        while (owner_[tile] != from) ++tile;
        owner_[tile] = static_cast<std::uint8_t>(to);
        std::memset(theta(tile, 0), 0, functions_ * waves * W * sizeof(T));
        return tile;
    }

    // In a shared block: a new tile behind the others, with new frequencies.
    void add(Rng& rng, std::size_t owner) {
        const std::size_t tile = tiles();
        ++*in_use_;
        Normal normal(rng);
        draw(tile, normal);
        owner_[tile] = static_cast<std::uint8_t>(owner);
        std::memset(theta(tile, 0), 0, functions_ * waves * W * sizeof(T));
    }
    // In a shared block: the last tile of an owner that has one is dropped, and the very last one takes its place.
    // Returns which it was: no further one of that owner is behind it, and the next search may begin there.
    std::size_t drop(std::size_t owner, std::size_t tile = ~std::size_t(0)) {
        const std::size_t last = tiles() - 1;
        tile = smaller(tile, last);
        while (owner_[tile] != owner) --tile;
        owner_[tile] = owner_[last];
        if (tile != last) std::memcpy(theta(tile, 0), theta(last, 0), from_tile_to_tile_.frequencies);
        --*in_use_;
        return tile;
    }

    // Moves up to an eighth of the tiles towards shares that fall by e for every `tolerance` (a part of it) that an
    // owner's loss is above the least. Two thirds of that loss are its own, one the next width's, which it serves. If
    // there are enough tiles every owner keeps one as a scout. count(i) is where the tiles of owner i are counted;
    // `shares` has room for a number of every owner, and one.
    template <class Loss, class Count>
    void review(std::size_t owners, T tolerance, T least_loss, Loss&& loss, Count&& count, double* shares) {
        const std::size_t least = tiles() >= 4 * owners ? 1 : 0;
        const auto loss_of = [&](std::size_t i) {
            return (T(2) * static_cast<T>(loss(i)) + static_cast<T>(loss(i + 1))) / T(3);
        };
        T best = loss_of(1), total = T(0);
        for (std::size_t i = 2; i <= owners; ++i) best = smaller(loss_of(i), best);
        best = larger(best, least_loss);
        for (std::size_t i = 1; i <= owners; ++i) {
            shares[i] = exponential(static_cast<double>((T(1) - loss_of(i) / best) / tolerance));
            total += static_cast<T>(shares[i]);
        }
        TilesOf search(0);  // no owner both gives and takes
        for (std::size_t move = 0; move <= tiles() / 8; ++move) {
            std::size_t from = 0, to = 0;
            T surplus = T(1), deficit = T(0.5);
            for (std::size_t i = 1; i <= owners; ++i) {
                const T fair = static_cast<T>(shares[i]) / total * static_cast<T>(tiles());
                const T over = static_cast<T>(static_cast<std::size_t>(count(i))) - larger(fair, static_cast<T>(least));
                if (over >= surplus && count(i) > least) surplus = over, from = i;
                if (-over >= deficit) deficit = -over, to = i;
            }
            if (from == 0 || to == 0) return;
            search.found(from, lend(from, to, search.next(from)));
            --count(from);
            ++count(to);
        }
    }

    // Where the frequencies see a row of zeros, to be told whenever z changes its meaning.
    void refresh(const T* zero) {
        for (std::size_t tile = 0; parts::sparse_rows && at_zero_ && tile < tiles(); ++tile)
            project_dense(tile, zero).store(at_zero(tile));
    }

    // The same after column k of that row alone has changed.
    void refresh_column(std::size_t k, T change) {
        for (std::size_t tile = 0; parts::sparse_rows && at_zero_ && tile < tiles(); ++tile)
            (Pack<T>::load(at_zero(tile)) + from_bytes<T>(frequencies(tile) + k * W) * Pack<T>(change))
                .store(at_zero(tile));
    }

    // partial[iR + r] += f_ir at z, lane by lane, for all widths i and functions r. A sparse z lists what it adds to a
    // row of zeros. The angles are kept for `step` if wanted.
    template <class InverseWidth>
    void evaluate(const Query<T>& z, InverseWidth&& inverse_width, Pack<T>* partial, bool keep_angles) const {
        for (std::size_t tile = 0; tile < tiles(); ++tile)
            evaluate_tile(tile, z, inverse_width(owner_[tile]), partial + owner_[tile] * functions_, keep_angles);
    }
    // The same for the tiles of one owner i alone: own part of f_ir in partial[r], part of the next width's in
    // partial[R + r].
    void evaluate(std::size_t i, const Query<T>& z, double inverse_width, Pack<T>* partial, bool keep_angles) const {
        for (std::size_t tile = 0; tile < tiles(); ++tile)
            if (owner_[tile] == i) evaluate_tile(tile, z, inverse_width, partial, keep_angles);
    }

    // theta_ir -= steps[iR + r] times the waves, at the angles that `evaluate` kept.
    void step(const double* steps) {
        for (std::size_t tile = 0; tile < tiles(); ++tile) step_tile(tile, Wave(Pack<T>::load(angles(tile))), steps);
    }

    // The same; and in the place of the angles go the slopes of sum_ir weight(i, r) f_ir in the projections w_j'z, as
    // they were before the step.
    template <class InverseWidth, class Weight>
    void step(const double* steps, InverseWidth&& inverse_width, Weight&& weight) {
        for (std::size_t tile = 0; tile < tiles(); ++tile) {
            const std::size_t i = owner_[tile];
            const double per_step = inverse_width(i) / per_unit;
            const Wave wave(Pack<T>::load(angles(tile)));
            Pack<T> slope(T(0));
            for (std::size_t r = 0; r < functions_; ++r) {
                const T* a = theta(tile, r);
                const auto own = static_cast<T>(per_step * weight(i, r));
                const auto next = static_cast<T>(2.0 * per_step * weight(i + 1, r));
                const Pack<T> theta[waves] = {Pack<T>::load(a), Pack<T>::load(a + W), Pack<T>::load(a + 2 * W),
                                              Pack<T>::load(a + 3 * W)};
                lanewise(
                    [=](auto& s, const auto& t0, const auto& t1, const auto& t2, const auto& t3, const auto& c,
                        const auto& s1, const auto& c2, const auto& s2) POCKETKERNEL_FLAT {
                        using V = std::decay_t<decltype(s)>;
                        s = s + (V(own) * (t1 * c - t0 * s1) + V(next) * (t3 * c2 - t2 * s2));
                    },
                    slope, theta[0], theta[1], theta[2], theta[3], wave.of[0], wave.of[1], wave.of[2], wave.of[3]);
            }
            slope.store(angles(tile));
            step_tile(tile, wave, steps);
        }
    }

    // So many columns at once are cheaper than one after the other, in registers.
    static constexpr std::size_t slopes_at_once = POCKETKERNEL_REGISTER_BYTES > 0 ? 4 : 1;
    // The slopes in N columns from k on, after that.
    template <std::size_t N>
    void slopes(std::size_t k, T* out) const {
        Pack<T> total[N];
        for (Pack<T>& one : total) one = Pack<T>(T(0));
        for (std::size_t tile = 0; tile < tiles(); ++tile) {
            const Pack<T> slope = Pack<T>::load(angles(tile));
            const std::int8_t* w = frequencies(tile) + k * W;
            for (std::size_t n = 0; n < N; ++n) {
                const Pack<T> frequency = from_bytes<T>(w + n * W);
                lanewise([](auto& t, const auto& s, const auto& f) POCKETKERNEL_FLAT { t = t + s * f; }, total[n],
                         slope, frequency);
            }
        }
        for (std::size_t n = 0; n < N; ++n) out[n] = static_cast<T>(sum(total[n]));
    }
    // The slopes in all columns.
    void slopes(T* out) const {
        std::size_t k = 0;
        for (; k + slopes_at_once <= features_; k += slopes_at_once) slopes<slopes_at_once>(k, out + k);
        for (; k < features_; ++k) slopes<1>(k, out + k);
    }

    // Function r of every width, times a factor.
    void scale(std::size_t r, double factor) {
        const Pack<T> by(static_cast<T>(factor));
        for (std::size_t tile = 0; tile < tiles(); ++tile)
            for (std::size_t n = 0; n < waves; ++n)
                (Pack<T>::load(theta(tile, r) + n * W) * by).store(theta(tile, r) + n * W);
    }

    // |f_i|^2, the sum of the squared theta, in the precision that is asked for.
    template <class Sum = double>
    Sum norm2(std::size_t i) const {
        Sum total(0);
        for (std::size_t tile = 0; tile < tiles(); ++tile) {
            const std::size_t first = owner_[tile] == i ? 0 : 2 * W;
            if (first > 0 && owner_[tile] + 1u != i) continue;
            for (std::size_t r = 0; r < functions_; ++r) {
                T part = T(0);
                for (const T *a = theta(tile, r) + first, *end = a + 2 * W; a < end; ++a) part += *a * *a;
                total += static_cast<Sum>(part);
            }
        }
        return total;
    }

    // Coefficients far below what overflows, projections of a row of zeros within what |z_k| <= `most` can give.
    bool valid(std::size_t owners, double most = 71.0) const {
        const double farthest = 128.0 * most * static_cast<double>(features_);
        bool good = tiles() <= tiles_;
        for (std::size_t tile = 0; good && tile < tiles(); ++tile)
            good = good && owner_[tile] >= 1 && owner_[tile] <= owners;
        for (std::size_t tile = 0; good && tile < tiles(); ++tile) {
            for (std::size_t n = 0; n < functions_ * waves * W; ++n)
                good = good && absolute(static_cast<double>(theta(tile, 0)[n])) <= coefficient_limit<T>();
            for (std::size_t n = 0; at_zero_ && n < W; ++n)
                good = good && absolute(static_cast<double>(at_zero(tile)[n])) <= farthest;
        }
        return good;
    }

  private:
    static constexpr double per_unit = 32.0;

    struct Wave {
        Pack<T> of[waves];
        explicit POCKETKERNEL_INLINE Wave(const Pack<T>& angle) {
            cosine_sine(angle, of[0], of[1]);
            lanewise(
                [](const auto& c, const auto& s, auto& c2, auto& s2) POCKETKERNEL_FLAT {
                    using V = std::decay_t<decltype(s)>;
                    const V twice = s + s;
                    c2 = V(T(1)) - twice * s;
                    s2 = twice * c;
                },
                of[0], of[1], of[2], of[3]);
        }
    };

    // Own part of f_ir in partial[r], the next width's in partial[R + r].
    POCKETKERNEL_INLINE void evaluate_tile(std::size_t tile, const Query<T>& z, double inverse_width, Pack<T>* partial,
                                           bool keep_angles) const {
        const Pack<T> projection =
            parts::sparse_rows && z.sparse ? project_sparse(tile, z) : project_dense(tile, z.dense);
        const Pack<T> angle = projection * Pack<T>(static_cast<T>(inverse_width / per_unit));
        if (keep_angles) angle.store(angles(tile));
        const Wave wave(angle);
        for (std::size_t r = 0; r < functions_; ++r) {
            const T* a = theta(tile, r);
            add_waves(a, wave.of, partial[r]);
            add_waves(a + 2 * W, wave.of + 2, partial[functions_ + r]);
        }
    }

    POCKETKERNEL_INLINE void step_tile(std::size_t tile, const Wave& wave, const double* steps) {
        for (std::size_t r = 0; r < functions_; ++r) {
            T* a = theta(tile, r);
            for (std::size_t n = 0; n < waves; ++n) {
                const auto down = static_cast<T>(steps[(owner_[tile] + n / 2) * functions_ + r]);
                Pack<T> theta = Pack<T>::load(a + n * W);
                lanewise([=](auto& t, const auto& w) POCKETKERNEL_FLAT { t = t - std::decay_t<decltype(t)>(down) * w; },
                         theta, wave.of[n]);
                theta.store(a + n * W);
            }
        }
    }

    // sum += theta . (cosine, sine)
    static POCKETKERNEL_INLINE void add_waves(const T* theta, const Pack<T>* wave, Pack<T>& sum) {
        const Pack<T> a = Pack<T>::load(theta), b = Pack<T>::load(theta + W);
        lanewise([](auto& s, const auto& t, const auto& u, const auto& c, const auto& w)
                     POCKETKERNEL_FLAT { s = s + (t * c + u * w); },
                 sum, a, b, wave[0], wave[1]);
    }

    T* theta(std::size_t tile, std::size_t r) const { return theta_ + tile * from_tile_to_tile_.theta + r * waves * W; }
    T* angles(std::size_t tile) const { return angles_ + tile * from_tile_to_tile_.lanes; }
    T* at_zero(std::size_t tile) const { return at_zero_ + tile * from_tile_to_tile_.lanes; }
    std::int8_t* frequencies(std::size_t tile) const { return frequencies_ + tile * from_tile_to_tile_.frequencies; }

    void draw(std::size_t tile, Normal& normal) {
        for (std::size_t n = 0; n < features_ * W; ++n)
            frequencies(tile)[n] =
                static_cast<std::int8_t>(larger(-127.0, smaller(127.0, std::floor(per_unit * normal.next() + 0.5))));
    }

    Pack<T> project_dense(std::size_t tile, const T* z) const {
        const std::int8_t* w = frequencies(tile);
        Pack<T> product(T(0));
        for (std::size_t k = 0; k < features_; ++k) add_product(product, w + k * W, z[k]);
        return product;
    }
    Pack<T> project_sparse(std::size_t tile, const Query<T>& z) const {
        const std::int8_t* w = frequencies(tile);
        Pack<T> product = Pack<T>::load(at_zero(tile));
        for (std::size_t n = 0; n < z.nonzeros; ++n)
            add_product(product, w + static_cast<std::size_t>(z.columns[n]) * W, z.values[n]);
        return product;
    }

    struct Strides {
        std::size_t theta = 0, lanes = 0, frequencies = 0;  // in numbers of their kind
    };

    std::size_t tiles_ = 0;
    Known<parts::features> features_{0};
    Known<parts::functions> functions_{0};
    std::uint64_t* in_use_ = nullptr;  // null if all are
    std::uint8_t* owner_ = nullptr;
    T* theta_ = nullptr;    // tile by tile, function by function: on cos a, sin a, cos 2a, sin 2a
    T* at_zero_ = nullptr;  // w_j'z of a row of zeros, if rows may be sparse
    std::int8_t* frequencies_ = nullptr;
    Strides from_tile_to_tile_{};
    T* angles_ = nullptr;
};

POCKETKERNEL_END
