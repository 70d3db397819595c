// PyFleet: many learners of one configuration.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "learner.hpp"
#include "pocketkernel/state.hpp"

namespace pocketkernel::binding {
namespace {

// Many models of one configuration, each in a slot of its own. Slots are allocated in slabs, the first of some
// kilobytes and those of a large fleet of some megabytes, which never move. Rows are learned in slices; within a slice
// each thread takes the rows of its share of the slots, so Ctrl-C leaves the first rows learned, whatever the number of
// threads.
//
// A slot is a state, what the model had done when it began, and, if classes are balanced, the rows learned of each.
class PyFleet : public PyLearner {
  public:
    PyFleet(const std::string& learner, bool doubles, const std::string& level, const Settings& settings, bool balanced)
        : PyLearner(table_of(level, doubles), learner, settings, true),
          table_(table_of(level, doubles)),
          learner_(learner),
          counted_(balanced ? settings.config.classes : 0) {
        state_bytes_ = engine_->state_bytes() - sizeof(pk::StateHeader);
        const std::size_t tail = sizeof(Done) + counted_ * sizeof(std::int64_t);
        slots_.bytes = state_bytes_ + (tail + pk::pack_bytes - 1) / pk::pack_bytes * pk::pack_bytes;
        while (slots_.bytes << (slots_.slab_bits + 1) <= slab_bytes) ++slots_.slab_bits;
        while (slots_.first_bits < slots_.slab_bits && slots_.bytes << (slots_.first_bits + 1) <= first_slab_bytes)
            ++slots_.first_bits;
        engines_.push_back(engine_);
        idle_.push_back(engine_);
    }

    std::size_t slot_bytes() const { return slots_.bytes; }
    std::size_t capacity() const { return slots_.in(starts_.size()); }
    std::size_t slots_per_slab() const { return slots_.in(starts_.size() + 1) - capacity(); }  // the next one
    std::size_t nbytes() const { return size_ * engines_.size() + slots_.bytes * capacity(); }
    std::size_t bytes_of_slab() const { return slots_.bytes * slots_per_slab(); }
    void reserve(std::size_t count) {
        const Guard guard(turns_, Turns::changing);
        while (capacity() < count) {
            slabs_.push_back(new_slab(bytes_of_slab()));
            use_slab(slabs_.back().get());
        }
    }
    // Another slab in the caller's memory, such as a mapped file, which is held as long as the fleet exists.
    void add_slab(nb::handle memory) {
        const Guard guard(turns_, Turns::changing);
        auto view = std::make_unique<View>(memory, true);
        if (!view->has(1, "B") || view->size(0) < bytes_of_slab() ||
            reinterpret_cast<std::uintptr_t>(view->data<unsigned char>()) % pk::pack_bytes != 0)
            throw nb::value_error("expected writable bytes, aligned, as many as a slab has");
        use_slab(view->data<unsigned char>());
        given_.push_back(std::move(view));
    }

    // Makes models in slots copies of the one in slot `origin`, or new ones if that is negative.
    void begin(const std::vector<std::size_t>& slots, std::int64_t origin) {
        const Guard guard(turns_, Turns::changing);
        if (origin >= 0) engine_->attach(slots_.state(known(to_slot(origin))));
        const Done done = origin < 0 ? Done() : Done(engine_->tally());
        const unsigned char* state = origin < 0 ? engine_->newborn() : slots_.state(to_slot(origin));
        const Counts counts = origin < 0 ? Counts(counted_) : counts_in(slots_.state(to_slot(origin)));
        for (const std::size_t slot : slots) begin_as(slots_.state(known(slot)), state, done, counts);
    }

