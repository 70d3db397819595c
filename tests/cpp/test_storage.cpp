// Halves: what each of the 65,536 means, how numbers are rounded to them, and that a buffer of halves is a buffer of
// rounded rows. The references here are written from the definition of the formats, in double precision.
#include "pocketkernel/storage.hpp"

#include "check.hpp"
#include "pocketkernel/buffer.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

// A format as the standard describes it: (-1)^s 1.f 2^(e - bias), and 0.f 2^(1 - bias) for e = 0.
struct Described {
    Storage storage;
    int fraction_bits, exponent_bits, bias;
    double most;  // that a learner takes
};
const Described described[] = {{Storage::float16, 10, 5, 15, 65504.0}, {Storage::bfloat16, 7, 8, 127, 1e18}};

bool is_finite(const Described& format, unsigned half) {
    const unsigned all = (1U << format.exponent_bits) - 1;
    return (half >> format.fraction_bits & all) != all;
}

// Of a finite half.
double meaning(const Described& format, unsigned half) {
    const unsigned e = half >> format.fraction_bits & ((1U << format.exponent_bits) - 1);
    const unsigned f = half & ((1U << format.fraction_bits) - 1);
    const double significand = static_cast<double>(f) / static_cast<double>(1U << format.fraction_bits);
    const double size = e == 0 ? std::ldexp(significand, 1 - format.bias)
                               : std::ldexp(1.0 + significand, static_cast<int>(e) - format.bias);
    return half >> 15 ? -size : size;
}

// The nearest number that the format has, the one with an even last digit of two.
double nearest(const Described& format, double x) {
    const double size = std::fabs(x);
    const int lowest = 1 - format.bias;
    const int exponent = size > 0.0 && std::ilogb(size) > lowest ? std::ilogb(size) : lowest;
    const double unit = std::ldexp(1.0, exponent - format.fraction_bits);
    const double units = size / unit, whole = std::floor(units), rest = units - whole;
    const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) == 1.0);
    return std::copysign((whole + (up ? 1.0 : 0.0)) * unit, x);
}
float rounded(const Described& format, float x) { return static_cast<float>(nearest(format, static_cast<double>(x))); }

std::int16_t as_half(unsigned bits) { return bit_cast<std::int16_t>(static_cast<std::uint16_t>(bits)); }
unsigned as_bits(std::int16_t half) { return bit_cast<std::uint16_t>(half); }
bool same(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

}  // namespace

TEST(storage_full_is_no_format) {
    CHECK(!HalfFormat() && !HalfFormat(Storage::full));
    CHECK(HalfFormat(Storage::float16) && HalfFormat(Storage::bfloat16));
}

TEST(storage_decodes_every_half) {
    for (const Described& format : described) {
        const HalfFormat halves(format.storage);
        int wrong = 0, changed = 0, believed = 0, finite = 0;
        for (unsigned bits = 0; bits < 65536; ++bits) {
            const double value = static_cast<double>(halves.decode(as_half(bits)));
            if (!is_finite(format, bits)) {
                // No row has such a half: whatever it decodes to, it must be beyond what a buffer holds for possible.
                believed += std::fabs(value) <= format.most;
                continue;
            }
            ++finite;
            wrong += !same(value, meaning(format, bits));
            if (std::fabs(value) <= format.most) changed += as_bits(halves.encode(static_cast<float>(value))) != bits;
        }
        CHECK_EQUAL(wrong, 0);
        CHECK_EQUAL(changed, 0);
        CHECK_EQUAL(believed, 0);
        CHECK_EQUAL(finite, 65536 - (2 << format.fraction_bits));
    }
}

TEST(storage_decodes_packs) {
    for (const Described& format : described) {
        const HalfFormat halves(format.storage);
        int wrong = 0;
        for (unsigned first = 0; first < 65536; first += lanes_of<float>) {
            std::int16_t from[lanes_of<float>];
            float lane[lanes_of<float>];
            // Spread out, so that neighbours are of all sorts.
            for (unsigned l = 0; l < lanes_of<float>; ++l) from[l] = as_half((first + l) * 40503U);
            halves.decode_pack(from).store(lane);
            for (std::size_t l = 0; l < lanes_of<float>; ++l)
                if (is_finite(format, as_bits(from[l]))) wrong += !same(lane[l], halves.decode(from[l]));
        }
        CHECK_EQUAL(wrong, 0);
    }
}

