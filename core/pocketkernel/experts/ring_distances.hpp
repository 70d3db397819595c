// RingDistances: how far rows that a Ring keeps lie from a given one, for one or several pages of 16 rows at once.
//
// q and rows are bytes, the rows of a page lie column by column; a column's weight is at most 127. The distance of a
// row is sum_k v_k |q_k - q_jk| (`add`), or sum_k h_k^2, where h_k is v_k |q_k - q_jk| / 128, rounded, at most 127
// (`add_squares`). Sums are exact in 32 bits, so they are the same at every level.
#pragma once

#include "../math.hpp"
#include "../wire.hpp"

POCKETKERNEL_BEGIN

struct RingDistances {
    static constexpr std::size_t page = 16;

#if POCKETKERNEL_REGISTER_BYTES > 0
    // In registers, each of which has one of four rows that follow each other. Two products fit into 16 bits, and four
    // squares.
    static constexpr std::size_t at_once = POCKETKERNEL_REGISTER_BYTES / page, columns_at_once = 2, squares_at_once = 4;
    typedef std::uint8_t Bytes __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));
    typedef std::uint16_t Shorts __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));
    typedef std::uint32_t Words __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));
    typedef std::uint64_t Longs __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));

    Words sums[4] = {};

    template <std::size_t N>
    POCKETKERNEL_INLINE void add(const unsigned char* const* pages, std::size_t k, const std::uint8_t* q,
                                 const std::uint8_t* weights) {
        Shorts even{}, odd{};
        for (std::size_t n = k; n < k + N; ++n) {
            const auto gaps = reinterpret_cast<Shorts>(gaps_of(pages, n, q));
            const Shorts weight = Shorts{} + weights[n];
            even += (gaps & std::uint16_t(255)) * weight;
            odd += (gaps >> 8) * weight;
        }
        add(even, odd);
    }
    template <std::size_t N>
    POCKETKERNEL_INLINE void add_squares(const unsigned char* const* pages, std::size_t k, const std::uint8_t* q,
                                         const std::uint8_t* weights) {
        Shorts even{}, odd{};
        for (std::size_t n = k; n < k + N; ++n) {
            const auto gaps = reinterpret_cast<Shorts>(gaps_of(pages, n, q));
            const Shorts weight = weight_of(weights[n]);
            const Shorts one = weighed(gaps & std::uint16_t(255), weight), other = weighed(gaps >> 8, weight);
            even += one * one;
            odd += other * other;
        }
        add(even, odd);
    }
    POCKETKERNEL_INLINE bool any_below(std::uint32_t limit) const {
        const auto least_of = [](Words a, Words b) POCKETKERNEL_FLAT { return a < b ? a : b; };
        const auto below =
            reinterpret_cast<Longs>(least_of(least_of(sums[0], sums[1]), least_of(sums[2], sums[3])) < limit);
#if defined(__AVX2__)
        typedef long long Test __attribute__((vector_size(32)));
        return __builtin_ia32_ptestz256(reinterpret_cast<Test>(below), reinterpret_cast<Test>(below)) == 0;
#else
        std::uint64_t any = 0;
        for (std::size_t n = 0; n < sizeof below / sizeof any; ++n) any |= below[n];
        return any != 0;
#endif
    }
    // Which row a part of a word has depends on the byte order.
    void copy(std::uint32_t* out) const {
        const Words all[4] = {sums[0], sums[1], sums[2], sums[3]};  // so that sums can stay in registers
        for (std::size_t l = 0; l < at_once * page; ++l) out[l] = all[big_endian ? 3 - l % 4 : l % 4][l / 4];
    }

  private:
    static POCKETKERNEL_INLINE Bytes gaps_of(const unsigned char* const* pages, std::size_t k, const std::uint8_t* q) {
        const Bytes rows = load(pages, k * page), same = Bytes{} + q[k];
        return (rows > same ? rows : same) - (rows < same ? rows : same);
    }
    typedef std::int16_t Signed __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));

    // h, of gaps of at most 255. AVX2 has one instruction for (gaps * weight + 2^14) >> 15, and takes 256 times the
    // weight; the smaller of two signed numbers is one instruction everywhere, of unsigned ones it is three.
