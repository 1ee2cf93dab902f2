//! The plan in a file.

use dflat::{Object, Result, Workspace};

use crate::{Stop, StopChangeRequest, StopData};

/// Opens a file that keeps a history of the stops.
pub(crate) fn open(file: &str) -> Result<Workspace> {
    Workspace::builder(file).versioned::<Stop>().open()
}

/// Adds a stop, or changes its nights.
pub(crate) fn stay(workspace: &Workspace, place: &str, nights: u16) -> Result<()> {
    workspace.perform_changes_blocking([Stop::TABLE], |tx| {
        let mut data = match tx.get::<Stop>(place)? {
            Some(stop) => stop.to_data(),
            None => StopData {
                place: place.to_owned(),
                ..StopData::default()
            },
        };
        data.nights = nights;
        tx.submit(StopChangeRequest::upsert(data)).map(drop)
    })
}

/// Books a hotel at a stop.
pub(crate) fn book(workspace: &Workspace, place: &str, hotel: &str) -> Result<()> {
    workspace.perform_changes_blocking([Stop::TABLE], |tx| {
        if let Some(stop) = tx.get::<Stop>(place)? {
            let mut data = stop.to_data();
            data.hotel = Some(hotel.to_owned());
            tx.submit(StopChangeRequest::upsert(data))?;
        }
        Ok(())
    })
}

/// Prints the plan.
pub(crate) fn show(workspace: &Workspace, whose: &str) -> Result<()> {
    for stop in workspace
        .fetch::<Stop>()
        .order_by(Stop::PLACE.ascending())
        .all()?
        .iter()
    {
        let hotel = stop.hotel().unwrap_or("no hotel");
        println!(
            "{whose}: {}, {} nights, {hotel}",
            stop.place(),
            stop.nights()
        );
    }
    Ok(())
}
