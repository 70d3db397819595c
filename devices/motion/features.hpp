// Features of a window: for each axis mean, deviation, range and mean absolute step, in units of g.
#pragma once

#include <cmath>

constexpr int samples = 32, axes = 3, features_per_axis = 4;

inline void features_of(const float (&window)[samples][axes], float* out) {
    for (int a = 0; a < axes; ++a) {
        float sum = 0.0f, squares = 0.0f, low = window[0][a], high = window[0][a], steps = 0.0f;
        for (int n = 0; n < samples; ++n) {
            const float x = window[n][a];
            sum += x;
            squares += x * x;
            low = x < low ? x : low;
            high = x > high ? x : high;
            if (n > 0) steps += std::fabs(x - window[n - 1][a]);
        }
        const float mean = sum / samples, variance = squares / samples - mean * mean;
        *out++ = mean;
        *out++ = variance > 0.0f ? std::sqrt(variance) : 0.0f;
        *out++ = high - low;
        *out++ = steps / (samples - 1);
    }
}
