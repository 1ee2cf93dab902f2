//! The words of the dictionary, which are made up.

use crate::WordData;

const CONSONANTS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
const VOWELS: &[u8; 5] = b"aeiou";

/// The largest dictionary: each word has three of a hundred syllables.
pub(crate) const WORDS_MAX: u64 = 1_000_000;

/// The first `count` words, in no order. Each run gives the same ones.
pub(crate) fn words(count: u64) -> impl Iterator<Item = WordData> {
    // The step has no divisor in common with the number of words, so no word comes twice.
    (0..count).map(|at| entry(at * 654_321 % WORDS_MAX))
}

fn entry(number: u64) -> WordData {
    let syllables = [number / 10_000, number / 100 % 100, number % 100];
    let word = syllables.iter().flat_map(|syllable| {
        let (consonant, vowel) = (syllable / 5, syllable % 5);
        [
            CONSONANTS[consonant as usize % 20],
            VOWELS[vowel as usize % 5],
        ]
    });
    let word: String = word.map(char::from).collect();
    WordData {
        meaning: Some(format!(
            "thing number {number} of those that have no other name"
        )),
        uses: (number.wrapping_mul(0x9e37_79b9) >> 20) as u32 % 1000,
        ..WordData::new(word)
    }
}