    // Learns row r in slot slots[r]. With a base, the model in that slot first learns every row as well, and rows of
    // which `born` says so begin with a copy of it. Without threads, rows are only checked.
    int learn_dense(nb::handle slots, nb::handle X, nb::handle y, nb::handle weights, nb::handle scores,
                    std::size_t threads, std::int64_t base, nb::handle born) {
        return with_dense(
            X, [&](const Rows& rows) { return learn_rows(rows, slots, y, weights, scores, threads, base, born); });
    }
    int learn_sparse(nb::handle slots, nb::handle values, nb::handle columns, nb::handle starts, nb::handle y,
                     nb::handle weights, nb::handle scores, std::size_t threads, std::int64_t base, nb::handle born) {
        return with_sparse(values, columns, starts, [&](const Rows& rows) {
            return learn_rows(rows, slots, y, weights, scores, threads, base, born);
        });
    }
    int score_dense(nb::handle slots, nb::handle X, nb::handle scores, std::size_t threads, bool continues) {
        return with_dense(X, [&](const Rows& rows) { return score_rows(rows, slots, scores, threads, continues); });
    }
    int score_sparse(nb::handle slots, nb::handle values, nb::handle columns, nb::handle starts, nb::handle scores,
                     std::size_t threads, bool continues) {
        return with_sparse(values, columns, starts,
                           [&](const Rows& rows) { return score_rows(rows, slots, scores, threads, continues); });
    }

    // A model's state as a learner saves it.
    nb::bytes save_slot(std::size_t slot) {
        const Guard guard(turns_, Turns::reading);
        const Lease engines(*this, 1);
        engines[0].attach(slots_.state(known(slot)));
        return saved(engines[0]);
    }
    int load_slot(std::size_t slot, const nb::bytes& bytes, const std::vector<std::int64_t>& counts) {
        if (counts.size() != counted_ || !possible(counts))
            throw nb::value_error("expected a count for each class that is counted");
        const Guard guard(turns_, Turns::changing);
        unsigned char* state = slots_.state(known(slot));
        engine_->attach(state);
        const pk::Status status = engine_->load(static_cast<const unsigned char*>(bytes.data()), bytes.size());
        if (status == pk::Status::ok) begin_as(state, state, Done(), counts);
        return code(status);
    }
    // Rows that a model has learned of each class, if classes are balanced.
    std::vector<std::int64_t> counts(std::size_t slot) {
        const Guard guard(turns_, Turns::reading);
        return counts_in(slots_.state(known(slot)));
    }
    // The contents of slots, one after the other; and back. A state that is not possible is refused, and
    // its model begins anew.
    void read(nb::handle slots, nb::handle out) {
        const std::vector<std::size_t> all = copied(slots);
        const View to(out, true);
        check_states(to, all.size());
        const Guard guard(turns_, Turns::reading);
        for (std::size_t n = 0; n < all.size(); ++n)
            std::memcpy(to.data<unsigned char>() + n * slots_.bytes, slots_.state(all[n]), slots_.bytes);
    }
    bool write(nb::handle slots, nb::handle states) {
        const std::vector<std::size_t> all = copied(slots);
        const View from(states, false);
        check_states(from, all.size());
        const Guard guard(turns_, Turns::changing);
        bool good = true;
        for (std::size_t n = 0; n < all.size(); ++n) {
            unsigned char* state = slots_.state(all[n]);
            std::memcpy(state, from.data<const unsigned char>() + n * slots_.bytes, slots_.bytes);
            engine_->attach(state);
            if (engine_->valid() && done_before(state).possible(engine_->tally()) && possible(counts_in(state)))
                continue;
            begin_as(state, engine_->newborn(), Done(), Counts(counted_));
            good = false;
        }
        return good;
    }
    // Rounds, mistakes and cumulative loss of the models in slots since they began, one row each.
    void tallies(nb::handle slots, nb::handle out) {
        const std::vector<std::size_t> all = copied(slots);
        const View to(out, true);
        if (!to.has(2, "d") || to.size(0) != all.size() || to.size(1) != 3)
            throw nb::value_error("expected a float64 matrix with three columns, one row for each slot");
        const Guard guard(turns_, Turns::reading);
        const Lease engines(*this, 1);
        for (std::size_t n = 0; n < all.size(); ++n) {
            engines[0].attach(slots_.state(all[n]));
            const Done now(engines[0].tally()), before = done_before(slots_.state(all[n]));
            double* row = to.data<double>() + 3 * n;
            row[0] = now.rounds - before.rounds;
            row[1] = now.mistakes - before.mistakes;
            row[2] = now.loss - before.loss;
        }
    }

  private:
    static constexpr std::size_t first_slab_bytes = std::size_t(1) << 16, slab_bytes = std::size_t(1) << 25;

