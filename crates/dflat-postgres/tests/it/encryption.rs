//! Errors of connections that are to be encrypted.

use std::io::{Read, Write};
use std::net::TcpListener;

use dflat::{Error, ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;

use crate::engines::is_skipped;
use crate::server::server;

/// The error of a first read at an address.
fn refused(address: &str) -> Error {
    let workspace = Workspace::server(address);
    let workspace = match server() {
        Some(server) => workspace.root_certificates(server.authority.as_bytes()),
        None => workspace,
    };
    let error = workspace.open().unwrap().fetch::<Item>().count();
    error.unwrap_err()
}

#[test]
fn server_that_offers_no_encryption_is_told_from_one_that_is_not_trusted() {
    bounded(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // A server without encryption answers the request for it by one letter.
        let answered = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 8]).unwrap();
            stream.write_all(b"N").unwrap();
        });
        let error = refused(&format!("postgres://a@127.0.0.1:{port}/a?sslmode=require"));
        answered.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
        assert!(
            error.to_string().contains("offers no encryption"),
            "{error}"
        );
    });
}

#[test]
fn certificate_for_another_name_is_told_from_one_that_is_not_trusted() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let port = server().unwrap().port;
        let named = "host=other.example hostaddr=127.0.0.1";
        let error = refused(&format!("{named} port={port} user=dflat dbname=postgres"));
        assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
        assert!(error.to_string().contains("for another name"), "{error}");
    });
}

#[test]
fn mode_of_encryption_is_ignored_over_a_unix_socket() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        // The second address has a host of a network, too.
        let hosts = server.process.directory.display().to_string();
        for (hosts, port) in [
            (hosts.clone(), server.port.to_string()),
            (
                format!("{hosts},localhost"),
                format!("{0},{0}", server.port),
            ),
        ] {
            let address = format!("host={hosts} port={port} user=dflat dbname=postgres");
            let workspace = Workspace::server(&format!("{address} sslmode=require"));
            let workspace = workspace.schema("unencrypted").open().unwrap();
            assert_eq!(workspace.fetch::<Item>().count().unwrap(), 0);
        }
    });
}
