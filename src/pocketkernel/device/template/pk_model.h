/* The model of this project as a C interface, on one static block of memory. No heap, no exceptions.
 *
 * Call pk_start once, then pk_learn and pk_score. Not for use from an interrupt while another call is running.
 * A row has PK_FEATURES values; where the model takes missing values, NaN is one. Functions that return an int return a
 * negative number, minus the number of a pocketkernel::Status, if the row, the label or the state cannot be used, if a
 * pointer that they need is null, or if pk_start has not succeeded; the model is then unchanged. */
#ifndef PK_MODEL_H
#define PK_MODEL_H

#include <stddef.h>

#include "pk_sizes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Build the model and load the state that it was exported with. Returns 0. Calling it again starts from there again. If
 * it fails, which it does if the flash is damaged, there is no model, and all other calls return an error. */
int pk_start(void);

#if PK_REGRESSION
/* Learn a row: `targets` has PK_OUTPUTS numbers. `answers`, if not null, receives as many, predicted before learning.
 */
int pk_learn(const pk_value* row, const double* targets, double* answers);
/* Predict PK_OUTPUTS numbers. */
int pk_score(const pk_value* row, double* answers);
#else
/* Learn a row with its class, from 0 to PK_CLASSES - 1. Returns the class predicted before learning. `scores`, if not
 * null, receives PK_OUTPUTS numbers: one per class, or, of a learner for two classes, one that is at least 0 for class
 * 1. */
int pk_learn(const pk_value* row, int label, double* scores);
/* Returns the predicted class. */
int pk_score(const pk_value* row, double* scores);
/* The names of the classes, as they were in Python. */
extern const char* const pk_labels[PK_CLASSES];
#endif

/* Write the state, PK_STATE_BYTES bytes, for pk_load or for pocketkernel.device.from_bytes in Python. Returns the
 * number of bytes; 0 if there is not so much room, or no model. */
size_t pk_save(unsigned char* to, size_t room);
/* Load a state of this model. Returns 0. Its size, its model and its checksums are checked. If the bytes may be forged,
 * compile pk_model.cpp with -DPOCKETKERNEL_VALIDATION=1: impossible contents are then refused, too, and the model starts
 * again with nothing learned. */
int pk_load(const unsigned char* from, size_t size);

#ifdef __cplusplus
}
#endif

#endif
