// Ring: the last rows in a byte per column, each with its label, and an expert that asks the nearest ones.
//
//   q_k    128 + 16 z_k, rounded, from 1 to 255
//   v_k    127 e^rho_k over the largest of them, in whole numbers: how much column k counts
//   D_j    the distance of row j, exact in 32 bits: sum_k v_k |q_k - q_jk|; or, if that finds better neighbours,
//          sum_k h_k^2, where h_k is v_k |q_k - q_jk| / 128, rounded, at most 127
//   x_mr   1 if the label of neighbour m is r; of two classes 1 or -1. Neighbours are the 3 nearest of the last 64th
//          (at most 256 rows: drift does not wait for a large ring), of the last 8th, and of all rows (at least 16, up
//          to the end of a page): small windows follow drift, all of it serves a stream at rest
//   s_r    sum_m a_m x_mr, with the same weights for all classes
//   a_m    a_m - c G_m / (2 sqrt(q_m)),  q_m = 1 + sum of c G_m^2,  G_m = sum_r g_r x_mr        (AdaGrad)
//
// Rows sit in pages of 16, column by column, with their labels behind. One pass goes from the newest page to the
// oldest, of which some rows may be in the newest page. Pages are counted from the end of a block that others use too,
// so that a ring which grows keeps its rows.
#pragma once

#include "../math.hpp"
#include "../state.hpp"
#include "expert.hpp"
#include "ring_distances.hpp"

POCKETKERNEL_BEGIN

namespace experts {

template <class T>
class Ring : public Expert<T, Ring<T>> {
  public:
    static constexpr std::size_t windows = 3, nearest = Tuning::Ring::nearest, neighbours = windows * nearest;
    struct Found {
        std::int32_t label[neighbours];  // -1 if there is none

        Found() {}  // nothing is known until rows are searched

        // Of the nearest row of a window.
        std::int32_t first(std::size_t window) const { return label[window * nearest]; }
        // How many of the nearest rows of the middle window have this label.
        std::uint64_t right(std::size_t y) const {
            std::uint64_t count = 0;
            for (std::size_t m = nearest; m < 2 * nearest; ++m) count += label[m] == static_cast<std::int32_t>(y);
            return count;
        }
    };

    using Note = Found;
    static constexpr Reads reads = Reads::scaled;
    static constexpr bool keeps_row = true;  // q
    static constexpr std::size_t count(const Roster& roster) { return roster.block; }

    Ring() = default;
    // `end` is where the block ends.
    Ring(Arena& arena, unsigned char* end, std::size_t columns, std::size_t classes)
        : columns_(columns),
          functions_(classes == 2 ? 1 : classes),
          end_(end),
          state_(arena.take<State>(1)),
          column_weights_(arena.take<std::uint8_t>(columns)) {}

    static std::size_t page_bytes(std::size_t columns, std::size_t classes) {
        return page * (columns + label_bytes(classes));
    }

    void reset() {
        for (std::size_t m = 0; m < neighbours; ++m) {
            state_->weights[m] = 1.0 / (1.0 + Tuning::Ring::first_weights * static_cast<double>(m % nearest)) /
                                 static_cast<double>(windows);
            state_->squares[m] = 1.0;
        }
        for (std::size_t k = 0; k < columns_; ++k) column_weights_[k] = 16;
    }

    template <class F>
    void evaluate(const F& f, const Seen<T>& seen, Note& found, double* s) const {
        round(seen.z.dense, rounded(f, seen.work));
        found = find(rounded(f, seen.work));
        scores(found, s);
    }
    template <class F>
    static Manner manner(const F&) {
        return {Tuning::MixtureShare::ring, false, true};
    }
    template <class F>
    void step(F&, const Seen<T>&, const Note& found, const Lesson& lesson) {
        step(found, lesson.slopes, lesson.times);
    }
    template <class F>
    void learned(F& f, const Seen<T>& seen, std::size_t y, bool) {
        store(rounded(f, seen.work), y);
    }
    // Else each row would be its own nearest neighbour.
    void repeats() { forget(); }
    template <class F>
    double norm2(const F&, std::size_t) const {
        return norm2();
    }
    template <class F>
    std::size_t stored(const F&, std::size_t) const {
        return rows();
    }
    template <class F>
    bool valid(const F& f) const {
        return is_valid(f.pages_left());
    }
    // q of a row.
    template <class F>
    static std::uint8_t* rounded(const F& f, const Workspace<T>& work) {
        return reinterpret_cast<std::uint8_t*>(f.template kept<Ring>(work));
    }

