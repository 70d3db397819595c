/* The model as the Arduino IDE includes it: pk_start, pk_learn, pk_score, pk_save and pk_load. */
#include "pk_model.h"