// Halfway between two neighbours the even one is taken, and on either side the nearer.
TEST(storage_rounds_ties_to_even) {
    for (const Described& format : described) {
        const HalfFormat halves(format.storage);
        int wrong = 0, tried = 0;
        for (unsigned low = 0; meaning(format, low + 1) <= format.most; ++low) {
            const auto middle = static_cast<float>(0.5 * (meaning(format, low) + meaning(format, low + 1)));
            const unsigned even = low % 2 == 0 ? low : low + 1;
            for (unsigned sign : {0U, 1U << 15}) {
                const float s = sign ? -1.0f : 1.0f;
                wrong += as_bits(halves.encode(s * middle)) != (sign | even);
                wrong += as_bits(halves.encode(s * std::nextafter(middle, 0.0f))) != (sign | low);
                wrong += as_bits(halves.encode(s * std::nextafter(middle, HUGE_VALF))) != (sign | (low + 1));
                ++tried;
            }
            if (!is_finite(format, low + 2)) break;
        }
        CHECK_EQUAL(wrong, 0);
        CHECK(tried > 40000);
    }
}

TEST(storage_rounds_to_nearest) {
    for (const Described& format : described) {
        const HalfFormat halves(format.storage);
        Rng rng(12);
        int wrong = 0, tried = 0, small = 0;
        const auto tries = [&](float x) {
            if (!(std::fabs(static_cast<double>(x)) <= format.most)) return;
            const float answer = halves.rounded(x);
            wrong += !same(answer, rounded(format, x));
            wrong += !same(answer, halves.rounded(answer));
            ++tried;
            small += std::fabs(x) < 0x1p-14f;
        };
        for (int n = 0; n < 100000; ++n) {
            tries(bit_cast<float>(rng.next()));                                   // of every size, NaNs left out
            tries(static_cast<float>(std::ldexp(2.0 * rng.uniform() - 1.0, 4)));  // as rows are
            tries(static_cast<float>(std::ldexp(rng.uniform(), -14)));            // below the normal halves
        }
        for (float x : {0.0f, -0.0f, 65504.0f, -65504.0f, 65503.99f, 1e18f, -1e18f, 0x1p-24f, 0x1p-25f, -0x1p-25f,
                        0x1.000002p-25f, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep-127f, 0x1.ffdp-15f})
            tries(x);
        CHECK_EQUAL(wrong, 0);
        CHECK(tried > 200000 && small > 50000);
    }
    // By hand.
    CHECK(HalfFormat(Storage::float16).rounded(0.1f) == 0x1.998p-4f);
    CHECK(HalfFormat(Storage::bfloat16).rounded(0.1f) == 0x1.9ap-4f);
    CHECK(HalfFormat(Storage::float16).rounded(0x1p-25f) == 0.0f);
    CHECK(HalfFormat(Storage::float16).rounded(3e-8f) == 0x1p-24f);
    CHECK(as_bits(HalfFormat(Storage::float16).encode(1.0f)) == 0x3c00);
    CHECK(as_bits(HalfFormat(Storage::bfloat16).encode(-2.0f)) == 0xc000);
}

// ---- buffers --------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t d = 20, capacity = 37;

// Row number n: sparse for odd n, dense for even n; with digits that no half has, some of them vanishing in float16.
void fill(std::size_t n, float* row) {
    Rng rng(n);
    for (std::size_t k = 0; k < d; ++k) {
        const double value = 4.0 * rng.uniform() - 2.0;
        row[k] = n % 2 == 1 && k % 5 != n % 5 ? 0.0f : static_cast<float>(n % 7 == 0 && k == 3 ? 1e-9 * value : value);
    }
}

bool same_query(const Query<float>& a, const Query<float>& b) {
    if (a.sparse != b.sparse || a.norm2 != b.norm2 || a.norm1 != b.norm1 || a.nonzeros != b.nonzeros) return false;
    for (std::size_t k = 0; !a.sparse && k < d; ++k)
        if (a.dense[k] != b.dense[k]) return false;
    for (std::size_t n = 0; n < a.nonzeros; ++n)
        if (a.values[n] != b.values[n] || a.columns[n] != b.columns[n]) return false;
    return true;
}

// All metrics between the query and the rows of a buffer, as one digit for each lane.
std::size_t measure(const Buffer<float>& buffer, const Query<float>& q, float* out) {
    MetricSet all;
    for (Metric metric : {Metric::squared_distance, Metric::l1_distance, Metric::cosine}) all.add(metric);
    std::size_t n = 0;
    buffer.for_each_tile(all, q, buffer.size(), [&](std::size_t, const auto& metrics) {
        for (const auto& of : metrics.of)
            for (const Pack<float>& pack : of) pack.store(out + n), n += lanes_of<float>;
    });
    return n;
}

alignas(pack_bytes) unsigned char half_block[1 << 14], full_block[1 << 14];

}  // namespace

