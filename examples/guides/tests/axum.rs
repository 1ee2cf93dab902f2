//! The web server of `docs/async.md`.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

dflat::include_schema!("task");

mod server {
    use super::{Task, TaskChangeRequest, TaskData};

    // The page has the code from here on.
    use axum::Router;
    use axum::extract::{Path, State};
    use axum::http::StatusCode;
    use axum::routing::get;
    use dflat::{ErrorKind, Workspace};

    pub fn app(workspace: Workspace) -> Router {
        Router::new()
            .route("/tasks/{id}", get(title).post(add))
            .route("/open", get(count))
            .with_state(workspace)
    }

    async fn title(State(workspace): State<Workspace>, Path(id): Path<u64>) -> Answer {
        let task = workspace.get_async::<Task>(id).await.map_err(answer)?;
        let task = task.ok_or((StatusCode::NOT_FOUND, format!("no task {id}")))?;
        Ok(task.title().unwrap_or_default().to_owned())
    }

    async fn add(State(workspace): State<Workspace>, Path(id): Path<u64>, title: String) -> Answer {
        let added = workspace.perform_changes([Task::TABLE], move |tx| {
            tx.submit(TaskChangeRequest::creation(TaskData {
                id,
                title: Some(title),
                ..TaskData::default()
            }))
        });
        added.await.map_err(answer)?;
        Ok(format!("added task {id}"))
    }

    async fn count(State(workspace): State<Workspace>) -> Answer {
        let open = workspace.fetch::<Task>().filter(Task::DONE.eq(false));
        let count = open.count_async().await.map_err(answer)?;
        Ok(count.to_string())
    }

    type Answer = Result<String, (StatusCode, String)>;

    /// The response to a request whose call has failed.
    fn answer(error: dflat::Error) -> (StatusCode, String) {
        let status = match error.kind() {
            ErrorKind::AlreadyExists => StatusCode::CONFLICT,
            ErrorKind::Busy | ErrorKind::ShutDown => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, error.to_string())
    }

    pub async fn serve(
        listener: tokio::net::TcpListener,
        workspace: Workspace,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let app = app(workspace.clone());
        // After `stop`, the server accepts no request, and ends when all responses are sent.
        axum::serve(listener, app)
            .with_graceful_shutdown(stop)
            .await?;
        workspace
            .shutdown_async()
            .await
            .map_err(std::io::Error::other)
    }
    // The page has the code up to here.
}

#[allow(dead_code, reason = "the program of the page; its server is tested")]
mod program {
    use super::server::serve;
    use dflat::Workspace;

    // The page has this `main`.
    dflat::include_schema!("task");

    #[tokio::main(flavor = "current_thread")]
    async fn main() -> Result<(), Box<dyn std::error::Error>> {
        let workspace = Workspace::open("tasks.db")?;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
        let stop = async {
            // Without the signal, the server runs until its process ends.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        Ok(serve(listener, workspace, stop).await?)
    }
    // The page has its `main` up to here.
}

/// A request, and the status and the text of its response.
async fn request(port: u16, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let length = body.len();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: \
         {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, text) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, text.to_owned())
}

// Promise: async#A9
#[test]
fn the_server_answers_on_one_thread_and_ends_gracefully() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let workspace = dflat::Workspace::open(&path).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let stopped = async { stopped.await.unwrap() };
        let server = tokio::spawn(server::serve(listener, workspace.clone(), stopped));

        let adding: Vec<_> = (1..=50)
            .map(|id| {
                tokio::spawn(async move {
                    let path = format!("/tasks/{id}");
                    request(port, "POST", &path, &format!("title {id}")).await
                })
            })
            .collect();
        for (id, added) in (1..=50).zip(adding) {
            assert_eq!(added.await.unwrap(), (200, format!("added task {id}")));
        }
        assert_eq!(
            request(port, "GET", "/tasks/7", "").await,
            (200, "title 7".to_owned())
        );
        assert_eq!(
            request(port, "GET", "/open", "").await,
            (200, "50".to_owned())
        );
        assert_eq!(request(port, "GET", "/tasks/51", "").await.0, 404);
        assert_eq!(request(port, "POST", "/tasks/7", "again").await.0, 409);

        stop.send(()).unwrap();
        server.await.unwrap().unwrap();
        let refused = workspace.get_async::<Task>(7).await.unwrap_err();
        assert_eq!(refused.kind(), dflat::ErrorKind::ShutDown);
    });
}

#[test]
fn the_page_shows_the_server_and_its_main() {
    shows(
        "// The page has the code from here on.\n",
        "    // The page has the code up to here.",
    );
    shows(
        "// The page has this `main`.\n",
        "    // The page has its `main` up to here.",
    );
}

/// Checks that the page has the code between two lines of this file.
fn shows(first: &str, last: &str) {
    let source = include_str!("axum.rs");
    let (_, code) = source.split_once(first).unwrap();
    let (code, _) = code.split_once(last).unwrap();
    let code: String = code
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect();
    let page = include_str!("../../../docs/async.md");
    assert!(page.contains(&format!("```rust\n{code}```")), "{code}");
}
