// Turns: who may use a thing now. Many may read it at a time; who changes it is alone.
//
// Who cannot begin at once waits in a queue, and whoever came first is next, so nobody waits for ever. Who changes a
// thing for long may let readers in at moments when it is whole (`let_in`): all that wait then come next, then it goes
// on, before others who want to change it. While nobody waits, a turn costs one exchange of a word.
//
// A thread that has a turn may take another one if that cannot harm: it may read while it reads, and a turn may lend
// the thing to the calls within it. Anything else would wait for itself (a signal handler that uses a learner in the
// middle of learning), so it is an error. This file knows nothing of Python.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <stdexcept>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace pocketkernel::binding {
namespace {

class Turns {
  public:
    enum Use { reading, changing };
    enum Lends { nothing, reads, everything };  // to calls within a turn, in its thread
    class Hold;

    Turns() = default;
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    // Once, when the process begins. A thread that was running in the parent does not exist in a child, so it would
    // never end its turn: turns know the number of forks before them.
    static void count_forks() {
#if !defined(_WIN32)
        pthread_atfork(nullptr, nullptr, [] {
            forks().fetch_add(1);
            new (&gate()) std::mutex;  // a thread of the parent may have it
        });
#endif
    }

  private:
    // The word: how many read; whether one changes; whether some wait; and the forks before. 0 if it is free.
    using Word = std::uint64_t;
    static constexpr Word one_reader = 1, readers = (Word(1) << 20) - 1, changer = Word(1) << 20, queue = Word(1) << 21;
    static constexpr unsigned epoch_shift = 22;

    static std::atomic<Word>& forks() {
        static std::atomic<Word> count{0};
        return count;
    }
    static Word here() { return forks().load(std::memory_order_relaxed) << epoch_shift; }
    static Word epoch(Word word) { return word >> epoch_shift << epoch_shift; }
    // One for all things, because nobody keeps it for long: a thing that nobody waits for has only its word.
    static std::mutex& gate() {
        static std::mutex mutex;
        return mutex;
    }

    struct Waiter {
        Use use;
        bool granted = false, first = false;
        Waiter* next = nullptr;
        std::condition_variable moved;
        explicit Waiter(Use wanted) : use(wanted) {}
    };

    // Begins a turn if nothing is in its way; `first` if nobody else reads.
    bool try_now(Use use, bool& first) {
        const Word now = here();
        Word found = 0;
        do {
            first = found == 0;
            const Word next = first ? now | (use == changing ? changer : one_reader) : found + one_reader;
            if (word_.compare_exchange_weak(found, next, std::memory_order_acquire)) return true;
        } while (found == 0 || (use == reading && (found & (changer | queue)) == 0 && epoch(found) == now));
        return false;
    }
    void end(Use use) {
        Word found = word_.load(std::memory_order_relaxed), next = 0;
        do {
            next = use == changing ? found & ~changer : found - one_reader;
            if ((next & (readers | changer | queue)) == 0) next = 0;
        } while (!word_.compare_exchange_weak(found, next, std::memory_order_release, std::memory_order_relaxed));
        if ((next & queue) == 0 || epoch(next) != here()) return;
        const std::lock_guard<std::mutex> lock(gate());
        admit();
    }

    // What threads of the parent have left: a reader has changed nothing.
    void inherit() {
        const Word found = word_.load(std::memory_order_acquire);
        if (found == 0 || epoch(found) == here()) return;
        if (found & changer)
            throw std::runtime_error(
                "this learner was learning in another thread when the process forked, so its copy here is incomplete: "
                "load it from its file, or fork while it is idle");
        first_ = last_ = nullptr;
        word_.store(0, std::memory_order_release);
    }

    // `idle` is called while this waits, several times a second; what it throws ends the waiting.
    template <class Idle>
    bool wait(Use use, Idle&& idle) {
        Waiter me(use);
        std::unique_lock<std::mutex> lock(gate());
        Word found = word_.load(std::memory_order_relaxed);
        while (!word_.compare_exchange_weak(found, (found == 0 ? here() : found) | queue)) continue;
        (last_ ? last_->next : first_) = &me;
        last_ = &me;
        admit();
        until_granted(me, lock, idle);
        return me.first;
    }
    template <class Idle>
    void let_in(Idle&& idle) {
        if ((word_.load(std::memory_order_relaxed) & queue) == 0) return;
        std::unique_lock<std::mutex> lock(gate());
        Waiter *others = nullptr, *waiting = first_;
        Waiter** end_of_others = &others;
        bool some = false;
        for (Waiter* one = first_; one; one = one->next) some |= one->use == reading;
        if (!some) return;
        last_ = nullptr;
        word_.fetch_and(~changer, std::memory_order_release);
        while (waiting) {
            Waiter* one = waiting;
            waiting = one->next;
            if (one->use == reading) {
                grant(*one);
                continue;
            }
            one->next = nullptr;
            *end_of_others = last_ = one;
            end_of_others = &one->next;
        }
        Waiter me(changing);
        me.next = others;
        first_ = &me;
        if (!last_) last_ = &me;
        until_granted(me, lock, idle);
    }

