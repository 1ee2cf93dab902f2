//! One program asks the server for commits, and notifies the others.

use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, thread};

use dflat::{Subscription, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_postgres::{PostgresBackend, PostgresOptions};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::is_skipped;
use crate::server::{new_schema, server, sql};

/// A program on a schema, whose connections have a name.
fn program(name: &str, schema: &str) -> Workspace {
    let address = format!("{} application_name='{name}'", server().unwrap().address());
    patient(&address, schema, true)
}

/// A program that merges no deliveries, however slow the machine is.
fn patient(address: &str, schema: &str, is_notified: bool) -> Workspace {
    let options = PostgresOptions {
        schema: schema.to_owned(),
        is_notified,
        ..PostgresOptions::default()
    };
    let patient = EngineOptions {
        patience: Duration::from_secs(300),
        ..EngineOptions::default()
    };
    Workspace::on_backend(PostgresBackend::new(address, options).unwrap(), patient)
}

fn create(workspace: &Workspace, rank: i32) {
    let created = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let data = ItemData {
            id: format!("item {rank}"),
            rank,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::creation(data)).map(drop)
    });
    created.unwrap();
}

type Counts = Arc<Mutex<Vec<usize>>>;

/// Notes the number of objects of each delivery.
fn follow(workspace: &Workspace) -> (Counts, Subscription) {
    let counts = Counts::default();
    let noted = Arc::clone(&counts);
    let subscription = workspace.subscribe(workspace.fetch::<Item>(), move |update| {
        noted.lock().unwrap().push(update.unwrap().result().len());
    });
    (counts, subscription.unwrap())
}

/// Waits until a program was told of each commit up to a number of objects, one by one.
fn has_each(counts: &Counts, objects: usize) {
    until(|| counts.lock().unwrap().last() == Some(&objects));
    let counts = counts.lock().unwrap();
    let first = counts[0];
    assert_eq!(*counts, (first..=objects).collect::<Vec<_>>());
}

/// The processes of the server, with the names of their connections, that run a function of the
/// programs with these names.
fn running(function: &str, names: &[&str]) -> Vec<(String, String)> {
    let names = names.iter().map(|name| format!("'{name}'"));
    let query = format!(
        "SELECT pid, application_name FROM pg_stat_activity WHERE query LIKE '%{function}%' \
         AND application_name IN ({})",
        names.collect::<Vec<_>>().join(", ")
    );
    let rows = sql(server().unwrap(), &query).unwrap().into_iter();
    rows.map(|row| (row[0].clone(), row[1].clone())).collect()
}

fn relays(names: &[&str]) -> Vec<(String, String)> {
    running("pg_notify", names)
}

/// Waits until one of these programs is the relay, and the others listen to it.
fn is_relayed(names: &[&str]) -> (String, String) {
    until(|| {
        let listeners = running("pg_try_advisory_lock", names);
        relays(names).len() == 1 && listeners.len() == names.len() - 1
    });
    let relay = relays(names);
    relay.into_iter().next().unwrap()
}

#[test]
fn one_program_asks_for_all() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let names = [0, 1, 2, 3].map(|number| format!("{schema} {number}"));
        let names = names.each_ref().map(String::as_str);
        let programs = names.map(|name| program(name, &schema));
        create(&programs[0], 0);
        let followed: Vec<_> = programs.iter().map(follow).collect();
        let (_, relay) = is_relayed(&names);
        for rank in 1..40 {
            create(&programs[rank as usize % 4], rank);
        }
        for ((counts, _), program) in followed.iter().zip(&programs) {
            has_each(counts, 40);
            assert_eq!(program.stats().renewals, 0);
        }
        assert_eq!(is_relayed(&names).1, relay);
        // Another schema has a relay of its own.
        let other = new_schema();
        let elsewhere = program(&other, &other);
        create(&elsewhere, 0);
        let (counts, subscription) = follow(&elsewhere);
        is_relayed(&[&other]);
        has_each(&counts, 1);
        drop((subscription, followed));
    });
}

#[test]
fn another_program_takes_the_place_of_a_relay_whose_connection_ends() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let names = [0, 1, 2].map(|number| format!("{schema} {number}"));
        let names = names.each_ref().map(String::as_str);
        let programs = names.map(|name| program(name, &schema));
        create(&programs[0], 0);
        let followed: Vec<_> = programs.iter().map(follow).collect();
        let mut rank = 1;
        for _ in 0..3 {
            let (process, _) = is_relayed(&names);
            let end = format!("SELECT pg_terminate_backend({process})");
            sql(server().unwrap(), &end).unwrap();
            // Without a relay, and with the next one.
            until(|| {
                create(&programs[0], rank);
                rank += 1;
                let relays = relays(&names);
                rank % 20 == 0 && relays.len() == 1 && relays[0].0 != process
            });
            for ((counts, _), program) in followed.iter().zip(&programs) {
                has_each(counts, rank as usize);
                assert_eq!(program.stats().renewals, 0);
            }
        }
        drop(followed);
    });
}