    // Enough for every thread, few enough that Ctrl-C need not wait long. A row of a large model may take longer than
    // that, so it is watched, which needs a slice of its own.
    std::size_t rows_of_slice() const {
        return is_large() ? 1 : std::min<std::size_t>(4096, bytes_at_once / slots_.bytes);
    }
    bool is_large() const { return slots_.bytes >= bytes_at_once / 16; }

    // What a model had done when it began as a copy of another; kept behind its state.
    struct Done {
        double rounds = 0.0, mistakes = 0.0, loss = 0.0;

        Done() = default;
        explicit Done(const pk::Tally& tally)
            : rounds(static_cast<double>(tally.rounds)),
              mistakes(static_cast<double>(tally.mistakes)),
              loss(tally.loss) {}
        bool possible(const pk::Tally& now) const {
            return rounds >= 0.0 && rounds <= static_cast<double>(now.rounds) && mistakes >= 0.0 &&
                   mistakes <= static_cast<double>(now.mistakes) && loss >= 0.0 && loss <= now.loss;
        }
    };
    Done done_before(const unsigned char* slot) const {
        Done done;
        std::memcpy(&done, slot + state_bytes_, sizeof done);
        return done;
    }
    using Counts = std::vector<std::int64_t>;
    unsigned char* counts_at(unsigned char* slot) const { return slot + state_bytes_ + sizeof(Done); }
    Counts counts_in(unsigned char* slot) const {
        Counts counts(counted_);
        if (counted_ > 0) std::memcpy(counts.data(), counts_at(slot), counted_ * sizeof(std::int64_t));
        return counts;
    }
    static bool possible(const Counts& counts) {
        return std::all_of(counts.begin(), counts.end(),
                           [](std::int64_t count) { return count >= 0 && count < std::int64_t(1) << 53; });
    }
    void begin_as(unsigned char* slot, const unsigned char* state, const Done& done, const Counts& counts) const {
        if (slot != state) std::memcpy(slot, state, state_bytes_);
        std::memset(slot + state_bytes_, 0, slots_.bytes - state_bytes_);
        std::memcpy(slot + state_bytes_, &done, sizeof done);
        put_back(slot, counts);
    }
    // Counts a row of a balanced class; its weight: rows / (classes * rows of the class), this one included, of the
    // classes that the model has learned, as in `_class_weights.py`. A row of weight 0 is not learned, nor counted.
    double balanced(unsigned char* slot, std::int32_t label, double weight) const {
        if (!(weight > 0.0)) return weight;
        std::int64_t rows = 0, classes = 0, alike = 0;
        for (std::size_t c = 0; c < counted_; ++c) {
            std::int64_t count = 0;
            unsigned char* place = counts_at(slot) + c * sizeof count;
            std::memcpy(&count, place, sizeof count);
            if (c == static_cast<std::size_t>(label)) {
                alike = ++count;
                std::memcpy(place, &count, sizeof count);
            }
            rows += count;
            classes += count > 0;
        }
        const double share = static_cast<double>(classes) * static_cast<double>(alike);
        return std::min(weight * (static_cast<double>(rows) / share), 1e9);
    }

    std::size_t known(std::size_t slot) const {
        if (slot >= capacity()) throw nb::index_error("no such slot");
        return slot;
    }
    static std::size_t to_slot(std::int64_t slot) { return static_cast<std::size_t>(slot); }
    // Slots of an int64 array, all of which exist.
    std::vector<std::size_t> copied(nb::handle slots) const {
        const View given(slots, false);
        if (!given.has(1, "lq") || given.item() != 8) throw nb::value_error("expected slots as an int64 array");
        std::vector<std::size_t> all(given.size(0));
        for (std::size_t n = 0; n < all.size(); ++n)
            all[n] = known(to_slot(pk::read_once(given.data<const std::int64_t>() + n)));
        return all;
    }

    void check_states(const View& states, std::size_t count) const {
        if (!states.has(2, "B") || states.size(0) != count || states.size(1) != slots_.bytes)
            throw nb::value_error("expected an array of bytes, one row for each slot");
    }

