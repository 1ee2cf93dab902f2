//! Tests of the schema compiler through its public interface.

mod descriptor;
mod dump;
mod fixture;
mod flatc;
mod golden;
mod json;
mod loading;
mod robustness;