    // Without its rows. What it has learned about neighbours stays.
    void forget() { state_->filled = state_->next = 0; }

    // New room is filled first; if there is less of it, the oldest rows are lost. The others move into the order in
    // which they came, since windows are counted back from the last one.
    void resize(std::size_t pages) {
        const std::size_t now = pages * page, kept = smaller(rows(), now), lost = rows() - kept;
        if (rows() > 0) rotate((static_cast<std::size_t>(state_->next) + lost) % rows());
        state_->pages = pages;
        state_->filled = kept;
        state_->next = kept < now ? kept : 0;
    }

    std::size_t pages() const { return static_cast<std::size_t>(state_->pages); }
    std::size_t capacity() const { return pages() * page; }
    std::size_t rows() const { return static_cast<std::size_t>(state_->filled); }
    // Of the pages that hold rows, which end where the block does.
    unsigned char* begin() const {
        return page_at((rows() + page - 1) / page) + page * (columns_ + label_bytes(functions_));
    }

    void round(const T* z, std::uint8_t* q) const {
        for (std::size_t k = 0; k < columns_; ++k) {
            const T number = std::floor(T(16) * z[k] + T(0.5));
            q[k] = static_cast<std::uint8_t>(T(128) + larger(T(-127), smaller(number, T(127))));
        }
    }

    Found find(const std::uint8_t* q) const { return find(q, state_->squared != 0, windows); }

    // Tries the other distance, in the middle window, and changes to it once it has found more than 10 more neighbours
    // of the right label there since it last was behind. Squares single out large differences, which suits round
    // clusters; sums forgive a column that is off.
    void try_other_distance(const Found& found, const std::uint8_t* q, std::size_t y) {
        constexpr std::size_t most_columns = 250000;  // whose squares fit into 32 bits
        if (columns_ > most_columns) return;
        const std::uint64_t lead = state_->lead + find(q, state_->squared == 0, 2).right(y), own = found.right(y);
        state_->lead = lead > own ? lead - own : 0;
        if (state_->lead <= enough_lead) return;
        state_->lead = 0;
        state_->squared = 1 - state_->squared;
    }

    // s of all functions.
    void scores(const Found& found, double* s) const {
        for (std::size_t r = 0; r < functions_; ++r) s[r] = 0.0;
        for (std::size_t m = 0; m < neighbours; ++m)
            if (found.label[m] >= 0) s[function_of(found.label[m])] += state_->weights[m] * input(found.label[m]);
    }

    void step(const Found& found, const double* slopes, double times) {
        for (std::size_t m = 0; m < neighbours; ++m) {
            if (found.label[m] < 0) continue;
            const double G = slopes[function_of(found.label[m])] * input(found.label[m]);
            state_->weights[m] -=
                Tuning::Ring::rate * times * G / std::sqrt(state_->squares[m] + times * times * (G * G));
            state_->squares[m] += times * (G * G);
        }
    }

    // In the place of the oldest row, if there is no other.
    void store(const std::uint8_t* q, std::size_t label) {
        if (capacity() == 0) return;
        const auto place = static_cast<std::size_t>(state_->next);
        unsigned char* row = page_at(place / page) + place % page;
        for (std::size_t k = 0; k < columns_; ++k) row[k * page] = q[k];
        unsigned char* bytes = labels_at(place);
        bytes[0] = static_cast<unsigned char>(label);
        if (label_bytes(functions_) == 2) bytes[1] = static_cast<unsigned char>(label >> 8);
        state_->filled = larger(state_->filled, state_->next + 1);
        state_->next = place + 1 < capacity() ? place + 1 : 0;
    }