    template <class Idle>
    void until_granted(Waiter& me, std::unique_lock<std::mutex>& lock, Idle&& idle) {
        while (!me.granted) {
            me.moved.wait_for(lock, std::chrono::milliseconds(20));
            if (me.granted) return;
            lock.unlock();
            try {
                idle();
            } catch (...) {
                lock.lock();
                leave(me);
                throw;
            }
            lock.lock();
        }
    }
    // With the gate: lets in whoever is next, as long as that is possible.
    void admit() {
        while (first_) {
            const Word found = word_.load(std::memory_order_acquire);
            if ((found & changer) || (first_->use == changing && (found & readers))) return;
            Waiter& next = *first_;
            first_ = next.next;
            if (!first_) last_ = nullptr;
            grant(next);
        }
        Word found = word_.load(std::memory_order_relaxed), next = 0;
        do next = (found & (readers | changer)) ? found & ~queue : 0;
        while (!word_.compare_exchange_weak(found, next));
    }
    // Nobody begins without the gate while some wait, so what was read of the word can only have become less.
    void grant(Waiter& one) {
        one.first = (word_.load(std::memory_order_relaxed) & readers) == 0;
        word_.fetch_add(one.use == changing ? changer : one_reader, std::memory_order_acq_rel);
        one.granted = true;
        one.moved.notify_one();
    }
    void leave(Waiter& me) {
        if (me.granted) {
            word_.fetch_sub(me.use == changing ? changer : one_reader, std::memory_order_release);
        } else {
            Waiter *before = nullptr, *one = first_;
            while (one != &me) {
                before = one;
                one = one->next;
            }
            (before ? before->next : first_) = me.next;
            if (last_ == &me) last_ = before;
        }
        admit();
    }

    std::atomic<Word> word_{0};
    Waiter *first_ = nullptr, *last_ = nullptr;  // with the gate
};

// A turn of this thread, until it is destroyed.
class Turns::Hold {
  public:
    // Begun at once, or else by `wait`.
    Hold(Turns& turns, Use use, Lends lends = nothing) : turns_(turns), use_(use), lends_(lends) {
        Hold*& latest = of_thread();
        for (const Hold* mine = latest; mine && !nested_; mine = mine->previous_)
            if (&mine->turns_ == &turns) nest(*mine);
        held_ = nested_ || turns.try_now(use, first_);
        previous_ = latest;
        latest = this;
    }
    ~Hold() {
        if (held_ && !nested_) turns_.end(use_);
        Hold** link = &of_thread();
        while (*link != this) link = &(*link)->previous_;
        *link = previous_;
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // Ends all turns of this thread, which will never go on.
    static void abandon() {
        for (Hold* mine = of_thread(); mine; mine = mine->previous_) {
            if (mine->held_ && !mine->nested_) mine->turns_.end(mine->use_);
            mine->held_ = false;
        }
    }

    bool has_begun() const { return held_; }
    template <class Idle>
    void wait(Idle&& idle) {
        turns_.inherit();
        first_ = turns_.wait(use_, idle);
        held_ = true;
    }
    // Whether nobody else has read since it began, nor will: then what there is once is this reader's.
    bool is_first() const { return first_; }

    // Of a turn to change something, which is whole now: readers who wait come before the rest.
    template <class Idle>
    void let_in(Idle&& idle) {
        if (nested_) return;
        held_ = false;  // if it is interrupted
        turns_.let_in(idle);
        held_ = true;
    }

  private:
    void nest(const Hold& outer) {
        const bool harmless = use_ == reading ? outer.use_ == reading || outer.lends_ != nothing
                                              : outer.use_ == changing && outer.lends_ == everything;
        if (!harmless)
            throw std::runtime_error(
                "this learner is in use by this very thread, which cannot wait for itself: use it after the call that "
                "a signal handler, a finalizer or a callback has interrupted");
        nested_ = true;
        first_ = outer.lends_ != nothing && (outer.first_ || outer.use_ == changing);
    }
    static Hold*& of_thread() {
        static thread_local Hold* latest = nullptr;
        return latest;
    }

    Turns& turns_;
    const Use use_;
    const Lends lends_;
    bool nested_ = false, first_ = false, held_ = false;
    Hold* previous_ = nullptr;
};

}  // namespace
}  // namespace pocketkernel::binding
