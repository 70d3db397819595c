// The C interface, on one static model. GCC would otherwise be free to fuse a multiplication and an addition into one
// rounding, and the results would no longer be those of other machines.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "pk_model.h"

#include "pk_model.hpp"
#include "pk_soft_double.hpp"
#include "pk_state.hpp"

// Without an FPU for doubles: in this file, and only here, division and sqrt are those of pk_soft_double.hpp.
#if defined(__thumb2__) && !(defined(__ARM_FP) && __ARM_FP & 8)
extern "C" {
__attribute__((used, pcs("aapcs"))) double pk_divide(double x, double y) { return pk_soft::divide(x, y); }
__attribute__((used)) double pk_square_root(double x) { return pk_soft::square_root(x); }
}
__asm__(".thumb_set __aeabi_ddiv, pk_divide\n\t.thumb_set sqrt, pk_square_root");
#endif

namespace {

PocketModel model;

int minus(pocketkernel::Status status) { return -static_cast<int>(status); }
#if !PK_REGRESSION
int predicted_or(pocketkernel::Status status, const double* scores) {
    return status == pocketkernel::Status::ok ? PocketModel::predicted(scores) : minus(status);
}
#endif

}  // namespace

extern "C" {

int pk_start(void) { return minus(model.start(pk_first_state, sizeof pk_first_state, pk_constants)); }

#if PK_REGRESSION
int pk_learn(const pk_value* row, const double* targets, double* answers) {
    double room[PK_OUTPUTS];
    return minus(model.learn(row, targets, answers ? answers : room));
}
int pk_score(const pk_value* row, double* answers) {
    double room[PK_OUTPUTS];
    return minus(model.score(row, answers ? answers : room));
}
#else
int pk_learn(const pk_value* row, int label, double* scores) {
    double room[PK_OUTPUTS];
    if (!scores) scores = room;
    return predicted_or(model.learn(row, static_cast<std::size_t>(label), scores), scores);
}
int pk_score(const pk_value* row, double* scores) {
    double room[PK_OUTPUTS];
    if (!scores) scores = room;
    return predicted_or(model.score(row, scores), scores);
}
#endif

size_t pk_save(unsigned char* to, size_t room) {
    if (room < PK_STATE_BYTES || !to || !model.started()) return 0;
    model.save(to);
    return PK_STATE_BYTES;
}
int pk_load(const unsigned char* from, size_t size) { return minus(model.load(from, size)); }
}
