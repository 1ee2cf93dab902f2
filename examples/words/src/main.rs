//! A dictionary that is shipped with a program and amended by its user.
//!
//! The dictionary is a pack, which never changes. The user's words are a layer over it, a small
//! file of its own. A later edition of the dictionary gets the user's words again.
//!
//! `words 20000` makes a dictionary of 20,000 words instead of a million.
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

mod dictionary;

use std::path::Path;
use std::time::Instant;

use dflat::pack::{OpenOptions, Pack, PackChange, PackIter};
use dflat::{Error, ErrorKind, Result};

dflat::include_schema!("word");

use dictionary::{WORDS_MAX, words};

fn main() -> Result<()> {
    let count = count()?;
    // A program has its dictionary beside its other files, which it cannot write, and the user's
    // words in a folder of the user.
    let program = tempfile::tempdir().map_err(Error::user)?;
    let user = tempfile::tempdir().map_err(Error::user)?;

    let shipped = timed("built", || {
        Pack::build::<Word>(program.path(), words(count))
    })?;
    println!("  {}", name(&shipped));
    println!("  {count} words, {} KiB", shipped.size_bytes() >> 10);

    let shipped = timed("opened", || Pack::open(shipped.path()))?;
    look_up(&shipped, count)?;
    let amended = amend(&shipped, user.path())?;
    timed("verified", || amended.verify())?;
    new_edition(&shipped, &amended, program.path(), count)
}

/// The number of words: the first argument, or a million.
fn count() -> Result<u64> {
    let Some(argument) = std::env::args().nth(1) else {
        return Ok(WORDS_MAX);
    };
    let count = argument.parse().ok();
    let count = count.filter(|count| (100..=WORDS_MAX).contains(count));
    count.ok_or_else(|| {
        let message = format!("the number of words is from 100 to {WORDS_MAX}, not `{argument}`");
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

/// Looks up words by key, by their beginning, by position and by a condition.
fn look_up(pack: &Pack, count: u64) -> Result<()> {
    let dictionary = pack.objects::<Word>()?;
    let known: Vec<String> = words(count).take(1000).map(|entry| entry.word).collect();
    timed("looked up 1,000 words", || {
        for word in &known {
            let found = dictionary.get(word)?;
            assert!(found.is_some_and(|found| found.word() == word));
        }
        Ok(())
    })?;
    timed("looked up 1,000 words at once", || {
        let found = dictionary.get_many(known.iter().map(String::as_str))?;
        assert!(found.iter().all(Option::is_some));
        Ok(())
    })?;
    assert!(dictionary.get("dictionary")?.is_none());

    let begin_with = timed("found the words that begin with `be`", || {
        texts(dictionary.range("be".."bf")?)
    })?;
    assert!(begin_with.iter().all(|word| word.starts_with("be")));
    println!("  {} words, {:?} first", begin_with.len(), begin_with[0]);

    let middle = timed("found the word in the middle", || dictionary.nth(count / 2))?;
    if let Some(middle) = middle {
        assert_eq!(dictionary.index_of(middle.word())?, Some(count / 2));
        println!("  {:?}: {}", middle.word(), middle.meaning().unwrap_or("?"));
    }

    let often = timed("found the words in frequent use", || {
        let often = pack.fetch::<Word>().filter(Word::USES.ge(995));
        often.order_by(Word::USES.descending()).limit(10).all()
    })?;
    assert!(
        often
            .windows(2)
            .all(|pair| pair[0].uses() >= pair[1].uses())
    );
    println!("  {} of them", often.len());
    Ok(())
}

/// The user adds two words, changes one and removes one.
fn amend(shipped: &Pack, user: &Path) -> Result<Pack> {
    let dictionary = shipped.objects::<Word>()?;
    let (first, second) = (dictionary.nth(0)?, dictionary.nth(1)?);
    let (Some(first), Some(second)) = (first, second) else {
        unreachable!("there are a hundred words")
    };
    let entry = |word: &str, meaning: &str| WordData {
        meaning: Some(meaning.to_owned()),
        ..WordData::new(word.to_owned())
    };
    let path = timed("amended and saved", || {
        let edit = shipped.edit();
        let edit = edit.upsert::<Word>(&entry("dflat", "a database of objects"));
        let edit = edit.upsert::<Word>(&entry("pack", "objects in one file"));
        let edit = edit.upsert::<Word>(&entry(first.word(), "a word of mine"));
        let amended = edit.remove::<Word>(second.word()).finish()?;
        Ok(amended.save(user)?.path().to_owned())
    })?;

    // The program starts again. The layer names the dictionary by its digest.
    let amended = timed("opened the amended dictionary", || {
        Pack::open_on(&path, OpenOptions::default(), |digest| {
            Ok((digest == shipped.digest()).then(|| shipped.clone()))
        })
    })?;
    println!("  {}", name(&amended));
    println!(
        "  a layer of {} bytes",
        amended.size_bytes() - shipped.size_bytes()
    );
    let dictionary = amended.objects::<Word>()?;
    assert_eq!(dictionary.len(), shipped.objects::<Word>()?.len() + 1);
    assert!(dictionary.contains("dflat")? && !dictionary.contains(second.word())?);
    let changed = dictionary.get(first.word())?;
    assert!(changed.is_some_and(|changed| changed.meaning() == Some("a word of mine")));
    Ok(amended)
}

/// The next edition of the program lacks the last hundredth of the words. The user's changes are
/// put over the new dictionary, and both become one file.
fn new_edition(shipped: &Pack, amended: &Pack, program: &Path, count: u64) -> Result<()> {
    let next = timed("built the next edition", || {
        Pack::build::<Word>(program, words(count - count / 100))
    })?;
    let mut edit = next.edit();
    let mut changes = 0;
    for change in Pack::diff::<Word>(shipped, amended)? {
        edit = match change? {
            PackChange::Inserted(word) | PackChange::Updated { after: word, .. } => {
                edit.upsert_object(&word)
            }
            PackChange::Removed(word) => edit.remove::<Word>(word.word()),
        };
        changes += 1;
    }
    println!("  {changes} changes of the user");
    let amended = edit.finish()?;
    let whole = timed("made one file of both", || amended.compact(program))?;
    println!("  {}", name(&whole));
    assert_eq!(whole.bases().len(), 0);
    assert!(whole.objects::<Word>()?.contains("pack")?);
    let differences = timed("compared it with the layers", || {
        Ok(Pack::diff::<Word>(&amended, &whole)?.count())
    })?;
    assert_eq!(differences, 0);
    Ok(())
}

fn texts(words: PackIter<Word>) -> Result<Vec<String>> {
    words.map(|word| Ok(word?.word().to_owned())).collect()
}

fn name(pack: &Pack) -> String {
    let name = pack.path().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn timed<R>(what: &str, run: impl FnOnce() -> Result<R>) -> Result<R> {
    let started = Instant::now();
    let done = run()?;
    println!("{what}: {:?}", started.elapsed());
    Ok(done)
}
