// Random Fourier features of K Gaussian kernels from one set of D frequencies (Rahimi & Recht 2007).
//
//   z_i(x) = (cos(w_j'x / sigma_i), sin(w_j'x / sigma_i))_j / sqrt(D)        w_j ~ N(0, I_d)
//
// Frequencies are stored in tiles like the rows of a Buffer. Widths in ratio 2^m need only one cosine and sine per
// frequency (for the widest kernel); the others follow by doubling the angle. That doubles errors, so it is done at
// most 10 times.
#pragma once

#include "kernels/bank.hpp"
#include "normal.hpp"
#include "row.hpp"
#include "watch.hpp"

POCKETKERNEL_BEGIN

template <class T>
class RandomFeatures {
  public:
    static constexpr std::size_t W = lanes_of<T>;

    RandomFeatures() = default;
    RandomFeatures(std::size_t frequencies, std::size_t features) : frequencies_(frequencies), features_(features) {}

    // The frequencies, in the state or outside of it; the order of the kernels, widest first, is never part of it.
    void place(Arena& arena) { values_ = arena.take<T>(padded<T>(frequencies_), features_); }
    void plan(Arena& arena, const Config& config) {
        count_ = config.kernel_count;
        link_ = arena.take<Link>(count_);
        for (std::size_t i = 0; link_ && i < count_; ++i) {
            std::size_t n = i;
            for (; n > 0 && config.kernels[i].parameter > link_[n - 1].width; --n) link_[n] = link_[n - 1];
            link_[n] = {i, config.kernels[i].parameter, fresh};
        }
        int span = 0;
        for (std::size_t n = 1; link_ && n < count_; ++n) {
            const int m = doublings(link_[n].width, link_[n - 1].width, most_doublings);
            link_[n].doublings = m >= 0 && span + m <= most_doublings ? m : fresh;
            span = link_[n].doublings == fresh ? 0 : span + m;
        }
    }

    // Draws the frequencies in order.
    void draw(Rng& rng) {
        Normal normal(rng);
        for (std::size_t j = 0; j < frequencies_ && !Watch::give_up(); ++j)
            for (std::size_t k = 0; k < features_; ++k)
                values_[((j / W) * features_ + k) * W + j % W] = static_cast<T>(normal.next());
    }

    Constants constants() const {
        return {reinterpret_cast<unsigned char*>(values_), padded<T>(frequencies_) * features_ * sizeof(T), sizeof(T)};
    }

    std::size_t tiles() const { return packs_for<T>(frequencies_); }
    double frequency(std::size_t j, std::size_t k) const {
        return static_cast<double>(values_[((j / W) * features_ + k) * W + j % W]);
    }

    // w_j'x for the frequencies of a tile. Zeros do not contribute, so sparse and dense rows agree.
    Pack<T> project(const Query<T>& x, std::size_t tile) const {
        Pack<T> product(T(0));
        const T* w = values_ + tile * features_ * W;
        if (x.sparse) {
            for (std::size_t n = 0; n < x.nonzeros; ++n)
                product += Pack<T>::load(w + static_cast<std::size_t>(x.columns[n]) * W) * Pack<T>(x.values[n]);
        } else {
            for (std::size_t k = 0; k < features_; ++k) product += Pack<T>::load(w + k * W) * Pack<T>(x.dense[k]);
        }
        return product;
    }

    // Cosine and sine for the widest kernel, from which `visit_all` starts.
    void start(const Pack<T>& projection, Pack<T>& cosine, Pack<T>& sine) const { turn(0, projection, cosine, sine); }

    // Calls visit(i, cos, sin) for every kernel, both divided by sqrt(D) and 0 in lanes without a frequency.
    template <class Visit>
    POCKETKERNEL_INLINE void visit_all(std::size_t tile, const Pack<T>& projection, Pack<T> cosine, Pack<T> sine,
                                       Visit&& visit) const {
        const Pack<T> weight = lane_weights(tile);
        for (std::size_t n = 0; n < count_; ++n) {
            if (n > 0 && link_[n].doublings == fresh) turn(n, projection, cosine, sine);
            for (int m = 0; m < link_[n].doublings; ++m) {
                const Pack<T> twice = sine + sine;
                sine = twice * cosine;
                cosine = Pack<T>(T(1)) - twice * (twice * Pack<T>(T(0.5)));
            }
            visit(link_[n].kernel, cosine * weight, sine * weight);
        }
    }

    // The numbers of Normal are within +-6.
    bool valid() const {
        for (std::size_t n = 0; n < padded<T>(frequencies_) * features_; ++n)
            if (!(absolute(values_[n]) <= T(6))) return false;
        return true;
    }

  private:
    static constexpr int fresh = -1, most_doublings = 10;
    struct Link {
        std::size_t kernel;
        double width;
        int doublings;  // of the previous angle; or `fresh`
    };

    void turn(std::size_t n, const Pack<T>& projection, Pack<T>& cosine, Pack<T>& sine) const {
        cosine_sine(projection * Pack<T>(static_cast<T>(1.0 / link_[n].width)), cosine, sine);
    }

    Pack<T> lane_weights(std::size_t tile) const {
        const T weight = static_cast<T>(1.0 / std::sqrt(static_cast<double>(frequencies_)));
        const std::size_t used = frequencies_ - tile * W;
        if (used >= W) return Pack<T>(weight);
        T lane[W];
        for (std::size_t l = 0; l < W; ++l) lane[l] = l < used ? weight : T(0);
        return Pack<T>::load(lane);
    }

    std::size_t frequencies_ = 0, features_ = 0, count_ = 0;
    T* values_ = nullptr;
    Link* link_ = nullptr;
};

POCKETKERNEL_END