    // Takes the factors of the columns. Of very many columns the largest weight is less, for sums within 32 bits.
    void weigh(const T* factors) {
        T greatest = T(0);
        for (std::size_t k = 0; k < columns_; ++k) greatest = larger(factors[k], greatest);
        const T unit = smaller(T(127), std::floor(T(1.6e7) / static_cast<T>(columns_))) / greatest;
        for (std::size_t k = 0; k < columns_; ++k)
            column_weights_[k] = static_cast<std::uint8_t>(std::floor(unit * factors[k] + T(0.5)));
    }

    double norm2() const {
        double total = 0.0;
        for (double weight : state_->weights) total += weight * weight;
        return total;
    }

    // On so many pages.
    bool is_valid(std::size_t pages) const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = state_->pages == pages && state_->filled <= capacity() && state_->next <= state_->filled &&
                    (state_->next < capacity() || capacity() == 0) && state_->squared <= 1 &&
                    state_->lead <= enough_lead;
        for (std::size_t m = 0; m < neighbours; ++m)
            good = good && within(state_->weights[m], -1e9, 1e9) && within(state_->squares[m], 1.0, 1e18);
        for (std::size_t k = 0; k < columns_; ++k) good = good && column_weights_[k] <= 127;
        for (std::size_t n = 0; good && n < rows(); ++n)
            good = label_of(n) < (functions_ == 1 ? 2 : static_cast<std::int32_t>(functions_));
        return good;
    }

  private:
    using Distances = RingDistances;
    static constexpr std::size_t page = Distances::page, at_once = Distances::at_once;
    static constexpr std::size_t columns_at_once = Distances::columns_at_once,
                                 squares_at_once = Distances::squares_at_once;
    static constexpr std::uint64_t enough_lead = Tuning::Ring::lead;

    struct State {
        double weights[neighbours], squares[neighbours];
        std::uint64_t pages, filled, next;  // rows there are, and the place of the next one
        std::uint64_t squared, lead;        // 1 if distances are; by how much the other kind leads
    };
    static_assert(part_of_state<State, 184>);

    static std::size_t label_bytes(std::size_t classes) { return classes > 256 ? 2 : 1; }
    // The only function that a label is not 0 in, and what it is there.
    std::size_t function_of(std::int32_t label) const { return functions_ == 1 ? 0 : static_cast<std::size_t>(label); }
    double input(std::int32_t label) const { return functions_ == 1 && label == 0 ? -1.0 : 1.0; }

    unsigned char* page_at(std::size_t p) const { return end_ - (p + 1) * page * (columns_ + label_bytes(functions_)); }
    unsigned char* labels_at(std::size_t place) const {
        return page_at(place / page) + page * columns_ + place % page * label_bytes(functions_);
    }
    std::int32_t label_of(std::size_t place) const {
        const unsigned char* bytes = labels_at(place);
        return label_bytes(functions_) == 1 ? bytes[0] : bytes[0] | bytes[1] << 8;
    }

    // Row n becomes the first; those before it follow the last one.
    void rotate(std::size_t n) {
        if (n == 0) return;
        reverse(0, n);
        reverse(n, rows());
        reverse(0, rows());
    }
    void reverse(std::size_t begin, std::size_t end) {
        for (; begin + 1 < end; ++begin) {
            --end;
            swap_bytes(page_at(begin / page) + begin % page, page_at(end / page) + end % page, columns_, page);
            swap_bytes(labels_at(begin), labels_at(end), label_bytes(functions_), 1);
        }
    }
    static void swap_bytes(unsigned char* a, unsigned char* b, std::size_t count, std::size_t stride) {
        for (std::size_t n = 0; n < count * stride; n += stride) {
            const unsigned char kept = a[n];
            a[n] = b[n];
            b[n] = kept;
        }
    }

    // The nearest rows so far, in order; of equally distant ones those found first.
    struct List {
        std::uint32_t distance[nearest];
        std::int32_t label[nearest];
        std::size_t count = 0;

