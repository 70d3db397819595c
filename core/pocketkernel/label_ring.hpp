// LabelRing: the last rows in a byte per column, each with its label, and an expert that asks the nearest ones.
//
//   q_k    128 + 16 z_k, rounded, from 1 to 255
//   v_k    e^rho_k over the sum of all, in whole numbers up to 255: how much column k counts
//   D_j    sum_k v_k |q_k - q_jk|, the distance of row j, exact in 32 bits
//   x_mr   1 if the label of neighbour m is r. Neighbours are the 3 nearest of the last 64th, of the last 8th, and of
//   all
//          rows (at least 16, in whole pages): small windows follow drift, all of it serves a stream at rest
//   s_r    sum_m a_m x_mr, with the same weights for all classes
//   a_m    a_m - c G_m / (2 sqrt(q_m)),  q_m = 1 + sum of c G_m^2,  G_m = sum_r g_r x_mr        (AdaGrad)
//
// Rows sit in pages of 16, column by column. One pass goes from the newest page to the oldest.
#pragma once

#include "arena.hpp"
#include "math.hpp"

POCKETKERNEL_BEGIN

template <class T>
class LabelRing {
  public:
    static constexpr std::size_t windows = 3, nearest = 3, neighbours = windows * nearest;
    struct Found {
        std::int32_t label[neighbours];  // -1 if there is none
    };

    LabelRing() = default;
    // As many pages as `bytes` have room for, one at least. The arena sees it if that is too much.
    LabelRing(Arena& arena, double bytes, std::size_t columns)
        : pages_(static_cast<std::size_t>(larger(1.0, smaller(bytes / page_bytes(columns), 1e9)))),
          columns_(columns),
          numbers_(arena.take<double>(2 * neighbours)),
          stored_(arena.take<std::uint64_t>(1)),
          labels_(arena.take<std::uint16_t>(pages_, page)),
          column_weights_(arena.take<std::uint8_t>(columns)),
          rows_(arena.take<std::uint8_t>(pages_, page, columns)) {}

    void reset() {
        for (std::size_t m = 0; m < neighbours; ++m) {
            weights()[m] = 1.0 / (1.0 + 0.5 * static_cast<double>(m % nearest)) / static_cast<double>(windows);
            squares()[m] = 1.0;
        }
        for (std::size_t k = 0; k < columns_; ++k) column_weights_[k] = 16;
    }

    // Without its rows. What it has learned about neighbours stays.
    void forget() { *stored_ = 0; }

    std::size_t capacity() const { return pages_ * page; }

    void round(const T* z, std::uint8_t* q) const {
        for (std::size_t k = 0; k < columns_; ++k) {
            const T number = std::floor(T(16) * z[k] + T(0.5));
            q[k] = static_cast<std::uint8_t>(T(128) + larger(T(-127), smaller(number, T(127))));
        }
    }

    Found find(const std::uint8_t* q) const {
        const std::size_t there = rows();
        const std::size_t limits[] = {larger(capacity() / 64, page), larger(capacity() / 8, page)};
        const std::size_t last = (there + page - 1) / page;  // pages that hold rows
        const std::size_t newest = there > 0 ? static_cast<std::size_t>((*stored_ - 1) % capacity()) / page : 0;
        List list;
        Found found;
        std::size_t window = 0;
        for (std::size_t n = 0; n < last; ++n) {
            const std::size_t p = newest >= n ? newest - n : newest + last - n;
            scan(p, q, smaller(there - p * page, page), list);
            while (window + 1 < windows && (n + 1) * page >= limits[window])
                list.copy(found.label + nearest * window++);
        }
        while (window < windows) list.copy(found.label + nearest * window++);
        return found;
    }

    double score(const Found& found, std::size_t r) const {
        double s = 0.0;
        for (std::size_t m = 0; m < neighbours; ++m)
            if (found.label[m] == static_cast<std::int32_t>(r)) s += weights()[m];
        return s;
    }

