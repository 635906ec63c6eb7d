//! kubectl command lines: what the timeline writes down and a client carries out.

pub mod arguments;
pub mod command;
pub mod component;
mod drain;
pub mod parser;
pub mod wait;