    int learn_rows(const Rows& rows, nb::handle slots, nb::handle y, nb::handle weights, nb::handle scores,
                   std::size_t threads, std::int64_t base, nb::handle born) {
        const std::vector<std::size_t> all = copied(slots);
        const View out(scores, true);
        if (all.size() != rows.count || !has_room(out, rows)) return unsuited;
        const std::vector<std::uint8_t> births = births_of(born, base < 0 ? 0 : rows.count);
        unsigned char* shared = base < 0 ? nullptr : slots_.state(known(to_slot(base)));
        const std::size_t most = std::min(rows_of_slice(), rows.count);
        std::vector<double> aside(shared ? most * engine_->outputs() : 0);
        std::vector<double> own(counted_ > 0 ? most : 0), of_base(shared ? own.size() : 0);  // weights, if balanced
        return learn_with(rows, y, weights, nb::none(), [&](const Lessons& lessons, Guard&) {
            const Lease engines(*this, threads);
            return run(rows, rows_of_slice(), [&](const Rows& slice, std::size_t first) {
                if (threads == 0) return;
                std::optional<LongRow> row;
                if (is_large()) row.emplace();
                Lessons some = from(lessons, first);
                unsigned char* slot = slots_.state(all[first]);
                const Counts before = row ? counts_in(slot) : Counts();
                if (shared) {
                    const Counts of_all = row ? counts_in(shared) : Counts();
                    learn_base(slice, some, &all[first], &births[first], shared, aside.data(), own, of_base,
                               watch_of(row));
                    if (row && row->stopped()) put_back(shared, of_all);
                    stop_if_given_up(row, slot, before);
                    row.reset();  // once the base has learned a row, so must the model of its key
                } else if (counted_ > 0) {
                    weigh(some, &all[first], nullptr, 0, slice.count, own, of_base);
                }
                if (counted_ > 0) some.weights = own.data();
                each_part(&all[first], slice.count, engines, [&](Engine& engine, const Slots& part) {
                    engine.learn(slice, some, out.data<double>() + first * engine.outputs(), &part, watch_of(row));
                });
                stop_if_given_up(row, slot, before);
                LastCall::here().learned = first + slice.count;
            });
        });
    }
    static Watch* watch_of(std::optional<LongRow>& row) { return row ? &*row : nullptr; }
    // Ctrl-C in a row: the counts of its classes are put back, as its model was.
    void stop_if_given_up(const std::optional<LongRow>& row, unsigned char* slot, const Counts& before) const {
        if (!row || !row->stopped()) return;
        put_back(slot, before);
        row->stop_if_asked();
    }
    void put_back(unsigned char* slot, const Counts& counts) const {
        if (counted_ > 0) std::memcpy(counts_at(slot), counts.data(), counted_ * sizeof(std::int64_t));
    }
    std::vector<std::uint8_t> births_of(nb::handle born, std::size_t rows) const {
        std::vector<std::uint8_t> births(rows);
        if (rows == 0) return births;
        const View given(born, false);
        if (!given.has(1, "?") || given.size(0) != rows) throw nb::value_error("expected one bool for each row");
        for (std::size_t r = 0; r < rows; ++r) births[r] = given.data<const std::uint8_t>()[r];
        return births;
    }
    // In the order of the rows, so that a model that begins is a copy of what the base has learned until then.
    void learn_base(const Rows& rows, const Lessons& lessons, const std::size_t* slots, const std::uint8_t* births,
                    unsigned char* base, double* aside, std::vector<double>& own, std::vector<double>& of_base,
                    Watch* watch) {
        engine_->attach(base);
        for (std::size_t first = 0, end = 0; first < rows.count; first = end) {
            if (births[first]) begin_as(slots_.state(slots[first]), base, Done(engine_->tally()), counts_in(base));
            for (end = first + 1; end < rows.count && !births[end];) ++end;
            Lessons some = from(lessons, first);
            if (counted_ > 0) {
                weigh(lessons, slots, base, first, end, own, of_base);
                some.weights = of_base.data() + first;
            }
            engine_->learn(part(rows, first, end - first), some, aside, nullptr, watch);
        }
    }
    // Weights of balanced classes, for the models of some rows and for the base if there is one.
    void weigh(const Lessons& lessons, const std::size_t* slots, unsigned char* base, std::size_t first,
               std::size_t end, std::vector<double>& own, std::vector<double>& of_base) const {
        for (std::size_t r = first; r < end; ++r) {
            const double weight = lessons.weights ? lessons.weights[r] : 1.0;
            if (base) of_base[r] = balanced(base, lessons.labels[r], weight);
            own[r] = balanced(slots_.state(slots[r]), lessons.labels[r], weight);
        }
    }

