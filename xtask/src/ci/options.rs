//! The options of a run: the steps to run, and whether to go on after a failure.

use crate::Result;
use crate::ci::{AfterFailure, Step};

/// The options of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Print the steps without running them.
    pub list: bool,
    /// Whether to go on after a failed step.
    pub after_failure: AfterFailure,
    /// The steps to run, by name; all if empty.
    only: Vec<String>,
    /// The first step to run.
    from: Option<String>,
}

impl Options {
    /// Reads the arguments of a task.
    ///
    /// # Errors
    /// An error if an option is unknown, or lacks the name of a step.
    pub fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            list: false,
            after_failure: AfterFailure::Stop,
            only: Vec::new(),
            from: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut name = || {
                let name = words.next().map(|name| (*name).to_owned());
                name.ok_or_else(|| format!("`{word}` needs the name of a step"))
            };
            match *word {
                "--list" => options.list = true,
                "--keep-going" => options.after_failure = AfterFailure::GoOn,
                "--only" => options.only.push(name()?),
                "--from" => options.from = Some(name()?),
                _ => return Err(format!("unknown option: {word}").into()),
            }
        }
        Ok(options)
    }

    /// The steps to run, in their order.
    ///
    /// # Errors
    /// An error if no step has a given name.
    pub fn select(&self, steps: Vec<Step>) -> Result<Vec<Step>> {
        for name in self.only.iter().chain(&self.from) {
            if !steps.iter().any(|step| step.name == name) {
                let names: Vec<_> = steps.iter().map(|step| step.name).collect();
                let names = names.join(", ");
                return Err(format!("there is no step `{name}`; there are: {names}").into());
            }
        }
        let is_before = |step: &Step| self.from.as_ref().is_some_and(|from| step.name != from);
        let steps = steps.into_iter().skip_while(is_before);
        let is_wanted =
            |step: &Step| self.only.is_empty() || self.only.iter().any(|name| step.name == name);
        Ok(steps.filter(is_wanted).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::Work;

    fn selected(words: &[&str]) -> std::result::Result<Vec<&'static str>, String> {
        let steps = ["one", "two", "three"].map(|name| Step {
            name,
            work: Work::Skip(String::new()),
        });
        let selected = Options::parse(words).and_then(|options| options.select(steps.into()));
        let names = selected.map(|steps| steps.iter().map(|step| step.name).collect());
        names.map_err(|error| error.to_string())
    }

    #[test]
    fn steps_are_chosen_by_name() {
        assert_eq!(selected(&[]), Ok(vec!["one", "two", "three"]));
        assert_eq!(selected(&["--from", "two"]), Ok(vec!["two", "three"]));
        let two = ["--only", "three", "--only", "one"];
        assert_eq!(selected(&two), Ok(vec!["one", "three"]));
        for (words, message) in [
            (
                ["--only", "four"].as_slice(),
                "there is no step `four`; there are: one, two, three",
            ),
            (&["--from"], "`--from` needs the name of a step"),
            (&["one"], "unknown option: one"),
        ] {
            assert_eq!(selected(words), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_run_can_be_listed_and_can_go_on() {
        let options = Options::parse(&["--keep-going", "--list"]).unwrap();
        assert!(options.list);
        assert_eq!(options.after_failure, AfterFailure::GoOn);
    }
}
