//! Mean, standard deviation and Student's t interval of a few numbers, the same on every platform.
//!
//! [`Moments`] takes numbers one by one (Welford 1962); [`t_quantile`] gives the factor of an interval, from the finite
//! series for the distribution of |T| (Abramowitz and Stegun 26.7.3 and 26.7.4) solved by halving, and beyond a thousand
//! degrees of freedom from its expansion around the normal quantile (26.7.5). Only +, -, *, /, square roots and `libm`.

use crate::engine::normal;

/// The confidence of the intervals of a sweep.
pub const CONFIDENCE: f64 = 0.95;

/// Number, mean and spread of the numbers pushed so far. The same numbers in the same order give the same bits.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Moments {
    /// Takes one more.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// How many were pushed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The arithmetic mean; `None` without numbers.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The sample variance, with n - 1; `None` of fewer than two.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).max(0.0))
    }

    /// The sample standard deviation; `None` of fewer than two.
    pub fn standard_deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Half the width of the t interval around the mean that covers the true mean with this confidence if the numbers are
    /// independent and near enough to normal; `None` of fewer than two.
    pub fn half_width(&self, quantiles: &mut Quantiles) -> Option<f64> {
        let error = (self.variance()? / self.count as f64).sqrt();
        Some(quantiles.at(self.count - 1) * error)
    }
}

/// Quantiles of one confidence, each computed once.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantiles {
    confidence: f64,
    known: Vec<(u64, f64)>,
}

impl Quantiles {
    /// For intervals of this confidence, in (0, 1).
    pub fn new(confidence: f64) -> Quantiles {
        Quantiles { confidence, known: Vec::new() }
    }

    /// The quantile for these degrees of freedom.
    pub fn at(&mut self, degrees: u64) -> f64 {
        match self.known.binary_search_by_key(&degrees, |(degrees, _)| *degrees) {
            Ok(index) => self.known[index].1,
            Err(index) => {
                let quantile = t_quantile(self.confidence, degrees);
                self.known.insert(index, (degrees, quantile));
                quantile
            }
        }
    }
}

/// Degrees of freedom up to which the series is summed.
const SERIES_DEGREES_MAX: u64 = 1_000;

