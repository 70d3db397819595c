// Two normal random numbers from two uniform ones (Box & Muller).
#pragma once

#include "math.hpp"
#include "rng.hpp"

POCKETKERNEL_BEGIN

class Normal {
  public:
    explicit Normal(Rng& rng) : rng_(rng) {}

    double next() {
        has_spare_ = !has_spare_;
        if (!has_spare_) return spare_;
        const double radius = std::sqrt(-2.0 * logarithm(1.0 - rng_.uniform()));
        double cosine, sine;
        cosine_sine(6.283185307179586 * rng_.uniform(), cosine, sine);
        spare_ = radius * sine;
        return radius * cosine;
    }

  private:
    Rng& rng_;
    double spare_ = 0.0;
    bool has_spare_ = false;
};

POCKETKERNEL_END