    void step(const Found& found, const double* slopes, double times) {
        for (std::size_t m = 0; m < neighbours; ++m) {
            if (found.label[m] < 0) continue;
            const double G = slopes[found.label[m]];
            weights()[m] -= 0.5 * times * G / std::sqrt(squares()[m] + times * times * (G * G));
            squares()[m] += times * (G * G);
        }
    }

    // In the place of the oldest row, if there is no other.
    void store(const std::uint8_t* q, std::size_t label) {
        const auto place = static_cast<std::size_t>((*stored_)++ % capacity());
        labels_[place] = static_cast<std::uint16_t>(label);
        std::uint8_t* row = rows_ + place / page * page * columns_ + place % page;
        for (std::size_t k = 0; k < columns_; ++k) row[k * page] = q[k];
    }

    // Takes the factors of the columns. Large ones leave digits for the others even of very many columns.
    void weigh(const T* factors) {
        double total = 0.0;
        for (std::size_t k = 0; k < columns_; ++k) total += static_cast<double>(factors[k]);
        const double unit = larger(2048.0, 8.0 * static_cast<double>(columns_)) / total;
        for (std::size_t k = 0; k < columns_; ++k)
            column_weights_[k] =
                static_cast<std::uint8_t>(smaller(255.0, std::floor(unit * static_cast<double>(factors[k]) + 0.5)));
    }

    double norm2() const {
        double total = 0.0;
        for (std::size_t m = 0; m < neighbours; ++m) total += weights()[m] * weights()[m];
        return total;
    }
    std::size_t rows() const { return *stored_ < capacity() ? static_cast<std::size_t>(*stored_) : capacity(); }

    bool valid(std::size_t classes, std::uint64_t most) const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = *stored_ <= most;
        for (std::size_t m = 0; m < neighbours; ++m)
            good = good && within(weights()[m], -1e9, 1e9) && within(squares()[m], 1.0, 1e18);
        for (std::size_t n = 0; n < capacity(); ++n) good = good && labels_[n] < classes;
        return good;
    }

  private:
    static constexpr std::size_t page = 16;
    static double page_bytes(std::size_t columns) {
        return static_cast<double>(page) * static_cast<double>(columns + sizeof(std::uint16_t));
    }

    // The nearest rows so far, in order; of equally distant ones those found first.
    struct List {
        std::uint32_t distance[nearest];
        std::int32_t label[nearest];
        std::size_t count = 0;

        void copy(std::int32_t* to) const {
            for (std::size_t n = 0; n < nearest; ++n) to[n] = n < count ? label[n] : -1;
        }
        void offer(std::uint32_t away, std::int32_t its) {
            if (count == nearest && away >= distance[nearest - 1]) return;
            std::size_t n = count < nearest ? count++ : nearest - 1;
            for (; n > 0 && distance[n - 1] > away; --n) {
                distance[n] = distance[n - 1];
                label[n] = label[n - 1];
            }
            distance[n] = away;
            label[n] = its;
        }
    };

    void scan(std::size_t p, const std::uint8_t* q, std::size_t count, List& list) const {
        std::uint32_t away[page] = {};
        const std::uint8_t* row = rows_ + p * page * columns_;
        for (std::size_t k = 0; k < columns_; ++k, row += page) {
            const std::int16_t mine = q[k];
            const std::uint16_t weight = column_weights_[k];
            for (std::size_t l = 0; l < page; ++l) {
                const auto gap = static_cast<std::int16_t>(row[l] - mine);
                away[l] += static_cast<std::uint16_t>(static_cast<std::uint16_t>(gap < 0 ? -gap : gap) * weight);
            }
        }
        for (std::size_t l = 0; l < count; ++l) list.offer(away[l], labels_[p * page + l]);
    }

    double* weights() const { return numbers_; }
    double* squares() const { return numbers_ + neighbours; }

    std::size_t pages_ = 0, columns_ = 0;
    double* numbers_ = nullptr;
    std::uint64_t* stored_ = nullptr;
    std::uint16_t* labels_ = nullptr;
    std::uint8_t* column_weights_ = nullptr;
    std::uint8_t* rows_ = nullptr;
};

POCKETKERNEL_END
