// The scaling of the pipeline that the model was trained with, as in pocketkernel.stream.scale: a row is scaled by the
// rows before it, then taken in. The sums continue in the same order as in Python, so the results have the same bits.
#pragma once

#include "pocketkernel/row.hpp"
#include "pocketkernel/wire.hpp"

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
    void save(unsigned char*) const {}
    bool valid(const unsigned char*) const { return true; }
    void load(const unsigned char*) {}
};

// The common part of the others: how many rows there were, and `Figures` numbers for every column.
template <class V, std::size_t Columns, std::size_t Figures>
class Online {
  public:
    using Value = V;
    static constexpr bool bounds = true;
    static constexpr double largest = 1e100;
    static constexpr std::size_t numbers = Columns * Figures;
    static constexpr std::size_t state_bytes = 8 * (1 + numbers);

    void save(unsigned char* to) const {
        pocketkernel::write_word(to, count_);
        for (std::size_t n = 0; n < numbers; ++n)
            pocketkernel::write_word(to + 8 * (1 + n), pocketkernel::bit_cast<std::uint64_t>(figures_[n]));
    }
    bool valid(const unsigned char* from) const {
        bool good = pocketkernel::read_word(from) <= pocketkernel::most_rounds;
        for (std::size_t n = 0; n < numbers; ++n)
            good = good && pocketkernel::absolute(number(from, n)) <= pocketkernel::state_limit * 1e100;
        return good;
    }
    void load(const unsigned char* from) {
        count_ = pocketkernel::read_word(from);
        for (std::size_t n = 0; n < numbers; ++n) figures_[n] = number(from, n);
    }

  protected:
    static double number(const unsigned char* from, std::size_t n) {
        return pocketkernel::bit_cast<double>(pocketkernel::read_word(from + 8 * (1 + n)));
    }
    double* figure(std::size_t n) { return figures_ + n * Columns; }
    static double bounded(double x) { return pocketkernel::larger(-largest, pocketkernel::smaller(x, largest)); }

    std::uint64_t count_ = 0;
    double figures_[numbers] = {};
    V scaled_[Columns] = {};
};

// OnlineStandard: the mean of the rows before is subtracted, and their deviation divided by.
template <class V, std::size_t Columns>
class Standard : public Online<V, Columns, 3> {
  public:
    explicit constexpr Standard(double clip) : clip_(clip) {}
    pocketkernel::Row<V> read(const V* row) { return scale(row, false); }
    pocketkernel::Row<V> learn(const V* row) { return scale(row, true); }

  private:
    pocketkernel::Row<V> scale(const V* row, bool learn) {
        double *first = this->figure(0), *sum = this->figure(1), *squares = this->figure(2);
        const auto n = static_cast<double>(this->count_ > 0 ? this->count_ : 1);
        for (std::size_t k = 0; k < Columns; ++k) {
            const double value = this->bounded(static_cast<double>(row[k]));
            if (this->count_ == 0 && learn) first[k] = value;
            const double x = value - first[k];
            const double mean = sum[k] / n, variance = squares[k] / n, centred = x - mean;
            const double sign = centred > 0.0 ? 1.0 : centred < 0.0 ? -1.0 : 0.0;
            const double out = variance == 0.0 ? sign : centred / std::sqrt(variance);
            this->scaled_[k] = static_cast<V>(pocketkernel::larger(-clip_, pocketkernel::smaller(out, clip_)));
            if (!learn) continue;
            sum[k] += x;
            const double after = sum[k] / static_cast<double>(this->count_ + 1);
            squares[k] += pocketkernel::larger((x - mean) * (x - after), 0.0);
        }
        this->count_ += learn;
        return {this->scaled_};
    }
    double clip_;
};

// OnlineMinMax: the range of the rows before becomes [0, 1].
template <class V, std::size_t Columns>
class MinMax : public Online<V, Columns, 2> {
  public:
    pocketkernel::Row<V> read(const V* row) { return scale(row, false); }
    pocketkernel::Row<V> learn(const V* row) { return scale(row, true); }

  private:
    pocketkernel::Row<V> scale(const V* row, bool learn) {
        double *low = this->figure(0), *high = this->figure(1);
        for (std::size_t k = 0; k < Columns; ++k) {
            const double x = this->bounded(static_cast<double>(row[k]));
            if (this->count_ == 0 && learn) low[k] = high[k] = x;
            const double width = high[k] - low[k];
            const double out = width == 0.0 ? (x > high[k] ? 1.0 : 0.0) : (x - low[k]) / width;
            this->scaled_[k] = static_cast<V>(pocketkernel::larger(0.0, pocketkernel::smaller(out, 1.0)));
            if (!learn) continue;
            low[k] = pocketkernel::smaller(x, low[k]);
            high[k] = pocketkernel::larger(x, high[k]);
        }
        this->count_ += learn;
        return {this->scaled_};
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
        for (std::size_t k = 0; k < Columns; ++k) {
            const auto x = static_cast<double>(row[k]);
            const double bound = pocketkernel::larger(pocketkernel::absolute(x), most[k]);
            this->scaled_[k] = static_cast<V>(x / (bound == 0.0 ? 1.0 : bound));
            if (learn) most[k] = bound;
        }
        this->count_ += learn;
        return {this->scaled_};
    }
};

}  // namespace pk_scale