/// The variable of the environment that has a child be a program on this schema.
const CHILD: &str = "DFLAT_TEST_RELAY";

#[test]
fn child_that_follows_until_it_is_killed() {
    let Ok(argument) = env::var(CHILD) else {
        return;
    };
    let (address, schema) = argument.split_once('|').unwrap();
    let workspace = patient(address, schema, true);
    let (counts, _subscription) = follow(&workspace);
    has_each(&counts, 60);
    // Says to the others that it has got all commits.
    create(&workspace, 1_000);
    loop {
        thread::park();
    }
}

/// A child, which is killed with the test.
struct Following(Child);

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Following {
    fn start(name: &str, schema: &str) -> Self {
        let address = format!("{} application_name='{name}'", server().unwrap().address());
        let mut child = Command::new(env::current_exe().unwrap());
        let test = "following::relay::child_that_follows_until_it_is_killed";
        child.args(["--exact", test]).stdout(Stdio::null());
        child.env(CHILD, format!("{address}|{schema}"));
        Self(child.spawn().unwrap())
    }

    fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        let sent = kill.arg(signal).arg(self.0.id().to_string()).status();
        assert!(sent.unwrap().success());
    }
}

/// The relay is a process of its own, which gets a signal. The others go on.
fn check_signal(signal: &str) {
    let schema = new_schema();
    let (child_name, name) = (format!("{schema} child"), format!("{schema} own"));
    let workspace = program(&name, &schema);
    create(&workspace, 0);
    let child = Following::start(&child_name, &schema);
    is_relayed(&[&child_name]);
    let (counts, subscription) = follow(&workspace);
    is_relayed(&[&child_name, &name]);
    let writer = program("writer", &schema);
    (1..20).for_each(|rank| create(&writer, rank));
    has_each(&counts, 20);
    child.signal(signal);
    (20..40).for_each(|rank| create(&writer, rank));
    has_each(&counts, 40);
    until(|| {
        relays(&[&child_name, &name])
            .iter()
            .any(|relay| relay.1 == name)
    });
    (40..60).for_each(|rank| create(&writer, rank));
    has_each(&counts, 60);
    if signal == "-STOP" {
        child.signal("-CONT");
        // The child has got every commit, too.
        has_each(&counts, 61);
    }
    assert_eq!(workspace.stats().renewals, 0);
    drop(subscription);
}

#[test]
fn another_program_takes_the_place_of_a_relay_that_is_killed() {
    if !is_skipped() {
        bounded(|| check_signal("-KILL"));
    }
}

#[test]
fn another_program_takes_the_place_of_a_relay_that_stands_still() {
    if !is_skipped() {
        bounded(|| check_signal("-STOP"));
    }
}

#[test]
fn forged_notifications_delay_nothing() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let names = [0, 1].map(|number| format!("{schema} {number}"));
        let names = names.each_ref().map(String::as_str);
        let programs = names.map(|name| program(name, &schema));
        create(&programs[0], 0);
        let followed: Vec<_> = programs.iter().map(follow).collect();
        let (process, _) = is_relayed(&names);
        let query = format!("SELECT query FROM pg_stat_activity WHERE pid = {process}");
        let query = sql(server().unwrap(), &query).unwrap()[0][0].clone();
        let (_, channel) = query.split_once("pg_notify('").unwrap();
        let (channel, _) = channel.split_once('\'').unwrap();
        for (rank, forged) in (1..).zip(["", "x", "0 0 0", "99999999 1 1", "-1 -1 -1", "7"]) {
            sql(
                server().unwrap(),
                &format!("SELECT pg_notify('{channel}', '{forged}')"),
            )
            .unwrap();
            create(&programs[rank as usize % 2], rank);
            for (counts, _) in &followed {
                has_each(counts, 1 + rank as usize);
            }
        }
        assert_eq!(
            programs[0].stats().renewals + programs[1].stats().renewals,
            0
        );
        drop(followed);
    });
}

#[test]
fn program_that_asks_by_itself_follows_the_others() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let address = format!(
            "{} application_name='{schema}'",
            server().unwrap().address()
        );
        let alone = patient(&address, &schema, false);
        let writer = program("writer", &schema);
        create(&writer, 0);
        let (counts, subscription) = follow(&alone);
        (1..20).for_each(|rank| create(&writer, rank));
        has_each(&counts, 20);
        assert!(relays(&[&schema]).is_empty());
        assert_eq!(alone.stats().renewals, 0);
        drop(subscription);
    });
}
