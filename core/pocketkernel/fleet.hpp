// Fleet: many models of one configuration, learned in place by one learner.
//
// A slot is the state of a model, without a header, in the caller's memory and aligned to 64 bytes. What is the same
// for all models (the learner object, kernels, scratch) exists once. To attach to a slot, every pointer into the state
// moves by the same distance. Which words hold such pointers is found once, by laying the learner out on two states:
// those words differ by the distance between the states, and no others do. Learning in a slot therefore copies, checks
// and constructs nothing, and gives the same bits as a separate learner.
//
// Threads: each has a Fleet of its own and takes the rows of its share of the slots. Rows of one slot stay in order, so
// the results do not depend on the number of threads.
#pragma once

#include "learners/learner.hpp"

POCKETKERNEL_BEGIN

template <class L>
class Fleet {
  public:
    // Bytes of the fleet itself, and of a slot.
    struct Size {
        std::size_t bytes, slot_bytes;
    };
    static Size size_of(const Config& config) {
        const pocketkernel::Size learner = pocketkernel::size_of<L>(config);
        const std::size_t slot = learner.state_bytes - sizeof(StateHeader);
        const std::size_t outside = learner.bytes - slot;
        Arena arena;
        arena.place<Fleet>();
        arena.take<unsigned char>(outside);
        arena.take<unsigned char>(outside);
        arena.take<unsigned char>(slot);
        arena.take<unsigned char>(shift);
        return {arena.used(), slot};
    }

    // Builds a fleet at the front of the block, which it uses as long as it exists.
    [[nodiscard]] static Status make(const Config& config, void* block, std::size_t size, Fleet*& fleet) {
        const Status status = L::check(config);
        if (status != Status::ok) return status;
        if (reinterpret_cast<std::uintptr_t>(block) % pack_bytes != 0) return Status::block_misaligned;
        if (size < size_of(config).bytes) return Status::block_too_small;
        Arena arena(block);
        fleet = new (arena.place<Fleet>()) Fleet(config, arena);
        return Status::ok;
    }

    std::size_t slot_bytes() const { return slot_bytes_; }

    // The learner, attached to a slot. Valid until the next call.
    L& at(unsigned char* slot) {
        if (slot != attached_) move(slot);
        return *learner_;
    }
    L& learner() { return *learner_; }

    // The state of a model that has learned nothing.
    const unsigned char* newborn() const { return newborn_; }
    void begin(unsigned char* slot) const { std::memcpy(slot, newborn_, slot_bytes_); }

    // Calls f(learner, r) for the rows whose slots belong to part `part` of `parts`, in order. slot_of(r) is the number
    // of a row's slot, state_of(slot) its place in memory.
    template <class SlotOf, class StateOf, class F>
    void for_each_row(std::size_t rows, std::size_t part, std::size_t parts, SlotOf&& slot_of, StateOf&& state_of,
                      F&& f) {
        const auto next = [&](std::size_t r) {
            while (r < rows && parts > 1 && slot_of(r) % parts != part) ++r;
            return r;
        };
        for (std::size_t r = next(0); r < rows;) {
            const std::size_t following = next(r + 1);
            if (following < rows) fetch(state_of(slot_of(following)));
            f(at(state_of(slot_of(r))), r);
            r = following;
        }
    }

  private:
    using Word = std::uintptr_t;
    static constexpr std::size_t shift = pack_bytes;

    Fleet(const Config& config, Arena& arena) {
        const pocketkernel::Size learner = pocketkernel::size_of<L>(config);
        slot_bytes_ = learner.state_bytes - sizeof(StateHeader);
        const std::size_t outside = learner.bytes - slot_bytes_;
        block_ = arena.take<unsigned char>(outside);
        unsigned char* copy = arena.take<unsigned char>(outside);
        newborn_ = arena.take<unsigned char>(slot_bytes_);
        arena.take<unsigned char>(shift);

        lay_out(config, newborn_ + shift);
        std::memcpy(copy, block_, outside);
        lay_out(config, newborn_);
        // The list of places goes where the copy was: it grows more slowly than the copy is read.
        places_ = reinterpret_cast<std::uint32_t*>(copy);
        for (std::size_t at = 0; at + sizeof(Word) <= outside; at += sizeof(Word)) {
            Word there = 0;
            std::memcpy(&there, copy + at, sizeof there);
            if (there - word(at) == shift) places_[count_++] = static_cast<std::uint32_t>(at / sizeof(Word));
        }
        attached_ = newborn_;
        learner_->reset();
    }

    void lay_out(const Config& config, unsigned char* state) {
        Arena arena(block_, state);
        learner_ = new (arena.place<L>(object_bytes_of<L>)) L(config, arena);
    }

    Word word(std::size_t at) const {
        Word value = 0;
        std::memcpy(&value, block_ + at, sizeof value);
        return value;
    }

    void move(unsigned char* slot) {
        const Word distance = reinterpret_cast<Word>(slot) - reinterpret_cast<Word>(attached_);
        for (std::size_t n = 0; n < count_; ++n) {
            const std::size_t at = places_[n] * sizeof(Word);
            const Word moved = word(at) + distance;
            std::memcpy(block_ + at, &moved, sizeof moved);
        }
        attached_ = slot;
    }

    // The slots of a large fleet are rarely in the cache: the next one is on its way while this one is learned.
    void fetch(const unsigned char* slot) const {
#if defined(__GNUC__)
        for (std::size_t at = 0; at < slot_bytes_ && at < most_fetched; at += 64) __builtin_prefetch(slot + at, 1, 2);
#else
        (void)slot;
#endif
    }
    static constexpr std::size_t most_fetched = 8192;

    std::size_t slot_bytes_ = 0, count_ = 0;
    unsigned char* block_ = nullptr;
    unsigned char* newborn_ = nullptr;
    unsigned char* attached_ = nullptr;
    std::uint32_t* places_ = nullptr;
    L* learner_ = nullptr;
};

POCKETKERNEL_END
