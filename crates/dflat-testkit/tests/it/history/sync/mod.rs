//! Exchanges of commits between files.

mod devices;
mod exchange;
mod faults;
mod forgotten;
mod honest;
mod hostile;
mod pushes;
mod received_marks;
mod schemas;
