//! From the arguments to the command that carries them out.

use std::thread;
use std::time::Duration;

use crate::arguments::{Command, DictCommand};
use crate::failure::{Failure, Outcome};
use crate::session::Session;
use crate::{change, generate, pack, see, steps, transfer, upkeep};

/// How often a command that only reads begins anew, and the pause before.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Carries out a command other than `shell`.
///
/// A reader that meets a process that begins to write to a file that nobody had open fails, because
/// it may have seen parts of several states. A command that has printed nothing then begins anew.
pub(crate) fn run(command: &Command, session: &Session) -> Outcome {
    let mut tries = TRIES;
    loop {
        let outcome = once(command, session);
        let is_busy = outcome.as_ref().is_err_and(Failure::is_busy);
        let may_begin_anew = only_reads(command) || watches(command);
        let begins_anew = is_busy && tries > 0 && may_begin_anew && session.take_back();
        if begins_anew {
            tries -= 1;
            thread::sleep(PAUSE);
            continue;
        }
        let written = session.write_rest();
        return outcome.and_then(|found| written.map(|()| found));
    }
}

fn once(command: &Command, session: &Session) -> Outcome {
    match command {
        Command::Info(arguments) => see::info(arguments, session),
        Command::Types(arguments) => see::types(arguments, session),
        Command::Schema(arguments) => see::schema(arguments, session),
        Command::Stats(arguments) => see::stats(arguments, session),
        Command::Get(arguments) => see::get(arguments, session),
        Command::Query(arguments) => see::query(arguments, session),
        Command::Count(arguments) => see::count(arguments, session),
        Command::Explain(arguments) => see::explain(arguments, session),
        Command::Watch(arguments) => see::watch(arguments, session),
        Command::Insert(arguments) => change::insert(arguments, session),
        Command::Upsert(arguments) => change::upsert(arguments, session),
        Command::Set(arguments) => change::set(arguments),
        Command::Delete(arguments) => change::delete(arguments, session),
        Command::Dict(arguments) => change::dict(arguments, session),
        Command::Export(arguments) => transfer::export(arguments, session),
        Command::Import(arguments) => transfer::import(arguments, session),
        Command::Copy(arguments) => transfer::copy(arguments, session),
        Command::Diff(arguments) if arguments.from.is_some() => steps::diff(arguments, session),
        Command::Diff(arguments) => transfer::diff(arguments, session),
        Command::Pack(arguments) => pack::pack(arguments, session),
        Command::Unpack(arguments) => pack::unpack(arguments, session),
        Command::Verify(arguments) => pack::verify(arguments, session),
        Command::Log(arguments) => steps::log(arguments, session),
        Command::Show(arguments) => steps::show(arguments, session),
        Command::Undo(arguments) => steps::undo(arguments),
        Command::Commit(arguments) => steps::commit(arguments, session),
        Command::Branch(arguments) => steps::branch(arguments, session),
        Command::Merge(arguments) => steps::merge(arguments, session),
        Command::Sync(arguments) => steps::sync(arguments, session),
        Command::Serve(arguments) => steps::serve(arguments, session),
        Command::Forget(arguments) => steps::forget(arguments, session),
        Command::Backup(arguments) => upkeep::backup(arguments, session),
        Command::Compact(arguments) => upkeep::compact(arguments, session),
        Command::Check(arguments) => upkeep::check(arguments, session),
        Command::Repair(arguments) => upkeep::repair(arguments, session),
        Command::Salvage(arguments) => upkeep::salvage(arguments, session),
        Command::Purge(arguments) => upkeep::purge(arguments, session),
        Command::Shell(_) => Err(Failure::usage("the shell runs already")),
        Command::Completions(arguments) => generate::completions(arguments.shell),
        Command::Man(arguments) => generate::man(&arguments.folder),
    }
}

/// Whether a command only reads the state of the file. The others open it in their own way, so
/// that the shell must not hold it open meanwhile.
pub(crate) const fn only_reads(command: &Command) -> bool {
    match command {
        Command::Info(_)
        | Command::Types(_)
        | Command::Schema(_)
        | Command::Stats(_)
        | Command::Get(_)
        | Command::Query(_)
        | Command::Count(_)
        | Command::Explain(_)
        | Command::Export(_)
        | Command::Diff(_)
        | Command::Pack(_)
        | Command::Verify(_)
        | Command::Log(_)
        | Command::Show(_)
        | Command::Backup(_)
        | Command::Check(_) => true,
        Command::Dict(arguments) => {
            matches!(
                arguments.command,
                DictCommand::Get { .. } | DictCommand::Keys { .. }
            )
        }
        _ => false,
    }
}

/// Whether a command prints changes until it is ended.
const fn watches(command: &Command) -> bool {
    match command {
        Command::Watch(_) => true,
        Command::Dict(arguments) => matches!(arguments.command, DictCommand::Watch { .. }),
        _ => false,
    }
}
