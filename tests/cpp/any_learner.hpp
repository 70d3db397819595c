// A learner of any kind and precision, one row at a time, through the binding's Engine, so that the tests compile each
// learner once; and a stream to feed it.
#pragma once

#include <cstdlib>
#include <cstring>

#include "check.hpp"
#include "engine.hpp"
#include "pocketkernel/config.hpp"
#include "pocketkernel/kernels/list.hpp"
#include "pocketkernel/losses/list.hpp"
#include "pocketkernel/rng.hpp"
#include "pocketkernel/row.hpp"
#include "pocketkernel/state.hpp"
#include "pocketkernel/status.hpp"

struct Which {
    const char* name;
    bool doubles;  // else floats
    std::size_t classes = 2;
};
inline constexpr Which every_learner[] = {
    {"m_omd_s", false},
    {"m_omd_s", true},
    {"m_omd_h", false},
    {"m_omd_h", true},
    {"shared_m_omd_h", false},
    {"shared_m_omd_h", true},
    {"lkm_books", false},
    {"lkm_books", true},
    {"raker", false},
    {"raker", true},
    {"multiclass_m_omd_s", false},
    {"multiclass_m_omd_s", true},
    {"multiclass_m_omd_s", false, 3},
    {"multiclass_m_omd_s", true, 3},
    {"pocket_classifier", false},
    {"pocket_classifier", true},
    {"pocket_classifier", false, 3},
    {"pocket_classifier", true, 3},
    {"pocket_regressor", false},
    {"pocket_regressor", true},
    {"pocket_regressor", false, 3},
    {"pocket_regressor", true, 3},
};

// Labels are -1, 1 and, of three classes, 2. A learner with a score for each class answers how much that of 1 exceeds
// that of -1. A regressor has targets made from the label, and answers the first of them, the label itself.
class AnyLearner {
  public:
    using Row = pocketkernel::Row<double>;

    // Builds the learner in the block.
    pocketkernel::Status make(const Which& which, const pocketkernel::Config& config, void* block, std::size_t size);

    double learn(const Row& row, double y) { return learn(row, y, nullptr); }
    double learn(const Row& row, double y, double weight) { return learn(row, y, &weight); }
    double score(const Row& row) { return score_on(nullptr, row); }
    double label() const;  // what the latest scores mean
    std::size_t scratch_bytes() const { return engine_->scratch_bytes(); }
    double score_on(void* scratch, const Row& row);  // as another thread would
    const pocketkernel::Config& config() const { return config_; }
    const pocketkernel::Tally& tally() const { return engine_->tally(); }
    pocketkernel::KernelReport report(std::size_t i) const {
        pocketkernel::KernelReport all[pocketkernel::max_kernels];
        engine_->report(all);
        return all[i];
    }
    bool frequencies(double* out) const { return engine_->frequencies(out); }  // of random features
    std::size_t state_bytes() const { return engine_->state_bytes(); }
    void save(unsigned char* to) const { engine_->save(to); }
    [[nodiscard]] pocketkernel::Status load(const unsigned char* from, std::size_t size) {
        return engine_->load(from, size);
    }

  private:
    double learn(const Row& row, double y, const double* weight);
    pocketkernel::binding::Rows as_rows(const Row& row);
    double answer() const;

    pocketkernel::binding::Engine* engine_ = nullptr;
    pocketkernel::Config config_;
    std::int64_t starts_[2] = {};
    double scores_[3] = {};
};

bool known(const char* name);
pocketkernel::Status check_config(const Which& which, const pocketkernel::Config& config);
std::size_t bytes_of(const Which& which, const pocketkernel::Config& config);
std::size_t state_bytes_of(const Which& which, const pocketkernel::Config& config);

// A learner in a block of exactly its size, full of rubbish before.
class Made {
  public:
    Made(const Which& which, const pocketkernel::Config& config)
        : size_(bytes_of(which, config)), block_(std::aligned_alloc(pocketkernel::pack_bytes, size_)) {
        std::memset(block_, 0xa5, size_);
        CHECK(learner_.make(which, config, block_, size_) == pocketkernel::Status::ok);
    }
    ~Made() { std::free(block_); }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;

    AnyLearner* operator->() { return &learner_; }
    AnyLearner& operator*() { return learner_; }

  private:
    std::size_t size_;
    void* block_;
    AnyLearner learner_;
};

// The header of a saved state, which is little-endian on every machine.
inline pocketkernel::StateHeader header_of(const unsigned char* state) {
    pocketkernel::StateHeader header;
    std::memcpy(&header, state, sizeof header);
    header.convert();
    return header;
}
// Gives a state whose contents were changed the checksum that belongs to them, as a forger would.
inline void seal(unsigned char* state, std::size_t size) {
    pocketkernel::StateHeader header = header_of(state);
    pocketkernel::Digest digest;
    digest.add_bytes(state + sizeof header, size - sizeof header);
    header.checksum = digest.value();
    header.convert();
    std::memcpy(state, &header, sizeof header);
}

// Draws from 48 fixed rows, so that many are exact repeats. A third are dense, the others sparse, one of them zero.
// Their values are floats, the same numbers in either precision. Of three classes the third is a side of its own.
class Stream {
  public:
    static constexpr std::size_t d = 20, pool = 48;

    explicit Stream(std::uint64_t seed, std::size_t classes = 2) : rng_(seed), classes_(classes) {
        for (std::size_t j = 1; j < pool; ++j) {
            double sum = 0.0;
            for (std::size_t k = 0; k < d; ++k) {
                const double value = 2.0 * rng_.uniform() - 1.0;
                if (j % 3 == 0 || k % 7 == j % 7) sum += rows_[j][k] = static_cast<float>(value);
            }
            labels_[j] = classes == 3 && rows_[j][0] > 0.3 ? 2.0 : sum > 0.0 ? 1.0 : -1.0;
        }
    }

    // The next row; its label is wrong once in ten times.
    AnyLearner::Row next() {
        const std::size_t j = rng_.index(pool);
        label = rng_.uniform() < 0.1 ? other(labels_[j]) : labels_[j];
        return row(j);
    }
    AnyLearner::Row row(std::size_t j) const { return {rows_[j]}; }

    double label = 1.0;

  private:
    double other(double y) const { return classes_ == 2 ? -y : y < 0.0 ? 1.0 : y > 1.0 ? -1.0 : 2.0; }

    pocketkernel::Rng rng_;
    std::size_t classes_;
    double rows_[pool][d] = {};
    double labels_[pool] = {1.0};
};

inline void teach(AnyLearner& learner, Stream& stream, int rounds) {
    for (int t = 0; t < rounds; ++t) {
        const AnyLearner::Row row = stream.next();
        (void)learner.learn(row, stream.label);
    }
}

// Whether two learners are in the same state, byte for byte.
bool same_state(const AnyLearner& one, const AnyLearner& other);
