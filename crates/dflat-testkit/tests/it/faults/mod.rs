//! Calls that fail, losses of power, kills, and file systems that refuse.

mod checking;
mod disk;
mod fault_building;
mod fault_calls;
mod fault_free;
mod fault_power;
mod kill;
mod kill_building;
mod parts;
mod records;
mod registering;
mod short_lived;
