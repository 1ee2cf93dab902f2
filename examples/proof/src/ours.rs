//! The program on Dflat.

use std::path::Path;
use std::sync::{Arc, Mutex};

use dflat::{Fetch, FetchedResult, TransactionContext, Workspace};

use crate::load::{Change, Latencies, Load, Outcome, Result, SHOWN, drive, place, title};
use crate::schema::{Task, TaskChangeRequest, TaskData};

type Shown = Arc<Mutex<Option<FetchedResult<Task>>>>;

pub(crate) fn run(load: &Load, file: &Path) -> Result<Outcome> {
    let workspace = Workspace::open(file)?;
    fill(&workspace, load)?;
    let latencies = Arc::new(Latencies::new());
    let mut boards: Vec<Shown> = Vec::new();
    let mut subscriptions = Vec::new();
    for board in 0..load.boards {
        let (shown, times) = (Shown::default(), Arc::clone(&latencies));
        boards.push(Arc::clone(&shown));
        subscriptions.push(workspace.subscribe(top(&workspace, board), move |update| {
            if let Ok(update) = update {
                for task in update.inserted().chain(update.updated()) {
                    times.shown(task.touched());
                }
                *shown.lock().expect("no thread panics") = Some(update.into_result());
            }
        })?);
    }
    workspace.settle()?;
    let group = |changes: &[Change]| {
        let perform = |change: &Change| {
            let (change, times) = (*change, Arc::clone(&latencies));
            // One process writes, so no other one can commit between a read and a change.
            workspace.perform_changes([Task::TABLE], move |tx| make(tx, change, times.stamp()))
        };
        let handles: Vec<_> = changes.iter().map(perform).collect();
        handles
            .into_iter()
            .try_for_each(|handle| Ok(handle.wait()?))
    };
    let is_right = |board| {
        let shown = boards[board as usize]
            .lock()
            .expect("no thread panics")
            .clone();
        Ok(shown == Some(top(&workspace, board).all()?))
    };
    let outcome = drive(load, &latencies, group, is_right)?;
    drop(subscriptions);
    workspace.shutdown()?;
    Ok(outcome)
}

/// The view of a board.
pub(crate) fn top(workspace: &Workspace, board: u32) -> Fetch<'_, Task> {
    workspace
        .fetch::<Task>()
        .filter(Task::BOARD.eq(board) & Task::DONE.eq(false))
        .order_by(Task::RANK.descending())
        .limit(SHOWN)
}

pub(crate) fn make(tx: &TransactionContext, change: Change, touched: u64) -> dflat::Result<()> {
    let (Change::Add { id, .. }
    | Change::Rank { id, .. }
    | Change::Move { id, .. }
    | Change::Toggle { id }
    | Change::Remove { id }) = change;
    if let Change::Add { id, board, rank } = change {
        let title = title(id);
        let data = TaskData {
            id,
            board,
            rank,
            title: Some(title),
            done: false,
            touched,
        };
        return tx.submit(TaskChangeRequest::creation(data)).map(drop);
    }
    let Some(task) = tx.get::<Task>(id)? else {
        return Ok(());
    };
    if let Change::Remove { .. } = change {
        let deletion = TaskChangeRequest::deletion(tx, &task)?;
        return deletion.map_or(Ok(()), |deletion| tx.submit(deletion).map(drop));
    }
    let Some(mut request) = TaskChangeRequest::change(tx, &task)? else {
        return Ok(());
    };
    request.touched = touched;
    match change {
        Change::Rank { rank, .. } => request.rank = rank,
        Change::Move { board, .. } => request.board = board,
        _ => request.done = !request.done,
    }
    tx.submit(request).map(drop)
}

pub(crate) fn fill(workspace: &Workspace, load: &Load) -> Result<()> {
    let ids: Vec<u64> = (0..load.tasks).collect();
    for part in ids.chunks(50_000) {
        workspace.perform_changes_blocking([Task::TABLE], |tx| {
            for &id in part {
                let (board, rank) = place(id, load);
                let title = Some(title(id));
                let data = TaskData {
                    id,
                    board,
                    rank,
                    title,
                    done: false,
                    touched: 0,
                };
                tx.submit(TaskChangeRequest::creation(data))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
