// Errors as values: one list of codes, each with a parameter and a sentence.
//
// `subject` names the invalid Config field or input; both are read together as "budget=1 is too small: ...".
#pragma once

namespace pocketkernel {

enum class Status {
    ok,
    features_out_of_range,
    classes_out_of_range,
    budget_out_of_range,
    budget_too_small,
    block_too_small,
    block_misaligned,
    outputs_out_of_range,
    kernels_empty,
    kernels_too_many,
    width_not_positive,
    degree_not_positive,
    alpha_out_of_range,
    loss_not_smooth,
    loss_not_logistic,
    kernels_not_gaussian,
    kernels_not_halving,
    step_not_positive,
    norm_bound_not_positive,
    reservoir_out_of_range,
    horizon_out_of_range,
    nu_out_of_range,
    rate_not_positive,
    regularization_out_of_range,
    quantile_out_of_range,
    storage_unsuited,
    value_not_finite,
    value_too_large,
    value_beyond_float16,
    columns_not_canonical,
    label_unknown,
    target_out_of_range,
    weight_out_of_range,
    state_wrong_size,
    state_foreign,
    state_newer,
    state_older,
    state_other_model,
    state_damaged,
    not_ready,
};

struct StatusText {
    const char* subject;
    const char* sentence;
};

[[nodiscard]] constexpr StatusText describe(Status status) {
    switch (status) {
        case Status::ok: return {"", "is fine"};
        case Status::features_out_of_range: return {"n_features", "is out of range: a row has 1 to 1,000,000 columns"};
        case Status::classes_out_of_range:
            return {"classes", "is out of range: this learner supports exactly 2, multiclass learners 2 to 10,000"};
        case Status::budget_out_of_range:
            return {"budget", "is out of range: it is a number of rows from 1 to 10,000,000"};
        case Status::budget_too_small: return {"budget", "is too small: halving needs at least 2 examples"};
        case Status::block_too_small: return {"memory", "is too small for this learner"};
        case Status::block_misaligned: return {"memory", "is not aligned to 64 bytes: use alignas(64)"};
        case Status::outputs_out_of_range: return {"y", "is out of range: a regressor predicts 1 to 1,000 numbers"};
        case Status::kernels_empty: return {"kernels", "is empty: give at least one kernel"};
        case Status::kernels_too_many: return {"kernels", "has too many kernels: at most 32 run side by side"};
        case Status::width_not_positive: return {"kernels", "has a width outside (1e-30, 1e30): use a positive number"};
        case Status::degree_not_positive: return {"kernels", "has a degree that is not a whole number from 1 to 64"};
        case Status::alpha_out_of_range: return {"kernels", "has an alpha that is not a whole number from 1 to 64"};
        case Status::loss_not_smooth:
            return {"loss",
                    "has no constants G1, G2 with |l'| <= G1 and |l'| <= G2 l, which this learner needs: "
                    "use 'logistic' or 'smooth_hinge'"};
        case Status::loss_not_logistic: return {"loss", "is not supported by multiclass learners: use 'logistic'"};
        case Status::kernels_not_gaussian:
            return {"kernels", "has a kernel that is not Gaussian: random features support only Gaussian kernels"};
        case Status::kernels_not_halving:
            return {
                "kernels",
                "is not supported by this learner: use a linear kernel, then Gaussians, each half as wide as the last"};
        case Status::step_not_positive: return {"step", "is out of range: use a positive number up to 1e12"};
        case Status::norm_bound_not_positive:
            return {"norm_bound", "is out of range: use a positive number up to 1e12"};
        case Status::reservoir_out_of_range:
            return {"reservoir", "is out of range: it is a number of rows from 1 to 10,000"};
        case Status::horizon_out_of_range:
            return {"horizon", "is out of range: it is a number of rounds from 1 to 1e18"};
        case Status::nu_out_of_range: return {"nu", "is out of range: use a number between 0 and 1, both excluded"};
        case Status::rate_not_positive: return {"rate", "is out of range: use a positive number up to 1e6"};
        case Status::regularization_out_of_range:
            return {"regularization", "is out of range: use a number from 0 (included) to 1/rate (excluded)"};
        case Status::quantile_out_of_range: return {"quantile", "is out of range: use a number from 0.001 to 0.999"};
        case Status::storage_unsuited:
            return {"storage", "is supported only by learners that store rows, and only with dtype='float32'"};
        case Status::value_not_finite:
            return {"X", "contains NaN or infinity: impute or drop such rows before they reach the learner"};
        case Status::value_too_large:
            return {
                "X",
                "has a value whose square would overflow (beyond 1e18 in float32, 1e36 for PocketClassifier, 1e70 in "
                "float64): rescale the column"};
        case Status::value_beyond_float16:
            return {"X",
                    "has a value beyond 65504, the largest that float16 can hold: rescale the column or use "
                    "storage='bfloat16'"};
        case Status::columns_not_canonical:
            return {"X",
                    "has sparse column indices that are out of range, unsorted or repeated within a row: call "
                    "sum_duplicates()"};
        case Status::label_unknown: return {"y", "has a label that is not one of the known classes"};
        case Status::target_out_of_range:
            return {"y", "has a target that is NaN, infinite or beyond 1e70: leave the row out, or rescale y"};
        case Status::weight_out_of_range:
            return {"sample_weight", "has a weight that is negative, not finite or beyond 1e9"};
        case Status::state_wrong_size:
            return {"state",
                    "has the wrong number of bytes for this model: it is truncated or belongs to another model"};
        case Status::state_foreign: return {"state", "is not a pocketkernel state"};
        case Status::state_newer:
            return {"state", "was written by a newer version of pocketkernel: update the library"};
        case Status::state_older:
            return {"state",
                    "was written by an earlier version of pocketkernel, in which this learner worked differently: "
                    "train the model again, or use that version"};
        case Status::state_other_model:
            return {"state", "belongs to a model with different parameters or another seed"};
        case Status::state_damaged:
            return {"state", "is damaged: its checksum is wrong or its contents are impossible"};
        case Status::not_ready:
            return {"the model", "is not ready: it has not been started, or a pointer that it needs is null"};
    }
    return {"", "is unknown"};
}

}  // namespace pocketkernel
