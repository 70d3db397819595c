#include "pocketkernel/shared_block.hpp"

#include "experts/frame.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 6, widths = 3;

// Waves, ferns and a ring on one block, as after a reset.
template <class T>
struct Shared : frame::Frame<T> {
    double numbers[widths * 3] = {};
    SharedBlock<T> shared;
    Config c;

    explicit Shared(std::size_t functions) : frame::Frame<T>(d, functions, widths) {
        c = frame::Frame<T>::config();
        c.budget = 600;
        shared = SharedBlock<T>(this->arena, c, functions, numbers, this->waves(), this->ferns(), this->ring());
        CHECK(this->arena.used() <= sizeof this->block);
        shared.reset(*this);
        this->waves().reset(*this);
        for (std::size_t i = 0; i <= widths; ++i) this->place(i).tiles = this->waves().pool().tiles_of(i);
    }
    const Config& config() const { return c; }

    // A row's evidence: whether the mixture and the nearest rows were right, and the loss without each of the three.
    void gather(bool mistake, bool near, bool nearest, double loss, double w, double r, double t) {
        typename experts::Ring<T>::Found found{};
        for (auto& label : found.label) label = 0;
        found.label[3] = near ? 1 : 0;
        found.label[6] = nearest ? 1 : 0;
        std::uint8_t rounded[d] = {};
        shared.gather(*this, found, rounded, 1, mistake, loss, 50.0, true, [&](std::size_t from, std::size_t) {
            return loss + (from == 1 ? w : from == 1 + widths ? r : t);
        });
    }
    void all_bytes_are_shared() const {
        const std::size_t ring = this->ring().pages() * experts::Ring<T>::page_bytes(d, c.classes);
        CHECK(shared.waves_bytes(*this) + shared.ferns_bytes(*this) + shared.ring_bytes(*this) == shared.bytes(*this));
        CHECK(ring <= shared.ring_bytes(*this) &&
              shared.ring_bytes(*this) < ring + experts::Ring<T>::page_bytes(d, c.classes));
        CHECK_EQUAL(this->ring().pages(), shared.pages_left(*this));
    }
};

// The block goes to whom the mixture would miss, by an eighth at most in one review, and back.
template <class T>
void memory_follows_the_evidence(std::size_t functions) {
    Shared<T> one(functions);
    one.all_bytes_are_shared();
    CHECK(one.shared.valid(one));
    const std::size_t eighth = one.shared.bytes(one) / 8 + one.shared.tile_bytes(one);
    const auto reviews = [&](double w, double r, double t) {
        for (int n = 0; n < 12; ++n) {
            for (int row = 0; row < 100; ++row) one.gather(row % 4 == 0, false, false, 0.5, w, r, t);
            const std::size_t before = one.shared.waves_bytes(one);
            const bool more = one.shared.share(one, 5000);
            const std::size_t after = one.shared.waves_bytes(one);
            CHECK(more == (after > before));
            CHECK((after > before ? after - before : before - after) <= eighth);
            one.all_bytes_are_shared();
            CHECK(one.shared.valid(one));
        }
    };
    reviews(0.5, 0.0, 0.0);
    const std::size_t most = one.shared.waves_bytes(one);
    reviews(0.0, 0.0, 0.5);
    CHECK(one.shared.waves_bytes(one) < most);
    CHECK(4 * one.shared.ferns_bytes(one) <= one.shared.bytes(one));
    reviews(0.5, 0.0, 0.0);
    CHECK(one.shared.waves_bytes(one) >= most - one.shared.tile_bytes(one));
}

// Nothing but a full ring that pays moves in the first rows.
template <class T>
void first_rows_stay() {
    Shared<T> one(1);
    const std::size_t waves = one.shared.waves_bytes(one), ferns = one.shared.ferns_bytes(one);
    for (int row = 0; row < 200; ++row) one.gather(false, true, true, 0.5, 0.0, 0.0, 0.9);
    CHECK(!one.shared.share(one, 399) && !one.shared.share(one, 999));
    CHECK(one.shared.waves_bytes(one) == waves && one.shared.ferns_bytes(one) == ferns);

    std::uint8_t q[d] = {};
    for (std::size_t row = 0; row < one.ring().capacity(); ++row) one.ring().store(q, 1);
    // The nearest of all rows are right more often than those of an eighth of them, and as often as the mixture.
    for (int row = 0; row < 400; ++row) one.gather(row % 5 == 0, row % 2 == 0, row % 5 != 0, 0.5, 0.1, 0.1, 0.1);
    const std::size_t ring = one.shared.ring_bytes(one);
    CHECK(!one.shared.share(one, 500));
    CHECK(one.shared.ring_bytes(one) > ring);
    one.all_bytes_are_shared();
}

}  // namespace

TEST(shared_block_follows_the_evidence) {
    memory_follows_the_evidence<float>(1);
    memory_follows_the_evidence<double>(1);
    memory_follows_the_evidence<float>(3);
}
TEST(shared_block_of_the_first_rows) {
    first_rows_stay<float>();
    first_rows_stay<double>();
}
