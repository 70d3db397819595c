#include "pocketkernel/experts/ring_distances.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

// By the header's formulas in whole numbers, the most that bytes can give included.
TEST(ring_distances_are_exact) {
    using D = RingDistances;
    constexpr std::size_t d = 12, rows = D::at_once * D::page;
    alignas(64) unsigned char pages[D::at_once][d * D::page];
    std::uint8_t q[d], weights[d];
    Rng rng(5);
    for (int turn = 0; turn < 50; ++turn) {
        for (std::size_t k = 0; k < d; ++k) {
            q[k] = static_cast<std::uint8_t>(turn == 0 ? 0 : rng.index(256));
            weights[k] = static_cast<std::uint8_t>(turn == 0 ? 127 : rng.index(128));
            for (auto& page : pages)
                for (std::size_t l = 0; l < D::page; ++l)
                    page[k * D::page + l] = static_cast<unsigned char>(turn == 0 ? 255 : rng.index(256));
        }
        const unsigned char* at[D::at_once];
        for (std::size_t i = 0; i < D::at_once; ++i) at[i] = pages[i];
        D sums, squares;
        for (std::size_t k = 0; k < d; k += D::columns_at_once) sums.add<D::columns_at_once>(at, k, q, weights);
        for (std::size_t k = 0; k < d; k += D::squares_at_once)
            squares.add_squares<D::squares_at_once>(at, k, q, weights);
        std::uint32_t sum[rows], square[rows], least = ~std::uint32_t(0);
        sums.copy(sum);
        squares.copy(square);
        for (std::size_t j = 0; j < rows; ++j) {
            std::uint32_t expected = 0, of_squares = 0;
            for (std::size_t k = 0; k < d; ++k) {
                const int gap = std::abs(pages[j / D::page][k * D::page + j % D::page] - q[k]);
                const int h = smaller((gap * weights[k] + 64) / 128, 127);
                expected += static_cast<std::uint32_t>(gap * weights[k]);
                of_squares += static_cast<std::uint32_t>(h * h);
            }
            CHECK_EQUAL(sum[j], expected);
            CHECK_EQUAL(square[j], of_squares);
            least = smaller(least, expected);
        }
        CHECK(sums.any_below(least + 1) && !sums.any_below(least));
    }
}
