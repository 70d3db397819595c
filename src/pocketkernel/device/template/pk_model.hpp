// PocketModel: the model of this project as a C++ class. Its memory is inside the object: no heap, no exceptions.
//
// The C interface in pk_model.h has one static PocketModel; a program with several models makes several objects.
#pragma once

#include "pk_config.hpp"

template <class L, class Scaler>
class DeviceModel {
  public:
    using Learner = L;
    using Status = pocketkernel::Status;
    static constexpr bool regression = Learner::task == pocketkernel::Task::regression;

    // Builds the model, with the given state and constants. Until this succeeds, other calls are Status::not_ready.
    [[nodiscard]] Status start(const unsigned char* state, std::size_t size, const unsigned char* constants) {
        Status status = pocketkernel::make<Learner, false>(pk_config::config(), block_, sizeof block_, learner_);
        if (status == Status::ok) {
            pocketkernel::take_constants(*learner_, constants);
            status = load(state, size);
        }
        if (status != Status::ok) learner_ = nullptr;
        return status;
    }

    // Learns a row of a classifier; `scores` receives PK_OUTPUTS numbers from before learning.
    [[nodiscard]] Status learn(const pk_value* row, std::size_t label, double* scores) {
        const Status status = label < PK_CLASSES ? check(row) : Status::label_unknown;
        if (status != Status::ok) return status;
        const Row scaled = scaler_.learn(row);
        if constexpr (Learner::multiclass && !regression)
            learner_->learn(scaled, label, 1.0, scores);
        else if constexpr (!regression)
            scores[0] = learner_->learn(scaled, label == 1 ? 1.0 : -1.0);
        return Status::ok;
    }
    // Learns a row of a regressor; `answers` receives the PK_OUTPUTS numbers that were predicted for it.
    [[nodiscard]] Status learn(const pk_value* row, const double* targets, double* answers) {
        Status status = targets ? check(row) : Status::not_ready;
        for (std::size_t r = 0; status == Status::ok && r < PK_OUTPUTS; ++r)
            if (!(pocketkernel::absolute(targets[r]) <= 1e70)) status = Status::target_out_of_range;
        if (status != Status::ok) return status;
        if constexpr (regression) learner_->learn(scaler_.learn(row), targets, 1.0, answers);
        return Status::ok;
    }
    // PK_OUTPUTS scores, or answers of a regressor.
    [[nodiscard]] Status score(const pk_value* row, double* scores) {
        const Status status = check(row);
        if (status != Status::ok) return status;
        const Row scaled = scaler_.read(row);
        auto& work = learner_->workspace();
        if constexpr (Learner::reads_rows)
            learner_->score(scaled, work, scores);
        else if constexpr (Learner::multiclass)
            learner_->score(work.query.read(scaled), work, scores);
        else
            scores[0] = learner_->score(work.query.read(scaled), work);
        return Status::ok;
    }
    // The class that scores stand for.
    static int predicted(const double* scores) {
        if constexpr (Learner::multiclass) return static_cast<int>(pocketkernel::largest(scores, PK_CLASSES));
        return scores[0] >= 0.0;
    }

    // PK_STATE_BYTES bytes: of the learner, then of the scaler. Not before `start`.
    void save(unsigned char* to) const {
        pocketkernel::save(*learner_, to);
        scaler_.save(to, to + pocketkernel::state_bytes(*learner_));
    }
    // If it is refused, the model is unchanged, or reset; see pk_load.
    [[nodiscard]] Status load(const unsigned char* from, std::size_t size) {
        if (!learner_ || !from) return Status::not_ready;
        const std::size_t own = pocketkernel::state_bytes(*learner_);
        if (size != own + Scaler::state_bytes) return Status::state_wrong_size;
        if (!scaler_.valid(from, from + own)) return Status::state_damaged;
        const Status status = pocketkernel::load(*learner_, from, own);
        if (status == Status::ok) scaler_.load(from + own);
        return status;
    }
    bool started() const { return learner_ != nullptr; }

    Learner& learner() { return *learner_; }  // not before `start`

  private:
    using Row = pocketkernel::Row<typename Scaler::Value>;

    Status check(const pk_value* row) const {
        if (!learner_ || !row) return Status::not_ready;
        std::size_t fault = 0;
        const double limit = Scaler::bounds ? Scaler::largest : Learner::largest_value(pk_config::config().storage);
        return pocketkernel::check_values<Learner::takes_missing>(row, PK_FEATURES, limit, fault);
    }

    Learner* learner_ = nullptr;  // first, where an address reaches it
    Scaler scaler_;
    alignas(pocketkernel::pack_bytes) unsigned char block_[PK_BLOCK_BYTES] = {};
};

using PocketModel = DeviceModel<pk_config::Learner, pk_config::Scaler>;