        // Below which a row is among them.
        std::uint32_t limit() const { return count < nearest ? ~std::uint32_t(0) : distance[nearest - 1]; }

        void copy(std::int32_t* to) const {
            for (std::size_t n = 0; n < nearest; ++n) to[n] = n < count ? label[n] : -1;
        }
        void insert(std::uint32_t away, std::int32_t its) {
            std::size_t n = count < nearest ? count++ : nearest - 1;
            for (; n > 0 && distance[n - 1] > away; --n) {
                distance[n] = distance[n - 1];
                label[n] = label[n - 1];
            }
            distance[n] = away;
            label[n] = its;
        }
    };

    // In the first `wanted` windows.
    Found find(const std::uint8_t* q, bool squared, std::size_t wanted) const {
        const std::size_t there = rows();
        const std::size_t limits[] = {
            larger(smaller(capacity() / Tuning::Ring::newest_part, Tuning::Ring::most_newest), page),
            larger(capacity() / Tuning::Ring::middle_part, page)};
        const std::size_t last = (there + page - 1) / page;  // pages that hold rows
        const std::size_t place = static_cast<std::size_t>(state_->next);
        const std::size_t newest = place > 0 ? (place - 1) / page : last - 1;
        const auto at = [&](std::size_t n) { return newest >= n ? newest - n : newest + last - n; };
        // Behind the newest rows of their page are the oldest ones of all: a second visit, at the end, is theirs.
        const std::size_t fresh = place > 0 ? (place - 1) % page + 1 : page;
        const std::size_t visits = last + (newest * page + fresh < smaller(there, (newest + 1) * page));
        List list;
        Found found;
        std::size_t window = 0;
        for (std::size_t n = 0; n < visits && window < wanted; n += at_once) {
            const unsigned char* pages[at_once];
            for (std::size_t i = 0; i < at_once; ++i) pages[i] = page_at(at(smaller(n + i, visits - 1)));
            std::uint32_t away[at_once * page];
            const bool some = distances(pages, q, squared, list.limit(), away);
            for (std::size_t i = 0; i < at_once && n + i < visits; ++i) {
                const std::size_t first = at(n + i) * page, end = n + i == 0 ? fresh : smaller(page, there - first);
                std::uint32_t limit = list.limit();
                for (std::size_t l = n + i == last ? fresh : 0; some && l < end; ++l) {
                    if (away[i * page + l] >= limit) continue;
                    list.insert(away[i * page + l], label_of(first + l));
                    limit = list.limit();
                }
                while (window + 1 < windows && fresh + (n + i) * page >= limits[window])
                    list.copy(found.label + nearest * window++);
            }
        }
        while (window < windows) list.copy(found.label + nearest * window++);
        return found;
    }

    // Distances of the rows of some pages. False if none is below the limit: they only grow from column to column, so
    // many pages turn out to be too far before all columns are added up.
    POCKETKERNEL_INLINE bool distances(const unsigned char* const* pages, const std::uint8_t* q, bool squared,
                                       std::uint32_t limit, std::uint32_t* out) const {
        constexpr std::size_t between_tests = 8;
        Distances sums;
        for (std::size_t k = 0; k < columns_;) {
            const std::size_t end = smaller(k + between_tests, std::size_t(columns_));
            for (; squared && k + squares_at_once <= end; k += squares_at_once)
                sums.template add_squares<squares_at_once>(pages, k, q, column_weights_);
            for (; squared && k < end; ++k) sums.template add_squares<1>(pages, k, q, column_weights_);
            for (; k + columns_at_once <= end; k += columns_at_once)
                sums.template add<columns_at_once>(pages, k, q, column_weights_);
            for (; k < end; ++k) sums.template add<1>(pages, k, q, column_weights_);
            if (!sums.any_below(limit)) return false;
        }
        sums.copy(out);
        return true;
    }

    Known<parts::features> columns_{0};
    Known<parts::functions> functions_{0};
    unsigned char* end_ = nullptr;
    State* state_ = nullptr;
    std::uint8_t* column_weights_ = nullptr;
};

}  // namespace experts

POCKETKERNEL_END