TEST(storage_buffer_is_one_of_rounded_rows) {
    const RowNorms norms{true, true};
    for (const Described& format : described) {
        Arena half_arena(half_block), full_arena(full_block);
        Buffer<float> halves(half_arena, capacity, d, norms, format.storage);
        Buffer<float> full(full_arena, capacity, d, norms, Storage::full);
        CHECK_EQUAL(full_arena.used() - half_arena.used(), padded<float>(capacity) * d * 2);
        QueryScratch<float> in(half_arena, d, norms, format.storage), out(half_arena, d, norms, format.storage);
        QueryScratch<float> full_in(full_arena, d, norms, Storage::full), full_out(full_arena, d, norms, Storage::full);
        CHECK(full_arena.used() < sizeof full_block && half_arena.used() < sizeof half_block);
        // The same row to both: as it is, and rounded by the reference.
        const auto read = [&](std::size_t n, auto&& use) {
            float row[d], coarse[d];
            fill(n, row);
            for (std::size_t k = 0; k < d; ++k) coarse[k] = rounded(format, row[k]);
            use(in.read(Row<float>{row}), full_in.read(Row<float>{coarse}));
        };
        std::size_t number = 0;
        const auto append = [&] {
            read(number++, [&](const Query<float>& a, const Query<float>& b) {
                CHECK(same_query(a, b));
                halves.append(a);
                full.append(b);
                CHECK(same_query(halves.query(halves.size() - 1, out), a));
            });
        };
        const auto erase = [&](std::size_t first, std::size_t count) {
            halves.erase(first, count);
            full.erase(first, count);
        };
        const auto agree = [&] {
            bool good = halves.size() == full.size() && halves.valid() && full.valid();
            for (std::size_t j = 0; j < full.size(); ++j)
                good = good && same_query(halves.query(j, out), full.query(j, full_out));
            static float a[3 * 64], b[3 * 64];
            for (std::size_t n = 0; n < 12; ++n)
                read(n + 30, [&](const Query<float>& p, const Query<float>& q) {
                    const std::size_t size = measure(full, q, b);
                    good = good && measure(halves, p, a) == size && std::memcmp(a, b, size * sizeof(float)) == 0;
                });
            return good;
        };
        CHECK(agree());
        while (halves.size() < capacity) append();
        CHECK(agree());
        erase(0, capacity / 2);
        CHECK(agree());
        while (halves.size() < capacity) append();  // nothing of the rows before may shine through
        CHECK(agree());
        erase(capacity - 5, 5);
        erase(7, 1);
        append();
        CHECK(agree());
        erase(0, halves.size());
        append();
        CHECK(agree());
    }
}

TEST(storage_rows_are_rounded_however_they_come) {
    alignas(pack_bytes) unsigned char block[2048];
    for (const Described& format : described) {
        Arena arena(block);
        QueryScratch<float> one(arena, d, {true, true}, format.storage), other(arena, d, {true, true}, format.storage);
        for (std::size_t n = 0; n < 20; ++n) {
            float row[d];
            double values[d];
            std::int32_t columns[d];
            std::size_t nonzeros = 0;
            fill(n, row);
            for (std::size_t k = 0; k < d; ++k) {
                if (row[k] == 0.0f && k % 3 != 0) continue;
                values[nonzeros] = static_cast<double>(row[k]);
                columns[nonzeros++] = static_cast<std::int32_t>(k);
            }
            CHECK(same_query(one.read(Row<float>{row}), other.read(Row<double>{values, columns, nonzeros})));
        }
        // What vanishes by rounding does not count as a nonzero.
        float tiny[d];
        for (std::size_t k = 0; k < d; ++k) tiny[k] = k < 3 ? 1.0f : 1e-9f;
        const Query<float> q = one.read(Row<float>{tiny});
        CHECK(q.sparse == (format.storage == Storage::float16));
        CHECK(q.nonzeros == (q.sparse ? 3U : 0U));
    }
}

// A state may bring in any bits; rows that no one could have learned are noticed.
TEST(storage_buffer_knows_impossible_halves) {
    for (const Described& format : described) {
        Arena arena(half_block);
        Buffer<float> buffer(arena, capacity, d, {}, format.storage);  // its halves come first
        const unsigned infinite = ((1U << format.exponent_bits) - 1) << format.fraction_bits;
        for (unsigned bits : {infinite, infinite + 1, infinite | 1U << 15, 0x7fffU, 0xffffU}) {
            const std::int16_t half = as_half(bits);
            std::memcpy(half_block + 2 * 31, &half, sizeof half);
            CHECK(!buffer.valid());
        }
        const std::int16_t largest = HalfFormat(format.storage).encode(static_cast<float>(format.most));
        std::memcpy(half_block + 2 * 31, &largest, sizeof largest);
        CHECK(buffer.valid());
    }
}