#if defined(__AVX2__)
    static POCKETKERNEL_INLINE Shorts weight_of(std::uint8_t weight) {
        return reinterpret_cast<Shorts>(Bytes{} + weight) & std::uint16_t(0xff00);
    }
    static POCKETKERNEL_INLINE Shorts weighed(Shorts gaps, Shorts weight) {
        return at_most_127(
            __builtin_ia32_pmulhrsw256(reinterpret_cast<Signed>(gaps), reinterpret_cast<Signed>(weight)));
    }
#else
    static POCKETKERNEL_INLINE Shorts weight_of(std::uint8_t weight) { return Shorts{} + weight; }
    static POCKETKERNEL_INLINE Shorts weighed(Shorts gaps, Shorts weight) {
        return at_most_127(reinterpret_cast<Signed>((gaps * weight + std::uint16_t(64)) >> 7));
    }
#endif
    static POCKETKERNEL_INLINE Shorts at_most_127(Signed h) {
        const Signed most = Signed{} + std::int16_t(127);
#if defined(__AVX2__) && !defined(__clang__)
        return reinterpret_cast<Shorts>(__builtin_ia32_pminsw256(h, most));
#else
        return reinterpret_cast<Shorts>(h < most ? h : most);
#endif
    }
    POCKETKERNEL_INLINE void add(Shorts even, Shorts odd) {
        sums[0] += reinterpret_cast<Words>(even) & 0xffffu;
        sums[1] += reinterpret_cast<Words>(odd) & 0xffffu;
        sums[2] += reinterpret_cast<Words>(even) >> 16;
        sums[3] += reinterpret_cast<Words>(odd) >> 16;
    }
    static POCKETKERNEL_INLINE Bytes load(const unsigned char* const* pages, std::size_t at) {
        typedef std::uint8_t Part __attribute__((vector_size(page)));
        Part parts[at_once];
        for (std::size_t i = 0; i < at_once; ++i) std::memcpy(&parts[i], pages[i] + at, page);
#if POCKETKERNEL_REGISTER_BYTES == 32
        return __builtin_shufflevector(parts[0], parts[1], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                       18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
#else
        return parts[0];
#endif
    }
#else
    static constexpr std::size_t at_once = 1, columns_at_once = 1, squares_at_once = 1;
    std::uint32_t sums[page] = {};

    template <std::size_t N>
    void add(const unsigned char* const* pages, std::size_t k, const std::uint8_t* q, const std::uint8_t* weights) {
        for (std::size_t n = k; n < k + N; ++n)
            for (std::size_t l = 0; l < page; ++l) {
                const int gap = pages[0][n * page + l] - q[n];
                sums[l] += static_cast<std::uint32_t>((gap < 0 ? -gap : gap) * weights[n]);
            }
    }
    template <std::size_t N>
    void add_squares(const unsigned char* const* pages, std::size_t k, const std::uint8_t* q,
                     const std::uint8_t* weights) {
        for (std::size_t n = k; n < k + N; ++n)
            for (std::size_t l = 0; l < page; ++l) {
                const int gap = pages[0][n * page + l] - q[n];
                const int h = smaller(((gap < 0 ? -gap : gap) * weights[n] + 64) >> 7, 127);
                sums[l] += static_cast<std::uint32_t>(h * h);
            }
    }
    bool any_below(std::uint32_t limit) const {
        bool any = false;
        for (std::uint32_t sum : sums) any = any || sum < limit;
        return any;
    }
    void copy(std::uint32_t* out) const { std::memcpy(out, sums, sizeof sums); }
#endif
};

POCKETKERNEL_END
