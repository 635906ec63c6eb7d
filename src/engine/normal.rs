//! The normal distribution by its quantile function: algorithm AS 241, PPND16 (Wichura 1988, Applied Statistics 37, 477-484).
//!
//! Relative error about 1e-16. Only +, *, / and `libm`'s logarithm and square root are used, so the result is the same
//! on every platform; and it grows with the probability, so luckier bits give shorter times in every variant of a run.

#![expect(clippy::excessive_precision, reason = "coefficients as published, so that they can be compared")]

/// Numerator and denominator of a rational function, the highest power first.
struct Rational {
    numerator: [f64; 8],
    denominator: [f64; 8],
}

impl Rational {
    fn at(&self, x: f64) -> f64 {
        let polynomial = |coefficients: &[f64; 8]| coefficients.iter().fold(0.0, |value, c| value * x + c);
        polynomial(&self.numerator) / polynomial(&self.denominator)
    }
}

/// For probabilities within 0.425 of one half, in 0.425^2 - (p - 1/2)^2.
const CENTRE: Rational = Rational {
    numerator: [
        2.509_080_928_730_122_672_7e3,
        3.343_057_558_358_812_810_5e4,
        6.726_577_092_700_870_085_3e4,
        4.592_195_393_154_987_145_7e4,
        1.373_169_376_550_946_112_5e4,
        1.971_590_950_306_551_442_7e3,
        1.331_416_678_917_843_774_5e2,
        3.387_132_872_796_366_608,
    ],
    denominator: [
        5.226_495_278_852_854_561e3,
        2.872_908_573_572_194_267_4e4,
        3.930_789_580_009_271_061e4,
        2.121_379_430_158_659_586_7e4,
        5.394_196_021_424_751_107_7e3,
        6.871_870_074_920_579_083e2,
        4.231_333_070_160_091_125_2e1,
        1.0,
    ],
};

/// For tails down to e^-25, in sqrt(-ln p) - 1.6.
const NEAR_TAIL: Rational = Rational {
    numerator: [
        7.745_450_142_783_414_076_4e-4,
        2.272_384_498_926_918_458_33e-2,
        2.417_807_251_774_506_117_7e-1,
        1.270_458_252_452_368_382_58,
        3.647_848_324_763_204_605_04,
        5.769_497_221_460_691_405_5,
        4.630_337_846_156_545_295_9,
        1.423_437_110_749_683_577_34,
    ],
    denominator: [
        1.050_750_071_644_416_843_24e-9,
        5.475_938_084_995_344_946e-4,
        1.519_866_656_361_645_719_66e-2,
        1.481_039_764_274_800_745_9e-1,
        6.897_673_349_851_000_045_5e-1,
        1.676_384_830_183_803_849_4,
        2.053_191_626_637_758_821_87,
        1.0,
    ],
};

/// For tails beyond e^-25, in sqrt(-ln p) - 5.
const FAR_TAIL: Rational = Rational {
    numerator: [
        2.010_334_399_292_288_132_65e-7,
        2.711_555_568_743_487_578_15e-5,
        1.242_660_947_388_078_438_6e-3,
        2.653_218_952_657_612_309_3e-2,
        2.965_605_718_285_048_912_3e-1,
        1.784_826_539_917_291_335_8,
        5.463_784_911_164_114_369_9,
        6.657_904_643_501_103_777_2,
    ],
    denominator: [
        2.044_263_103_389_939_785_64e-15,
        1.421_511_758_316_445_888_7e-7,
        1.846_318_317_510_054_681_8e-5,
        7.868_691_311_456_132_591e-4,
        1.487_536_129_085_061_485_25e-2,
        1.369_298_809_227_358_053_1e-1,
        5.998_322_065_558_879_376_9e-1,
        1.0,
    ],
};

/// The standard normal quantile of a probability strictly between 0 and 1.
pub fn quantile(probability: f64) -> f64 {
    debug_assert!(probability > 0.0 && probability < 1.0, "a quantile needs a probability inside (0, 1)");
    let centred = probability - 0.5;
    if centred.abs() <= 0.425 {
        return centred * CENTRE.at(0.180_625 - centred * centred);
    }
    let tail = if centred < 0.0 { probability } else { 1.0 - probability };
    let depth = libm::sqrt(-libm::log(tail));
    let distance = if depth <= 5.0 { NEAR_TAIL.at(depth - 1.6) } else { FAR_TAIL.at(depth - 5.0) };
    if centred < 0.0 { -distance } else { distance }
}

/// The standard normal probability of falling below `x`.
pub fn probability_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_probabilities() {
        // libm's erfc is an independent way to the same function; all three branches, both sides.
        for probability in
            [1e-300, 1e-20, 1e-12, 1e-6, 0.01, 0.074, 0.076, 0.3, 0.5, 0.7, 0.924, 0.926, 0.99, 0.999_999]
        {
            let back = probability_below(quantile(probability));
            assert!((back / probability - 1.0).abs() < 1e-12, "{probability} came back as {back}");
        }
        // Table values: the 97.5 % and 99 % points.
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!((quantile(0.99) - 2.326_347_874_040_841).abs() < 1e-14);
        assert_eq!(quantile(0.5), 0.0);
    }
}
