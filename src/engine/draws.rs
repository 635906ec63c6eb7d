//! Keyed random draws: bits as a function of (seed, replication, purpose, entity, occurrence).
//!
//! No generator carries state from one draw to the next, so what one part of a model draws never shifts the luck of
//! another: an extra node, a fault or a different number of workers leaves every other draw as it was (common random numbers).

/// The increment of SplitMix64 (2^64 over the golden ratio, odd): keeps the fixed point of the finaliser, 0, out of the chain.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The source of all randomness of one replication of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct KeyedDraws {
    /// The seed of the study.
    pub seed: u64,
    /// The number of the replication, from 0.
    pub replication: u64,
}

impl KeyedDraws {
    /// 64 uniform bits for this key, the same on every machine: `purpose` says what is drawn, `entity` for whom (a stable
    /// hash of a name, say), `occurrence` which of its draws, from 0. Keys that differ in one value never share their bits.
    #[inline]
    pub fn bits(&self, purpose: u64, entity: u64, occurrence: u64) -> u64 {
        [self.seed, self.replication, purpose, entity, occurrence]
            .into_iter()
            .fold(0, |state, value| mix(state ^ value))
    }
}

/// One step of SplitMix64 (Steele, Lea and Flood 2014, with Stafford's 13th mix): a bijection in which every bit of the
/// input flips every bit of the output about half of the time.
#[inline]
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(INCREMENT);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_golden() {
        // Computed by a separate program; its step was checked against SplitMix64's published first output for seed 0.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        const ALL: u64 = u64::MAX;
        for ([seed, replication, purpose, entity, occurrence], expected) in [
            ([0, 0, 0, 0, 0], 0x78ae_5a9a_6b5f_d45e_u64),
            ([0, 0, 0, 0, 1], 0xa5d3_758b_95b9_2366),
            ([0, 0, 0, 1, 0], 0x2d65_27ba_78af_243f),
            ([0, 0, 1, 0, 0], 0x3cee_a767_acc0_e20d),
            ([0, 1, 0, 0, 0], 0xf9ac_6e33_7c2f_0f1e),
            ([1, 0, 0, 0, 0], 0x348c_3d1a_f8be_c8e5),
            ([ALL, ALL, ALL, ALL, ALL], 0xb89a_7ad3_2342_5b56),
            ([42, 7, 3, 0xdead_beef_cafe_f00d, 123_456_789], 0x94d8_e782_8d9d_528a),
        ] {
            assert_eq!(KeyedDraws { seed, replication }.bits(purpose, entity, occurrence), expected);
        }
    }

    /// The five values of a key, all small, with `index` in the place of one of them.
    fn bits_at(place: usize, index: u64) -> u64 {
        let mut key = [1_u64, 2, 3, 4, 5];
        key[place] = index;
        KeyedDraws { seed: key[0], replication: key[1] }.bits(key[2], key[3], key[4])
    }

    #[test]
    fn neighbouring_keys_flip_half_of_the_bits() {
        const KEYS: u64 = 4_096;
        for place in 0..5 {
            // Per output bit the flips between keys i and i + 1 are binomial(4096, 1/2): mean 2048, standard deviation
            // sqrt(4096)/2 = 32. Five deviations are 160; 5 * 64 such tests pass by luck with probability above 0.9998.
            let mut flips = [0_i64; 64];
            for index in 0..KEYS {
                let difference = bits_at(place, index) ^ bits_at(place, index + 1);
                for (bit, count) in flips.iter_mut().enumerate() {
                    *count += i64::from(difference >> bit & 1 == 1);
                }
            }
            for (bit, count) in flips.into_iter().enumerate() {
                assert!((count - 2_048).abs() <= 160, "place {place}, bit {bit}: {count} flips");
            }
        }
    }

    #[test]
    fn pairs_of_neighbouring_keys_fill_the_unit_square_evenly() {
        const PAIRS: u64 = 65_536;
        for place in 0..5 {
            // 16 x 16 cells by the top four bits of neighbours: 256 expected in each, chi-square with 255 degrees of
            // freedom, mean 255, standard deviation sqrt(510) = 22.6; within six deviations, 119 to 391, on both sides.
            let mut cells = [0_i64; 256];
            for index in 0..PAIRS {
                let (a, b) = (bits_at(place, 2 * index), bits_at(place, 2 * index + 1));
                cells[(a >> 60 << 4 | b >> 60) as usize] += 1;
            }
            let squares: i64 = cells.iter().map(|count| (count - 256) * (count - 256)).sum();
            let chi_square = squares / 256;
            assert!((119..=391).contains(&chi_square), "place {place}: chi-square {chi_square}");
        }
    }
}