/// The t with |T| <= t in a share `confidence` of all draws, for T of Student's distribution with so many degrees of
/// freedom (at least 1). `confidence` is in (0, 1).
pub fn t_quantile(confidence: f64, degrees: u64) -> f64 {
    assert!(confidence > 0.0 && confidence < 1.0 && degrees > 0, "a confidence in (0, 1) and a degree of freedom");
    if degrees > SERIES_DEGREES_MAX {
        return expansion(confidence, degrees as f64);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while share_within(high, degrees) < confidence {
        (low, high) = (high, high * 2.0);
    }
    // Doubles have 53 bits: no halving after that moves an end.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if share_within(middle, degrees) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The share of draws of T with |T| <= t.
fn share_within(t: f64, degrees: u64) -> f64 {
    let n = degrees as f64;
    let sine = t / (n + t * t).sqrt();
    let cosine_squared = n / (n + t * t);
    if degrees % 2 == 1 {
        let angle = libm::atan(t / n.sqrt());
        // cos (1 + 2/3 cos^2 + (2 4)/(3 5) cos^4 + ...), (n - 1) / 2 terms.
        let (mut term, mut sum) = (cosine_squared.sqrt(), 0.0);
        for k in 1..=(degrees - 1) / 2 {
            sum += term;
            term *= cosine_squared * (2 * k) as f64 / (2 * k + 1) as f64;
        }
        return (angle + sine * sum) * std::f64::consts::FRAC_2_PI;
    }
    // 1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 + ..., n / 2 terms.
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 1..=degrees / 2 {
        sum += term;
        term *= cosine_squared * (2 * k - 1) as f64 / (2 * k) as f64;
    }
    sine * sum
}

fn expansion(confidence: f64, n: f64) -> f64 {
    let z = normal::quantile(0.5 + 0.5 * confidence);
    let square = z * z;
    // Each term is a polynomial in z, odd: z times one in z squared, highest power first.
    let odd = |coefficients: &[f64]| z * coefficients.iter().fold(0.0, |value, c| value * square + c);
    z + odd(&[1.0, 1.0]) / (4.0 * n)
        + odd(&[5.0, 16.0, 3.0]) / (96.0 * n * n)
        + odd(&[3.0, 19.0, 17.0, -15.0]) / (384.0 * n * n * n)
        + odd(&[79.0, 776.0, 1_482.0, -1_920.0, -945.0]) / (92_160.0 * n * n * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_of_a_few_numbers() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.variance()), (None, None));
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.push(value);
        }
        // Sum 40, mean 5; squared distances 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, over 7.
        assert_eq!((moments.count(), moments.mean()), (8, Some(5.0)));
        assert!((moments.variance().unwrap() - 32.0 / 7.0).abs() < 1e-15);
        // sqrt(32 / 7 / 8) = 0.755929; times t(0.95, 7) = 2.364624: 1.787488.
        let half_width = moments.half_width(&mut Quantiles::new(0.95)).unwrap();
        assert!((half_width - 1.787_488).abs() < 1e-6, "{half_width}");
    }

    #[test]
    fn one_number_has_a_mean_and_no_interval_and_equal_numbers_have_none_of_width() {
        let mut moments = Moments::default();
        moments.push(0.1);
        assert_eq!((moments.mean(), moments.half_width(&mut Quantiles::new(0.95))), (Some(0.1), None));
        (0..9).for_each(|_| moments.push(0.1));
        assert_eq!((moments.mean(), moments.standard_deviation()), (Some(0.1), Some(0.0)));
    }

    #[test]
    fn a_small_spread_around_a_large_mean_is_not_lost() {
        // 10^9 + 1, + 2, + 3: the naive sum of squares, 3 * 10^18, would have no digit left for a variance of 1.
        let mut moments = Moments::default();
        [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0].into_iter().for_each(|value| moments.push(value));
        assert_eq!((moments.mean(), moments.variance()), (Some(1e9 + 2.0), Some(1.0)));
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, at_95, at_99) in [
            (1, 12.706, 63.657),
            (2, 4.303, 9.925),
            (3, 3.182, 5.841),
            (4, 2.776, 4.604),
            (9, 2.262, 3.250),
            (10, 2.228, 3.169),
            (29, 2.045, 2.756),
            (30, 2.042, 2.750),
            (99, 1.984, 2.626),
            (1_000, 1.962, 2.581),
            (1_000_000, 1.960, 2.576),
        ] {
            assert!((t_quantile(0.95, degrees) - at_95).abs() < 0.000_51, "{degrees}");
            assert!((t_quantile(0.99, degrees) - at_99).abs() < 0.000_51, "{degrees}");
        }
    }

    #[test]
    fn quantiles_of_closed_forms_are_exact() {
        // One degree: tan(pi c / 2); c = 1/2 gives 1. Two degrees: c sqrt(2 / (1 - c^2)); c = 0.6 gives 0.6 sqrt(3.125).
        assert!((t_quantile(0.5, 1) - 1.0).abs() < 1e-14);
        assert!((t_quantile(0.6, 2) - 0.6 * 3.125_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn the_series_and_the_expansion_meet() {
        for confidence in [0.5, 0.9, 0.95, 0.99, 0.999] {
            let (series, expanded) = (t_quantile(confidence, 1_000), expansion(confidence, 1_000.0));
            assert!((series - expanded).abs() < 1e-11, "{confidence}: {series} and {expanded}");
        }
    }

    #[test]
    fn quantiles_are_computed_once() {
        let mut quantiles = Quantiles::new(0.95);
        for degrees in [29, 4, 29, 9, 4] {
            assert_eq!(quantiles.at(degrees), t_quantile(0.95, degrees));
        }
        assert_eq!(quantiles.known.len(), 3);
    }
}