    int score_rows(const Rows& rows, nb::handle slots, nb::handle scores, std::size_t threads, bool continues) {
        const std::vector<std::size_t> all = copied(slots);
        const View out(scores, true);
        if (all.size() != rows.count || !has_room(out, rows)) return unsuited;
        const Guard guard(turns_, Turns::reading);
        const Lease engines(*this, threads);
        return run(rows, rows_of_slice(), [&](const Rows& slice, std::size_t first) {
            each_part(&all[first], slice.count, engines, [&](Engine& engine, const Slots& part) {
                engine.score(slice, out.data<double>() + first * engine.outputs(), nullptr, &part, continues);
            });
        });
    }

    // Engines for the time of a call, which nobody else attaches to a slot: one for each thread, or as many as other
    // calls have left, but at least one. With the GIL.
    class Lease {
      public:
        Lease(PyFleet& fleet, std::size_t threads) : fleet_(fleet) {
            while (fleet.engines_.size() < threads || fleet.idle_.empty()) fleet.add_engine();
            const std::size_t count = std::min(std::max<std::size_t>(1, threads), fleet.idle_.size());
            taken_.assign(fleet.idle_.begin(), fleet.idle_.begin() + static_cast<std::ptrdiff_t>(count));
            fleet.idle_.erase(fleet.idle_.begin(), fleet.idle_.begin() + static_cast<std::ptrdiff_t>(count));
        }
        ~Lease() { fleet_.idle_.insert(fleet_.idle_.end(), taken_.begin(), taken_.end()); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        std::size_t size() const { return taken_.size(); }
        Engine& operator[](std::size_t n) const { return *taken_[n]; }

      private:
        PyFleet& fleet_;
        std::vector<Engine*> taken_;
    };
    void add_engine() {
        Block block;
        Engine* engine = new_engine(table_, learner_, true, block);
        engines_.reserve(engines_.size() + 1);
        idle_.reserve(engines_.size() + 1);  // so that none is ever lost
        blocks_.push_back(std::move(block));
        engines_.push_back(engine);
        idle_.push_back(engine);
    }
    // Calls f(engine, part) for every part of the slots, each in a thread of its own if the system can start one.
    template <class F>
    void each_part(const std::size_t* slots, std::size_t rows, const Lease& engines, F&& f) {
        const std::size_t parts = rows < 64 * engines.size() ? 1 : engines.size();
        const auto share = [&](std::size_t p) {
            Slots some = slots_;
            some.of = slots;
            some.part = p;
            some.parts = parts;
            f(engines[p], some);
        };
        std::vector<std::thread> others;
        std::size_t next = 1;
        try {
            others.reserve(parts - 1);
            for (; next < parts; ++next) others.emplace_back(share, next);
        } catch (const std::system_error&) {
        }
        share(0);
        for (; next < parts; ++next) share(next);
        for (std::thread& other : others) other.join();
    }

    void use_slab(unsigned char* start) {
        starts_.push_back(start);
        slots_.slabs = starts_.data();
    }
    // A fleet is read at random: large pages, where the system has them, save it many misses of the address cache.
    static Block new_slab(std::size_t size) {
        Block block = new_block(size);
#if defined(__linux__)
        constexpr std::size_t page = 4096, large_page = std::size_t(1) << 21;
        if (size < large_page) return block;
        const std::size_t first = (reinterpret_cast<std::uintptr_t>(block.get()) + page - 1) / page * page;
        (void)madvise(reinterpret_cast<void*>(first), size / page * page - page, MADV_HUGEPAGE);
#endif
        return block;
    }

    const Table& table_;
    std::string learner_;
    std::size_t counted_ = 0;  // classes, if they are balanced
    std::size_t state_bytes_ = 0;
    Slots slots_;
    std::vector<Block> slabs_, blocks_;
    std::vector<std::unique_ptr<View>> given_;  // slabs that Python has allocated
    std::vector<unsigned char*> starts_;
    std::vector<Engine*> engines_, idle_;
};

}  // namespace
}  // namespace pocketkernel::binding
