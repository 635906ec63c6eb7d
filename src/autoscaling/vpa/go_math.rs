//! Powers and logarithms that round as Go's library rounds, to the last bit.
//!
//! Bucket borders become bytes by truncation, so a border that is one bit off is a recommendation that is one byte off.
//! The kernels are those of FreeBSD's msun in Go's order of operations; taking a number apart and putting it together
//! again is exact and comes from `libm`.
//!
//! Upstream: Go 1.26, src/math/{pow,exp,log}.go.

/// ln 2, upper and lower part.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-01;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// `x` to the power of a whole number: the mantissa is raised by squaring, the exponent is counted apart.
///
/// An infinite base gives 0 for negative powers and infinity for positive ones.
pub fn power(x: f64, exponent: i32) -> f64 {
    if exponent == 0 || x == 1.0 {
        return 1.0;
    }
    if exponent == 1 {
        return x;
    }
    if x.is_infinite() {
        return if exponent < 0 { 0.0 } else { x };
    }
    let (mut result, mut result_exponent) = (1.0, 0_i32);
    let (mut square, mut square_exponent) = libm::frexp(x);
    let mut left = exponent.unsigned_abs();
    while left != 0 {
        if square_exponent.abs() > 1 << 12 {
            // Beyond any float already; the sign of the exponent decides between zero and infinity.
            result_exponent += square_exponent;
            break;
        }
        if left & 1 == 1 {
            result *= square;
            result_exponent += square_exponent;
        }
        square *= square;
        square_exponent <<= 1;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        left >>= 1;
    }
    if exponent < 0 {
        (result, result_exponent) = (1.0 / result, -result_exponent);
    }
    libm::ldexp(result, result_exponent)
}

/// 2 to the power of `x`.
pub fn exp2(x: f64) -> f64 {
    if x > 1_023.999_999_999_999_9 {
        return f64::INFINITY;
    }
    if x < -1_074.0 {
        return 0.0;
    }
    let whole = if x > 0.0 { (x + 0.5) as i32 } else { (x - 0.5) as i32 };
    let rest = x - f64::from(whole);
    let (high, low) = (rest * LN2_HIGH, -rest * LN2_LOW);
    let r = high - low;
    let t = r * r;
    let c = r - t * (EXP[0] + t * (EXP[1] + t * (EXP[2] + t * (EXP[3] + t * EXP[4]))));
    let y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    libm::ldexp(y, whole)
}

/// Coefficients of the rational approximation of e to the power of r.
const EXP: [f64; 5] = [
    1.666_666_666_666_660_2e-01,
    -2.777_777_777_701_559_3e-03,
    6.613_756_321_437_934e-05,
    -1.653_390_220_546_525_2e-06,
    4.138_136_797_057_238_5e-08,
];

/// Natural logarithm of a positive finite number.
pub fn log(x: f64) -> f64 {
    let (mut mantissa, mut exponent) = libm::frexp(x);
    if mantissa < std::f64::consts::FRAC_1_SQRT_2 {
        mantissa *= 2.0;
        exponent -= 1;
    }
    let f = mantissa - 1.0;
    let k = f64::from(exponent);
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = s2 * (LOG[0] + s4 * (LOG[2] + s4 * (LOG[4] + s4 * LOG[6])));
    let even = s4 * (LOG[1] + s4 * (LOG[3] + s4 * LOG[5]));
    let r = odd + even;
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + r) + k * LN2_LOW)) - f)
}

/// Coefficients of the approximation of ln(1 + f).
const LOG: [f64; 7] = [
    6.666_666_666_666_735e-01,
    3.999_999_999_940_942e-01,
    2.857_142_874_366_239e-01,
    2.222_219_843_214_978_4e-01,
    1.818_357_216_161_805e-01,
    1.531_383_769_920_937_3e-01,
    1.479_819_860_511_658_6e-01,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_exact_numbers_are_exact() {
        assert_eq!(power(2.0, 10), 1024.0);
        assert_eq!(power(2.0, -3), 0.125);
        assert_eq!(power(1.5, 3), 3.375);
        assert_eq!(power(7.0, 0), 1.0);
        assert_eq!(power(7.0, 1), 7.0);
        assert_eq!(power(f64::INFINITY, -2), 0.0);
        assert_eq!(power(f64::INFINITY, 3), f64::INFINITY);
        assert_eq!(power(1e300, 300_000), f64::INFINITY);
    }

    #[test]
    fn the_second_border_is_the_recorded_one() {
        // 1.05^2 = 1.1025 (rounded), less 1, over 0.05: the recorded 0.020499999999999987 for a first bucket of 0.01.
        let ratio = 1.05;
        assert_eq!(0.01 * (power(ratio, 2) - 1.0) / (ratio - 1.0), 0.020_499_999_999_999_987);
    }

    #[test]
    fn exponential_and_logarithm_are_within_a_bit_of_the_library() {
        for step in -400..400 {
            let x = f64::from(step) / 7.0;
            let (own, other) = (exp2(x), libm::exp2(x));
            assert!((own - other).abs() <= other * 2.0 * f64::EPSILON, "2^{x}: {own} {other}");
            let positive = own;
            let (own, other) = (log(positive), libm::log(positive));
            assert!((own - other).abs() <= other.abs() * 2.0 * f64::EPSILON, "ln {positive}: {own} {other}");
        }
        assert_eq!(exp2(3.0), 8.0);
        assert_eq!(exp2(0.0), 1.0);
        assert_eq!(exp2(-2000.0), 0.0);
        assert_eq!(exp2(2000.0), f64::INFINITY);
        assert_eq!(log(1.0), 0.0);
    }
}
