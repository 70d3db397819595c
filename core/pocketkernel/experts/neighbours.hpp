// NeighbourRing: the last rows in a byte a column, each with a few numbers, and the rows nearest to a given one.
//
//   q_k    16 z_k, rounded, within +-127
//   D_j    sum_k (f_k (q_k - q_jk))^2, the distance of row j, with the columns' factors f
//   f      mean of the numbers of the 5 nearest rows, with weights 1 / (D_j + D_1 / 2 + 1)
//
// Rows sit in tiles, one in every lane of a pack, as the frequencies of a FeaturePool: one pass over all of them.
#pragma once

#include "../arena.hpp"
#include "../hypothesis.hpp"
#include "../tuning.hpp"

POCKETKERNEL_BEGIN

template <class T>
class NeighbourRing {
  public:
    static constexpr std::size_t W = lanes_of<T>, wanted = Tuning::Neighbours::nearest;

    // Rows found, the nearest first; of equally distant ones the one stored at the lower place.
    struct Nearest {
        std::size_t count = 0, place[wanted];
        T distance[wanted];
    };

    NeighbourRing() = default;
    // A whole number of tiles.
    NeighbourRing(Arena& arena, std::size_t rows, std::size_t columns, std::size_t values)
        : rows_(rows / W * W),
          columns_(columns),
          count_(values),
          numbers_(arena.take<std::int8_t>(rows_, columns)),
          values_(arena.take<T>(rows_, values)) {}

    std::size_t rows() const { return rows_; }
    static constexpr std::size_t row_bytes(std::size_t columns, std::size_t values) {
        return columns + values * sizeof(T);
    }

    // q of a row.
    void round(const T* z, T* q) const {
        for (std::size_t k = 0; k < columns_; ++k) {
            const double number = std::floor(16.0 * static_cast<double>(z[k]) + 0.5);
            q[k] = static_cast<T>(larger(-127.0, smaller(number, 127.0)));
        }
    }

    // Among the rows of a ring that has stored so many.
    Nearest find(const T* q, const T* factors, std::uint64_t stored) const {
        const std::size_t there = stored < rows_ ? static_cast<std::size_t>(stored) : rows_;
        Nearest found;
        for (std::size_t tile = 0; tile * W < there; ++tile) {
            const std::int8_t* numbers = numbers_ + tile * columns_ * W;
            Pack<T> distance(T(0));
            for (std::size_t k = 0; k < columns_; ++k) {
                const Pack<T> gap = (from_bytes<T>(numbers + k * W) - Pack<T>(q[k])) * Pack<T>(factors[k]);
                distance += gap * gap;
            }
            if (found.count == wanted && !(smallest_lane(distance) < found.distance[wanted - 1])) continue;
            T lane[W];
            distance.store(lane);
            for (std::size_t l = 0; l < W && tile * W + l < there; ++l) offer(found, lane[l], tile * W + l);
        }
        return found;
    }

    // What the rows found say about value r; 0 if there are none.
    double mean(const Nearest& found, std::size_t r) const {
        double total = 0.0, weights = 0.0;
        for (std::size_t n = 0; n < found.count; ++n) {
            const double near = static_cast<double>(found.distance[0]);
            const double weight =
                1.0 / (static_cast<double>(found.distance[n]) + Tuning::Neighbours::blur * near + 1.0);
            total += weight * static_cast<double>(values_[found.place[n] * count_ + r]);
            weights += weight;
        }
        return weights > 0.0 ? total / weights : 0.0;
    }

    // In place of the oldest row, if so many were stored before. Answers where its values go.
    T* store(const T* q, std::uint64_t stored) {
        const auto place = static_cast<std::size_t>(stored % rows_);
        std::int8_t* numbers = numbers_ + place / W * columns_ * W + place % W;
        for (std::size_t k = 0; k < columns_; ++k) numbers[k * W] = static_cast<std::int8_t>(q[k]);
        return values_ + place * count_;
    }

    void scale(std::size_t r, double factor) {
        for (std::size_t j = 0; j < rows_; ++j)
            values_[j * count_ + r] = static_cast<T>(static_cast<double>(values_[j * count_ + r]) * factor);
    }

    bool valid() const {
        bool good = true;
        for (std::size_t n = 0; n < rows_ * count_; ++n)
            good = good && absolute(static_cast<double>(values_[n])) <= coefficient_limit<T>();
        return good;
    }

  private:
    static void offer(Nearest& found, T distance, std::size_t place) {
        if (found.count == wanted && !(distance < found.distance[wanted - 1])) return;
        std::size_t at = found.count < wanted ? found.count++ : wanted - 1;
        for (; at > 0 && distance < found.distance[at - 1]; --at) {
            found.distance[at] = found.distance[at - 1];
            found.place[at] = found.place[at - 1];
        }
        found.distance[at] = distance;
        found.place[at] = place;
    }

    std::size_t rows_ = 0, columns_ = 0, count_ = 0;
    std::int8_t* numbers_ = nullptr;  // tile by tile, column by column
    T* values_ = nullptr;
};

POCKETKERNEL_END
