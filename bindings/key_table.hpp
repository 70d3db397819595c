// KeyTable: which slot a key has. Keys are strings of bytes; a slot has at most one.
//
// Open addressing with linear probing: a bucket has 32 bits of the key's hash and the slot, where the key itself is.
// The hash (SipHash-1-3) is keyed with a number that nobody outside knows, so no choice of keys makes the table slow.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace pocketkernel::binding {

class KeyTable {
  public:
    static constexpr std::uint32_t nowhere = 0xffffffff;
    static constexpr std::size_t at_once = 64;  // keys that `find` looks up side by side

    KeyTable() : buckets_(first_buckets) {
        std::random_device device;
        for (std::uint64_t& word : secret_) word = std::uint64_t(device()) << 32 | device();
    }

    std::size_t size() const { return size_; }
    std::size_t slots() const { return keys_.size(); }  // all keys are in slots below
    bool has(std::uint32_t slot) const { return slot < keys_.size() && taken_[slot]; }
    std::string_view key(std::uint32_t slot) const { return keys_[slot]; }

    std::uint32_t find(std::string_view key) const { return resolve(hash(key), key); }

    // The slots of up to `at_once` keys. In a large table every step misses the cache, so all keys take it together.
    template <class Slot>
    void find(const std::string_view* keys, std::size_t count, Slot* slots) const {
        std::uint64_t hashes[at_once];
        for (std::size_t n = 0; n < count; ++n) {
            hashes[n] = hash(keys[n]);
            fetch(&buckets_[hashes[n] & mask()]);
        }
        for (std::size_t n = 0; n < count; ++n) {
            const Bucket& bucket = buckets_[hashes[n] & mask()];
            if (bucket.slot != nowhere) fetch(&keys_[bucket.slot]);
        }
        for (std::size_t n = 0; n < count; ++n) slots[n] = static_cast<Slot>(resolve(hashes[n], keys[n]));
    }

    // A key that is not in the table, in a slot that has none.
    void put(std::string_view key, std::uint32_t slot) {
        if (4 * (size_ + 1) > 3 * buckets_.size()) grow();
        if (slot >= keys_.size()) {
            keys_.resize(slot + 1);
            taken_.resize(slot + 1);
        }
        keys_[slot] = key;
        taken_[slot] = true;
        insert(hash(key), slot);
        ++size_;
        apart_ += apart(slot);
    }

    // The bucket is closed by moving back those behind it that may move, so nothing is left to be skipped.
    void remove(std::uint32_t slot) {
        std::size_t hole = hash(keys_[slot]) & mask();
        while (buckets_[hole].slot != slot) hole = (hole + 1) & mask();
        for (std::size_t next = (hole + 1) & mask(); buckets_[next].slot != nowhere; next = (next + 1) & mask()) {
            const std::size_t home = hash(keys_[buckets_[next].slot]) & mask();
            if (((next - home) & mask()) < ((next - hole) & mask())) continue;
            buckets_[hole] = buckets_[next];
            hole = next;
        }
        buckets_[hole] = Bucket();
        apart_ -= apart(slot);
        taken_[slot] = false;
        std::string().swap(keys_[slot]);
        --size_;
    }

    std::size_t bytes() const {
        return buckets_.capacity() * sizeof(Bucket) + keys_.capacity() * sizeof(std::string) + taken_.capacity() / 8 +
               apart_;
    }

  private:
    struct Bucket {
        std::uint32_t tag = 0, slot = nowhere;
    };
    static constexpr std::size_t first_buckets = 64;

    std::size_t mask() const { return buckets_.size() - 1; }
    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
    // Bytes of a key that is too long for the string object itself.
    std::size_t apart(std::uint32_t slot) const {
        return keys_[slot].capacity() > std::string().capacity() ? keys_[slot].capacity() + 1 : 0;
    }

    static void fetch(const void* place) {
#if defined(__GNUC__)
        __builtin_prefetch(place);
#else
        (void)place;
#endif
    }

    std::uint32_t resolve(std::uint64_t hash, std::string_view key) const {
        for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
            const Bucket& bucket = buckets_[at];
            if (bucket.slot == nowhere) return nowhere;
            if (bucket.tag == tag_of(hash) && keys_[bucket.slot] == key) return bucket.slot;
        }
    }
    void insert(std::uint64_t hash, std::uint32_t slot) {
        std::size_t at = hash & mask();
        while (buckets_[at].slot != nowhere) at = (at + 1) & mask();
        buckets_[at] = {tag_of(hash), slot};
    }
    void grow() {
        const std::vector<Bucket> before(std::move(buckets_));
        buckets_ = std::vector<Bucket>(2 * before.size());
        for (const Bucket& bucket : before)
            if (bucket.slot != nowhere) insert(hash(keys_[bucket.slot]), bucket.slot);
    }

    static std::uint64_t rotated(std::uint64_t x, int k) { return x << k | x >> (64 - k); }
    std::uint64_t hash(std::string_view key) const {
        std::uint64_t v[4] = {secret_[0] ^ 0x736f6d6570736575ULL, secret_[1] ^ 0x646f72616e646f6dULL,
                              secret_[0] ^ 0x6c7967656e657261ULL, secret_[1] ^ 0x7465646279746573ULL};
        const auto round = [&v] {
            v[0] += v[1], v[1] = rotated(v[1], 13) ^ v[0], v[0] = rotated(v[0], 32);
            v[2] += v[3], v[3] = rotated(v[3], 16) ^ v[2];
            v[0] += v[3], v[3] = rotated(v[3], 21) ^ v[0];
            v[2] += v[1], v[1] = rotated(v[1], 17) ^ v[2], v[2] = rotated(v[2], 32);
        };
        const auto add = [&](std::uint64_t word) {
            v[3] ^= word;
            round();
            v[0] ^= word;
        };
        std::size_t at = 0;
        for (; at + 8 <= key.size(); at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, key.data() + at, 8);
            add(word);
        }
        std::uint64_t last = std::uint64_t(key.size()) << 56;
        std::memcpy(&last, key.data() + at, key.size() - at);  // at most seven bytes, below the length
        add(last);
        v[2] ^= 0xff;
        for (int n = 0; n < 3; ++n) round();
        return v[0] ^ v[1] ^ v[2] ^ v[3];
    }

    std::vector<Bucket> buckets_;
    std::vector<std::string> keys_;  // by slot
    std::vector<bool> taken_;
    std::size_t size_ = 0, apart_ = 0;
    std::uint64_t secret_[2] = {};
};

}  // namespace pocketkernel::binding
