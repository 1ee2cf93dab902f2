//! How the engines on a schema tell each other of commits.

use super::{Control, Schema, State};

/// The statements by which one engine, the relay, tells all others of commits.
///
/// The relay holds an advisory lock. It reads the state again and again, and notifies the others
/// when it has changed: once for all commits in between, and never in a transaction that writes.
pub(crate) struct Relay {
    /// Has a session get the notifications.
    pub(crate) listen: String,
    /// Reads the state, and whether the session is the relay from now on.
    pub(crate) candidate: String,
    /// Reads the state, and notifies the others if its number is not the given one.
    pub(crate) relay: String,
    /// The settings of the relay's session, and that it gets no notifications itself.
    pub(crate) begin: String,
}

impl Relay {
    /// `silence_max` is the time, in milliseconds, after which the server ends the session of a
    /// relay that asks nothing, so that another engine takes its place.
    pub(crate) fn new(schema: &Schema, control: &Control, silence_max: u128) -> Self {
        let hash = blake3::hash(format!("relay of {}", schema.name()).as_bytes());
        let key = hash.as_bytes().first_chunk();
        let key = key.map_or(0, |bytes| i64::from_le_bytes(*bytes));
        let channel = format!("dflat__{:016x}", key.cast_unsigned());
        let state = &control.state;
        let with = |column: String| state.replacen(" FROM ", &format!(", {column} FROM "), 1);
        Self {
            listen: format!("LISTEN {channel}"),
            candidate: with(format!("pg_try_advisory_lock({key})")),
            relay: with(format!(
                "CASE WHEN last <> $1::bigint THEN \
                 pg_notify('{channel}', concat_ws(' ', last, engine, before)) END::text"
            )),
            // Version 13 lacks the setting.
            begin: format!(
                "UNLISTEN {channel}; SELECT set_config(name, '{silence_max}', false) \
                 FROM pg_settings WHERE name = 'idle_session_timeout'"
            ),
        }
    }
}

impl State {
    /// The state that a notification tells of, as far as it does. Any program can send one.
    pub(crate) fn told(notification: &str, generation: u16) -> Option<Self> {
        let mut numbers = notification.split(' ').map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Self {
            last: number()?,
            engine: number()?,
            before: number()?,
            ..Self::empty(generation)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notification_tells_whose_commits_are_new() {
        let state = State::told("12 -7 9", 3).unwrap();
        assert_eq!(state.record().id, 12);
        assert_eq!(state.generation, 3);
        assert_eq!(state.last_of_others(|engine| engine == -7), 9);
        assert_eq!(state.last_of_others(|_| false), 12);
        for forged in ["", "12", "12 7", "a b c", "1 2 99999999999999999999"] {
            assert!(State::told(forged, 0).is_none(), "{forged}");
        }
    }

    #[test]
    fn schemas_have_relays_of_their_own() {
        let relay = |name: &str| {
            let schema = Schema::new(name);
            Relay::new(&schema, &Control::new(&schema), 900)
        };
        assert_ne!(relay("a").listen, relay("b").listen);
        let statement = relay("a").candidate;
        assert!(
            statement.contains("tableoid, pg_try_advisory_lock("),
            "{statement}"
        );
    }
}
