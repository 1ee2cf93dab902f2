//! Exchanges of commits between files.

mod devices;
mod exchange;
mod faults;
mod forgotten;
mod found;
mod hostile;
mod pushes;
mod received_marks;
mod schemas;
