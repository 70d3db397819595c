// The scaling of the pipeline that the model was trained with, as in pocketkernel.stream.scale: a row is scaled by the
// rows before it, then taken in. The sums continue in the same order as in Python, so the results have the same bits.
// NaN stays NaN, and leaves its column as it is. Rows have been checked: no value is beyond `largest`.
#pragma once

#include "pocketkernel/row.hpp"
#include "pocketkernel/state.hpp"

namespace pk_scale {

// Rows go to the learner as they are.
template <class V>
struct None {
    using Value = V;
    static constexpr bool bounds = false;
    static constexpr double largest = 0.0;
    static constexpr std::size_t state_bytes = 0;
    pocketkernel::Row<V> learn(const V* row) { return {row}; }
    pocketkernel::Row<V> read(const V* row) { return {row}; }
    void save(const unsigned char*, unsigned char*) const {}
    bool valid(const unsigned char*, const unsigned char*) const { return true; }
    void load(const unsigned char*) {}
};

// The common part of the others: how many rows there were, and `Figures` numbers for every column. In a state they
// follow the learner's, and end with a checksum of both, so that no part of another state goes unnoticed.
template <class V, std::size_t Columns, std::size_t Figures>
class Online {
  public:
    using Value = V;
    static constexpr bool bounds = true;
    static constexpr double largest = 1e100;
    static constexpr std::size_t numbers = Columns * Figures;
    static constexpr std::size_t state_bytes = 8 * (2 + numbers);

    void save(const unsigned char* learner, unsigned char* to) const {
        pocketkernel::write_word(to, count_);
        for (std::size_t n = 0; n < numbers; ++n)
            pocketkernel::write_word(to + 8 * (1 + n), pocketkernel::bit_cast<std::uint64_t>(figures_[n]));
        pocketkernel::write_word(to + 8 * (1 + numbers), checksum(learner, to));
    }
    bool valid(const unsigned char* learner, const unsigned char* from) const {
        bool good = pocketkernel::read_word(from + 8 * (1 + numbers)) == checksum(learner, from);
        if constexpr (pocketkernel::parts::validation) {
            good = good && pocketkernel::read_word(from) <= pocketkernel::most_rounds;
            for (std::size_t n = 0; n < numbers; ++n)
                good = good && pocketkernel::absolute(number(from, n)) <= pocketkernel::state_limit * 1e100;
        }
        return good;
    }
    void load(const unsigned char* from) {
        count_ = pocketkernel::read_word(from);
        for (std::size_t n = 0; n < numbers; ++n) figures_[n] = number(from, n);
    }

  protected:
    // Calls scaled(k, x) for the values that are there, and counts the row if it is learned.
    template <class F>
    pocketkernel::Row<V> each(const V* row, bool learn, F&& scaled) {
        for (std::size_t k = 0; k < Columns; ++k) {
            const auto x = static_cast<double>(row[k]);
            scaled_[k] = x == x ? static_cast<V>(scaled(k, x)) : row[k];
        }
        count_ += learn;
        return {scaled_};
    }
    double* figure(std::size_t n) { return figures_ + n * Columns; }

  private:
    static double number(const unsigned char* from, std::size_t n) {
        return pocketkernel::bit_cast<double>(pocketkernel::read_word(from + 8 * (1 + n)));
    }
    static std::uint64_t checksum(const unsigned char* learner, const unsigned char* own) {
        pocketkernel::Digest digest;
        digest.add_bytes(learner, sizeof(pocketkernel::StateHeader));
        digest.add_bytes(own, 8 * (1 + numbers));
        return digest.value();
    }

    std::uint64_t count_ = 0;
    double figures_[numbers] = {};
    V scaled_[Columns] = {};
};

// OnlineStandard: the mean of the values before is subtracted, and their deviation divided by.
template <class V, std::size_t Columns>
class Standard : public Online<V, Columns, 4> {
  public:
    explicit constexpr Standard(double clip) : clip_(clip) {}
    pocketkernel::Row<V> read(const V* row) { return scale(row, false); }
    pocketkernel::Row<V> learn(const V* row) { return scale(row, true); }

  private:
    pocketkernel::Row<V> scale(const V* row, bool learn) {
        double *first = this->figure(0), *sum = this->figure(1), *squares = this->figure(2), *seen = this->figure(3);
        return this->each(row, learn, [=](std::size_t k, double value) {
            const bool is_first = seen[k] == 0.0;
            if (is_first && learn) first[k] = value;
            const double n = pocketkernel::larger(seen[k], 1.0), x = is_first ? 0.0 : value - first[k];
            const double mean = sum[k] / n, variance = squares[k] / n, centred = x - mean;
            const double sign = centred > 0.0 ? 1.0 : centred < 0.0 ? -1.0 : 0.0;
            const double out = variance == 0.0 ? sign : centred / std::sqrt(variance);
            if (learn) {
                sum[k] += x;
                seen[k] += 1.0;
                squares[k] += pocketkernel::larger((x - mean) * (x - sum[k] / seen[k]), 0.0);
            }
            return pocketkernel::larger(-clip_, pocketkernel::smaller(out, clip_));
        });
    }
    double clip_;
};

// OnlineMinMax: the range of the values before becomes [0, 1]. Before the first one `high` is less than `low`.
template <class V, std::size_t Columns>
class MinMax : public Online<V, Columns, 2> {
  public:
    pocketkernel::Row<V> read(const V* row) { return scale(row, false); }
    pocketkernel::Row<V> learn(const V* row) { return scale(row, true); }

  private:
    pocketkernel::Row<V> scale(const V* row, bool learn) {
        double *low = this->figure(0), *high = this->figure(1);
        return this->each(row, learn, [=](std::size_t k, double x) {
            const double width = high[k] - low[k];
            const double out = width > 0.0 ? (x - low[k]) / width : width == 0.0 && x > high[k] ? 1.0 : 0.0;
            if (learn) {
                low[k] = pocketkernel::smaller(x, low[k]);
                high[k] = pocketkernel::larger(x, high[k]);
            }
            return pocketkernel::larger(0.0, pocketkernel::smaller(out, 1.0));
        });
    }
};

// OnlineMaxAbs: divided by the largest absolute value so far.
template <class V, std::size_t Columns>
class MaxAbs : public Online<V, Columns, 1> {
  public:
    pocketkernel::Row<V> read(const V* row) { return scale(row, false); }
    pocketkernel::Row<V> learn(const V* row) { return scale(row, true); }

  private:
    pocketkernel::Row<V> scale(const V* row, bool learn) {
        double* most = this->figure(0);
        return this->each(row, learn, [=](std::size_t k, double x) {
            const double bound = pocketkernel::larger(pocketkernel::absolute(x), most[k]);
            if (learn) most[k] = bound;
            return x / (bound == 0.0 ? 1.0 : bound);
        });
    }
};

}  // namespace pk_scale
